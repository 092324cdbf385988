"""The token that asks, and is scored, where an input of numbers has one answer.

It has a place like any other token, unless its task says otherwise: from one that has none, rotated keys are seen as
from the origin, so that moving all other tokens changes the answer of an encoding that knows distances only.
"""

import torch
from torch import Tensor

from gnomon.lab.task import IGNORED


def ask(tokens: Tensor, at: int) -> Tensor:
    """`[b, n + 1, f + 1]` of tokens `[b, n, f]`: the question at `at`, 0 or n, and a feature that marks it.

    It is as long as a token whose features are of variance 1; all its other features are 0.
    """
    features = tokens.shape[2] + 1
    marked = torch.nn.functional.pad(tokens, (0, 1))
    question = torch.zeros(len(tokens), 1, features)
    question[..., -1] = features**0.5
    return torch.cat([marked[:, :at], question, marked[:, at:]], dim=1)


def answered(labels: Tensor, n: int, at: int) -> Tensor:
    """The targets of `n` tokens of which that at `at` is to be answered by `labels` `[b]`, `[b, n]` int64."""
    targets = torch.full((len(labels), n), IGNORED)
    targets[:, at] = labels
    return targets
