"""What commands share: common options, and how they print: tables for people, JSON for programs."""

import json
import math
import sys
from collections.abc import Iterable, Sequence
from typing import Annotated, Any

import tyro
from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table

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


class Screen(Console):
    """Stdout, 80 columns wide where it is not a terminal."""

    def __init__(self) -> None:
        super().__init__(highlight=False, markup=False, emoji=False)

    def breaks(self, made: Table) -> bool:
        """Whether a table is so wide that words must be broken."""
        return Measurement.get(self, self.options.update(max_width=10**6), made).minimum > self.width

    def on_broken_pipe(self) -> None:
        # Rich would end the program here; how it ends is for the command line to say.
        raise BrokenPipeError

    def fits(self, made: Table) -> bool:
        """Whether a table needs no wrapping here."""
        return Measurement.get(self, self.options.update(max_width=10**6), made).maximum <= self.width


def note(text: str) -> None:
    """A line for the person, kept out of stdout."""
    print(text, file=sys.stderr, flush=True)


def items(texts: Iterable[str]) -> Table:
    """A list with a dash before each item."""
    made = Table.grid(padding=(0, 1))
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
    print(json.dumps(_finite(value), indent=2, ensure_ascii=False, allow_nan=False, default=str))


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    return value
