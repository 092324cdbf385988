"""One value against one type hint: what people write in files and on command lines, checked before it is used."""

import math
from collections.abc import Mapping
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from gnomon.errors import OptionError


def typed(value: Any, hint: Any, where: str) -> Any:
    """`value` in the one form that `hint` has for it, or an OptionError that names it by `where`.

    A whole number given for a float becomes a float, a list a tuple; nan and inf are no numbers here, and True is no 1.
    """
    if get_origin(hint) in (Union, UnionType):
        if value is None and NoneType in get_args(hint):
            return None
        hint = next(inner for inner in get_args(hint) if inner is not NoneType)
    if get_origin(hint) is Literal:
        if value in get_args(hint):
            return value
        allowed = ", ".join(map(str, get_args(hint)))
        raise OptionError(f"{where} is one of a few names", given=repr(value), allowed=allowed)
    if get_origin(hint) is tuple and isinstance(value, list | tuple):
        return tuple(typed(item, get_args(hint)[0], where) for item in value)
    if hint is float and isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        return float(value)
    exact = isinstance(hint, type) and hint is not float and isinstance(value, hint)
    if exact and (hint is bool or not isinstance(value, bool)):
        return value
    raise OptionError(f"{where} has a value of the wrong kind", given=repr(value), allowed=_described(hint))


def _described(hint: Any) -> str:
    names = {int: "a whole number", float: "a finite number", str: "text", bool: "true or false"}
    if get_origin(hint) is tuple:
        return f"a list of {names.get(get_args(hint)[0], 'values').removeprefix('a ')}s"
    if get_origin(hint) is Mapping:
        return "a table of options"
    return names.get(hint, getattr(hint, "__name__", str(hint)))
