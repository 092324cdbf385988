"""A task in a user's own file, named `path/to/file.py:Class`, or by the file alone where it defines one."""

import inspect
from pathlib import Path
from typing import Any

from gnomon import user_code
from gnomon.errors import OptionError, UserError, shown, unknown
from gnomon.lab.task import Group, Task
from gnomon.typed import typed
from gnomon.user_code import where

DO = "name a class that inherits from gnomon.lab.task.Task as path/to/file.py:Class"
DECLARED = {"vocabulary": int, "features": int | None, "causal": bool, "groups": tuple[Group, ...]}
"""What a task says of itself, and the kind of each."""


def load(name: str) -> type[Task]:
    """The class that `path/to/file.py:Class` names; without a class, the only task that the file itself defines.

    What is wrong with the file or the class is a UserError naming its line.
    """
    file, _, kind = name.rpartition(":") if ".py:" in name else (name, "", "")
    path = Path(file)
    if not path.is_file():
        raise OptionError("no such file with a task", given=name, allowed="path/to/file.py:Class", do=DO)
    found = user_code.run(path)
    classes = {
        key: value
        for key, value in found.items()
        if isinstance(value, type) and issubclass(value, Task) and value.__module__ == found["__name__"]
    }
    if not kind and len(classes) != 1:
        allowed = ", ".join(f"{path}:{key}" for key in classes) or "a class that inherits from gnomon.lab.task.Task"
        raise OptionError("say which class of the file is meant", given=name, allowed=allowed, do=DO)
    kind = kind or next(iter(classes))
    if kind not in found:
        raise unknown(f"task in {path}", kind, classes)
    if kind not in classes:
        raise OptionError(f"{kind} of {path} is no task defined there", given=shown(found[kind]), do=DO)
    task = classes[kind]
    if inspect.isabstract(task):
        given = "without " + ", ".join(sorted(task.__abstractmethods__))
        raise OptionError(f"{where(task)}: {kind} lacks what a task does", given=given, do="define what is missing")
    _check_options(task)
    return task


def made(task: Any, kind: type[Task]) -> None:
    """UserError, with the line, unless what a task of the user's own says of itself is of the right kind."""
    for name, hint in DECLARED.items():
        with user_code.guarded(kind):
            value = getattr(task, name, None)
        try:
            typed(value, hint, f"{name} of {kind.__name__}")
        except OptionError as error:
            asked = f"{where(kind, name)}: {error.asked}"
            raise OptionError(asked, given=error.given, allowed=error.allowed, do=f"set {name} in the class") from None
    for name, value in (("vocabulary", task.vocabulary), ("features", task.features)):
        if value is not None and value < 1:
            raise UserError(f"{where(kind, name)}: {name} of {kind.__name__}", given=value, allowed="1 or more")


def _check_options(kind: type[Task]) -> None:
    for parameter in inspect.signature(kind).parameters.values():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise OptionError(
                f"{where(kind, '__init__')}: the constructor of {kind.__name__} names its options one by one",
                given=str(parameter),
                allowed="options with default values",
            )
