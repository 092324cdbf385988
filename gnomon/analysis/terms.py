"""The logit of summed content and positions: its four terms, and how much of one is a function of the distance."""

import math
from dataclasses import dataclass
from typing import get_args

import torch
from jaxtyping import Float
from torch import Tensor

from gnomon.analysis.arguments import check_size, real
from gnomon.analysis.forms import Waves, form, vectors, waves
from gnomon.analysis.projections import Kind, orthogonal, projections
from gnomon.analysis.shift_commutant import commutant_share
from gnomon.analysis.toeplitz import expected_share, toeplitz_share
from gnomon.analysis.untrained_layer import contents
from gnomon.checked import checked
from gnomon.encoding import Encoding
from gnomon.errors import OptionError
from gnomon.section import Heat, Line, Lines, Section, Table, does_not_apply

MIXES = tuple(step / 20 for step in range(21))
"""Shares t of a random orthogonal matrix in `(1 - t) I + t R`."""

LENGTHS = (16, 64, 256, 512)
"""Numbers of places at which the expected share is told."""

_RANDOM: tuple[Kind, ...] = ("independent orthogonal", "gaussian")
"""Kinds under which the share is one thing under one draw and another under the next."""

KEY, TITLE = "terms", "Four terms of the logit"
QUESTION = (
    "A logit of content plus position, (x_i + p_i) . M (x_j + p_j) with M = W_Q^T W_K, splits in four terms. Does the"
    " position-position term depend on the distance i - j alone, and how much of the logit is each term?"
)


@dataclass(frozen=True)
class FourTerms:
    """The parts of a logit that is not divided by sqrt(d), each `[n, n]` float64: row i the query, column j the key."""

    cc: Tensor
    """Content of the query, content of the key: x_i^T W_Q^T W_K x_j."""
    cp: Tensor
    """Content of the query, position of the key."""
    pc: Tensor
    """Position of the query, content of the key."""
    pp: Tensor
    """Position of both."""

    @property
    def logit(self) -> Tensor:
        """Their sum, `[n, n]`."""
        return self.cc + self.cp + self.pc + self.pp

    def shares(self) -> tuple[float, float, float, float]:
        """The share of the logit's variance over all pairs that each term has: cov(term, logit) / var(logit).

        They add up to 1; one may be negative, where a term undoes another. In the order cc, cp, pc, pp.
        """
        logit = self.logit - self.logit.mean()
        whole = logit.square().sum()
        return tuple(float(((t - t.mean()) * logit).sum() / whole) for t in (self.cc, self.cp, self.pc, self.pp))


@checked
def four_terms(
    x: Float[Tensor, "n w"], p: Float[Tensor, "n w"], w_q: Float[Tensor, "d w"], w_k: Float[Tensor, "d w"]
) -> FourTerms:
    """The four terms of (x_i + p_i)^T W_Q^T W_K (x_j + p_j), from content x and positions p `[n, w]`.

    OptionError where the shapes do not belong together. Source: Dai et al. 2019, "Transformer-XL", section 3.3.
    """
    for name, values in dict(x=x, p=p, w_q=w_q, w_k=w_k).items():
        real(values, name, 2)
    fits = x.dim() == w_q.dim() == 2 and x.shape == p.shape and w_q.shape == w_k.shape and x.shape[1] == w_q.shape[1]
    if not fits:
        raise OptionError(
            "content, positions and projections belong together",
            given=", ".join(f"{name} {list(t.shape)}" for name, t in dict(x=x, p=p, w_q=w_q, w_k=w_k).items()),
            allowed="x and p [n, w], w_q and w_k [d, w]",
        )
    x, p, w_q, w_k = (t.to(torch.float64) for t in (x, p, w_q, w_k))
    queries, keys = (x @ w_q.mT, p @ w_q.mT), (x @ w_k.mT, p @ w_k.mT)
    return FourTerms(*(query @ key.mT for query in queries for key in keys))


