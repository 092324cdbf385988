"""`gnomon compare`: train one small model an encoding, measure each past its training length, write the report."""

import shlex
import signal
import statistics
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Annotated, Any

import tyro
from rich.table import Table
from tyro.conf import arg

from gnomon.commands.output import Json, Screen, items, note, print_json, table
from gnomon.commands.report import check, write
from gnomon.commands.stdout import say, stdout

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from gnomon.lab.events import Progress
    from gnomon.lab.load import Plan
    from gnomon.lab.log import Log
    from gnomon.lab.store import Store
    from gnomon.report.summary import Series, Summary

FACTORS = (2, 4, 8)
"""Multiples of the training length in the printed table."""

Flag = Annotated[bool, arg(help_behavior_hint="")]


@dataclass(frozen=True)
class Compare:
    """Train a model per encoding, measure past its length, report.

    PLAN is `quick` (ten encodings, one seed, minutes), `standard` (three
    seeds, deeper and longer, hours), or a Python file such as those of
    experiments/, which sets EXPERIMENTS or FORMS. The options from
    --encodings to --tune replace what it says; what is not given stays as
    it is there. Runs that are in the store already are not trained again,
    and an interrupted command goes on where it stopped. The exit code is 1
    if some run failed or diverged.

    Examples:
      gnomon compare
      gnomon compare standard --workers 4
      gnomon compare --text my_book.txt --encodings rope alibi --seeds 0 1 2
      gnomon compare --encoding mine.py:Mine
      gnomon compare --task copy --encodings rope alibi
      gnomon compare --task addition order=reversed hints=40 --length 10
      gnomon compare --task jsonl path=pairs.jsonl --length 60
      gnomon compare experiments/text.py --form standard --store text
      gnomon compare --task copy --tune 3e-4 1e-3 3e-3 --seeds 0 1 2
      gnomon compare standard --engine ray --store /shared/runs
    """

    plan: Annotated[str, tyro.conf.Positional, arg(metavar="[PLAN]", help_behavior_hint="(default: quick)")] = "quick"
    """A plan's name, or a Python file."""
    encodings: Annotated[tuple[str, ...], arg(metavar="NAME ...", help_behavior_hint="")] = ()
    """Encodings to compare; `gnomon list` shows them."""
    encoding: Annotated[tuple[str, ...], arg(metavar="CLASS ...", help_behavior_hint="")] = ()
    """Your own besides: FILE.py:CLASS, run as code."""
    text: Annotated[str | None, arg(metavar="PATH", help_behavior_hint="(default: Shakespeare)")] = None
    """A text file or folder."""
    task: Annotated[tuple[str, ...], arg(metavar="NAME ...", help_behavior_hint="")] = ()
    """Addition, copy, ... or FILE.py:CLASS, and its options."""
    length: Annotated[int | None, arg(metavar="N", help_behavior_hint="")] = None
    """Length to train at; of text, in bytes."""
    lengths: Annotated[tuple[int, ...], arg(metavar="N ...", help_behavior_hint="")] = ()
    """Lengths to measure at; --length is always one."""
    steps: Annotated[int | None, arg(metavar="N", help_behavior_hint="")] = None
    """Training steps."""
    seeds: Annotated[tuple[int, ...], arg(metavar="N ...", help_behavior_hint="")] = ()
    """Seeds; every encoding is trained with each."""
    precision: Annotated[str | None, arg(metavar="{fp32,bf16}", help_behavior_hint="")] = None
    """Precision of the arithmetic in training."""
    tune: Annotated[tuple[float, ...], arg(metavar="RATE ...", help_behavior_hint="")] = ()
    """Learning rates; each encoding gets its best."""
    form: Annotated[str | None, arg(metavar="NAME", help_behavior_hint="(default: quick)")] = None
    """Which of a file's FORMS."""
    cpu: Flag = False
    """Leave GPUs alone."""
    workers: Annotated[int | None, arg(metavar="N", help_behavior_hint="(default: one a core or GPU)")] = None
    """Runs at once."""
    engine: Annotated[str, arg(metavar="{local,ray}", help_behavior_hint="(default: local)")] = "local"
    """ray: this machine's Ray cluster."""
    trackers: Annotated[tuple[str, ...], arg(metavar="NAME ...", help_behavior_hint="")] = ()
    """Trackers of accelerate: tensorboard, wandb, ..."""
    store: Annotated[str, arg(metavar="FOLDER")] = "runs"
    """Where the runs are kept."""
    out: Annotated[str | None, arg(metavar="FILE", help_behavior_hint="(default: FOLDER/report.html)")] = None
    """File of the report."""
    retry: Flag = False
    """Train again what failed or diverged before."""
    log_json: Annotated[str | None, arg(metavar="FILE", help_behavior_hint="")] = None
    """Append a log: a JSON object a line (docs/log.md)."""
    quiet: Flag = False
    """Print nothing but the path of the report."""
    json: Json = False

    def run(self) -> int:
        from gnomon.lab.interrupt import handling
        from gnomon.lab.machine import launched

        check(self.out)
        check(self.log_json, "log")
        first = launched()[0] == 0  # of the processes of `accelerate launch`
        with (
            handling(_terminated, signal.SIGTERM),
            self._log() if first and self.log_json is not None else nullcontext() as log,
        ):
            code = self._made(first, log)
            stdout().flush()  # what cannot be said changes how this ends
            if log is not None:
                log.write("end", code=code)
        return code

    def _made(self, first: bool, log: "Log | None") -> int:
        from gnomon.lab import engine
        from gnomon.lab.log import Logged
        from gnomon.lab.progress import listener
        from gnomon.lab.store import Store

        plan = self._plan()
        store = Store(self.store, create=True)
        kinds = iter([True, False] if plan.tuning is not None else [False])

        def heard() -> "Progress":
            made = listener(sys.stderr, quiet=self.quiet or not first, as_json=self.json)
            return made if log is None else Logged(log, made, trials=next(kinds))

        records = engine.run_plan(
            plan,
            store,
            self.workers,
            heard,
            self.retry,
            command=self.command,
            cpu=self.cpu,
            trackers=self.trackers,
            engine=self.engine,
        )
        if first:
            self._tell(store, records)
        # Of the processes of a launch one says how it ended: the launcher would end the first where another has failed.
        return int(first and any(record["status"] != "finished" for record in records))

    def _log(self) -> "AbstractContextManager[Log]":
        from gnomon import __version__
        from gnomon.lab.log import logged

        return logged(self.log_json, command=self.command, store=self.store, gnomon=__version__)

    @property
    def command(self) -> str:
        """The command line that gives this comparison again: every option that is not at its default."""
        words = ["gnomon", "compare", self.plan]
        for option in fields(self):
            value = getattr(self, option.name)
            if option.name != "plan" and value != option.default:
                words.append(f"--{option.name.replace('_', '-')}")
                words += [] if value is True else map(str, value) if isinstance(value, tuple) else [str(value)]
        return shlex.join(words)

    def _plan(self) -> "Plan":
        from gnomon.lab.load import Plan, load
        from gnomon.lab.presets import adjusted, problem
        from gnomon.lab.tuning import Tuning
        from gnomon.user_code import own

        plan = load(self.plan, self.form)
        experiments = adjusted(
            plan.experiments,
            text=self.text,
            task=problem(self.task) if self.task else None,
            encodings=self.encodings,
            added=own(self.encoding),
            seeds=self.seeds,
            steps=self.steps,
            length=self.length,
            lengths=self.lengths,
        )
        if self.precision is not None:
            experiments = [replace(e, training=replace(e.training, precision=self.precision)) for e in experiments]
        return Plan(experiments, Tuning(self.tune) if self.tune else plan.tuning)

    def _tell(self, store: "Store", records: Sequence[dict[str, Any]]) -> None:
        """What was found, and where the report is: the one is told also where the other cannot be written."""
        if not (self.json or self.quiet):
            show(records)
        report = str(write(store, records, self.out, self.command))
        if self.json:
            print_json({"report": report, "command": self.command, "records": records})
        elif self.quiet:
            say(report)
        else:
            say(f"report: {report}")
            if any(record["status"] != "finished" for record in records):
                note(f"to train again what failed: {self.command} --retry")


