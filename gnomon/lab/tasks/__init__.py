"""The tasks with answers: one file each, a literal example in its docstring. No torch until one is made."""

import inspect
from importlib import import_module
from typing import TYPE_CHECKING, Literal, get_type_hints

from gnomon import user_code
from gnomon.errors import OptionError, unknown
from gnomon.typed import typed

if TYPE_CHECKING:
    from gnomon.lab.experiment import Problem
    from gnomon.lab.task import Task

TASKS: dict[str, str] = {
    "addition": "Addition",
    "multiplication": "Multiplication",
    "copy": "Copy",
    "reverse": "Reverse",
    "sort": "Sort",
    "count": "Count",
    "parity": "Parity",
    "recall": "Recall",
    "passkey": "Passkey",
    "jsonl": "Jsonl",
    "masked": "Masked",
    "distance": "Distance",
    "adjacency": "Adjacency",
    "shortcut": "Shortcut",
    "repeated": "Repeated",
    "images": "Images",
    "ecg": "Ecg",
    "series": "Series",
}
"""Name -> the class of that name's file in this folder."""

READS: dict[str, Literal["file", "text"]] = {"jsonl": "file", "masked": "text"}
"""Those that read data from `path`: a file that has to be given, or a text (a file, a folder, or the packaged one)."""


def named(name: str) -> "type[Task]":
    """The class of a task that comes with gnomon, or of one in a user's file: `path/to/file.py:Class`."""
    if user_code.is_class(name):
        from gnomon.lab.tasks import user

        return user.load(name)
    if name not in TASKS:
        raise unknown("task", name, TASKS)
    return getattr(import_module(f"gnomon.lab.tasks.{name}"), TASKS[name])


def create(problem: "Problem") -> "Task":
    """The task that an experiment means. OptionError for an unknown name or option, or a value out of range."""
    kind = named(problem.name)
    check_options(problem)
    known = options_of(kind)
    given = dict(problem.options)
    if problem.path is not None:
        if "path" not in known:
            raise OptionError(f"{problem.label} reads no file", given=f"path {problem.path}", do="leave path out")
        given["path"] = problem.path
    missing = [name for name, default in known.items() if default is inspect.Parameter.empty and name not in given]
    if missing:
        asked = f"{kind.__name__} needs {missing[0]}"
        raise OptionError(asked, given="without " + ", ".join(missing), allowed=", ".join(known))
    hints = get_type_hints(kind.__init__)
    given = {
        name: typed(value, hints[name], f"{kind.__name__}.{name}") if name in hints else value
        for name, value in given.items()
    }
    with user_code.guarded(kind):
        made = kind(**given)
    if user_code.file_of(kind) is not None:
        from gnomon.lab.tasks import user

        user.made(made, kind)
    return made


def check_options(problem: "Problem") -> None:
    """OptionError for an option that the task does not have."""
    kind = named(problem.name)
    known = options_of(kind)
    for option in problem.options:
        if option not in known:
            raise unknown(f"option of {kind.__name__}", option, known)


def options_of(kind: "type[Task]") -> dict[str, object]:
    """The options of a task's constructor with their default values; `Parameter.empty` where one has none."""
    return {name: parameter.default for name, parameter in inspect.signature(kind).parameters.items()}