@checked
def section(
    encoding: Encoding,
    n: int = 256,
    seeds: tuple[int, ...] = (0, 1, 2, 3, 4),
    w_q: Tensor | None = None,
    w_k: Tensor | None = None,
    head_dim: int = 64,
    draws: int = 50,
) -> Section:
    """Toeplitz share of the position-position term under several projections, and the four terms' shares of a logit.

    n: places 0 .. n - 1, fewer where the encoding has fewer. seeds: of the random projections and contents.
    w_q, w_k: given projections `[h, d, w]`, one a head. head_dim: d of the normal ones. draws: over how many seeds, 0
    and on, the share of random projections is a mean; it differs much from one to the next.
    """
    if form(encoding) != "vector":
        return does_not_apply(KEY, TITLE, QUESTION, _why(encoding))
    if encoding.domain.axes not in (None, 1):
        return does_not_apply(KEY, TITLE, QUESTION, "The question is about a line, and these positions have axes.")
    check_size(n, "places of which all pairs are looked at", 3, 4096)
    check_size(draws, "draws of random projections", 1, 10_000)
    domain = encoding.domain
    first = max(domain.lowest, 0)
    n = int(min(n, domain.highest - first + 1))
    if n < 3 or not seeds:
        raise OptionError("a function of the distance needs some places, and seeds", given=f"{n} places, seeds {seeds}")
    p = vectors(encoding, first + torch.arange(n, dtype=torch.float64))
    width = p.shape[1]
    clock = waves(encoding)
    # What has a last sine without its cosine, or a column of zeros, has no matrix that shifts it.
    clock = None if clock is None or len(clock.columns) != width or width % 2 else clock
    drawn = {kind: [projections(kind, width, seed, head_dim) for seed in seeds] for kind in get_args(Kind)}
    several_x = [contents(1, n, width, seed)[0] for seed in seeds]
    shares, sizes, commuting, terms, pictures = {}, {}, {}, {}, {}
    for kind, several in drawn.items():
        made = [four_terms(x, p, *pair) for x, pair in zip(several_x, several)]
        more = [seed for seed in range(draws) if seed not in seeds] if kind in _RANDOM else []
        pairs = [*(_share(t.pp) for t in made), *(_share(_term(p, kind, seed, head_dim)) for seed in more)]
        shares[kind], sizes[kind] = ([*column] for column in zip(*pairs))
        terms[kind] = [sum(column) / len(made) for column in zip(*(t.shares() for t in made))]
        commuting[kind] = None if clock is None else _mean(commutant_share(a.mT @ b, clock) for a, b in several)
        pictures[kind] = made[0].pp
    expected = expected_share(p)
    lengths = [length for length in LENGTHS if length <= n] + [n] * (n not in LENGTHS)
    by_length = [(length, expected_share(p[:length])) for length in lengths]
    tables = [
        Table(
            f"Share of the position-position term that depends on i - j, {n} places",
            ("W_Q, W_K", "seeds", "share", "s.e.", "lowest", "highest", "commutes"),
            tuple((k, len(s), *_pooled(s, sizes[k]), min(s), max(s), commuting[k]) for k, s in shares.items()),
            f"Normal projections are [{head_dim}, {width}], others [{width}, {width}]. Share: of the variance of all"
            " seeds together, with its standard error; lowest and highest: of one seed. commutes: share of M that"
            f" commutes with every shift, over {len(seeds)} seeds. Expected of random ones: {expected:.3g}.",
        ),
        Table(
            "Share of each term in the variance of the logit, content of unit variance",
            ("W_Q, W_K", "content-content", "content-place", "place-content", "place-place"),
            tuple((kind, *four) for kind, four in terms.items()),
            f"Means over seeds {', '.join(map(str, seeds))}; cov(term, logit) / var(logit), which add up to 1.",
        ),
        Table(
            "Share expected of random projections, by the number of places",
            ("places", "share"),
            tuple(by_length),
            "In closed form. A slow frequency hardly turns within few places, so all of its matrices look like"
            " functions of i - j there.",
        ),
    ]
    numbers = {
        "places": n,
        "width": width,
        "seeds": [*seeds],
        "draws": draws,
        "expected_share": expected,
        **{f"share_{kind.replace(' ', '_')}": values for kind, values in shares.items()},
        **{f"variance_{kind.replace(' ', '_')}": values for kind, values in terms.items()},
    }
    if w_q is not None and w_k is not None:
        heads = given(p, w_q, w_k, clock)
        tables.insert(1, _heads(heads))
        numbers["share_given"] = [share for share, _ in heads]
    mixed = _mixed(p, clock, seeds)
    figures = (
        Lines(
            "From the identity to a random orthogonal matrix: M = (1 - t) I + t R",
            "t",
            "share that depends on i - j",
            mixed,
            note=f"{n} places, seeds {', '.join(map(str, seeds))}.",
        ),
        _heat("Position-position term, W_Q = W_K = identity", pictures["identity"]),
        _heat("Position-position term, independent orthogonal W_Q, W_K", pictures["independent orthogonal"]),
    )
    return Section(
        KEY,
        TITLE,
        QUESTION,
        _answer(n, shares, sizes, terms, expected, numbers.get("share_given")),
        tuple(tables),
        figures,
        _proof(width, n) if clock is not None else (),
        numbers,
    )


