"""What the tasks on labelled data share: parts that share no item, and which of their items each group measures."""

import hashlib
from collections import Counter
from collections.abc import Sequence

import torch
from torch import Tensor

from gnomon.errors import DataError
from gnomon.lab.task import Chance, Group

TENTHS = ("test", "validation", *["train"] * 8)
"""The part of an item by its hash modulo ten."""
FIFTHS = ("validation", *["train"] * 4)
"""The same where the test has been set aside already."""


def split(items: Sequence[bytes], parts: Sequence[str]) -> dict[str, list[int]]:
    """The numbers of the items of each part, by the hash of their content, and in its order.

    Equal items lie in one part, and an item that is added moves no other. DataError where a part is empty.
    """
    hashes = [hashlib.sha256(item).digest() for item in items]
    found: dict[str, list[int]] = {part: [] for part in dict.fromkeys(parts)}
    for at in sorted(range(len(items)), key=hashes.__getitem__):
        found[parts[int.from_bytes(hashes[at][:8], "big") % len(parts)]].append(at)
    for part, numbers in found.items():
        if not numbers:
            raise DataError(f"too few items: none is left for {part}", given=f"{len(items)} items", do="give more")
    return found


def assigned(groups: Sequence[Group], count: int) -> tuple[Tensor, Tensor]:
    """The group and the number of each example, from 0 to `count` less one, `[m]` int64 both.

    The trained groups take turns over the numbers, and each other group has all of them.
    """
    trained = [at for at, group in enumerate(groups) if group.trained]
    others = [at for at, group in enumerate(groups) if not group.trained]
    pairs = [(trained[number % len(trained)], number) for number in range(count)]
    pairs += [(at, number) for at in others for number in range(count)]
    group, number = torch.tensor(pairs).unbind(dim=1)
    return group, number


def commonest(answers: Sequence[object]) -> Chance:
    """What guessing the commonest answer gives, where an answer is one token."""
    share = max(Counter(answers).values()) / len(answers)
    return Chance(share, share)


def halfway(chance: Chance) -> float:
    """When a task whose data is noisy counts as learned: half of what guessing gets wrong is right."""
    return (1 + chance.exact) / 2