def _terminated(number: int, frame: object) -> None:
    """SIGTERM before the first run or after the last one: as Ctrl-C, and with its exit code."""
    raise KeyboardInterrupt("terminated; the same command goes on where it stopped")


def show(records: Sequence[dict[str, Any]]) -> None:
    """The findings in words, and the main numbers, task by task."""
    from gnomon.report.summary import by_task

    out, summaries = Screen(), by_task(records)
    for summary in summaries:
        if len(summaries) > 1:
            out.print(f"on {summary.task}", style="bold")
        _show(summary, out)


def _show(summary: "Summary", out: Screen) -> None:
    from gnomon.report.headline import headline

    found = headline(summary)
    out.print(found.title, style="bold")
    out.print()
    out.print(items(map(str, found.findings)))
    out.print()
    if lost := _reasons(summary):
        out.print(items(lost))
        out.print()
    if not summary.done:
        return
    whole, short = _numbers(summary, costs=True), _numbers(summary, costs=False)
    without = not out.holds(whole) and out.holds(short)
    out.table(short if without else whole)
    out.print(_caption(summary))
    out.print("parameters, time and memory are in the report\n" if without else "")


def _caption(summary: "Summary") -> str:
    from gnomon.report.tables_answers import small
    from gnomon.report.yardstick import MASKED, TEXT

    if summary.yardstick is MASKED:
        return "nats per hidden token; in range: at the training length"
    if summary.yardstick is TEXT:
        return f"nats per {summary.unit}, on the same targets; in range: at the training length"
    chances = {
        length: chance.median
        for length in summary.lengths
        for series in summary.done
        if (chance := series.stat("chance_exact", length)) and length >= min(summary.trained)
    }
    guessing = ", ".join(f"{small(share)} at {length}" for length, share in chances.items())
    return f"share of answers right in every token; in range: at the training length; by guessing: {guessing or '-'}"


