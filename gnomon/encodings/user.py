"""An encoding in a user's own file, named `path/to/file.py:Class`, or by the file alone where it defines one."""

import inspect
from dataclasses import fields
from functools import cached_property
from typing import Any, get_type_hints

from gnomon import user_code
from gnomon.encoding import Domain, Encoding, Shape
from gnomon.errors import OptionError, UserError, shown, unknown
from gnomon.typed import typed
from gnomon.user_code import guarded, where

SIZES = {field.name for field in fields(Shape)}
DECLARED = {name: hint for name, hint in get_type_hints(Encoding).items() if name in vars(Encoding) and name[0] != "_"}
DECLARED["__doc__"] = str | None
"""What a class says of itself, and the kind of each."""
OF_THE_CLASS = {"variants", "bibtex", "causal", "__doc__"}
"""What is asked of the class, before there is an object."""


def load(name: str) -> type[Encoding]:
    """The class that `path/to/file.py:Class` names; without a class, the only encoding that the file itself defines.

    What is wrong with the file or the class is a UserError naming its line.
    """
    path, kind = user_code.file_and_class(name)
    found = user_code.run(path)
    classes = {
        key: value
        for key, value in found.items()
        if isinstance(value, type) and issubclass(value, Encoding) and value.__module__ == found["__name__"]
    }
    if not kind and not classes:
        raise OptionError("the file defines no encoding of its own", given=name, do=user_code.DO)
    if not kind and len(classes) > 1:
        allowed = ", ".join(f"{path}:{key}" for key in classes)
        raise OptionError("say which class of the file is meant", given=name, allowed=allowed, do=user_code.DO)
    kind = kind or next(iter(classes))
    if kind not in found:
        raise unknown(f"encoding in {path}", kind, classes)
    if kind not in classes:
        asked = f"{kind} of {path} is no encoding defined there"
        raise OptionError(asked, given=shown(found[kind]), do=user_code.DO)
    check(classes[kind])
    return classes[kind]


def check(kind: type[Encoding]) -> None:
    """UserError, with the line, unless a user's class is what an encoding has to be. Nothing of it is used before."""
    if inspect.isabstract(kind):
        given = "without " + ", ".join(sorted(kind.__abstractmethods__))
        raise OptionError(f"{where(kind)}: {kind.__name__} is abstract", given=given, do="define what is missing")
    declared(kind, kind)
    for name, hook in vars(Encoding).items():
        if inspect.isfunction(hook) and not callable(getattr(kind, name)):
            raise OptionError(
                f"{where(kind, name)}: {name} of {kind.__name__} is a method",
                given=shown(getattr(kind, name)),
                allowed=f"def {name}{inspect.signature(hook)}"[:100],
            )
    options = _options(kind)
    for given in kind.variants if isinstance(kind.variants, list | tuple) else ():
        for option in given:
            if option not in options:
                told = unknown(f"option of {kind.__name__} in its variants", str(option), options)
                raise OptionError(f"{where(kind, 'variants')}: {told.asked}", allowed=told.allowed, do=told.do)


def declared(thing: Any, kind: type[Encoding]) -> None:
    """UserError, with the line, unless all that a class, or an object of it, says of itself is of the right kind."""
    for name, hint in DECLARED.items():
        with guarded(kind):
            value = getattr(thing, name)
        if thing is kind and isinstance(value, property | cached_property) and name not in OF_THE_CLASS:
            continue  # a property: what it says is known of an object
        try:
            typed(value, hint, f"{name} of {kind.__name__}")
        except OptionError as error:
            asked = f"{where(kind, name)}: {error.asked}"
            raise OptionError(asked, given=error.given, allowed=error.allowed, do=error.do) from None
        if isinstance(value, Domain) and not _is_range(value):
            raise OptionError(
                f"{where(kind, name)}: {name} of {kind.__name__} is no range of positions",
                given=value,
                allowed="lowest up to highest, numbers; axes a whole number from 1, or None",
            )


def made(encoding: Any, kind: type[Encoding]) -> None:
    """UserError, with the line, unless the constructor of a user's class has made an encoding of it."""
    if not isinstance(encoding, kind):
        given = shown(encoding)
        raise OptionError(f"{where(kind, '__new__')}: {kind.__name__}(...) is an object of the class", given=given)
    if "_parameters" not in vars(encoding):
        raise UserError(
            f"{where(kind, '__init__')}: the constructor of {kind.__name__} does not call that of Encoding",
            do="begin it with super().__init__()",
        )
    declared(encoding, kind)


def _options(kind: type[Encoding]) -> list[str]:
    """The names of the constructor's options. UserError, with the line, where they cannot be known."""
    try:
        get_type_hints(kind.__init__)
    except Exception as error:  # whatever an annotation that is text does
        given = f"{type(error).__name__}: {error}"
        asked = f"{where(kind, '__init__')}: an annotation of the constructor of {kind.__name__} means something"
        raise OptionError(asked, given=given) from error
    with guarded(kind):
        taken = inspect.signature(kind).parameters
    for parameter in taken.values():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise OptionError(
                f"{where(kind, '__init__')}: the constructor of {kind.__name__} names its options one by one",
                given=str(parameter),
                allowed=f"sizes ({', '.join(sorted(SIZES))}), and options with default values",
            )
    return [name for name in taken if name not in SIZES]


def _is_range(domain: Domain) -> bool:
    ends = [domain.lowest, domain.highest]
    numbers = all(isinstance(end, int | float) and not isinstance(end, bool) for end in ends) and ends == sorted(ends)
    axes = domain.axes is None or (isinstance(domain.axes, int) and domain.axes >= 1)
    return numbers and axes and isinstance(domain.whole, bool)
