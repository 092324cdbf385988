"""The page of tasks, from their docstrings: `python -m tests.task_pages` writes docs/tasks.md, and a test holds it."""

import importlib
import inspect
import re
from pathlib import Path
from typing import get_args

from gnomon.lab.tasks import TASKS, named, options_of

FILE = Path(__file__).resolve().parent.parent / "docs" / "tasks.md"

HEAD = '''# Tasks

`gnomon compare` trains on text, and by `--task NAME` on a task whose answers are right or wrong; options follow it:

    gnomon compare --task copy alphabet=10 unique=true --length 8 --encodings rope alibi

`--length` is the longest that is trained on, and every task says below what it counts. `--lengths` are measured. The
report has the share of answers that are right as a whole and token by token, beside what guessing gives, and calls a
model learned that is right in nine answers of ten at the training length, unless the task says otherwise.

- [Pairs of your own](#pairs-of-your-own), a JSON object a line
- [A task of your own](#a-task-of-your-own), a class in a file
- [Tasks that come with gnomon](#tasks-that-come-with-gnomon)

## Pairs of your own

A file with a JSON object a line, `input` and `target`, both text:

    {"input": "2+2", "target": "4"}
    {"input": "17+5", "target": "22"}

    gnomon compare --task jsonl path=pairs.jsonl --length 5 --lengths 3 5

A length counts the bytes of an input. The hash of a line decides whether it is trained on, in eight cases of ten, or is
of the validation or the test: a hundred lines of every length that is measured are the least that tells anything. More
is [below](#jsonl).

## A task of your own

A class that inherits from `gnomon.lab.task.Task`, in a file, which is run as code:

```python
"""Which of the digits that were read is the largest?  3 1 4 <ask> -> 4"""

import torch

from gnomon.lab.seeds import generator
from gnomon.lab.task import IGNORED, Batch, Chance, Task

ASK = 10


class Largest(Task):
    """The largest of `length` digits below `digits`."""

    vocabulary = 11  # ten digits and the question

    def __init__(self, digits: int = 10):
        self.digits = digits

    def batch(self, seed, step, count, length):
        return self._drawn(generator("batch", seed, step), count, length)

    def examples(self, part, length, count):
        return self._drawn(generator(part, length), count, length)

    def chance(self, length):
        # The commonest answer is the largest digit.
        share = 1 - (1 - 1 / self.digits) ** length
        return Chance(exact=share, token=share)

    def _drawn(self, random, count, length):
        read = torch.randint(self.digits, (count, length), generator=random)
        inputs = torch.cat([read, torch.full((count, 1), ASK)], dim=1)
        targets = torch.full_like(inputs, IGNORED)  # nothing is asked of the digits themselves
        targets[:, -1] = read.amax(dim=1)
        return Batch(inputs, targets)
```

    gnomon compare --task largest.py:Largest digits=8 --length 6 --lengths 6 12

- `batch` and `examples` give the same at every call with the same arguments, on every machine: a run that was killed
  goes on as if it had not been, and all encodings are asked the same. So draw from `generator(...)`, never from
  `torch.randint` alone. Examples are none of those that were trained on, as far as the task has so many.
- `vocabulary`, and where they are needed `features`, `causal` and `groups`, are set in the class or in its constructor,
  whose parameters are the options.
- `Batch` has places of tokens too (`pos`), for padding, grids and moments of time.
- A mistake is told before anything is trained, with the line of your file.

The protocol, line by line: `python -c "import gnomon.lab.task as t; help(t)"`.

## Tasks that come with gnomon
'''


def page() -> str:
    """The whole page."""
    return "\n".join([HEAD, *(_section(name) for name in TASKS)])


def _section(name: str) -> str:
    kind = named(name)
    title, _, told = inspect.cleandoc(importlib.import_module(kind.__module__).__doc__).partition("\n")
    parts = [f"### {name}\n", title + "\n", told.strip("\n") + "\n" if told.strip() else "", _options(name)]
    return "\n".join(part for part in parts if part)


def _options(name: str) -> str:
    kind, told = named(name), []
    hints = inspect.get_annotations(kind.__init__, eval_str=True)
    for option, default in options_of(kind).items():
        shown = "has to be given" if default is inspect.Parameter.empty else f"default {_plain(default)}"
        told.append(f"- `{option}`: {_kind(hints.get(option))}, {shown}\n")
    return "Options:\n\n" + "".join(told) if told else ""


def _plain(value: object) -> str:
    """A default as the command line takes it."""
    if value in (None, ()) and value is not False:
        return "none"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return f"`{','.join(map(str, value)) if isinstance(value, tuple) else value}`"


def _kind(hint: object) -> str:
    """What one may give, in words."""
    if choices := [choice for choice in get_args(hint) if isinstance(choice, str)]:
        return " or ".join(f"`{choice}`" for choice in choices)
    words = {
        int: "a whole number",
        float: "a number",
        str: "text",
        bool: "`true` or `false`",
        tuple[int, ...]: "numbers",
    }
    named = [words[each] for each in (get_args(hint) or (hint,)) if each in words]
    return words.get(hint) or " or ".join(named) or re.sub(r"^.*\.", "", str(hint))


if __name__ == "__main__":
    FILE.write_text(page(), encoding="utf-8")
    print("docs/tasks.md")
