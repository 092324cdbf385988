"""What every script is: options of a command line, rows that it measures, and how they are told."""

import inspect
import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import torch
import tyro
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from benchmarks.rows import Row, about, headline, notes, printed, sections
from gnomon.commands.output import Json, Screen, print_json
from gnomon.errors import OptionError, UserError
from gnomon.lab.machine import cores

Quick = Annotated[bool, tyro.conf.arg(help="Small sizes, to see that it runs.", help_behavior_hint="")]
Threads = Annotated[int | None, tyro.conf.arg(help="Of torch.", metavar="N", help_behavior_hint="(default: all cores)")]
Repeats = Annotated[int, tyro.conf.arg(help="Rounds, after a warm-up; medians are taken.", metavar="N")]


@dataclass(frozen=True, kw_only=True)
class Options(ABC):
    """What every command line takes."""

    repeats: Repeats = 7
    quick: Quick = False
    threads: Threads = None
    json: Json = False

    def __post_init__(self) -> None:
        for name in ("repeats", "threads", "n"):
            value = getattr(self, name, None)
            if value is not None and value < 1:
                raise OptionError(f"--{name} counts from one", given=value, allowed="1 or more")

    def ready(self) -> None:
        """What has to hold before anything is measured."""
        torch.set_num_threads(self.threads or cores())
        torch.manual_seed(0)

    @abstractmethod
    def run(self) -> int:
        """Measure and tell; returns the exit code, which no timing decides."""


@dataclass(frozen=True, kw_only=True)
class Script(Options):
    """A claim of speed, and how it is measured."""

    @abstractmethod
    def rows(self) -> Iterator[Row]:
        """Measure one row after another. A bound that is missed is a row like others."""

    def run(self) -> int:
        rows, found = measured(self), about()
        if self.json:
            print_json({"about": found, "rows": [row.to_json() for row in rows]})
        else:
            tell(found, sections(rows))
        return 0


def main(command: type[Options], arguments: Sequence[str] | None = None) -> int:
    """Run a command line; returns the exit code: nothing is raised for a user's mistake."""
    arguments = sys.argv[1:] if arguments is None else arguments
    program = inspect.getmodule(command).__spec__.name.removesuffix(".__main__")
    settings = dict(prog=f"python -m {program}", args=arguments, config=(tyro.conf.FlagCreatePairsOff,))
    try:
        asked = tyro.cli(command, **settings)
        asked.ready()
        code = asked.run()
        sys.stdout.flush()
        return code
    except SystemExit as end:  # tyro has printed help, or what is wrong with the options
        return int(end.code or 0)
    except UserError as error:
        print(f"{program}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader (`| head`) has gone: without this, Python complains again when it closes stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def measured(script: Script) -> list[Row]:
    """All rows, with progress on stderr: a line that moves on a terminal, a line a row elsewhere."""
    console, rows = Console(stderr=True, highlight=False, markup=False), []
    columns = SpinnerColumn(), TimeElapsedColumn(), TextColumn("{task.description}", markup=False)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("warming up", total=None)
        for row in script.rows():
            rows.append(row)
            ratio = "" if row.ratio is None else f"{row.ratio:.2f}"
            line = " ".join(filter(None, (row.section, "-", row.what, row.peer, ratio, row.verdict, row.note)))
            progress.update(task, description=line[: console.width - 16])
            if not console.is_terminal:
                print(line, file=sys.stderr, flush=True)
    return rows


def tell(about: dict[str, Any], titled: Mapping[str, Sequence[Row]]) -> None:
    """The tables for people, 80 columns wide where stdout is no terminal."""
    screen = Screen()
    for line in headline(about):
        screen.print(line)
    for title, rows in titled.items():
        limits = dict.fromkeys(row.limit for row in rows if row.limit)
        screen.print()
        screen.print(title + (f", over {'; '.join(limits)}" if limits else ""))
        screen.print(printed(rows))
        for note in notes(rows):
            screen.print(note)
