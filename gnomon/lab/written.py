"""What a record says, and by what kind of value. What is read is held to it: no reader meets a number that is none."""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gnomon.lab import parts
from gnomon.lab.columns import GROUPS, LENGTHS, RUNS

LARGEST = 2**63
"""Whole numbers are smaller, as those of tables are."""

SHOWN = 5
"""Faults of a record that a message names, at most."""


@dataclass(frozen=True)
class Part:
    """A value of a record: its kind, and whether it may be null, or not be there at all.

    kind: that of a column (`gnomon.lab.columns`), COUNT, the parts of a JSON object by name, among others that are
    not looked at, or a list with the kind of each item.
    """

    kind: "str | Mapping[str, Part] | list"
    null: bool = False
    absent: bool = False


TEXT, NUMBER, COUNT = Part("VARCHAR"), Part("DOUBLE"), Part("COUNT")


def maybe(kind: Any) -> Part:
    """What may be null, and may not be there."""
    return Part(kind, null=True, absent=True)


def _columns(columns: Mapping[str, str], **others: Part) -> dict[str, Part]:
    """The parts that are columns of a table, which may be lacking, and others."""
    own = {name: maybe(kind) for name, kind in columns.items() if name not in ("hash", "label", "seed")}
    return own | others


SHARES = dict.fromkeys(("exact", "token_accuracy"), NUMBER)
GROUP = _columns(GROUPS, name=TEXT, trained=Part("BOOLEAN"), examples=COUNT, length=maybe("COUNT"), **SHARES)
ROW = _columns(LENGTHS, length=COUNT, status=TEXT, groups=maybe([GROUP]))
COST = {name: kind for name, kind in RUNS.items() if name.endswith(("_per_step", "_per_second", "_seconds", "_bytes"))}

EXPERIMENT = {
    "encoding": TEXT,
    "options": Part({}),
    "task": Part({**dict.fromkeys(("kind", "name", "digest"), maybe("VARCHAR")), "options": maybe({})}),
    "model": Part(dict.fromkeys(("width", "depth", "heads"), COUNT)),
    "training": Part({**dict.fromkeys(("steps", "batch", "length"), COUNT), "learning_rate": NUMBER}),
    "measure": Part({"lengths": Part([Part("COUNT")]), "part": maybe("VARCHAR")}),
    "seed": Part("BIGINT"),
}

RECORD = {
    "hash": TEXT,
    "label": TEXT,
    "status": TEXT,
    "reason": Part("VARCHAR", null=True),
    **dict.fromkeys(("command", "started", "finished"), maybe("VARCHAR")),
    "experiment": Part(EXPERIMENT),
    "data": maybe({"name": maybe("VARCHAR"), "learned": maybe("DOUBLE"), "unigram_loss": maybe({})}),
    "parameters": Part(dict.fromkeys(("total", "encoding"), Part("BIGINT", null=True))),
    "buffers": maybe([TEXT]),
    "lengths": Part([ROW]),
    "cost": Part(_columns(COST, ms_per_step=Part("DOUBLE", null=True), peak_memory_bytes=Part("BIGINT", null=True))),
    "environment": Part({}),
    "environments": maybe([{"step": Part("BIGINT"), "environment": Part({})}]),
    "variants": maybe([{"options": Part({}), "lengths": Part([ROW])}]),
    "probes": maybe({}),
}

OF_TEXT, OF_ANSWERS = ("loss", "paired_loss"), ("loss", "exact")
"""The numbers that every length says which was measured."""


def faults(record: Mapping[str, Any]) -> list[str]:
    """What a record lacks, or says by another kind of value, by where it stands: a few of them, none where it is whole.

    ["label", "lengths[2].loss"]
    """
    found = [*_within(record, RECORD, "")] or [*_together(record)]
    return [*found[:SHOWN], *([f"{len(found) - SHOWN} more"] if len(found) > SHOWN else [])]


def loads(text: str | bytes) -> Any:
    """JSON as it is written here. ValueError for anything else: nan and infinity, and lists in lists without end."""
    try:
        return json.loads(text, parse_constant=_no_number)
    except RecursionError:
        raise ValueError("lists within lists without end") from None


def _no_number(word: str) -> None:
    raise ValueError(f"{word} is no number of JSON")


def _within(value: Any, parts: Mapping[str, Part], where: str) -> Iterator[str]:
    """Faults of a JSON object."""
    for name, part in parts.items():
        at = f"{where}.{name}".lstrip(".")
        if name in value:
            yield from _fits(value[name], part, at)
        elif not part.absent:
            yield at


def _fits(value: Any, part: Part, where: str) -> Iterator[str]:
    """Faults of one value."""
    if value is None and part.null:
        return
    if isinstance(part.kind, str):
        if not KINDS[part.kind](value):
            yield where
    elif isinstance(part.kind, list):
        [kind] = part.kind
        if not isinstance(value, list):
            yield where
            return
        for at, item in enumerate(value):
            yield from _fits(item, kind if isinstance(kind, Part) else Part(kind), f"{where}[{at}]")
    elif isinstance(value, Mapping):
        yield from _within(value, part.kind, where)
    else:
        yield where


def _together(record: Mapping[str, Any]) -> Iterator[str]:
    """Faults that are none of one value: what a kind of task, and what a length that was measured, has to say."""
    task, data = record["experiment"]["task"], record.get("data") or {}
    if task.get("kind", "text") not in parts.KINDS:
        yield "experiment.task.kind"
    answers = task.get("kind") == "problem"
    if answers:
        yield from _within(task, {"name": TEXT, "options": Part({})}, "experiment.task")
    for name, loss in (data.get("unigram_loss") or {}).items():
        yield from _fits(loss, Part("DOUBLE", null=True), f"data.unigram_loss.{name}")
    asked = dict.fromkeys(OF_ANSWERS if answers else OF_TEXT, NUMBER)
    tables = {"lengths": record["lengths"]}
    tables |= {f"variants[{at}].lengths": each["lengths"] for at, each in enumerate(record.get("variants") or ())}
    for where, rows in tables.items():
        for at, row in enumerate(rows):
            if row["status"] == "measured":
                yield from _within(row, asked, f"{where}[{at}]")


def _is_number(value: Any) -> bool:
    try:
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(float(value))
    except OverflowError:
        return False


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < LARGEST


KINDS = {
    "VARCHAR": lambda value: isinstance(value, str),
    "BOOLEAN": lambda value: isinstance(value, bool),
    "BIGINT": _is_whole,
    "COUNT": lambda value: _is_whole(value) and value >= 1,
    "DOUBLE": _is_number,
}
