"""The logit of summed content and positions: its four terms, and how much of one is a function of the distance."""

import functools
from dataclasses import dataclass
from typing import Literal, get_args

import torch
from jaxtyping import Float
from torch import Tensor

from gnomon.analysis.forms import Waves, form, vectors, waves
from gnomon.analysis.section import Heat, Line, Lines, Section, Table, does_not_apply
from gnomon.checked import checked
from gnomon.encoding import Encoding
from gnomon.errors import OptionError

Kind = Literal["identity", "same orthogonal", "independent orthogonal", "gaussian"]
"""Projections W_Q, W_K: both the identity; both one random orthogonal matrix; two of them; two of independent normal
numbers, as a layer has at its start."""

MIXES = tuple(step / 20 for step in range(21))
"""Shares t of a random orthogonal matrix in `(1 - t) I + t R`."""

LENGTHS = (16, 64, 256, 512)
"""Numbers of places at which the expected share is told."""

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
def nearest_toeplitz(a: Float[Tensor, "n n"]) -> Float[Tensor, "n n"]:
    """The function of i - j that is nearest to `a` `[n, n]` in squares, float64: each diagonal has its mean."""
    _square(a)
    n, a = a.shape[0], a.to(torch.float64)
    diagonal = (torch.arange(n)[:, None] - torch.arange(n) + n - 1).flatten()
    sums = torch.zeros(2 * n - 1, dtype=torch.float64).index_add(0, diagonal, a.flatten())
    return (sums / torch.bincount(diagonal))[diagonal].reshape(n, n)


@checked
def toeplitz_share(a: Float[Tensor, "n n"]) -> float:
    """The share of the variance of `a` `[n, n]`, over all its pairs, that the best function of i - j explains: 0 to 1.

    1 - |A - T|^2 / |A - mean|^2, where T is `nearest_toeplitz(a)` and |.|^2 sums squares. T is an orthogonal
    projection that keeps the mean, so this is |T - mean|^2 / |A - mean|^2 as well. 1 for a constant.
    """
    a = a.to(torch.float64)
    rest, whole = (a - nearest_toeplitz(a)).square().sum(), (a - a.mean()).square().sum()
    return float(1 - rest / whole) if whole else 1.0


@checked
def expected_share(p: Float[Tensor, "n w"]) -> float:
    """What `toeplitz_share(p M p^T)` of a random M is about: E |T - mean|^2 / E |A - mean|^2, p `[n, w]`.

    For any M whose entries have mean 0, one variance, and no correlation: normal numbers, the product of two normal
    matrices, a random orthogonal matrix, the product of two. With G = p p^T and L_k the length of diagonal k, the
    first is `sum_k sum_{i i'} G_ii' G_{i-k, i'-k} / L_k`, the second `(sum_i G_ii)^2`, each less
    `(sum_ij G_ij)^2 / n^2` for the mean. For sinusoidal positions it falls to 1 / w as n grows.
    """
    p = p.to(torch.float64)
    gram, n = p @ p.mT, p.shape[0]
    mean = gram.sum() ** 2 / n**2
    along = [(gram[k:, k:] * gram[: n - k, : n - k]).sum() / (n - k) for k in range(n)]
    whole = gram.trace() ** 2 - mean
    return float((2 * sum(along) - along[0] - mean) / whole) if whole else 1.0


@checked
def projections(kind: Kind, width: int, seed: int, head_dim: int | None = None) -> tuple[Tensor, Tensor]:
    """W_Q and W_K of a kind, each `[d, w]` float64: d = w, or `head_dim` under `gaussian`, whose variance is 1 / w."""
    if kind == "identity":
        return (torch.eye(width, dtype=torch.float64),) * 2
    if kind == "gaussian":
        g = torch.Generator().manual_seed(seed)
        shape = (head_dim or width, width)
        w_q, w_k = (torch.randn(shape, generator=g, dtype=torch.float64) * width**-0.5 for _ in range(2))
        return w_q, w_k
    if kind == "same orthogonal":
        return (orthogonal(width, seed),) * 2
    return orthogonal(width, 2 * seed), orthogonal(width, 2 * seed + 1)


