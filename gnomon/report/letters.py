"""Text that a page and a picture can hold: U+FFFD stands for control characters, half letters and odd ends of lines."""

import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import TypeVar

T = TypeVar("T")

NONE = re.compile("[^\t\n\r\x20-\u2027\u202a-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 knows no character for. Vega draws it, and the drawing can then be read by nothing: vl-convert, which
measures text so, ends the process. And U+2028, U+2029: a text of Vega's expressions may not hold them."""


def readable(value: T) -> T:
    """The same with such letters replaced in all text: of lists, tables and dataclasses, names and values."""
    if isinstance(value, str):
        return NONE.sub("\ufffd", value)
    if isinstance(value, Mapping):
        return {readable(name): readable(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(map(readable, value))
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{field.name: readable(getattr(value, field.name)) for field in fields(value)})
    return value
