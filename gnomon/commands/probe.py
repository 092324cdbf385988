"""`gnomon probe`: what a trained model does with positions."""

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import tyro
from tyro.conf import arg

from gnomon.commands.output import Json, Screen, note, print_json
from gnomon.commands.sections import show, show_others

if TYPE_CHECKING:
    from gnomon.lab.store import Store
    from gnomon.section import Section

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
        from gnomon.errors import OptionError
        from gnomon.lab import probes
        from gnomon.lab.probes.subject import restored
        from gnomon.lab.store import Store

        if self.out is not None:
            from gnomon.commands.report import check

            check(self.out, "page")
        if self.examples < 2:
            raise OptionError("an error is over several examples", given=self.examples, allowed="2 or more")
        probes.named(self.only)
        store = Store(self.store)
        subject = restored(store, _hash(store, self.run_name), self.examples)
        experiment, out, sections = subject.experiment, Screen(), []
        if not self.json:
            out.print(f"{experiment.title}, seed {experiment.seed}, trained at length {subject.length}")
        for probe, result in probes.asked(subject, self.only):
            sections.append(section := probes.section(probe, result))
            if not self.json and section.applies:
                show(out, section)
        settings = {
            "run": experiment.hash,
            "label": experiment.title,
            "seed": experiment.seed,
            "length": subject.length,
            "examples": self.examples,
        }
        if self.json:
            asked = {section.key: section.numbers for section in sections if section.applies}
            others = {section.key: section.answer for section in sections if not section.applies}
            print_json(settings | {"probes": asked, "not_asked": others})
        else:
            show_others(out, "Probes that do not apply", sections)
        if self.out is not None:
            self._write(sections, settings)
            note(f"figures: {self.out}")
        return 0

    def _write(self, sections: "list[Section]", settings: dict[str, Any]) -> None:
        from gnomon.report import study

        words = ["gnomon", "probe", settings["run"], "--store", self.store, "--examples", str(self.examples)]
        words += ["--only", *self.only] * bool(self.only) + ["--out", self.out]
        study.write(
            sections,
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
