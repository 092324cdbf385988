"""Every script, one after another, each in a process of its own; writes RESULTS.md, and the table in the README."""

import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from benchmarks.quote import HERE, README, titled, write
from benchmarks.rows import about
from benchmarks.script import Options, main, tell
from gnomon.commands.output import note, print_json
from gnomon.errors import unknown

SCRIPTS = ("forward", "ways", "growth", "training", "training_step", "workers", "rotation", "decode", "compile", "gpu")


@dataclass(frozen=True)
class All(Options):
    """Measure everything, and write one page: RESULTS.md, results.json for programs, and the README's table.

    The files are written anew after each script, so an interrupted run leaves what it has; the README's table as
    soon as all that it quotes is there.
    """

    scripts: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="[SCRIPT ...]")] = SCRIPTS
    folder: Path = HERE
    """Where the files are written; in another folder than the benchmarks' the README is left alone."""

    def run(self) -> int:
        for name in self.scripts:
            if name not in SCRIPTS:
                raise unknown("script", name, SCRIPTS)
        found, failed, begun = {"about": about(), "quick": self.quick, "scripts": {}}, [], time.monotonic()
        for name in self.scripts:
            note(f"{name}, after {(time.monotonic() - begun) / 60:.0f} min")
            rows = self._script(name)
            if rows is None:
                failed.append(name)
                continue
            found["scripts"][name] = rows
            self.folder.mkdir(parents=True, exist_ok=True)
            write(found, self.folder, README if self.folder.resolve() == HERE else None)
        if self.json:
            print_json(found)
        else:
            tell(found["about"], titled(found))
        for name in failed:
            note(f"benchmarks.{name} failed: run `python -m benchmarks.{name}` to see why")
        return 1 if failed else 0

    def _script(self, name: str) -> list[dict[str, Any]] | None:
        """The rows of a script; None where it failed, which stderr says."""
        command = [sys.executable, "-m", f"benchmarks.{name}", "--json", "--repeats", str(self.repeats)]
        command += ["--quick"] * self.quick + ([] if self.threads is None else ["--threads", str(self.threads)])
        done = subprocess.run(command, cwd=HERE.parent, stdout=subprocess.PIPE, text=True)
        return json.loads(done.stdout)["rows"] if done.returncode == 0 else None


if __name__ == "__main__":
    sys.exit(main(All))
