"""Chances that take a sum to know: the commonest symbol at each place of an answer."""

from collections.abc import Sequence

import torch
from torch import Tensor

from gnomon.lab.task import Chance


def of_distribution(answers: Sequence[Sequence[object]], shares: Sequence[float]) -> Chance:
    """From all answers that there are and how likely each is; the end of an answer is a symbol of its own."""
    ended = [(*answer, "end") for answer in answers]
    best, weight = [], []
    for place in range(max(map(len, ended))):
        found: dict[object, float] = {}
        for answer, share in zip(ended, shares, strict=True):
            if place < len(answer):
                found[answer[place]] = found.get(answer[place], 0.0) + share
        best.append(max(found.values()))
        weight.append(sum(found.values()))
    return Chance(max(shares), sum(best) / sum(weight))


def of_sample(answers: Tensor) -> float:
    """The token accuracy of guessing, from many answers of one length `[many, n]`; their end is known."""
    best = [float(column.bincount().max()) / len(column) for column in answers.unbind(dim=1)]
    return (sum(best) + 1) / (len(best) + 1)


def binomial_tail(count: int, share: float, least: int) -> float:
    """The probability that at least `least` of `count` happen, each with probability `share`."""
    if least <= 0:
        return 1.0
    places = torch.arange(least, count + 1, dtype=torch.float64)
    if not len(places) or share <= 0:
        return 0.0
    if share >= 1:
        return 1.0
    whole = torch.lgamma(torch.tensor(count + 1.0, dtype=torch.float64))
    logs = whole - torch.lgamma(places + 1) - torch.lgamma(count - places + 1)
    logs = logs + places * torch.tensor(share, dtype=torch.float64).log()
    logs = logs + (count - places) * torch.tensor(1 - share, dtype=torch.float64).log()
    return float(logs.logsumexp(0).exp())
