"""One value against one type hint: what people write in files, on command lines and in calls, before it is used."""

import math
import operator
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from gnomon.errors import OptionError, shown

HOW = {
    "Encoding": "make one: gnomon.encodings.create('rope', Shape(width=64, heads=4, head_dim=16))",
    "Positions": "make them: gnomon.positions.sequence, packed, padded, grid, timed or randomised",
    "Mask": "give gnomon.CAUSAL, gnomon.BIDIRECTIONAL or gnomon.Mask(causal=..., window=...)",
    "Past": "make one: gnomon.Cache(capacity=1024)",
    "Shape": "make one: gnomon.Shape(width=64, heads=4)",
}
"""How to make an object of ours."""


LARGEST = 2**63 - 1
"""The largest whole number that a tensor's size, or an entry of it, can be."""


def typed(value: Any, hint: Any, where: str) -> Any:
    """`value` in the one form that `hint` has for it, or an OptionError that names it by `where`.

    A whole number given for a float becomes a float, a list a tuple; nan and inf are no numbers here, and True is no 1.
    A tensor's annotation asks for a tensor; its shape is for the code that knows the sizes.
    """
    kinds = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    for kind in kinds:
        fits, made = _fitted(value, kind, where)
        if fits:
            return made
    kind = next(kind for kind in kinds if kind is not NoneType)
    if get_origin(kind) is Literal:
        allowed = ", ".join(map(str, get_args(kind)))
        raise OptionError(
            f"{where} is one of a few names", given=shown(value), allowed=allowed, do="choose one of those allowed"
        )
    how = next((HOW[name] for kind in kinds if (name := getattr(kind, "__name__", "")) in HOW), None)
    allowed = " or ".join(_described(kind) for kind in kinds if kind is not NoneType)
    raise OptionError(
        f"{where} has a value of the wrong kind", given=shown(value), allowed=allowed, do=how or f"give {allowed}"
    )


def _fitted(value: Any, kind: Any, where: str) -> tuple[bool, Any]:
    """Whether `value` is of a kind, and the form that the kind has for it."""
    origin = get_origin(kind)
    if kind is Any or kind is NoneType:
        return kind is Any or value is None, value
    if origin is Literal:
        return isinstance(value, str | int | bool) and value in get_args(kind), value
    if origin is type:
        return isinstance(value, type) and issubclass(value, get_args(kind)), value
    if origin is tuple:
        return isinstance(value, list | tuple), _items(value, kind, where)
    if origin is Sequence:
        # A string is a sequence of strings, which nobody means.
        return isinstance(value, Sequence) and not isinstance(value, str), _items(value, kind, where)
    if kind is bool:
        return isinstance(value, bool), value
    if kind is int:
        whole = isinstance(value, Integral) and not isinstance(value, bool) and abs(value) <= LARGEST
        return whole, operator.index(value) if whole else value
    if kind is float:
        real = isinstance(value, Real) and not isinstance(value, bool) and _finite(value)
        return real, float(value) if real else value
    kind = getattr(kind, "array_type", origin or kind)
    return isinstance(value, kind), value


def _finite(value: Real) -> bool:
    try:
        return math.isfinite(float(value))
    except OverflowError:
        return False


def _items(value: Any, kind: Any, where: str) -> Any:
    """The items of a list or tuple as the kind wants them: as a tuple where it is one."""
    if not isinstance(value, list | tuple):
        return value
    kinds = [inner for inner in get_args(kind) if inner is not Ellipsis]
    if len(kinds) > 1 and len(kinds) != len(value):
        described = f"{len(kinds)} values"
        raise OptionError(f"{where} has another number of values", given=shown(value), allowed=described)
    each = kinds * len(value) if len(kinds) == 1 else kinds
    return tuple(typed(item, inner, where) for item, inner in zip(value, each, strict=True))


def _described(kind: Any) -> str:
    names = {int: "a whole number of 64 bits", float: "a finite number", str: "text", bool: "true or false"}
    origin = get_origin(kind)
    if origin in (tuple, Sequence):
        each = names.get(get_args(kind)[0]) if get_args(kind) else None
        return "a list" if each is None else f"a list, each {each}"
    if origin is Mapping:
        return "a table of options"
    if origin is type:
        return f"a class that inherits from {get_args(kind)[0].__name__}"
    kind = getattr(kind, "array_type", kind)
    name = getattr(kind, "__name__", str(kind))
    return names.get(kind, f"{'an' if name[0] in 'AEIOU' else 'a'} {name}")
