"""Which windows of the test text are scored: where they begin, and which of their targets count. No model here."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor


@dataclass(frozen=True)
class Windows:
    """Windows of one length: `tokens` `[count, length + 1]`, a target after every input, in reading order.

    apart:  `[count]` bool, the windows that do not overlap one another.
    sliding: `[count]`, how many targets at the end of each the sliding window scores: every target of the stretch once.
    """

    tokens: Tensor
    apart: np.ndarray
    sliding: np.ndarray
    stride: int


def stretches(documents: Sequence[Tensor], total: int, longest: int) -> list[Tensor]:
    """Stretches of consecutive tokens with about `total` targets, spread evenly over the documents.

    Each lies in the middle of its document and has room for a window of `longest`; documents that have not are left
    out. All lengths are measured on the same stretches.
    """
    usable = [document for document in documents if len(document) > longest]
    count = max(1, min(len(usable), total // longest))
    chosen = [usable[i * len(usable) // count] for i in range(count)]
    found = []
    for i, document in enumerate(chosen):
        size = min(max(longest, (total - sum(len(s) - 1 for s in found)) // (count - i)), len(document) - 1)
        first = (len(document) - 1 - size) // 2
        found.append(document[first : first + size + 1])
    return found


def windows(stretches: Sequence[Tensor], length: int) -> Windows:
    """All windows of one length on the stretches: those that lie apart, and those of a window that slides by half.

    The sliding window moves by half the length, rounded up, and scores what it has not yet scored: everything at
    the start of a stretch, its newer half after that.
    """
    stride = (length + 1) // 2
    tokens, apart, sliding = [], [], []
    for stretch in stretches:
        targets = len(stretch) - 1
        fresh = {first: length if first == 0 else stride for first in range(0, targets - length + 1, stride)}
        scored = max(fresh) + length
        if scored < targets:
            fresh[targets - length] = targets - scored
        separate = set(range(0, targets - length + 1, length))
        for first in sorted(separate | set(fresh)):
            tokens.append(stretch[first : first + length + 1])
            apart.append(first in separate)
            sliding.append(fresh.get(first, 0))
    return Windows(torch.stack(tokens), np.array(apart), np.array(sliding), stride)


def ends(documents: Sequence[Tensor], count: int, longest: int) -> list[tuple[int, int]]:
    """Up to `count` places (document, index of the last target), evenly spread, at least `longest` tokens apart.

    Each has room for a window of `longest` before it, so that every length can be scored on the same targets.
    """
    places = [(d, last) for d, document in enumerate(documents) for last in range(longest, len(document), longest)]
    count = min(count, len(places))
    return [places[i * len(places) // count] for i in range(count)]


def ending(documents: Sequence[Tensor], places: Sequence[tuple[int, int]], length: int) -> Tensor:
    """The windows of one length that end at `places`, `[len(places), length + 1]`."""
    return torch.stack([documents[d][last - length : last + 1] for d, last in places])