@checked
def given(
    p: Float[Tensor, "n w"], w_q: Float[Tensor, "h d w"], w_k: Float[Tensor, "h d w"], waves: Waves | None = None
) -> list[tuple[float, float | None]]:
    """Of each head of given projections `[h, d, w]`: its Toeplitz share at positions p `[n, w]`, its commuting share.

    The second is None without waves. What a model does to p before it is projected (a norm, layers) is not in it.
    """
    real(p, "positions", 2)
    real(w_q, "projections of each head", 3)
    real(w_k, "projections of each head", 3)
    if w_q.dim() != 3 or w_q.shape != w_k.shape or w_q.shape[2] != p.shape[1]:
        raise OptionError(
            "projections are given for each head",
            given=f"w_q {list(w_q.shape)}, w_k {list(w_k.shape)}, positions {list(p.shape)}",
            allowed=f"both [h, d, {p.shape[1]}]",
        )
    w_q, w_k, found = w_q.detach().to(torch.float64), w_k.detach().to(torch.float64), []
    for a, b in zip(w_q, w_k):
        m = a.mT @ b
        found.append((toeplitz_share(p.to(torch.float64) @ m @ p.to(torch.float64).mT), None))
        if waves is not None:
            found[-1] = (found[-1][0], commutant_share(m, waves))
    return found


def _mean(values) -> float:
    values = [*values]
    return sum(values) / len(values)


def _share(term: Tensor) -> tuple[float, float]:
    """The share of a term that depends on the distance, and its whole variance, which that is a share of."""
    return toeplitz_share(term), float((term - term.mean()).square().mean())


def _term(p: Tensor, kind: Kind, seed: int, head_dim: int) -> Tensor:
    """p W_Q^T W_K p^T."""
    if kind == "independent orthogonal":
        # Of two such matrices W_Q^T W_K is one, every one as likely as any other: half the work.
        return p @ orthogonal(p.shape[1], 1000 + seed) @ p.mT
    w_q, w_k = projections(kind, p.shape[1], seed, head_dim)
    return (p @ w_q.mT) @ (p @ w_k.mT).mT


def _pooled(shares: list[float], sizes: list[float]) -> tuple[float, float | None]:
    """The share of several terms together, which `expected_share` is of many, and its standard error; None of one.

    The mean of the shares themselves is another number: where the variance is small the share is often large.
    """
    n, whole = len(shares), sum(sizes)
    if not whole:
        return _mean(shares), None
    share = sum(one * size for one, size in zip(shares, sizes)) / whole
    if n < 2:
        return share, None
    squares = sum(((one - share) * size) ** 2 for one, size in zip(shares, sizes))
    return share, math.sqrt(squares * n / (n - 1)) / whole


def _mixed(p: Tensor, clock: Waves | None, seeds: tuple[int, ...]) -> tuple[Line, ...]:
    """The share against t for each seed, and what of M commutes for the first."""
    plain, eye = p @ p.mT, torch.eye(p.shape[1], dtype=torch.float64)
    lines = []
    for seed in seeds:
        r = orthogonal(p.shape[1], seed)
        turned = p @ r @ p.mT
        lines.append(Line(f"share, seed {seed}", MIXES, [toeplitz_share((1 - t) * plain + t * turned) for t in MIXES]))
        if clock is not None and seed == seeds[0]:
            commuting = [commutant_share((1 - t) * eye + t * r, clock) for t in MIXES]
            lines.append(Line(f"share of M that commutes, seed {seed}", MIXES, commuting))
    return tuple(lines)


