"""The tensors that a value holds: in fields of dataclasses, in tuples and lists, and in what functions enclose."""

import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields, is_dataclass, replace
from types import CellType, FunctionType
from typing import Any, TypeVar

from torch import Tensor

from gnomon.backends.way import Seen
from gnomon.positions import Positions

T = TypeVar("T")


def tensors(value: object) -> list[Tensor]:
    """Those that it holds, each once, always in the same order."""
    found: dict[int, Tensor] = {}
    changed(value, lambda tensor: found.setdefault(id(tensor), tensor))
    return [*found.values()]


def replaced(value: T, old: Sequence[Tensor], new: Sequence[Tensor]) -> T:
    """The same value with each of the `old` tensors that it holds replaced by the new one."""
    by = dict(zip(map(id, old), new, strict=True))
    return changed(value, lambda tensor: by.get(id(tensor), tensor))


def changed(value: T, change: Callable[[Tensor], Tensor], done: dict[int, Any] | None = None) -> T:
    """The same value with `change` of each tensor; what holds no tensor that changes is the same object.

    Positions, modules and what else is no plain value are left as they are, and whatever they hold.
    """
    if isinstance(value, Tensor):
        return change(value)
    kind = type(value)
    names = _fields(kind)
    if names is None and kind is not FunctionType and kind not in (tuple, list):
        return value
    done = {} if done is None else done
    if id(value) not in done:
        # What encloses itself is met on the way; it is left as it is.
        done[id(value)] = value
        if names is not None:
            done[id(value)] = _of_fields(value, names, change, done)
        elif kind is FunctionType:
            done[id(value)] = _enclosing(value, change, done)
        else:
            inner = [changed(one, change, done) for one in value]
            done[id(value)] = value if _same(value, inner) else kind(inner)
    return done[id(value)]


@functools.cache
def _fields(kind: type) -> tuple[str, ...] | None:
    """The names of the fields of a dataclass that may hold tensors."""
    left = not is_dataclass(kind) or issubclass(kind, Positions | Seen)
    return None if left else tuple(field.name for field in fields(kind))


def _same(some: Iterable[object], others: Iterable[object]) -> bool:
    return all(one is other for one, other in zip(some, others, strict=True))


def _of_fields(value: Any, names: tuple[str, ...], change: Callable[[Tensor], Tensor], done: dict[int, Any]) -> Any:
    found = {}
    for name in names:
        held = getattr(value, name)
        other = changed(held, change, done)
        if other is not held:
            found[name] = other
    return replace(value, **found) if found else value


def _enclosing(function: FunctionType, change: Callable[[Tensor], Tensor], done: dict[int, Any]) -> FunctionType:
    try:
        held = [cell.cell_contents for cell in function.__closure__ or ()]
    except ValueError:
        # A name that has no value yet.
        return function
    inner = [changed(one, change, done) for one in held]
    if _same(held, inner):
        return function
    cells = tuple(map(CellType, inner))
    other = FunctionType(function.__code__, function.__globals__, function.__name__, function.__defaults__, cells)
    other.__kwdefaults__ = function.__kwdefaults__
    return other
