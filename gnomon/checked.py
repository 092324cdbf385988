"""Calls and classes that check what kind of arguments they are given, by their annotations, before they do anything."""

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

import torch

from gnomon.typed import typed

F = TypeVar("F", bound=Callable)


def checked(function: F) -> F:
    """`function`, whose arguments are checked against their annotations at each call: OptionError for another kind.

    Of a class, those of its constructor. A compiler that traces the call sees the function alone.
    """
    if inspect.isclass(function):
        function.__init__ = checked(function.__init__)
        return function

    @functools.wraps(function)
    def call(*args, **options):
        if torch.compiler.is_compiling():
            return function(*args, **options)
        # A wrong number of arguments, or a wrong name, is Python's to say.
        known = _annotated(function)
        by_place = [known.take(name, value) for name, value in zip(known.names(len(args)), args, strict=True)]
        return function(*by_place, **{name: known.take(name, value) for name, value in options.items()})

    return call


@dataclass(frozen=True)
class _Annotated:
    """What the annotations of a function say."""

    name: str
    positional: tuple[str, ...]
    rest: str | None
    """The name of `*rest`, where there is one."""
    hints: dict[str, Any]
    exact: dict[str, frozenset[type]]
    """Types whose objects need no further look."""

    def names(self, count: int) -> list[str]:
        """The names of `count` arguments that are given by their place."""
        return [*self.positional[:count], *[self.rest] * (count - len(self.positional))]

    def take(self, name: str | None, value: Any) -> Any:
        """The argument `name` in the form that its annotation has for it."""
        if name not in self.hints or type(value) in self.exact[name]:
            return value
        return typed(value, self.hints[name], f"{self.name}, {name}")


@functools.cache
def _annotated(function: Callable) -> _Annotated:
    parameters = inspect.signature(function).parameters.values()
    hints = get_type_hints(function)
    by_place = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    rest = [p.name for p in parameters if p.kind is inspect.Parameter.VAR_POSITIONAL]
    return _Annotated(
        function.__qualname__.removesuffix(".__init__"),
        tuple(p.name for p in parameters if p.kind in by_place),
        rest[0] if rest else None,
        hints,
        {name: _exact(hint) for name, hint in hints.items()},
    )


def _exact(hint: Any) -> frozenset[type]:
    """The classes among the kinds of a hint; not float, whose nan is no number, nor int, which may be too large."""
    kinds = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    kinds = [getattr(kind, "array_type", kind) for kind in kinds]
    return frozenset(kind for kind in kinds if isinstance(kind, type) and kind not in (int, float))
