"""What experiments and tasks are called where people read of them."""

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

LABEL = 60
"""Letters of one value on a label."""


def task_label(task: Mapping[str, Any]) -> str:
    """What a task given as JSON is called: `text`, or its name and options."""
    return "text" if task.get("kind", "text") == "text" else label(task["name"], task["options"])


def label(name: str, options: Mapping[str, Any]) -> str:
    name = _short(PurePath(name).name.rpartition(":")[2])
    return " ".join([name, *(f"{key}={_short(value)}" for key, value in options.items())])


def _short(value: Any) -> str:
    """A value on a label: what no terminal and no figure can show as a letter is left out, and so is too much of it."""
    text = ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    text = "".join(letter if letter.isprintable() else "?" for letter in text)
    return text if len(text) <= LABEL else f"{text[: LABEL - 3]}..."
