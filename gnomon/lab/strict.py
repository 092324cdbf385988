"""Frozen dataclasses that come from a person: every field checked against its type, every unknown key named."""

import math
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from types import MappingProxyType
from typing import Any, TypeVar, get_origin, get_type_hints

from gnomon.errors import OptionError, shown, unknown
from gnomon.typed import typed

T = TypeVar("T")

DEPTH = 8
"""Lists within lists, at most: no option has as many."""


def check(instance: Any) -> None:
    """Check every field of a frozen dataclass against its type, and store it in its one canonical form.

    A whole number given for a float becomes a float, a list a tuple, a mapping a read-only sorted one, so that two
    spellings of one experiment have one hash. A value of another type is an OptionError.
    """
    hints = _hints(type(instance))
    for field in fields(instance):
        where = f"{type(instance).__name__}.{field.name}"
        object.__setattr__(instance, field.name, _value(getattr(instance, field.name), hints[field.name], where))


def read(kind: type[T], data: Any, where: str) -> T:
    """An instance of the dataclass `kind` from parsed JSON; `where` names it in errors."""
    if not isinstance(data, Mapping):
        raise OptionError(f"{where} is a table of options", given=shown(data), allowed="a JSON object")
    known = {field.name: field for field in fields(kind)}
    for key in data:
        if key not in known:
            raise unknown(f"option of {kind.__name__}", str(key), known)
    for name, field in known.items():
        if name not in data and field.default is MISSING and field.default_factory is MISSING:
            raise OptionError(f"{where} needs {name!r}", given=", ".join(map(str, data)) or "nothing")
    hints = _hints(kind)
    return kind(
        **{
            key: read(hints[key], value, f"{where}.{key}") if is_dataclass(hints[key]) else value
            for key, value in data.items()
        }
    )


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _value(value: Any, hint: Any, where: str) -> Any:
    if get_origin(hint) is Mapping and isinstance(value, Mapping):
        return _table(value, where)
    found = typed(value, hint, where)
    if isinstance(found, tuple):
        return tuple(_table(item, where) if isinstance(item, Mapping) else item for item in found)
    return found


def _table(value: Mapping, where: str) -> Mapping[str, Any]:
    return MappingProxyType({str(key): plain(value[key], f"{where}[{key!r}]") for key in sorted(value, key=str)})


def plain(value: Any, where: str, depth: int = DEPTH) -> Any:
    """`value` in the one form that JSON gives back: 10000.0 is 10000, a list is a tuple."""
    if isinstance(value, float) and math.isfinite(value) and value == int(value):
        return int(value)
    if value is None or isinstance(value, str | bool) or (isinstance(value, int | float) and _is_finite(value)):
        return value
    if isinstance(value, list | tuple) and depth:
        return tuple(plain(item, where, depth - 1) for item in value)
    raise OptionError(
        f"{where} cannot be written down",
        given=shown(value),
        allowed=f"finite numbers, text, true, false, null, lists of them, {DEPTH} within each other at most",
    )


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond every float
        return False