def _reasons(summary: "Summary") -> list[str]:
    """Why runs did not finish, and which: each reason once."""
    found: dict[str, list[str]] = {}
    for series in summary.series:
        for run in series.lost:
            why = f"{run['status']}: {run['reason'] or 'no reason recorded'}"
            found.setdefault(why, []).append(f"{series.label}, seed {run['experiment']['seed']}")
    return [f"{'; '.join(who)} {why}" for why, who in found.items()]


def _numbers(summary: "Summary", costs: bool) -> Table:
    """A row a series: what it is judged by, in range and beyond, reach and what it cost."""
    from gnomon.report.tables_answers import beyond
    from gnomon.report.yardstick import TEXT

    if summary.yardstick is TEXT:
        factors = [n for n in FACTORS if any(n * series.training in series.lengths() for series in summary.done)]
        further = {f"at {n}x": lambda series, n=n: n * series.training for n in factors}
        seeds = ()
    else:
        further = {f"at {length}": lambda series, length=length: length for length in beyond(summary)}
        seeds = ("seeds",)
    numbers = [*seeds, "in range", *further, "reach", *(("parameters", "ms/step", "MB") if costs else ())]
    made = table("encoding", *numbers, right=numbers)
    for series in summary.ranked():
        lengths = [series.training, *(length(series) for length in further.values())]
        values = [str(len(series.runs)) for _ in seeds] + [_value(series, length) for length in lengths]
        reach = series.reach.text if series.reach else "not learned" if series.did_not_learn and seeds else "-"
        made.add_row(series.label, *values, reach, *(_costs(series.records) if costs else ()))
    return made


def _value(series: "Series", length: int) -> str:
    """What a series is judged by at a length, or what came instead of that."""
    found = series.stat(series.yardstick.main, length)
    if found is not None:
        return f"{found.median:.3f}"
    gaps = series.gaps()
    return gaps[length].state if length in gaps else "-"


def _costs(records: Sequence[dict[str, Any]]) -> list[str]:
    """Parameters, milliseconds a step and megabytes: the median over seeds of what is known."""
    keys = [("parameters", "total", 1.0), ("cost", "ms_per_step", 1.0), ("cost", "peak_memory_bytes", 1e-6)]
    known = [[r[part][key] * unit for r in records if r[part][key] is not None] for part, key, unit in keys]
    return [f"{statistics.median(values):,.0f}" if values else "-" for values in known]
