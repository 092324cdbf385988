"""The frozen description of one run; its hash names the result. No torch here: the command line reads this."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import PurePath
from typing import Any

from gnomon.errors import OptionError, shown
from gnomon.lab import strict
from gnomon.lab.naming import label
from gnomon.lab.parts import (
    KINDS,
    OF_ANSWERS,
    OF_TEXT,
    Measure,
    Model,
    Problem,
    Text,
    Training,
    canonical,
    plain,
)

__all__ = ["FORMAT", "Experiment", "Measure", "Model", "Problem", "Text", "Training", "hash_of"]

FORMAT = 3
"""Part of every hash. Raise it when the same description comes to mean other numbers."""


@dataclass(frozen=True)
class Experiment:
    """One run: an encoding with its options, a task, a model, its training, what is measured, and a seed."""

    encoding: str
    """A name, or `path/to/file.py:Class`."""
    options: Mapping[str, Any] = field(default_factory=dict)
    task: Text | Problem = field(default_factory=Text)
    model: Model = field(default_factory=Model)
    training: Training = field(default_factory=Training)
    measure: Measure = field(default_factory=Measure)
    seed: int = 0
    code: str | None = None
    """sha256 of the file of a user's own encoding, and of what it imports beside it; by `gnomon.lab.corpus.pin`."""

    def __post_init__(self) -> None:
        strict.check(self)
        if not 0 <= self.seed < 2**32:
            raise OptionError("a seed is a whole number", given=self.seed, allowed="0 to 4294967295")
        if self.model.kind == "convolution" and (self.encoding != "none" or self.options):
            raise OptionError(
                "a convolutional net has no encoding of positions",
                given=label(self.encoding, self.options),
                do='name the encoding "none"',
            )
        for name in self._foreign:
            if getattr(self.measure, name) != getattr(Measure, name):
                kinds = ("tasks with answers", "text") if name in OF_ANSWERS else ("text", "tasks with answers")
                raise OptionError(
                    f"Measure.{name} is of {kinds[0]}, and this is of {kinds[1]}",
                    given=f"{name}={getattr(self.measure, name)}",
                    do=f"leave {name} out",
                )
        if self.training.randomised is not None and self.training.randomised < self.longest:
            raise OptionError(
                "randomised positions need a place for every token of the longest length",
                given=f"{self.training.randomised} places, {self.longest} tokens",
                allowed=f"{self.longest} or more",
            )
        if self.training.length not in self.measure.lengths:
            added = replace(self.measure, lengths=(*self.measure.lengths, self.training.length))
            object.__setattr__(self, "measure", added)

    @property
    def label(self) -> str:
        """The encoding's name, and the options that were given to it: `rope theta=500000`."""
        if self.model.kind == "convolution":
            return "convolution"
        drawn = "" if self.training.randomised is None else "randomised "
        return drawn + label(self.encoding, self.options)

    @property
    def title(self) -> str:
        """The label, and the task where it is not text: `rope on addition order=reversed`."""
        return self.label if isinstance(self.task, Text) else f"{self.label} on {self.task.label}"

    @property
    def hash(self) -> str:
        """First 16 hex digits of the sha256 of the canonical JSON. The text, or what a task reads, must be pinned."""
        if self.task.digest is None and (isinstance(self.task, Text) or self.task.reads):
            raise ValueError("this experiment does not say which data it means: pin it first (gnomon.lab.corpus.pin)")
        return hash_of(self.to_json())

    def under(self, options: Mapping[str, Any]) -> "Experiment":
        """The same with these options of the encoding, and its others as they are."""
        return replace(self, options={**self.options, **options})

    @property
    def longest(self) -> int:
        return self.measure.lengths[-1]

    def to_json(self) -> dict[str, Any]:
        """Plain dicts, lists and numbers; `from_json` gives the same experiment back."""
        parts = {part.name: plain(getattr(self, part.name)) for part in fields(self)}
        kind = next(name for name, kind in KINDS.items() if isinstance(self.task, kind))
        measure = {name: value for name, value in parts["measure"].items() if name not in self._foreign}
        return {"format": FORMAT, **parts, "task": {"kind": kind, **parts["task"]}, "measure": measure}

    @property
    def _foreign(self) -> tuple[str, ...]:
        """What `measure` says of another kind of task."""
        return OF_ANSWERS if isinstance(self.task, Text) else OF_TEXT

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Experiment":
        """Strict: an unknown key, a missing one or a value of the wrong type is an OptionError."""
        data = dict(data)
        form = data.pop("format", FORMAT)
        if form != FORMAT:
            raise OptionError("an experiment of another format", given=f"format {form}", allowed=f"format {FORMAT}")
        task = data.get("task")
        if isinstance(task, Mapping):
            kind = task.get("kind", "text")
            if kind not in list(KINDS):
                raise OptionError("unknown kind of task", given=shown(kind), allowed=", ".join(KINDS))
            inner = {key: value for key, value in task.items() if key != "kind"}
            data["task"] = strict.read(KINDS[kind], inner, "experiment.task")
        return strict.read(cls, data, "experiment")

    def __hash__(self) -> int:
        return hash(canonical(self.to_json()))

    def __reduce__(self) -> tuple:
        return Experiment.from_json, (self.to_json(),)


def hash_of(experiment: Mapping[str, Any]) -> str:
    """The hash of an experiment given as JSON. Where its data and the user's code lie is left out."""
    task = {key: value for key, value in experiment["task"].items() if key != "path"}
    if "name" in task:
        task["name"] = PurePath(task["name"]).name
    encoding = PurePath(experiment["encoding"]).name
    return hashlib.sha256(
        canonical({**experiment, "task": task, "encoding": encoding}).encode(errors="surrogatepass")
    ).hexdigest()[:16]