@checked
def orthogonal(width: int, seed: int) -> Float[Tensor, "w w"]:
    """A random orthogonal matrix `[w, w]` float64, every rotation and reflection as likely as any other.

    Source: Mezzadri 2007, "How to generate random matrices from the classical compact groups".
    """
    return _orthogonal(width, seed).clone()


@checked
def shift_matrix(waves: Waves, by: float = 1.0) -> Float[Tensor, "w w"]:
    """S `[w, w]` float64 with PE(p + by) = S PE(p): it turns the sine and the cosine of each frequency.

    OptionError where a sine has no cosine (an odd width), or the waves turn queries and keys (rope).
    """
    size = len(waves.columns)
    s = torch.zeros(size, size, dtype=torch.float64)
    for m, (sine, cosine) in enumerate(_pairs(waves)):
        angle = torch.tensor(waves.frequencies[m] * by, dtype=torch.float64)
        s[sine, sine] = s[cosine, cosine] = angle.cos()
        s[sine, cosine], s[cosine, sine] = angle.sin(), -angle.sin()
    return s


@checked
def shift_commutator(m: Float[Tensor, "w w"], waves: Waves, by: float = 1.0) -> float:
    """|M S - S M| / |M| of `m` `[w, w]` with the shift S by `by` places: 0 where M commutes with it, 2 at most.

    A small number does not make M nearly commute with every shift: the slow frequencies hardly turn in one place.
    `commutant_share` asks about all shifts at once.
    """
    s = shift_matrix(waves, by)
    _square(m, s.shape[0])
    m = m.to(torch.float64)
    return float((m @ s - s @ m).norm() / m.norm())


@checked
def commuting_part(m: Float[Tensor, "w w"], waves: Waves) -> Float[Tensor, "w w"]:
    """The nearest matrix to `m` `[w, w]` that commutes with every shift, float64.

    Frequencies differ, so nothing is left between two of them; within each pair, the nearest scaled rotation.
    """
    _square(m, len(waves.columns))
    m = m.to(torch.float64)
    kept = torch.zeros_like(m)
    sine, cosine = torch.tensor(_pairs(waves)).unbind(1)
    kept[sine, sine] = kept[cosine, cosine] = (m[sine, sine] + m[cosine, cosine]) / 2
    kept[sine, cosine] = (m[sine, cosine] - m[cosine, sine]) / 2
    kept[cosine, sine] = -kept[sine, cosine]
    return kept


@checked
def commutant_share(m: Float[Tensor, "w w"], waves: Waves) -> float:
    """The share of the squares of `m` `[w, w]` in its `commuting_part`: 1 where it commutes with every shift.

    1 / w is expected of a random matrix: w of w^2 dimensions commute.
    """
    return float(commuting_part(m, waves).square().sum() / m.to(torch.float64).square().sum())