def _heat(title: str, a: Tensor) -> Heat:
    step = -(-a.shape[0] // 128)
    at = [*range(0, a.shape[0], step)]
    return Heat(title, "position of the key", "position of the query", a[::step, ::step].tolist(), at, at, True)


def _heads(heads: list[tuple[float, float | None]]) -> Table:
    shown = heads[:12]
    return Table(
        "Share that depends on i - j under the given projections",
        ("head", "share", "commutes"),
        tuple((head, *pair) for head, pair in enumerate(shown)),
        f"The first 12 of {len(heads)} heads." if len(heads) > len(shown) else "",
    )


def _answer(
    n: int, shares: dict, sizes: dict, terms: dict, expected: float, heads: list[float] | None
) -> str:  # fmt: skip
    same = shares["same orthogonal"]
    apart, normal = (_pooled(shares[k], sizes[k]) for k in _RANDOM)
    where = "is a function of i - j exactly" if min(shares["identity"] + same) > 1 - 1e-12 else "depends on more"
    told = [
        f"With W_Q = W_K, the identity or one orthogonal matrix, the position-position term over {n} places {where}:"
        f" shares {_mean(shares['identity']):.4g} and {_mean(same):.4g}.",
        f"With two independent orthogonal matrices a function of i - j explains {_told(apart)} of it, with normal ones"
        f" {_told(normal)} ({len(shares['gaussian'])} seeds together, with standard errors); the closed form"
        f" expects {expected:.3g} of both{_agreement(apart, normal, expected)}.",
    ]
    if heads:
        told.append(f"Under the given projections it is {min(heads):.3g} to {max(heads):.3g} over {len(heads)} heads.")
    four = terms["gaussian"]
    told.append(
        "Of the variance of a logit under normal projections the terms have"
        f" {four[0]:.2g} (content-content), {four[1]:.2g}, {four[2]:.2g} and {four[3]:.2g} (position-position)."
    )
    return " ".join(told)


def _told(share: tuple[float, float | None]) -> str:
    return f"{share[0]:.3g}" if share[1] is None else f"{share[0]:.3g} +- {share[1]:.1g}"


def _agreement(one: tuple[float, float | None], other: tuple[float, float | None], expected: float) -> str:
    """Whether two shares differ from each other or from what is expected, by more than three standard errors."""
    (a, a_error), (b, b_error) = one, other
    if a_error is None or b_error is None:
        return ""
    apart = {
        "the first from it": (a - expected, a_error),
        "the second from it": (b - expected, b_error),
        "the two from each other": (a - b, math.hypot(a_error, b_error)),
    }
    far = [name for name, (off, error) in apart.items() if abs(off) > 3 * error]
    if far:
        return f"; more than three standard errors apart are {' and '.join(far)}"
    return ", from which they do not differ by more than three standard errors, nor from each other"


def _why(encoding: Encoding) -> str:
    if form(encoding) == "rotation":
        return (
            "Nothing is added to the content: queries and keys are turned, and their product has one term, which"
            " depends on the distance by construction. See the section on shifts for what rounding leaves of that."
        )
    return "Nothing is added to the content at the input, so the logit has no position-position term of this kind."


def _proof(width: int, n: int) -> tuple[str, ...]:
    return (
        "A shift by s is a matrix. sin(w (p + s)) = cos(ws) sin(wp) + sin(ws) cos(wp), and likewise for the cosine, so"
        " PE(p + s) = S PE(p), where S turns each pair (sin, cos) by its angle w s. S is orthogonal: S^T S = I.",
        "If M commutes with S, the term depends on the distance. PE(i + s)^T M PE(j + s) = PE(i)^T S^T M S PE(j)"
        " = PE(i)^T S^T S M PE(j) = PE(i)^T M PE(j): moving both by s changes nothing.",
        f"Only if, once there are more than w = {width} places: the vectors of w places in a row span all dimensions"
        " (their frequencies differ), so PE(i)^T S^T M S PE(j) = PE(i)^T M PE(j) for all of them says S^T M S = M, that"
        " is M S = S M." + (f" Of {n} places, fewer, other M may do; a random one does not." if n <= width else ""),
        "Which M commute: between two frequencies w_a and w_b a block B of M would have to satisfy B R(w_b) = R(w_a) B"
        " with R a turn; two turns by different angles share no such B but 0. Within one pair, what commutes with a"
        " turn is a turn times a number. So M = W_Q^T W_K must be one scaled rotation for each pair and nothing else:"
        f" {width} numbers of {width}^2. The identity is one; so is W^T W for one orthogonal W used twice, which is the"
        " identity again. Nothing in training asks for it.",
    )
