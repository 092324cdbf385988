"""Everything a run needs to go on as if it had never stopped, in one safetensors file; nothing is pickled."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from gnomon.lab.files import replace_file

FORMAT, WITHOUT_BUFFERS = "4", "3"
"""What is written, and what was before: without the buffers of a model, and without what it was made on."""

MADE = "environments"
"""Of the metadata of a checkpoint: what it was made on, as JSON."""

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
    environments: list[dict[str, Any]] = field(default_factory=list)
    """On what it was made: `{"step": 0, "environment": {...}}`, from that step on, one for each change."""

    def goes_on(self, environment: Mapping[str, Any]) -> None:
        """From here on this is what it is made on."""
        if not self.environments or self.environments[-1]["environment"] != environment:
            self.environments.append({"step": self.step, "environment": dict(environment)})

    @property
    def step(self) -> int:
        return len(self.losses)


def buffers(model: nn.Module) -> dict[str, Tensor]:
    """What a model keeps besides its parameters, by all names: a running mean, a count. Not what it can make anew."""
    kept = model.state_dict(keep_vars=True)
    return {name: tensor for name, tensor in model.named_buffers(remove_duplicate=False) if name in kept}


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
    # Each a copy: one may be part of another, which a file of safetensors cannot say.
    tensors |= {f"buffer.{name}": tensor.detach().clone() for name, tensor in buffers(model).items()}
    tensors = {name: tensor.cpu().contiguous() for name, tensor in tensors.items()}
    metadata = {"format": FORMAT, "experiment": hash, "step": str(history.step)}
    metadata[MADE] = json.dumps(history.environments)
    metadata["sha256"] = _sum(tensors, metadata)
    replace_file(path, lambda temporary: save_file(tensors, temporary, metadata))


def load(path: Path, hash: str, model: nn.Module, optimizer: torch.optim.AdamW) -> History | None:
    """Restore model and optimizer in place. None, with both untouched, unless the file is a whole one of this run.

    A file that lacks the buffers of the model is none: what they held cannot be made anew.
    """
    metadata, tensors = _read(path, hash) or ({}, None)
    named, kept = dict(model.named_parameters()), buffers(model)
    wanted = {f"model.{name}": p for name, p in named.items()} | {f"buffer.{name}": b for name, b in kept.items()}
    shapes = {name: tensor.shape for name, tensor in wanted.items()}
    if tensors is None or shapes != {
        name: tensor.shape for name, tensor in tensors.items() if name.startswith(("model.", "buffer."))
    }:
        return None
    with torch.no_grad():
        for name, tensor in kept.items():
            tensor.copy_(tensors[f"buffer.{name}"])
        for name, parameter in named.items():
            parameter.copy_(tensors[f"model.{name}"])
            if f"step.{name}" in tensors:
                moments = {key: tensors[f"{key}.{name}"].to(parameter.device) for key in STATE[1:]}
                # A fused AdamW counts steps on the parameter's device.
                optimizer.state[parameter] = {"step": tensors[f"step.{name}"].to(parameter.device), **moments}
    memory = {name.removeprefix("memory."): t for name, t in tensors.items() if name.startswith("memory.")}
    curve = [tensors[f"history.{name}"].tolist() for name in ("losses", "seconds", "tokens")]
    return History(*curve, memory, _environments(metadata))


def threads_of(path: Path, hash: str) -> int | None:
    """With how many threads this run began; None where there is nothing to go on from, or that does not say."""
    try:
        with safe_open(path, "pt") as file:
            metadata = file.metadata() or {}
        return _environments(metadata)[0]["environment"].get("threads") if _ours(metadata, hash) else None
    except (*UNUSABLE, ValueError):
        return None


def _environments(metadata: Mapping[str, str]) -> list[dict[str, Any]]:
    """Of a checkpoint that does not say: nothing is known of what it was made on."""
    return json.loads(metadata[MADE]) if MADE in metadata else [{"step": 0, "environment": {}}]


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


def _read(path: Path, hash: str) -> tuple[dict[str, str], dict[str, Tensor]] | None:
    try:
        with safe_open(path, "pt") as file:
            metadata = file.metadata() or {}
            if not _ours(metadata, hash):
                return None
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  (not a dict)
    except UNUSABLE:
        return None
    return (metadata, tensors) if _sum(tensors, metadata) == metadata.get("sha256") else None


def _sum(tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> str:
    """sha256 of names, kinds, shapes and numbers: a weight that changes on disk is another, and as finite, number."""
    sha = hashlib.sha256(metadata.get(MADE, "").encode())
    for name, tensor in sorted(tensors.items()):
        sha.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        sha.update(memoryview(tensor.reshape(-1).view(torch.uint8).numpy()))
    return sha.hexdigest()


def _ours(metadata: dict[str, str], hash: str) -> bool:
    return metadata.get("format") in (FORMAT, WITHOUT_BUFFERS) and metadata.get("experiment") == hash
