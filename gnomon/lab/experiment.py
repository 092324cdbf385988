"""The frozen description of one run; its hash names the result. No torch here: the command line reads this."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import PurePath
from typing import Any, Literal

from gnomon import user_code
from gnomon.errors import OptionError
from gnomon.lab import strict
from gnomon.lab.naming import label
from gnomon.lab.tasks import READS

FORMAT = 2
"""Part of every hash. Raise it when the same description comes to mean other numbers."""


@dataclass(frozen=True)
class Text:
    """Next-byte prediction on text: the packaged Shakespeare corpus, or a file or folder of the user's own."""

    path: str | None = None
    """A file or folder; None: the packaged corpus. Where the text lies is no part of the experiment's identity."""
    digest: str | None = None
    """sha256 of the text as it is split; filled in by `gnomon.lab.corpus.pin`, and part of the identity."""

    def __post_init__(self) -> None:
        strict.check(self)


@dataclass(frozen=True)
class Problem:
    """A task with answers: one of `gnomon.lab.tasks.TASKS`, or a class of the user's own."""

    name: str
    """A name, or `path/to/file.py:Class`."""
    options: Mapping[str, Any] = field(default_factory=dict)
    path: str | None = None
    """The file that the task reads, if it reads one. Where it lies is no part of the experiment's identity."""
    digest: str | None = None
    """sha256 of what the task reads and of the user's code; filled in by `gnomon.lab.corpus.pin`, and part of the
    identity. None where there is neither."""

    def __post_init__(self) -> None:
        strict.check(self)

    @property
    def label(self) -> str:
        """The task's name, and the options that were given to it: `addition order=reversed`."""
        return label(self.name, self.options)

    @property
    def reads(self) -> bool:
        """Whether its name and options alone do not say what it is."""
        return self.path is not None or self.name in READS or user_code.is_class(self.name)

    def __hash__(self) -> int:
        return hash(canonical(_plain(self)))

    def __reduce__(self) -> tuple:
        return Problem, (self.name, dict(self.options), self.path, self.digest)


KINDS: dict[str, type[Text] | type[Problem]] = {"text": Text, "problem": Problem}
"""The kinds of task, as JSON names them."""


@dataclass(frozen=True)
class Model:
    """The sizes of the Transformer, the same for every encoding of a comparison."""

    width: int = 64
    depth: int = 2
    heads: int = 4
    kv_heads: int | None = None
    """Key/value heads; None: as many as heads."""
    feed_forward: int | None = None
    """Width of the hidden layer of a block; None: four times the width."""
    dropout: float = 0.0
    tied: bool = True
    """Output logits are products with the token embeddings, where the inputs are tokens."""
    scale_embeddings: bool = True
    """Token embeddings times the root of the width before positions are added, as in the original Transformer."""
    backend: Literal["auto", "reference", "sdpa", "flex"] = "auto"

    def __post_init__(self) -> None:
        strict.check(self)
        for name in ("width", "depth", "heads", "kv_heads", "feed_forward"):
            _at_least(self, name, 1)
        if self.width % self.heads:
            raise OptionError(
                "the heads share the width equally",
                given=f"width {self.width}, heads {self.heads}",
                allowed=f"a width that is a multiple of {self.heads}",
                do=f"choose width {self.heads * max(1, round(self.width / self.heads))}, or other heads",
            )
        if self.kv_heads is not None and self.heads % self.kv_heads:
            raise OptionError(
                "query heads share the key/value heads equally",
                given=f"heads {self.heads}, kv_heads {self.kv_heads}",
                allowed=", ".join(str(n) for n in range(1, self.heads + 1) if self.heads % n == 0),
            )
        if not 0 <= self.dropout < 1:
            raise OptionError("dropout is a share", given=self.dropout, allowed="0 to below 1")


