"""`python -m tests.fuzz`: attacks in turn until the time is up; exit code 1 if any of them has found something."""

import argparse
import shutil
import sys
import tempfile
import time
from pathlib import Path

import torch
from hypothesis import HealthCheck, Phase, given, seed, settings

from tests.fuzz.attacks import ATTACKS
from tests.fuzz.sandbox import Sandbox, make

ROUND = 50
"""Examples of an attack until it is the turn of the next."""

SETTINGS = settings(
    max_examples=ROUND,
    deadline=None,
    database=None,
    print_blob=False,
    report_multiple_bugs=False,
    suppress_health_check=[*HealthCheck],
    phases=[Phase.generate, Phase.shrink],  # explaining traces every line, and commands get slower than they may be
)


def main() -> int:
    options = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    options.add_argument("--minutes", type=float, default=60, help="how long (default: 60)")
    options.add_argument("--seed", type=int, default=0, help="of what is made up")
    options.add_argument("--only", nargs="+", choices=[*ATTACKS], default=[*ATTACKS], help="attacks (default: all)")
    asked = options.parse_args()
    torch.set_num_threads(1)
    folder = Path(tempfile.mkdtemp(prefix="gnomon-fuzz-"))
    tempfile.tempdir = str(folder / "home")
    sandbox = make(folder)
    ends, number, made, findings = time.monotonic() + 60 * asked.minutes, asked.seed, dict.fromkeys(asked.only, 0), []
    while time.monotonic() < ends:
        for name in asked.only:
            number += 1
            found = _round(name, sandbox, number, ends, made)
            if found is not None:
                findings.append(name)
                print(f"{name}, seed {number}: {found}\n", flush=True)
    for name in asked.only:
        print(f"{made[name]:7} {name}: {findings.count(name)} findings")
    shutil.rmtree(folder, ignore_errors=True)
    return int(bool(findings))


def _round(name: str, sandbox: Sandbox, number: int, ends: float, made: dict[str, int]) -> str | None:
    """What one round of an attack finds, as small as hypothesis can make it, in words."""
    attack = ATTACKS[name]

    @seed(number)
    @SETTINGS
    @given(attack.made)
    def strike(what: object) -> None:
        if time.monotonic() < ends:
            made[name] += 1
            attack.strike(sandbox, what)

    try:
        strike()
    except Exception as error:
        return "\n".join([f"{type(error).__name__}: {error}", *getattr(error, "__notes__", ())])
    return None


if __name__ == "__main__":
    sys.exit(main())
