"""`gnomon` in a process of its own."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str


def environment() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(ROOT), "COLUMNS": "80", "OMP_NUM_THREADS": "1"}


def process(*arguments: str, cwd: Path | None = None) -> Outcome:
    """`python -m gnomon` with the arguments, in a process of its own."""
    command = [sys.executable, "-m", "gnomon", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=environment(), cwd=cwd, timeout=300)
    return Outcome(done.returncode, done.stdout, done.stderr)