@dataclass(frozen=True)
class Training:
    """How the model is trained: AdamW, linear warm-up, then a cosine down to `floor` times the learning rate."""

    steps: int = 1000
    batch: int = 16
    """Sequences in a batch."""
    length: int = 128
    """Tokens in a training sequence of text; of a task with answers, the longest content that is trained on."""
    learning_rate: float = 3e-3
    warmup: float = 0.1
    """Share of the steps."""
    floor: float = 0.1
    weight_decay: float = 0.1
    """On matrices only: not on gains, biases, or anything that belongs to the encoding."""
    clip: float = 1.0
    """Largest norm of the gradient."""
    precision: Literal["fp32", "bf16"] = "fp32"
    randomised: int | None = None
    """Tokens lie at places drawn in order from 0 to this number less one, anew at every step, and so they do when
    measured (Ruoss et al. 2023); None: at 0, 1, 2, ..."""

    def __post_init__(self) -> None:
        strict.check(self)
        for name in ("steps", "batch", "length"):
            _at_least(self, name, 1)
        for name in ("learning_rate", "clip"):
            if getattr(self, name) <= 0:
                raise OptionError(f"Training.{name} is positive", given=getattr(self, name), allowed="above 0")
        if self.randomised is not None and self.randomised < self.length:
            raise OptionError(
                "Training.randomised has a place for each token",
                given=f"{self.randomised} places for {self.length} tokens",
                allowed=f"{self.length} or more",
                do="give at least the longest length that is measured",
            )
        if self.weight_decay < 0:
            raise OptionError("Training.weight_decay is not negative", given=self.weight_decay, allowed="0 or more")
        for name in ("warmup", "floor"):
            if not 0 <= getattr(self, name) <= 1:
                raise OptionError(f"Training.{name} is a share", given=getattr(self, name), allowed="0 to 1")


OF_TEXT, OF_ANSWERS = ("bytes", "pairs", "targets"), ("examples",)
"""What is said of the measurement of text only, and of tasks with answers only."""


@dataclass(frozen=True)
class Measure:
    """What is measured after training. The training length is always among the lengths: an experiment adds it.

    `bytes`, `pairs` and `targets` are of text, `examples` of tasks with answers.
    """

    lengths: tuple[int, ...] = (64, 128, 160, 256, 512, 1024)
    bytes: int = 65536
    """Test bytes over which non-overlapping windows and the sliding window run, at every length."""
    pairs: int = 128
    """Places in the test text at which the paired loss compares all lengths; fewer where the text is short."""
    targets: int = 32
    """Last bytes of a window that the paired loss scores; fewer where a length is shorter."""
    examples: int = 512
    """Sequences at every length of a task with answers."""
    part: Literal["test", "validation"] = "test"

    def __post_init__(self) -> None:
        strict.check(self)
        if not self.lengths:
            raise OptionError("there is nothing to measure", given="no lengths", do="give at least one length")
        for length in self.lengths:
            if length < 1:
                raise OptionError("a length counts tokens", given=length, allowed="1 or more")
        for name in (*OF_TEXT, *OF_ANSWERS):
            _at_least(self, name, 1)
        object.__setattr__(self, "lengths", tuple(sorted(set(self.lengths))))


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

    @property
    def longest(self) -> int:
        return self.measure.lengths[-1]

    def to_json(self) -> dict[str, Any]:
        """Plain dicts, lists and numbers; `from_json` gives the same experiment back."""
        parts = {part.name: _plain(getattr(self, part.name)) for part in fields(self)}
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
                raise OptionError("unknown kind of task", given=repr(kind)[:200], allowed=", ".join(KINDS))
            inner = {key: value for key, value in task.items() if key != "kind"}
            data["task"] = strict.read(KINDS[kind], inner, "experiment.task")
        return strict.read(cls, data, "experiment")

    def __hash__(self) -> int:
        return hash(canonical(self.to_json()))

    def __reduce__(self) -> tuple:
        return Experiment.from_json, (self.to_json(),)


def canonical(data: Any) -> str:
    """JSON with sorted keys and no spaces: one text for one value. Numbers that JSON lacks are a ValueError."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def hash_of(experiment: Mapping[str, Any]) -> str:
    """The hash of an experiment given as JSON. Where its data and the user's code lie is left out."""
    task = {key: value for key, value in experiment["task"].items() if key != "path"}
    if "name" in task:
        task["name"] = PurePath(task["name"]).name
    encoding = PurePath(experiment["encoding"]).name
    return hashlib.sha256(
        canonical({**experiment, "task": task, "encoding": encoding}).encode(errors="surrogatepass")
    ).hexdigest()[:16]


def _plain(value: Any) -> Any:
    if isinstance(value, Text | Problem | Model | Training | Measure):
        return {part.name: _plain(getattr(value, part.name)) for part in fields(value)}
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


def _at_least(part: Any, name: str, least: int) -> None:
    value = getattr(part, name)
    if value is not None and value < least:
        raise OptionError(f"{type(part).__name__}.{name} is too small", given=value, allowed=f"{least} or more")
