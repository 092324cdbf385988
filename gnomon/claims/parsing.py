"""What the file of a record says, held to what a record can say: its names, their kinds, and text that can be shown."""

import json
import math
import re
import unicodedata
from collections.abc import Mapping
from datetime import datetime
from typing import Any

HASH = "[0-9a-f]{40}|[0-9a-f]{64}"
"""A commit, in either kind of repository."""

NAMES = ("id", "numbers", "recorded_at", "command", "commit", "rule_file", "rule_commit", "rule_sha256", "versions")
DIGEST = "sha256"
"""The one name that a record may lack."""

FORMS = {
    "commit": rf"(?:{HASH})(?:\+changes)?",
    "rule_commit": HASH,
    "rule_sha256": "[0-9a-f]{64}",
    DIGEST: "[0-9a-f]{64}",
}
"""What some of its texts look like."""

MAY_LACK = ("commit", DIGEST)
"""Which of them may be null."""

DEPTH = 3
"""How deep numbers go: names, lists, rows."""


def parsed(id: str, held: bytes) -> dict[str, Any]:
    """What the record of a claim says, by name, from what its file holds.

    ValueError, in a line that says why, for what is no JSON, names one thing twice, has nan or infinities, text that
    is not to be printed, other names than a record has, or values of another kind.
    """
    try:
        found = json.loads(held.decode(), object_pairs_hook=_once)
    except RecursionError:
        raise ValueError("lists within lists without end") from None
    if not isinstance(found, dict):
        raise ValueError(f"no object with {', '.join(NAMES)}")
    lacking, more = [name for name in NAMES if name not in found], sorted(found.keys() - {*NAMES, DIGEST})
    if lacking:
        raise ValueError(f"it lacks {', '.join(lacking)}")
    if more:
        raise ValueError(f"it has {more[0]!r}, and no record has")
    _texts(id, found)
    for name in ("numbers", "versions"):
        if not isinstance(found[name], dict):
            raise ValueError(f"{name} is no object")
        _plain(found[name], name, DEPTH)
    if not all(isinstance(value, str) for value in found["versions"].values()):
        raise ValueError("versions are not all text")
    return found


def _texts(id: str, found: Mapping[str, Any]) -> None:
    for name, value in found.items():
        if name in ("numbers", "versions") or (value is None and name in MAY_LACK):
            continue
        if not isinstance(value, str) or not value:
            raise ValueError(f"{name} is no text")
        _plain(value, name, 0)
        if name in FORMS and not re.fullmatch(FORMS[name], value):
            raise ValueError(f"{name} is not hexadecimal, or of another length")
    if found["id"] != id:
        raise ValueError(f"it is one of {found['id']}")
    try:
        aware = datetime.fromisoformat(found["recorded_at"]).tzinfo is not None
    except ValueError:
        aware = False
    if not aware:
        raise ValueError("recorded_at is no time with its zone, as ISO 8601 has it")


def _plain(value: Any, where: str, depth: int) -> None:
    """ValueError for what cannot be shown or reckoned with, at any depth."""
    if isinstance(value, str) and any(unicodedata.category(each)[0] == "C" for each in value):
        raise ValueError(f"{where} has a character that cannot be printed")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{where} has a number that is not finite")
    # Objects are outermost alone; lists may lie in them, and rows in lists.
    if (isinstance(value, list) and depth == 0) or (isinstance(value, dict) and depth != DEPTH):
        raise ValueError(f"{where} has more within it than lists of rows")
    if isinstance(value, dict):
        for name, inner in value.items():
            _plain(name, f"a name in {where}", 0)
            _plain(inner, where, depth - 1)
    elif isinstance(value, list):
        for inner in value:
            _plain(inner, where, depth - 1)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(name for name in names if names.count(name) > 1)!r} stands there twice")
    return found
