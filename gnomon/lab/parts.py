"""What an experiment is made of: what is learned, the model, its training, what is measured. No torch here."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from gnomon import user_code
from gnomon.errors import OptionError, unknown
from gnomon.lab import strict
from gnomon.lab.naming import label
from gnomon.lab.probes import PROBES
from gnomon.lab.tasks import READS


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
        return hash(canonical(plain(self)))

    def __reduce__(self) -> tuple:
        return Problem, (self.name, dict(self.options), self.path, self.digest)


LATER = {"later": True}
"""Of a field that came later: at its default it is no part of the JSON, so that earlier experiments keep their hash."""

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
    table: float = 1.0
    """Initial standard deviation of tables of learned positions, in place of the encoding's own. Scaled embeddings have
    1; BERT has 0.02 for both, so that positions weigh as much as contents from the start."""
    backend: Literal["auto", "reference", "sdpa", "flex"] = "auto"
    kind: Literal["transformer", "convolution"] = field(default="transformer", metadata=LATER)
    """convolution: a net of `width` and `depth` without positions (`gnomon.lab.convolution`), the reference of weight
    sharing; for tasks whose tokens are vectors."""

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
        if self.table <= 0:
            raise OptionError("a table of positions starts somewhere", given=f"table={self.table}", allowed="above 0")
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
    variants: tuple[Mapping[str, Any], ...] = field(default=(), metadata=LATER)
    """Options of the encoding, each in place of those that were trained with: the trained weights are measured at every
    length under them too."""
    probes: tuple[str, ...] = field(default=(), metadata=LATER)
    """Probes that are asked of the trained model (`gnomon.lab.probes.PROBES`)."""

    def __post_init__(self) -> None:
        strict.check(self)
        if not self.lengths:
            raise OptionError("there is nothing to measure", given="no lengths", do="give at least one length")
        for length in self.lengths:
            if length < 1:
                raise OptionError("a length counts tokens", given=length, allowed="1 or more")
        for name in (*OF_TEXT, *OF_ANSWERS):
            _at_least(self, name, 1)
        for name in self.probes:
            if name not in PROBES:
                raise unknown("probe", name, PROBES)
        object.__setattr__(self, "lengths", tuple(sorted(set(self.lengths))))

    def __hash__(self) -> int:
        return hash(canonical(plain(self)))

    def __reduce__(self) -> tuple:
        return _measure, (plain(self),)


def canonical(data: Any) -> str:
    """JSON with sorted keys and no spaces: one text for one value. Numbers that JSON lacks are a ValueError."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def plain(value: Any) -> Any:
    """A part as JSON has it: dicts, lists and numbers."""
    if isinstance(value, Text | Problem | Model | Training | Measure):
        kept = [part for part in fields(value) if not part.metadata or getattr(value, part.name) != part.default]
        return {part.name: plain(getattr(value, part.name)) for part in kept}
    if isinstance(value, Mapping):
        return {key: plain(inner) for key, inner in value.items()}
    return [plain(item) for item in value] if isinstance(value, tuple) else value


def _measure(told: Mapping[str, Any]) -> Measure:
    return Measure(**told)


def _at_least(part: Any, name: str, least: int) -> None:
    value = getattr(part, name)
    if value is not None and value < least:
        raise OptionError(f"{type(part).__name__}.{name} is too small", given=value, allowed=f"{least} or more")
