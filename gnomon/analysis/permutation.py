"""What attention knows of order without positions: nothing where all see all, something under a causal mask.

Three kinds of arithmetic say so: floats (up to rounding), fractions (exactly), balls (to any number of digits).
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from gnomon.analysis.arguments import check_seed, check_size
from gnomon.analysis.exact_attention import Certificate, Exactly, certified, exactly
from gnomon.analysis.forms import name_of
from gnomon.analysis.projections import WIDEST
from gnomon.analysis.untrained_layer import around, contents, distance, drawn, line
from gnomon.attention import Attention
from gnomon.checked import checked
from gnomon.encoding import Encoding, Shape
from gnomon.encodings import ENCODINGS
from gnomon.encodings.none import NoPE
from gnomon.masks import BIDIRECTIONAL, CAUSAL
from gnomon.positions import Positions
from gnomon.section import Line, Lines, Section, Table
from gnomon.transformer import Transformer

BITS = (64, 128, 256, 512)
"""Precisions of the balls."""

KEY, TITLE = "permutation", "Order without positions"
QUESTION = (
    "If tokens change places and positions do not, what does attention notice: with no positions, and with these?"
)


@dataclass(frozen=True)
class Permuted:
    """What permutations of the tokens change in floats: largest absolute differences, outputs being of order 1."""

    equivariance: float
    """Of f(x in another order) from f(x) in that order, over all tokens."""
    pooled: float
    """Of the mean over tokens."""
    equal: float
    """Share of the permutations under which all outputs are equal to the last bit."""
    tried: int


@checked
def without_positions(count: int = 100, n: int = 32, width: int = 64, seed: int = 0) -> Permuted:
    """`count` random permutations under a bidirectional layer without positions, reference backend, float64.

    Not 0: a sum of floats depends on the order of what is added.
    """
    check_size(count, "orders that are tried", 1, 4096)
    check_size(n, "tokens", 1, 4096)
    layer = around(NoPE(), BIDIRECTIONAL, seed, backend="reference", width=width)
    x, orders = contents(1, n, width, seed)[0], _orders(count, n, seed)
    with torch.no_grad():
        still, moved = layer(x[None])[0], torch.cat([layer(x[order][None]) for order in orders])
    expected = still[orders]
    return Permuted(
        float((moved - expected).abs().max()),
        float((moved.mean(1) - still.mean(0)).abs().max()),
        float((moved == expected).flatten(1).all(1).double().mean()),
        count,
    )


@checked
def causal_depths(
    depths: tuple[int, ...] = (1, 2, 3, 4), count: int = 50, n: int = 16, width: int = 64, seed: int = 0
) -> tuple[float, ...]:
    """How much an untrained causal Transformer without positions tells of order, at the last position, at each depth.

    The tokens before the last change places in `count` ways; the largest change of the last logits over their root
    mean square. At depth 1 rounding is all there is: the last token sees a set. float64, reference backend.
    """
    check_size(count, "orders that are tried", 1, 4096)
    check_size(n, "tokens, the last of which stays", 2, 4096)
    check_size(width, "width of a model", 1, WIDEST)
    check_seed(seed)
    for depth in depths:
        check_size(depth, "layers", 1, 64)
    g = torch.Generator().manual_seed(seed)
    tokens, found = torch.randperm(max(29, n), generator=g)[:n], []
    orders = torch.cat([_orders(count, n - 1, seed), torch.full((count, 1), n - 1)], dim=1)
    for depth in depths:
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            torch.manual_seed(seed)
            model = Transformer(max(29, n), width, depth, 4, NoPE(), backend="reference").double().eval()
            logits = model(torch.cat([tokens[None], tokens[orders]]))[:, -1]
        found.append(float((logits[1:] - logits[0]).abs().max() / logits[0].square().mean().sqrt()))
    return tuple(found)


@checked
def changed(encoding: Encoding, count: int = 20, n: int = 16, seed: int = 0) -> tuple[float | None, float]:
    """How much one untrained layer around `encoding` changes where tokens change places and positions stay.

    Means over `count` permutations of |changed - before| / |before|, float64: that of all outputs, put back in order,
    where all see all (None for an encoding that reads the past only); that of the last output under a causal mask, the
    last token staying last. 0 is no change, 1.4 is as far apart as what is unrelated. n: fewer where it has fewer.
    """
    check_size(count, "orders that are tried", 1, 4096)
    check_size(n, "tokens, the last of which stays", 2, 4096)
    pos, both = line(encoding, n), None
    n = pos.length
    last = torch.cat([_orders(count, n - 1, seed), torch.full((count, 1), n - 1)], dim=1)
    layer = around(encoding, CAUSAL, seed)
    x = contents(1, n, layer.width, seed)[0]
    still, *moved = _outputs(layer, x, last, pos)
    causal = sum(distance(out[-1], still[-1]) for out in moved) / count
    if not encoding.causal:
        orders = _orders(count, n, seed)
        still, *moved = _outputs(around(encoding, BIDIRECTIONAL, seed), x, orders, pos)
        both = sum(distance(out, still[order]) for out, order in zip(moved, orders)) / count
    return both, causal


@checked
def every(
    count: int = 20,
    n: int = 16,
    width: int = 64,
    heads: int = 4,
    seed: int = 0,
    progress: Callable[[float], None] | None = None,
) -> dict[str, tuple[float | None, float]]:
    """`changed` of each encoding that comes with gnomon, default options, parameters drawn from N(0, 0.3^2)."""
    found = {}
    for name, kind in ENCODINGS.items():
        encoding = drawn(kind, Shape(width, heads, causal=False), seed)
        found[name] = changed(encoding, count, n, seed)
        if progress is not None:
            progress(len(found) / len(ENCODINGS))
    return found


@checked
def section(
    encoding: Encoding,
    others: bool = True,
    seed: int = 0,
    progress: Callable[[float], None] | None = None,
) -> Section:
    """Permutations without positions: in floats, fractions and balls; and what this encoding, and others, notice."""
    floats, exact, balls = without_positions(seed=seed), exactly(seed=seed), [certified(b, seed=seed) for b in BITS]
    depths = (1, 2, 3, 4)
    deep, own = causal_depths(depths, seed=seed), changed(encoding, seed=seed)
    name, best = name_of(encoding), balls[-1]
    tables = [
        Table(
            "All orders in exact arithmetic (fractions), no positions unless said",
            ("what is compared", "orders", "equal"),
            (
                ("all see all: each token's output", exact.tried, exact.equivariant),
                ("all see all: sum of outputs", exact.tried, exact.pooled),
                ("all see all, places added", exact.tried, exact.placed),
                ("causal: each token's output", exact.tried, exact.causal),
                ("causal: the last, last token kept", exact.last_tried, exact.last),
            ),
            f"Softmax to base 2 of 5 tokens of whole numbers, seed {seed}.",
        ),
        Table(
            "All orders of 4 tokens in balls: proved bounds, softmax to base e",
            ("bits", "all see all, at most", "causal last, at most", "2 layers, at least"),
            tuple((ball.bits, ball.difference, ball.last, ball.two_layers) for ball in balls),
            "Largest difference of an output from that of its token before. Two causal layers: of the last output,"
            " the last token kept, in the order that changes it most.",
        ),
        Table(
            "Causal Transformer without positions, floats: change of the last logits",
            ("layers", "largest change / rms"),
            tuple(zip(depths, deep)),
            f"50 orders of the tokens before the last of 16; width 64, 4 heads, untrained, float64, seed {seed}.",
        ),
        Table(
            "Change of one layer where tokens change places, this encoding",
            ("encoding", "all see all", "causal, last token"),
            ((name, *own),),
            f"Mean over 20 orders of 16 tokens, the encoding as given; norm of the change over the norm"
            f" before, seed {seed}." + " -: it reads the past only." * (own[0] is None),
        ),
    ]
    numbers = {
        "seed": seed,
        "float_difference": floats.equivariance,
        "float_pooled": floats.pooled,
        "float_equal_to_the_bit": floats.equal,
        "float_orders": floats.tried,
        "exact_orders": exact.tried,
        "exact_equal": exact.equivariant,
        "exact_last_equal": exact.last,
        "exact_last_orders": exact.last_tried,
        "certified_bits": best.bits,
        "certified_difference": best.difference,
        "certified_two_layers": best.two_layers,
        "causal_depths": [*depths],
        "causal_change": [*deep],
        "own_bidirectional": own[0],
        "own_causal": own[1],
    }
    if others:
        found = every(seed=seed, progress=progress)
        half = -(-len(found) // 2)
        rows = [(other, *pair) for other, pair in found.items()]
        tables += [
            Table(
                f"The same of every encoding, width 64 ({part} of 2)",
                ("encoding", "all see all", "causal, last token"),
                tuple(some),
                "Another layer than above: width 64, 4 heads, default options, parameters N(0, 0.3^2). -: it reads "
                "the past only.",
            )
            for part, some in ((1, rows[:half]), (2, rows[half:]))
        ]
        numbers["every"] = [[*row] for row in rows]
    figures = (
        Lines(
            "What a causal Transformer without positions tells of order",
            "layers",
            "largest change of the last logits / rms",
            (Line("no positions", depths, [change or None for change in deep]),),
            y_log=True,
            points=True,
        ),
        Lines(
            "Proved bound on the difference, by the bits of the balls",
            "bits",
            "at most",
            (Line("all see all", BITS, [ball.difference for ball in balls]),),
            y_log=True,
            points=True,
        ),
    )
    return Section(
        KEY, TITLE, QUESTION, _answer(name, floats, exact, best, deep, own), tuple(tables), figures, PROOF, numbers
    )


PROOF = (
    "Let pi be a permutation, and token i of the new input be token pi(i) of the old. Where nothing but content enters,"
    " the query, key and value of a token are functions of its vector, so the new ones are the old ones renamed, and"
    " out'_i = sum_j e^{q_pi(i) . k_pi(j)} v_pi(j) / sum_j e^{q_pi(i) . k_pi(j)}.",
    "As j runs over all tokens so does pi(j), and a sum does not depend on the order of its terms: out'_i = out_pi(i)."
    " Outputs permute with inputs (equivariant); their mean does not change at all (invariant). What acts on each token"
    " alone (norms, feed-forward) and layers of such layers keep this.",
    "Under a causal mask j runs over 1 .. i, and pi does not map that onto itself, except for the last token where it"
    " stays last: it sees the same set, so one layer tells it nothing of order. After that layer, though, the vector of"
    " token j depends on which tokens came before it; the second layer reads those vectors, and so the order.",
)


def _answer(
    name: str,
    floats: Permuted,
    exact: Exactly,
    best: Certificate,
    deep: tuple[float, ...],
    own: tuple[float | None, float],
) -> str:
    told = [
        f"Without positions, where all tokens see all, {exact.equivariant} of {exact.tried} orders give exactly the"
        f" same outputs, permuted, in fractions; balls of {best.bits} bits bound any difference by"
        f" {best.difference:.1g}; in float64 it is {floats.equivariance:.1g} over {floats.tried} orders, by"
        " the order of sums.",
        f"Under a causal mask one layer tells the last token nothing of the order before it ({exact.last} of"
        f" {exact.last_tried} orders exactly equal, {deep[0]:.1g} in float64), but two layers do: in floats"
        f" the last logits of one of width 64 and 16 tokens move by {deep[1]:.2g} of their size; in balls the output of"
        f" another, of 4 tokens, moves by {best.two_layers:.2g} at least.",
    ]
    seen = "" if own[0] is None else f" by {own[0]:.2g} of their size where all see all,"
    told.append(
        f"With {name} as given, one layer's outputs change{seen} by {own[1]:.2g} at the last token of a causal one."
    )
    return " ".join(told)


def _outputs(layer: Attention, x: Tensor, orders: Tensor, pos: Positions) -> Tensor:
    """What a layer gives for x `[n, w]` as it is, and in each of the orders `[count, n]`: `[1 + count, n, w]`."""
    with torch.no_grad():
        return layer(layer.encoding.embed(torch.cat([x[None], x[orders]]), pos), pos)


def _orders(count: int, n: int, seed: int) -> Tensor:
    """Random permutations `[count, n]`."""
    g = torch.Generator().manual_seed(20_000 + seed)
    return torch.stack([torch.randperm(n, generator=g) for _ in range(count)])
