"""Everything a run needs to go on as if it had never stopped, in one safetensors file; nothing is pickled."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from gnomon.lab.files import replace_file

FORMAT = "3"
UNUSABLE = (OSError, SafetensorError, RuntimeError)
"""What reading a file raises that is cut off, or that another takes the place of between two looks at it."""

STATE = ("step", "exp_avg", "exp_avg_sq")
"""What AdamW keeps for each parameter."""


@dataclass
class History:
    """What training has seen so far, one number a step: the loss in nats, the seconds it took, the tokens it read."""

    losses: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    memory: dict[str, Tensor] = field(default_factory=dict)
    """What the model remembers of earlier segments, where it does."""

    @property
    def step(self) -> int:
        return len(self.losses)


def save(path: Path, hash: str, model: nn.Module, optimizer: torch.optim.AdamW, history: History) -> None:
    """Write the checkpoint whole or not at all."""
    tensors = {
        "history.losses": torch.tensor(history.losses, dtype=torch.float64),
        "history.seconds": torch.tensor(history.seconds, dtype=torch.float64),
        "history.tokens": torch.tensor(history.tokens, dtype=torch.int64),
    }
    tensors |= {f"memory.{name}": tensor for name, tensor in history.memory.items()}
    for name, parameter in model.named_parameters():
        tensors[f"model.{name}"] = parameter.detach()
        for key in STATE:
            if parameter in optimizer.state:
                tensors[f"{key}.{name}"] = torch.as_tensor(optimizer.state[parameter][key])
    tensors = {name: tensor.cpu().contiguous() for name, tensor in tensors.items()}
    metadata = {"format": FORMAT, "experiment": hash, "step": str(history.step), "sha256": _sum(tensors)}
    replace_file(path, lambda temporary: save_file(tensors, temporary, metadata))


def load(path: Path, hash: str, model: nn.Module, optimizer: torch.optim.AdamW) -> History | None:
    """Restore model and optimizer in place. None, with both untouched, unless the file is a whole one of this run."""
    tensors = _read(path, hash)
    named = dict(model.named_parameters())
    if tensors is None or any(
        f"model.{name}" not in tensors or tensors[f"model.{name}"].shape != p.shape for name, p in named.items()
    ):
        return None
    with torch.no_grad():
        for name, parameter in named.items():
            parameter.copy_(tensors[f"model.{name}"])
            if f"step.{name}" in tensors:
                moments = {key: tensors[f"{key}.{name}"].to(parameter.device) for key in STATE[1:]}
                # A fused AdamW counts steps on the parameter's device.
                optimizer.state[parameter] = {"step": tensors[f"step.{name}"].to(parameter.device), **moments}
    memory = {name.removeprefix("memory."): t for name, t in tensors.items() if name.startswith("memory.")}
    return History(*(tensors[f"history.{name}"].tolist() for name in ("losses", "seconds", "tokens")), memory)


def step_of(path: Path, hash: str) -> int:
    """The step at which the checkpoint of this run stands; 0 without a usable one."""
    try:
        with safe_open(path, "pt") as file:
            metadata = file.metadata() or {}
    except UNUSABLE:
        return 0
    step = metadata.get("step", "")
    return int(step) if step.isdecimal() and _ours(metadata, hash) else 0


def whole(path: Path, hash: str) -> bool:
    """Whether this run can go on from the checkpoint: it is its own, and no byte of it has changed."""
    return _read(path, hash) is not None


def _read(path: Path, hash: str) -> dict[str, Tensor] | None:
    try:
        with safe_open(path, "pt") as file:
            metadata = file.metadata() or {}
            if not _ours(metadata, hash):
                return None
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  (not a dict)
    except UNUSABLE:
        return None
    return tensors if _sum(tensors) == metadata.get("sha256") else None


def _sum(tensors: Mapping[str, Tensor]) -> str:
    """sha256 of names, kinds, shapes and numbers: a weight that changes on disk is another, and as finite, number."""
    sha = hashlib.sha256()
    for name, tensor in sorted(tensors.items()):
        sha.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        sha.update(memoryview(tensor.reshape(-1).view(torch.uint8).numpy()))
    return sha.hexdigest()


def _ours(metadata: dict[str, str], hash: str) -> bool:
    return metadata.get("format") == FORMAT and metadata.get("experiment") == hash