@checked
def section(
    encoding: Encoding,
    n: int = 256,
    seeds: tuple[int, ...] = (0, 1, 2, 3, 4),
    w_q: Tensor | None = None,
    w_k: Tensor | None = None,
    head_dim: int = 64,
) -> Section:
    """Toeplitz share of the position-position term under several projections, and the four terms' shares of a logit.

    n: places 0 .. n - 1, fewer where the encoding has fewer. seeds: of the random projections and contents.
    w_q, w_k: given projections `[h, d, w]`, one a head. head_dim: d of the normal ones.
    """
    if form(encoding) != "vector":
        return does_not_apply(KEY, TITLE, QUESTION, _why(encoding))
    if encoding.domain.axes not in (None, 1):
        return does_not_apply(KEY, TITLE, QUESTION, "The question is about a line, and these positions have axes.")
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
    shares, commuting, terms, pictures = {}, {}, {}, {}
    for kind, several in drawn.items():
        contents = [_content(n, width, seed) for seed in seeds]
        made = [four_terms(x, p, *pair) for x, pair in zip(contents, several)]
        shares[kind] = [toeplitz_share(t.pp) for t in made]
        terms[kind] = [sum(column) / len(made) for column in zip(*(t.shares() for t in made))]
        commuting[kind] = None if clock is None else _mean(commutant_share(a.mT @ b, clock) for a, b in several)
        pictures[kind] = made[0].pp
    expected = expected_share(p)
    lengths = [length for length in LENGTHS if length <= n] + [n] * (n not in LENGTHS)
    by_length = [(length, expected_share(p[:length])) for length in lengths]
    tables = [
        Table(
            f"Share of the position-position term that depends on i - j, {n} places",
            ("W_Q, W_K", "mean", "lowest", "highest", "commutes"),
            tuple((k, _mean(s), min(s), max(s), commuting[k]) for k, s in shares.items()),
            f"Seeds {', '.join(map(str, seeds))}; normal projections are [{head_dim}, {width}], others"
            f" [{width}, {width}]. commutes: share of M that commutes with every shift."
            f" Expected of random ones: {expected:.3g}.",
        ),
        Table(
            "Share of each term in the variance of the logit, content of unit variance",
            ("W_Q, W_K", "content-content", "content-place", "place-content", "place-place"),
            tuple((kind, *four) for kind, four in terms.items()),
            "Means over the seeds; cov(term, logit) / var(logit), which add up to 1.",
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
        _answer(n, shares, terms, expected, numbers.get("share_given")),
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


@functools.lru_cache(maxsize=16)
def _orthogonal(width: int, seed: int) -> Tensor:
    g = torch.Generator().manual_seed(seed)
    q, r = torch.linalg.qr(torch.randn(width, width, generator=g, dtype=torch.float64))
    return q * r.diagonal().sign()


def _square(a: Tensor, size: int | None = None) -> None:
    if a.dim() != 2 or a.shape[0] != a.shape[1] or not a.numel() or size not in (None, a.shape[0]):
        raise OptionError(
            "a square matrix is asked for", given=list(a.shape), allowed=f"[{size or 'n'}, {size or 'n'}]"
        )


def _pairs(waves: Waves) -> list[tuple[int, int]]:
    """The columns of the sine and of the cosine of each frequency."""
    at = {column: place for place, column in enumerate(waves.columns)}
    pairs = [(at.get(("sin", m)), at.get(("cos", m))) for m in range(len(waves.frequencies))]
    if not pairs or any(None in pair for pair in pairs):
        raise OptionError(
            "a shift turns the sine and the cosine of each frequency",
            given=f"{len(waves.columns)} columns of {len(waves.frequencies)} frequencies",
            do="choose sinusoidal positions of an even width",
        )
    return pairs


def _content(n: int, width: int, seed: int) -> Tensor:
    return torch.randn(n, width, generator=torch.Generator().manual_seed(10_000 + seed), dtype=torch.float64)


def _mean(values) -> float:
    values = [*values]
    return sum(values) / len(values)


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


def _answer(n: int, shares: dict, terms: dict, expected: float, heads: list[float] | None) -> str:
    same, apart, normal = (shares[k] for k in ("same orthogonal", "independent orthogonal", "gaussian"))
    where = "is a function of i - j exactly" if min(shares["identity"] + same) > 1 - 1e-12 else "depends on more"
    told = [
        f"With W_Q = W_K, the identity or one orthogonal matrix, the position-position term over {n} places {where}:"
        f" shares {_mean(shares['identity']):.4g} and {_mean(same):.4g}.",
        f"With two independent orthogonal matrices a function of i - j explains {_mean(apart):.3g} of it"
        f" ({min(apart):.3g} to {max(apart):.3g} over {len(apart)} seeds), with normal ones {_mean(normal):.3g}"
        f" ({min(normal):.3g} to {max(normal):.3g}); the closed form expects {expected:.3g}.",
    ]
    if heads:
        told.append(f"Under the given projections it is {min(heads):.3g} to {max(heads):.3g} over {len(heads)} heads.")
    four = terms["gaussian"]
    told.append(
        "Of the variance of a logit under normal projections the terms have"
        f" {four[0]:.2g} (content-content), {four[1]:.2g}, {four[2]:.2g} and {four[3]:.2g} (position-position)."
    )
    return " ".join(told)


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
