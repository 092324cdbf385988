"""The protocol of a task: it makes training batches of a given length, and has documents to be measured on."""

from dataclasses import dataclass
from typing import Protocol

from torch import Tensor


@dataclass(frozen=True)
class Batch:
    """Token i of `inputs` is answered by token i of `targets`; both `[b, n]` int64."""

    inputs: Tensor
    targets: Tensor


class Task(Protocol):
    """What a model is trained and measured on."""

    vocabulary: int

    def batch(self, seed: int, step: int, count: int, length: int) -> Batch:
        """`count` training sequences of `length` tokens: a pure function of its arguments, on every machine."""

    def stream(self, seed: int, step: int, count: int, length: int) -> Batch:
        """The same, where row r of a step goes on where row r of the step before it ended."""

    def documents(self, part: str) -> list[Tensor]:
        """The documents of `validation` or `test`, each `[n]` uint8 or int64, none of them trained on."""

    def describe(self) -> dict:
        """What the record says about the data."""
