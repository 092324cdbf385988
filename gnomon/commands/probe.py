"""`gnomon probe`: what a trained model does with positions."""

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import tyro
from rich.padding import Padding
from tyro.conf import arg

from gnomon.commands.output import Json, Screen, note, print_json, table

if TYPE_CHECKING:
    from types import ModuleType

    from gnomon.analysis.section import Section
    from gnomon.lab.probes import probe
    from gnomon.lab.store import Store

    Found = list[tuple[ModuleType, probe.Result | probe.NotAsked]]

SHORT = 8
"""Digits of a run's hash in messages."""
LISTED = 12
"""Runs that a message names at most."""


@dataclass(frozen=True)
class Probe:
    """What a trained model does with positions, by probes.

    Loss by length and position, shifts, one wrong position, how far heads
    look, attention beyond the training length, frequency bands, position in
    each layer, the four terms of a logit, norms, depth of a needle. Each
    number is a mean over examples with its standard error. Of a run that
    `gnomon compare` has trained, in float64, on the CPU; --out writes a page
    with the figures. Probes that do not apply come last, with the reason.

    Examples:
      gnomon probe 4f2a91c3
      gnomon probe 4f2a91c3 --only attended beyond
      gnomon probe 4f2a91c3 --examples 64 --out probes.html
      gnomon probe 4f2a91c3 --store my_runs --json
    """

    run_name: Annotated[
        str | None, tyro.conf.Positional, arg(name="run", metavar="[RUN]", help_behavior_hint="(default: the one)")
    ] = None
    """How its name in `gnomon results` begins."""
    store: Annotated[str, arg(metavar="FOLDER")] = "runs"
    """The folder of runs."""
    only: Annotated[tuple[str, ...], arg(metavar="NAME ...", help_behavior_hint="(default: all)")] = ()
    """Probes, by their first word."""
    examples: int = 16
    """Examples of each length."""
    out: Annotated[str | None, arg(metavar="FILE", help_behavior_hint="")] = None
    """Write a page with figures."""
    json: Json = False

    def run(self) -> int:
        from gnomon.commands.report import check
        from gnomon.errors import OptionError
        from gnomon.lab import probes
        from gnomon.lab.probes.probe import NotAsked
        from gnomon.lab.probes.subject import restored
        from gnomon.lab.store import Store

        check(self.out)
        if self.examples < 2:
            raise OptionError("an error is over several examples", given=self.examples, allowed="2 or more")
        probes.named(self.only)
        store = Store(self.store)
        subject = restored(store, _hash(store, self.run_name), self.examples)
        experiment, out, found = subject.experiment, Screen(), []
        if not self.json:
            out.print(f"{experiment.title}, seed {experiment.seed}, trained at length {subject.length}")
        for probe, result in probes.asked(subject, self.only):
            found.append((probe, result))
            if not self.json and not isinstance(result, NotAsked):
                _show(out, probe, result)
        settings = {
            "run": experiment.hash,
            "label": experiment.title,
            "seed": experiment.seed,
            "length": subject.length,
            "examples": self.examples,
        }
        if self.json:
            print_json(settings | _plain(found))
        else:
            _show_others(out, found)
        if self.out is not None:
            self._write(found, settings)
            note(f"figures: {self.out}")
        return 0

    def _write(self, found: "Found", settings: dict[str, Any]) -> None:
        from gnomon.report import study

        words = ["gnomon", "probe", settings["run"], "--store", self.store, "--examples", str(self.examples)]
        words += ["--only", *self.only] * bool(self.only) + ["--out", self.out]
        study.write(
            [_section(probe, result) for probe, result in found],
            self.out,
            title=settings["label"],
            settings=settings,
            command=shlex.join(words),
            overline="gnomon · what a trained model does with positions",
        )


def _hash(store: "Store", begins: str | None) -> str:
    """The one run whose hash begins so, of all that are finished. OptionError where that is none, or several."""
    from gnomon.errors import OptionError

    finished = [record for record in store.records() if record["status"] == "finished"]
    meant = [record for record in finished if record["hash"].startswith(begins or "")]
    if len(meant) == 1:
        return meant[0]["hash"]
    named = [f"{r['hash'][:SHORT]} ({r['label']}, seed {r['experiment']['seed']})" for r in meant or finished]
    more = f", and {len(named) - LISTED} more" if len(named) > LISTED else ""
    raise OptionError(
        "a probe looks at one finished run, which is named by how its hash begins",
        given="no name" if begins is None else begins,
        allowed=", ".join(named[:LISTED]) + more or "none: the store has no finished run",
        do="choose one, or train one: gnomon compare",
    )


def _plain(found: "Found") -> dict[str, Any]:
    from gnomon.lab.probes.probe import NotAsked

    return {
        "probes": {probe.KEY: result.numbers() for probe, result in found if not isinstance(result, NotAsked)},
        "not_asked": {probe.KEY: result.why for probe, result in found if isinstance(result, NotAsked)},
    }


def _section(probe: "ModuleType", result: "probe.Result | probe.NotAsked") -> "Section":
    """The same as a page of the report takes it."""
    from gnomon.analysis import section
    from gnomon.lab.probes.probe import NotAsked

    if isinstance(result, NotAsked):
        return section.does_not_apply(probe.KEY, probe.TITLE, probe.QUESTION, result.why)
    tables = tuple(section.Table(made.title, made.columns, made.rows, made.note) for made in result.tables())
    figures = tuple(
        section.Lines(
            made.title,
            made.x,
            made.y,
            tuple(section.Line(line.label, line.x, line.y) for line in made.lines),
            made.x_log,
            made.y_log,
        )
        for made in result.figures()
    )
    return section.Section(probe.KEY, probe.TITLE, probe.QUESTION, "", tables, figures, (), result.numbers())


def _show(out: Screen, probe: "ModuleType", result: "probe.Result") -> None:
    out.print(f"\n\n{probe.KEY}: {probe.TITLE}")
    out.print(Padding(probe.QUESTION, (0, 0, 0, 2)))
    for made in result.tables():
        _show_table(out, made)


def _show_table(out: Screen, found: "probe.Table") -> None:
    from gnomon.report.study import cell

    numbers = [name for at, name in enumerate(found.columns) if not any(isinstance(row[at], str) for row in found.rows)]
    shown = table(*found.columns, right=numbers)
    for row in found.rows:
        shown.add_row(*map(cell, row))
    out.print(f"\n{found.title}\n")
    out.table(shown)
    if found.note:
        out.print(found.note)


def _show_others(out: Screen, found: "Found") -> None:
    """What does not apply, each reason once."""
    from gnomon.lab.probes.probe import NotAsked

    reasons: dict[str, list[str]] = {}
    for probe, result in found:
        if isinstance(result, NotAsked):
            reasons.setdefault(result.why, []).append(probe.KEY)
    if reasons:
        out.print("\n\nProbes that do not apply")
    for why, keys in reasons.items():
        out.print(Padding(f"{', '.join(keys)}: {why}", (0, 0, 0, 2)))
