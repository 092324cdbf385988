"""`gnomon list --tasks`: what a model can be trained on besides text, and the options of each."""

import inspect
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from gnomon.commands.output import Screen


def described() -> list[dict[str, Any]]:
    """Each task that comes with gnomon: name, title, an example, and its options with their defaults."""
    from gnomon.lab.tasks import TASKS, named, options_of

    found = []
    for name in TASKS:
        kind = named(name)
        title, _, more = inspect.cleandoc(import_module(kind.__module__).__doc__ or "").partition("\n")
        example = [line.strip() for line in more.splitlines() if line.startswith("    ")]
        options = {
            option: None if default is inspect.Parameter.empty else default
            for option, default in options_of(kind).items()
        }
        needed = [option for option, default in options_of(kind).items() if default is inspect.Parameter.empty]
        found.append({"name": name, "title": title, "example": example, "options": options, "needed": needed})
    return found


def show_tasks(found: Sequence[dict[str, Any]]) -> None:
    """Name, title and options of each."""
    out = Screen()
    for at, task in enumerate(found):
        if at:
            out.print()
        told = [f"{option}={_given(option, default, task)}" for option, default in task["options"].items()]
        out.pairs([(task["name"], task["title"]), *([("", " ".join(told))] if told else [])])
    out.print(
        "\ngnomon compare --task NAME OPTION=VALUE ...; what is `none` is left out, and `...` has to be given. "
        "docs/tasks.md has an example of each, and how to make your own."
    )


def _given(option: str, default: Any, task: dict[str, Any]) -> str:
    """A default as the command line takes it; `...` for what has to be given, `none` for what is left out."""
    if option in task["needed"]:
        return "..."
    if default is None or default == ():
        return "none"
    if isinstance(default, bool):
        return str(default).lower()
    return ",".join(map(str, default)) if isinstance(default, tuple) else str(default)
