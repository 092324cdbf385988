"""`gnomon doctor`: whether this installation works, a line a check, and what to do where it does not."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from gnomon.commands.output import Json, Screen, print_json, table

if TYPE_CHECKING:
    from gnomon.commands.checks import Finding


@dataclass(frozen=True)
class Doctor:
    """Check this installation: what was found, and what to do.

    A line a check: versions of Python and of what gnomon needs, attention by
    each backend beside the reference, the C++ compiler, threads, GPUs, data,
    optional packages; then the folder of runs: whether it can be written and
    locked, and has room. Nothing is changed. The exit code is 1 if something
    is wrong; a warning is not.

    Examples:
      gnomon doctor
      gnomon doctor --store my_runs
      gnomon doctor --full --json
    """

    store: Annotated[str, tyro.conf.arg(metavar="FOLDER")] = "runs"
    """Where the runs are, or are to be."""
    full: Annotated[bool, tyro.conf.arg(help_behavior_hint="")] = False
    """Build a kernel for flex as well: minutes."""
    json: Json = False

    def run(self) -> int:
        from gnomon.commands import checks

        folder = Path(self.store)
        looks = {
            "python": checks.python,
            "packages": checks.packages,
            "attention": checks.attention,
            "compiler": partial(checks.compiler, self.full),
            "threads": checks.threads,
            "gpu": checks.gpu,
            "data": checks.data,
            "extras": checks.extras,
            "store": partial(checks.store, folder),
            "locks": partial(checks.locks, folder),
            "disk": partial(checks.disk, folder),
        }
        findings = [checks.examined(name, look) for name, look in looks.items()]
        if self.json:
            print_json([asdict(finding) for finding in findings])
        else:
            _show(findings)
        return int(any(finding.status == "wrong" for finding in findings))


def _show(findings: "Sequence[Finding]") -> None:
    out, made = Screen(), table("", "check", "found", whole=("", "check"))
    for each in findings:
        made.add_row(each.status, each.check, f"{each.found}\ndo: {each.do}" if each.do else each.found)
    out.table(made)
    wrong, warned = (sum(each.status == status for each in findings) for status in ("wrong", "warning"))
    out.print(f"\n{len(findings)} checks: {wrong} wrong, {warned} {'warning' if warned == 1 else 'warnings'}")
