"""Pairs of the user's own, one JSON object a line: `{"input": "2+2", "target": "4"}`.

    <bos> 2 + 2 <sep> 4 <eos>

Tokens are bytes of UTF-8. `length` is the longest input that is trained on, in bytes: a training sequence is drawn from
the lines whose input is no longer. The examples of a length are the lines with an input of that many bytes, or of up to
`within` less one fewer. A line belongs to the test or to validation by the hash of its input and target, a tenth each,
so that equal lines lie together and a line that is added moves no other.
"""

import hashlib
from collections import Counter
from pathlib import Path

import torch
from torch import Tensor

from gnomon.errors import DataError, OptionError
from gnomon.lab import written
from gnomon.lab.seeds import generator
from gnomon.lab.task import Batch, Chance
from gnomon.lab.tasks import guess
from gnomon.lab.tasks.sequences import BLANK, MARKS, Spelled, answered

PARTS = ("test", "validation", *["train"] * 8)
"""The part of a line, by its hash modulo ten."""

Pair = tuple[bytes, bytes]


class Jsonl(Spelled):
    """The pairs of a file."""

    symbols = tuple(chr(byte) if 32 < byte < 127 else f"x{byte:02x}" for byte in range(256))

    def __init__(self, path: str, within: int = 1):
        if within < 1:
            raise OptionError("within counts lengths", given=within, allowed="1 or more")
        self.path, self.within = Path(path), within
        self.parts: dict[str, list[Pair]] = {"train": [], "validation": [], "test": []}
        for pair in read(self.path):
            self.parts[_part(pair)].append(pair)
        for pairs in self.parts.values():
            # Short inputs first: those that a length can draw from are the first so many.
            pairs.sort(key=lambda pair: len(pair[0]))
        if not self.parts["train"]:
            counted = ", ".join(f"{part} {len(pairs)}" for part, pairs in self.parts.items())
            raise DataError("the file has too few pairs to train on", given=f"{path}: {counted}", do="give more lines")
        self.shortest = len(self.parts["train"][0][0])

    @property
    def words(self) -> tuple[str, ...]:
        return (*self.symbols, *MARKS)

    def batch(self, seed: int, step: int, count: int, length: int) -> Batch:
        usable = [pair for pair in self.parts["train"] if len(pair[0]) <= length]
        drawn = torch.randint(len(usable), (count,), generator=generator("batch", seed, step))
        return self._pairs([usable[at] for at in drawn.tolist()])

    def examples(self, part: str, length: int, count: int) -> Batch:
        """At most `count` pairs of the part whose inputs are of this length, those whose hash comes first.

        DataError where there is none.
        """
        found = sorted({pair for pair in self.parts[part] if self._is_of(pair, length)}, key=_hash)
        if not found:
            there = _several(sorted({len(pair[0]) for pair in self.parts[part]}))
            together = f"choose other lengths, or take more of them together: within={10 * self.within}"
            raise DataError(
                f"{self.path} has no pair of this length in its {part} part",
                given=f"inputs of {length} bytes, within {self.within}",
                allowed=there or f"none: no line at all fell to the {part} part, which has a tenth of them",
                do=together if there else "give more lines",
            )
        return self._pairs(found[:count])

    def chance(self, length: int) -> Chance:
        """From the targets of inputs of this length in training, or of all inputs where there are none."""
        train = self.parts["train"]
        known = [pair[1] for pair in train if self._is_of(pair, length)] or [pair[1] for pair in train]
        counts = Counter(known)
        return guess.of_distribution(list(counts), [count / len(known) for count in counts.values()])

    def describe(self) -> dict:
        return {
            "name": self.path.name,
            "form": "<bos> input <sep> target <eos>, bytes, scored from the target on",
            "split": "by the hash of the line: a tenth each for validation and the test",
            "pairs": {part: len(pairs) for part, pairs in self.parts.items()},
        }

    def _is_of(self, pair: Pair, length: int) -> bool:
        return length - self.within < len(pair[0]) <= length

    def _pairs(self, pairs: list[Pair]) -> Batch:
        x, answer = (_padded([pair[side] for pair in pairs]) for side in (0, 1))
        return answered(x, answer, len(self.symbols))


def read(path: Path) -> list[Pair]:
    """The pairs of a file, empty lines left out. DataError, with the number of the line, for what is no pair."""
    try:
        lines = path.read_bytes().decode().split("\n")
    except OSError as error:
        raise DataError("a file cannot be read", given=f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise DataError("the pairs are text in UTF-8", given=f"{path}: byte {error.start}") from error
    return [_pair(line, f"{path}, line {number}") for number, line in enumerate(lines, 1) if line.strip()]


def _pair(line: str, where: str) -> Pair:
    allowed = '{"input": "...", "target": "..."}'
    try:
        found = written.loads(line)
    except ValueError as error:
        raise DataError(f"{where}: not JSON", given=f"{line[:100]}: {error}", allowed=allowed) from error
    if not isinstance(found, dict) or found.keys() != {"input", "target"}:
        given = ", ".join(map(str, found)) if isinstance(found, dict) else line[:100]
        raise DataError(f"{where}: a line has an input and a target, and nothing else", given=given, allowed=allowed)
    if not all(isinstance(value, str) for value in found.values()) or not found["input"]:
        raise DataError(f"{where}: input and target are text, and the input is not empty", given=line[:100])
    try:
        return found["input"].encode(), found["target"].encode()
    except UnicodeEncodeError as error:
        raise DataError(f"{where}: half a character", given=line[:100]) from error


def _hash(pair: Pair) -> bytes:
    return hashlib.sha256(len(pair[0]).to_bytes(8, "big") + pair[0] + pair[1]).digest()


def _part(pair: Pair) -> str:
    return PARTS[int.from_bytes(_hash(pair)[:8], "big") % len(PARTS)]


def _padded(rows: list[bytes]) -> Tensor:
    width = max(map(len, rows))
    filled = [[*row, *[BLANK] * (width - len(row))] for row in rows]
    return torch.tensor(filled, dtype=torch.int64).view(len(rows), width)


def _several(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers[:20])) + ("" if len(numbers) <= 20 else f", ... {numbers[-1]}")
