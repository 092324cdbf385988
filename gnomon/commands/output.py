"""What commands share: common options, and how they print: tables for people, JSON for programs."""

import copy
import errno
import json
import math
import os
import sys
from collections.abc import Iterable, Sequence
from typing import Annotated, Any

import tyro
from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.table import Table

from gnomon.commands.stdout import say, stdout
from gnomon.errors import STDOUT

Json = Annotated[bool, tyro.conf.arg(help="Print JSON, and nothing else, on stdout.", help_behavior_hint="")]
"""The option `--json` of every command."""

Names = Annotated[
    tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="[NAME ...]", help_behavior_hint="(default: all)")
]
"""Encodings named one after another."""

Added = Annotated[tuple[str, ...], tyro.conf.arg(metavar="CLASS ...", help_behavior_hint="")]
"""Encodings in files of the user's own."""

StorePath = Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="[STORE]", help_behavior_hint="(default: runs)")]
"""The folder of runs that a command reads."""


GAP = 2
"""Columns between two columns."""


class Screen(Console):
    """Stdout, 80 columns wide where it is not a terminal. No word or number is cut, however narrow it is."""

    def __init__(self) -> None:
        super().__init__(file=stdout(), highlight=False, markup=False, emoji=False)
        self.width = self.width or 80  # COLUMNS=0 is what a terminal says that does not know

    def print(self, *objects: Any, **options: Any) -> None:
        """As rich does, but no line ends in spaces, which an editor or a diff would show."""
        with self.capture() as captured:
            super().print(*objects, **options)
        try:
            self.file.write("\n".join(line.rstrip(" ") for line in captured.get().split("\n")))
            self.file.flush()
        except BrokenPipeError:
            self.on_broken_pipe()

    def on_broken_pipe(self) -> None:
        # Rich would end the program here; how it ends is for the command line to say.
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE), STDOUT)

    def holds(self, made: Table) -> bool:
        """Whether a table can stand here without a broken word."""
        return self._widths(made) is not None

    def table(self, made: Table) -> None:
        """A table; where a word or a number of it would break, its columns in several, each with those that name a row;

        where there is no room for that either, a line a value.
        """
        if self._set(made):
            self.print(made)
            return
        if lots := self._lots(made):
            for at, columns in enumerate(lots):
                if at:
                    self.print()
                lot = _of_columns(made, columns)
                self._set(lot)
                self.print(lot)
            return
        names = [str(column.header) for column in made.columns]
        for at, row in enumerate(zip(*(column.cells for column in made.columns), strict=True)):
            if at:
                self.print()
            self.pairs(zip(names, map(str, row), strict=True))
        if not made.rows:
            self.print(f"no rows of {', '.join(names)}")

    def pairs(self, named: Iterable[tuple[str, str]]) -> None:
        """Names and what is said of each beside them; below them where there is no room beside."""
        named = list(named)
        made = Table.grid(padding=(0, GAP))
        made.add_column(no_wrap=True)
        made.add_column(overflow="fold")
        for name, text in named:
            made.add_row(name, text)
        if self._set(made):
            self.print(made)
            return
        for name, text in named:
            self.print(name, Padding(text, (0, 0, 0, GAP)) if self.width > 2 * GAP else text, sep="\n")

    def _lots(self, made: Table) -> list[list[int]]:
        """The columns in lots that stand beside each other, those that name a row in each; none without room."""
        names = _names(made)
        lots: list[list[int]] = [names]
        for column in (column for column in range(len(made.columns)) if column not in names):
            if lots[-1] != names and not self.holds(_of_columns(made, [*lots[-1], column])):
                lots.append(names)
            lots[-1] = [*lots[-1], column]
        return lots if made.rows and all(self.holds(_of_columns(made, lot)) for lot in lots) else []

    def _set(self, made: Table) -> bool:
        """Give the columns of a table their widths here; False where they have none."""
        widths = self._widths(made)
        for column, width in zip(made.columns, widths or ()):
            column.width = width
        return widths is not None

    def _widths(self, made: Table) -> list[int] | None:
        """The widest columns give way, none below its longest word; None where that is not enough."""
        texts = [[str(column.header), *map(str, column.cells)] for column in made.columns]
        widths = [max(cell_len(line) for text in column for line in text.splitlines() or [""]) for column in texts]
        least = [
            width if column.no_wrap else max(map(cell_len, " ".join(text).split()), default=0)
            for column, width, text in zip(made.columns, widths, texts, strict=True)
        ]
        room = self.width - GAP * (len(widths) - 1)
        if sum(least) > room:
            return None
        widths = [min(width, max(room, low)) for width, low in zip(widths, least, strict=True)]
        while sum(widths) > room:
            wide = max((at for at in range(len(widths)) if widths[at] > least[at]), key=widths.__getitem__)
            widths[wide] -= 1
        return widths


def _of_columns(made: Table, columns: Sequence[int]) -> Table:
    """Some of the columns of a table, as they are there."""
    lot = copy.copy(made)
    lot.columns = [copy.copy(made.columns[column]) for column in columns]
    return lot


def _names(made: Table) -> list[int]:
    """Columns that tell all rows apart, each of them more than those before it; the first alone where four do not."""
    rows = [*zip(*(map(str, column.cells) for column in made.columns), strict=True)]
    names, apart = [0], len({row[0] for row in rows})
    for column in range(1, len(made.columns)):
        if apart == len(rows):
            break
        found = len({(*(row[name] for name in names), row[column]) for row in rows})
        if found > apart:
            names, apart = [*names, column], found
    return names if apart == len(rows) and len(names) < 4 else [0]


def note(text: str) -> None:
    """A line for the person, kept out of stdout."""
    print(text, file=sys.stderr, flush=True)


def items(texts: Iterable[str]) -> Table:
    """A list with a dash before each item."""
    made = Table.grid(padding=(0, 1))
    made.add_column(no_wrap=True)
    made.add_column(overflow="fold")
    for text in texts:
        made.add_row("-", text)
    return made


def table(*columns: str, right: Sequence[str] = (), whole: Sequence[str] = ()) -> Table:
    """A plain table: a header, a rule and rows. The columns in `right` are numbers; they and `whole` never wrap."""
    made = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for column in columns:
        justify = "right" if column in right else "left"
        made.add_column(column, justify=justify, overflow="fold", no_wrap=column in (*right, *whole))
    return made


def print_json(value: Any) -> None:
    """`value` as indented JSON; numbers that JSON does not have (nan, inf) become null, dates and their like text."""
    plain = (stdout().encoding or "utf-8").lower() not in ("utf-8", "utf8")
    say(json.dumps(_finite(value), indent=2, ensure_ascii=plain, allow_nan=False, default=str))


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {key if isinstance(key, str) else str(key): _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    return value
