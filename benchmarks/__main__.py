"""Every script, one after another, each in a process of its own; writes RESULTS.md and results.json beside this."""

import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from benchmarks.rows import Row, about, markdown, sections
from benchmarks.script import Options, main, tell
from gnomon.commands.output import note, print_json
from gnomon.errors import unknown
from gnomon.lab.files import replace_file

SCRIPTS = ("forward", "growth", "training", "training_step", "workers", "rotation", "decode", "compile", "gpu")
HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class All(Options):
    """Measure everything, and write one table: RESULTS.md, and results.json for programs.

    The files are written anew after each script, so an interrupted run leaves what it has.
    """

    scripts: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="[SCRIPT ...]")] = SCRIPTS
    folder: Path = HERE
    """Where the files are written."""

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
            self._write(found)
        if self.json:
            print_json(found)
        else:
            tell(found["about"], _titled(found))
        for name in failed:
            note(f"benchmarks.{name} failed: run `python -m benchmarks.{name}` to see why")
        return 1 if failed else 0

    def _script(self, name: str) -> list[dict[str, Any]] | None:
        """The rows of a script; None where it failed, which stderr says."""
        command = [sys.executable, "-m", f"benchmarks.{name}", "--json", "--repeats", str(self.repeats)]
        command += ["--quick"] * self.quick + ([] if self.threads is None else ["--threads", str(self.threads)])
        done = subprocess.run(command, cwd=HERE.parent, stdout=subprocess.PIPE, text=True)
        return json.loads(done.stdout)["rows"] if done.returncode == 0 else None

    def _write(self, found: dict[str, Any]) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps(found, indent=2, ensure_ascii=False) + "\n"
        replace_file(self.folder / "results.json", lambda file: file.write_text(text, encoding="utf-8"))
        replace_file(
            self.folder / "RESULTS.md",
            lambda file: file.write_text(markdown(found["about"], _titled(found), found["quick"]), encoding="utf-8"),
        )


def _titled(found: dict[str, Any]) -> dict[str, list[Row]]:
    rows = {name: [Row.from_json(row) for row in of] for name, of in found["scripts"].items()}
    return {f"{name}: {title}": part for name, of in rows.items() for title, part in sections(of).items()}


if __name__ == "__main__":
    sys.exit(main(All))
