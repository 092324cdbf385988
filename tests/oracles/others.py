"""What every comparison with other people's code needs: their package at the version compared with, and big weights."""

import importlib
import importlib.metadata
from types import ModuleType

import pytest
import torch
from torch import Tensor, nn

VERSIONS = {"transformers": "5.24.0", "x-transformers": "2.31.10", "rotary-embedding-torch": "0.9.1"}


def require(package: str) -> None:
    """Skip the module that calls this unless `package` is installed at the version the comparison was made with."""
    try:
        found = importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        pytest.skip(f"{package} is not installed", allow_module_level=True)
    if found != VERSIONS[package]:
        reason = f"compared with {package} {VERSIONS[package]}, found {found}"
        pytest.skip(reason, allow_module_level=True)


def theirs(model: str) -> ModuleType:
    """`transformers.models.<model>.modeling_<model>`, or skip the module that calls this."""
    require("transformers")
    return importlib.import_module(f"transformers.models.{model}.modeling_{model}")


def weigh(module: nn.Module, seed: int = 0, std: float = 0.3) -> nn.Module:
    """The module in float64, without dropout, every parameter drawn from N(0, std^2)."""
    generator = torch.Generator().manual_seed(seed)
    module = module.double().eval()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(std * torch.randn(parameter.shape, generator=generator, dtype=torch.float64))
    return module


def normal(*shape: int, seed: int = 0) -> Tensor:
    """Standard normal float64 numbers."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def copy(weights: dict[nn.Parameter, Tensor]) -> None:
    """Give each parameter the value beside it."""
    with torch.no_grad():
        for parameter, value in weights.items():
            assert parameter.shape == value.shape
            parameter.copy_(value)


def close(found: Tensor, expected: Tensor, tolerance: float = 1e-12) -> None:
    """Equal shapes, and values apart by at most `tolerance` times the largest value that exceeds 1."""
    assert found.shape == expected.shape
    assert torch.isfinite(expected).all()
    error = (found.double() - expected.double()).abs().max().item()
    limit = tolerance * max(1.0, expected.abs().max().item())
    assert error <= limit, f"{error:.3g} apart, {limit:.3g} allowed"


def float32_angle(furthest: float) -> float:
    """How far an angle formed in float32 may be off, at positions up to `furthest`.

    With w = theta^-x <= 1: position, frequency and product are rounded, and the rounding of x is magnified by
    w x ln(theta) <= 1/e; then its sine or cosine is rounded. That is at most 4 (p + 1) half-units in the last place.
    """
    return 4 * (furthest + 1) * 2**-24
