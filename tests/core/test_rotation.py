"""Turning pairs in one pass over memory gives what the formula gives, and so do its gradients."""

import pytest
import torch

from gnomon.encodings import rotation
from gnomon.encodings.rotation import formula, turn

BOUNDS = {torch.float64: 1e-14, torch.float32: 1e-5, torch.bfloat16: 0.04, torch.float16: 0.004}
SHAPES = {
    "as heads": ((2, 3, 11, 8), (1, 1, 11, 4)),
    "in part": ((2, 3, 11, 8), (2, 1, 11, 3)),
    "in part, an odd rest": ((2, 3, 11, 7), (1, 1, 11, 3)),
    "angles of each head": ((2, 3, 11, 8), (1, 3, 11, 4)),
    "angles of more heads": ((2, 1, 11, 8), (1, 3, 11, 4)),
    "one token": ((1, 2, 1, 4), (1, 1, 1, 2)),
    "no token": ((1, 2, 0, 4), (1, 1, 0, 2)),
    "no row": ((0, 2, 3, 4), (1, 1, 3, 2)),
    "one pair": ((1, 1, 3, 2), (1, 1, 3, 1)),
}


def drawn(shape: str, dtype: torch.dtype, transposed: bool = False):
    torch.manual_seed(0)
    size, angles = SHAPES[shape]
    x = torch.randn(size, dtype=torch.float64).to(dtype)
    if transposed:
        x = x.transpose(1, 2).contiguous().transpose(1, 2)
    angle = 6 * torch.rand(angles, dtype=torch.float64)
    wide = torch.promote_types(dtype, torch.float32)
    return x, angle.cos().to(wide), angle.sin().to(wide)


@pytest.fixture(params=[1, 2**15], ids=["a token at a time", "all at once"])
def block(request, monkeypatch):
    monkeypatch.setattr(rotation, "BLOCK", request.param)


@pytest.mark.parametrize("transposed", [False, True], ids=["heads first", "tokens first"])
@pytest.mark.parametrize("dtype", BOUNDS, ids=str)
@pytest.mark.parametrize("pairing", ["half", "interleaved"])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_turn_is_the_formula(shape, pairing, dtype, transposed, block):
    x, cos, sin = drawn(shape, dtype, transposed)
    found, expected = turn(x, cos, sin, pairing), formula(x, cos, sin, pairing)
    assert found.shape == expected.shape and found.dtype == expected.dtype == dtype
    assert torch.allclose(found.double(), expected.double(), rtol=0, atol=BOUNDS[dtype])


@pytest.mark.parametrize("pairing", ["half", "interleaved"])
@pytest.mark.parametrize("shape", SHAPES)
def test_gradients_are_those_of_the_formula(shape, pairing, block):
    x, cos, sin = drawn(shape, torch.float64)
    ours, theirs = x.clone().requires_grad_(), x.clone().requires_grad_()
    weight = torch.randn_like(formula(x, cos, sin, pairing))
    for one, function in ((ours, turn), (theirs, formula)):
        (function(one, cos, sin, pairing) * weight).sum().backward()
    assert torch.allclose(ours.grad, theirs.grad, rtol=0, atol=1e-13)


def test_gradients_of_gradients():
    x, cos, sin = drawn("as heads", torch.float64)
    x = x[:1, :1, :3].requires_grad_()
    for pairing in ("half", "interleaved"):
        torch.autograd.gradgradcheck(lambda x, p=pairing: turn(x, cos[:, :, :3], sin[:, :, :3], p).square(), x)


@pytest.mark.parametrize("pairing", ["half", "interleaved"])
def test_angles_may_learn(pairing):
    x, cos, sin = drawn("as heads", torch.float64)
    angle = torch.atan2(sin, cos).requires_grad_()
    turn(x.requires_grad_(), angle.cos(), angle.sin(), pairing)[..., 0].sum().backward()
    assert angle.grad.abs().max() > 0.1 and x.grad.abs().max() > 0.1


@pytest.mark.parametrize("pairing", ["half", "interleaved"])
def test_transforms_of_torch_func(pairing):
    x, cos, sin = drawn("as heads", torch.float64)
    whole = formula(x, cos, sin, pairing)
    assert torch.allclose(torch.func.vmap(lambda row: turn(row, cos[0], sin[0], pairing))(x), whole)
    gradient = torch.func.grad(lambda x: turn(x, cos, sin, pairing).square().sum() / 2)(x)
    assert torch.allclose(gradient, x)
    assert torch.allclose(torch.func.jvp(lambda x: turn(x, cos, sin, pairing), (x,), (x,))[1], whole)
