"""JSON as it is after an accident, an edit by hand, or another version: one value of it is something else."""

import copy
import json
import re
from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

ODD = (
    *(None, True, False, 0, -1, 1, 2, 16, 1.5, -0.0, 1e308, 1e-320, 2**31, 2**53 + 1, 2**63, -(2**63) - 1, 10**400),
    *(float("nan"), float("inf"), -float("inf"), "", " ", "1", "nan", "rope", "learned", "Rope", "text", "problem"),
    *("copy", "finished", "failed", "diverged", "measured", "refused", "\x00", "\ud800", "</script>", "a" * 3000),
    *("../../x", "mine.py:Mine", "gone.py:Mine", "transformer", "convolution", "{x}", "[red]", "2026-13-45T99:00:00"),
    *([], [[]], [None], [1, 1], ["x"], {}, {"": None}, {"length": 1}, {"a": {"b": {"c": []}}}, [{}] * 3),
)
"""Other kinds of values, other values of the kind, names that mean something elsewhere."""


def deep() -> Any:
    """What is within other things so often that no recursion reaches it."""
    made: Any = 1
    for _ in range(600):
        made = [made]
    return made


places = st.floats(0, 1, exclude_max=True)
"""Which of the values of a document, as a share of them: it means something in each."""


@st.composite
def damages(draw: st.DrawFn) -> list[tuple[float, str, Any]]:
    """One to three changes: the place, what is done there, and with what."""
    kinds = st.sampled_from(("replace", "replace", "replace", "remove", "add", "deepen", "double"))
    value = st.one_of(st.sampled_from(ODD), st.integers(), st.floats(), st.text(max_size=5))
    return draw(st.lists(st.tuples(places, kinds, value), min_size=1, max_size=3))


def damaged(document: Any, changes: list[tuple[float, str, Any]]) -> Any:
    """A copy of a document with the changes made in it, one after another."""
    made = copy.deepcopy(document)
    for place, kind, value in changes:
        known = [*_paths(made)]
        path = known[int(place * len(known))]
        if not path:
            continue
        holder = made
        for key in path[:-1]:
            holder = holder[key]
        last = path[-1]
        if kind == "remove":
            del holder[last]
        elif kind == "add" and isinstance(holder, dict):
            holder["added"] = value
        elif kind == "double" and isinstance(holder, list):
            holder.append(copy.deepcopy(holder[last]))
        else:
            holder[last] = deep() if kind == "deepen" else value
    return made


def _paths(document: Any, path: tuple = ()) -> Iterator[tuple]:
    """Where each value of a document is."""
    yield path
    inner = (
        document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ()
    )
    for key, value in inner:
        yield from _paths(value, (*path, key)) if len(path) < 40 else ()


TORN = (
    *("cut", "null", "byte order", "utf-16", "twice", "binary", "latin", "deep", "empty", "newlines", "comma"),
    *("digit", "bit", "digit", "bit"),
)
"""What becomes of the bytes of a file. The last ones leave it readable: only what it says is another."""


def torn(text: bytes, how: str, place: float) -> bytes:
    """The bytes of a file after that."""
    at = int(place * len(text))
    return {
        "cut": text[:at],
        "null": text[:at] + b"\0" * 64 + text[at + 64 :],
        "byte order": b"\xef\xbb\xbf" + text,
        "utf-16": text.decode(errors="replace").encode("utf-16"),
        "twice": text + text,
        "binary": text[:at] + b"\xff\xfe\x80" + text[at:],
        "latin": text[:at] + "é".encode("latin-1") + text[at:],
        "deep": b"[" * 100_000,
        "empty": b"",
        "newlines": text.replace(b"\n", b"\r\n"),
        "comma": text[:at] + b",," + text[at:],
        "digit": _other_digit(text, at),
        "bit": text[:at] + bytes([text[at] ^ 1 << at % 8]) + text[at + 1 :] if text else text,
    }[how]


def _other_digit(text: bytes, at: int) -> bytes:
    """The next digit from a place on, or the first one, is another."""
    found = re.search(rb"[0-9]", text[at:]) or re.search(rb"[0-9]", text)
    if found is None:
        return text
    at = found.start() + (at if found.string is not text else 0)
    return text[:at] + b"%d" % ((text[at] - ord("0") + 1 + at % 9) % 10) + text[at + 1 :]


def to_text(document: Any) -> bytes:
    """As Python writes JSON: nan, numbers of any size, half characters as escapes."""
    return json.dumps(document).encode()
