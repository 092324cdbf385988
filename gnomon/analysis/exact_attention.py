"""Attention without rounding: in fractions, where equal means equal, and in balls, which prove bounds."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import permutations

import torch
from flint import arb, fmpq

from gnomon.analysis.arguments import check_seed, check_size
from gnomon.analysis.certified import bounds, precision
from gnomon.checked import checked
from gnomon.errors import OptionError

Vector = Sequence
"""Numbers of a kind that can be added, multiplied and divided: whole numbers and fractions (fmpq), or balls (arb)."""


@checked
def attention(
    x: Sequence, projections: tuple, power: Callable, *, causal: bool = False, places: Sequence | None = None
) -> list[list]:
    """Softmax attention of vectors `x` `[n][w]` by the formula, in any kind of numbers; one head, no 1 / sqrt(d).

    projections: W_Q, W_K, W_V, each `[d][w]`. power: what makes a positive weight of a logit, e^l or 2^l (the
    softmax of l ln 2). places: what is added to queries and keys, `[n][w]`; None: no positions.
    """
    w_q, w_k, w_v = projections
    placed = x if places is None else [[a + b for a, b in zip(u, p)] for u, p in zip(x, places)]
    q, k, v = ([_times(w, u) for u in given] for w, given in ((w_q, placed), (w_k, placed), (w_v, x)))
    out = []
    for i, query in enumerate(q):
        seen = range(i + 1) if causal else range(len(x))
        weights = [power(_dot(query, k[j])) for j in seen]
        whole = _sum(weights)
        out.append([_sum([a * v[j][c] for a, j in zip(weights, seen)]) / whole for c in range(len(v[0]))])
    return out


@dataclass(frozen=True)
class Exactly:
    """How many of all permutations leave outputs exactly equal, computed in fractions."""

    tried: int
    equivariant: int
    """Bidirectional: each output is that of its token before."""
    pooled: int
    """Bidirectional: the sum of the outputs."""
    placed: int
    """Bidirectional with whole numbers added for the places: each output is that of its token before."""
    causal: int
    """Causal: each output is that of its token before."""
    last_tried: int
    """Permutations that leave the last token last."""
    last: int
    """Causal, those: the last output."""


@checked
def exactly(n: int = 5, width: int = 3, seed: int = 0) -> Exactly:
    """All n! permutations of n tokens under attention in exact arithmetic: equal means equal.

    Content and projections are small whole numbers, so logits are, and 2^l is a fraction: softmax to base 2, which is
    that of l ln 2.
    """
    if not 2 <= n <= 7:
        raise OptionError("all orders of some tokens are tried", given=f"{n} tokens", allowed="2 to 7")
    x, projections, places = _whole(n, width, seed)

    def run(tokens: list, **options: object) -> list[list]:
        return attention(tokens, projections, lambda logit: fmpq(2) ** logit, **options)

    free, placed, causal = run(x), run(x, places=places), run(x, causal=True)
    orders = [*permutations(range(n))]
    same, pooled, same_placed, same_causal, last_tried, last = 0, 0, 0, 0, 0, 0
    for order in orders:
        tokens = [x[i] for i in order]
        out, out_causal = run(tokens), run(tokens, causal=True)
        same += out == [free[i] for i in order]
        pooled += [_sum(column) for column in zip(*out)] == [_sum(column) for column in zip(*free)]
        same_placed += run(tokens, places=places) == [placed[i] for i in order]
        same_causal += out_causal == [causal[i] for i in order]
        last_tried += order[-1] == n - 1
        last += order[-1] == n - 1 and out_causal[-1] == causal[-1]
    return Exactly(len(orders), same, pooled, same_placed, same_causal, last_tried, last)


@dataclass(frozen=True)
class Certificate:
    """What balls of so many bits prove of attention with e^l, over all permutations."""

    bits: int
    difference: float
    """No output of a permuted input differs from that of its token before by more than this, bidirectional."""
    last: float
    """Nor the last output of a causal layer, the last token staying last, by more than this."""
    two_layers: float
    """The last output of two causal layers differs by at least this in some order; 0 where nothing is proved."""


@checked
def certified(bits: int = 256, n: int = 4, width: int = 3, seed: int = 0) -> Certificate:
    """All n! permutations of n tokens of attention in Arb's balls, which contain the true real numbers.

    Content and projections are halves of small whole numbers. A bound on a difference shrinks with the bits as far as
    one likes; only what is not 0 is bounded from below.
    """
    if not 2 <= n <= 6 or not 32 <= bits <= 4096:
        raise OptionError(
            "all orders of some tokens are tried", given=f"{n} tokens, {bits} bits", allowed="2 to 6, 32 to 4096"
        )
    with precision(bits):
        x, projections, _ = _whole(n, width, seed, lambda number: arb(number) / 2)

        def run(tokens: list, **options: object) -> list[list]:
            return attention(tokens, projections, arb.exp, **options)

        def twice(tokens: list) -> list[list]:
            return _added(first := _added(tokens, run(tokens, causal=True)), run(first, causal=True))

        free, causal, deep = run(x), run(x, causal=True)[-1], twice(x)[-1]
        most, most_last, least = arb(0), arb(0), arb(0)
        for order in permutations(range(n)):
            tokens = [x[i] for i in order]
            for out, i in zip(run(tokens), order):
                most = most.max(_apart(out, free[i]))
            if order[-1] == n - 1:
                most_last = most_last.max(_apart(run(tokens, causal=True)[-1], causal))
                least = least.max(_apart(twice(tokens)[-1], deep))
        return Certificate(bits, bounds(most)[1], bounds(most_last)[1], max(bounds(least)[0], 0.0))


def _whole(n: int, width: int, seed: int, kind: Callable = int) -> tuple[list, tuple, list]:
    """Distinct tokens `[n][w]`, three projections `[w][w]` and places `[n][w]` of whole numbers of a kind."""
    check_seed(seed)
    check_size(width, "width of a token", 2, 64)
    g = torch.Generator().manual_seed(seed)

    def drawn(*shape: int) -> list:
        return [[kind(number) for number in row] for row in torch.randint(-2, 3, shape, generator=g).tolist()]

    tokens = []
    while len(tokens) < n:
        new = drawn(1, width)[0]
        if all(any(bool(a != b) for a, b in zip(new, token)) for token in tokens):
            tokens.append(new)
    projections = tuple(drawn(width, width) for _ in range(3))
    return tokens, projections, [[kind(place * (c == 0)) for c in range(width)] for place in range(n)]


def _sum(numbers: Sequence) -> object:
    total = numbers[0]
    for number in numbers[1:]:
        total = total + number
    return total


def _dot(a: Vector, b: Vector) -> object:
    return _sum([u * v for u, v in zip(a, b)])


def _times(matrix: Sequence, vector: Vector) -> list:
    return [_dot(row, vector) for row in matrix]


def _added(x: Sequence, y: Sequence) -> list[list]:
    return [[a + b for a, b in zip(u, v)] for u, v in zip(x, y)]


def _apart(a: Vector, b: Vector) -> arb:
    """The largest difference of two vectors."""
    largest = arb(0)
    for u, v in zip(a, b):
        largest = largest.max(abs(u - v))
    return largest
