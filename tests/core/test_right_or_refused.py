"""Whatever is asked, attention is what the definition says in float64, or an error of gnomon: made up by hypothesis.

Lengths 0 to 5, queries other than keys, heads and widths in odd combinations, rows of padding alone, documents, tokens
without a place, windows; positions that are negative, fractional, beyond float32 or beyond float64's whole numbers.
"""

import contextlib
from itertools import product

import pytest
import torch
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from gnomon.attention import attend
from gnomon.encoding import Shape
from gnomon.encodings import create
from gnomon.errors import UserError
from gnomon.kv_cache import Cache
from gnomon.masks import Mask
from gnomon.positions import Positions
from gnomon.transformer import Transformer
from tests.core.common import every_variant, gap, label, normal, tokens, weigh

PHASES = [Phase.reuse, Phase.generate, Phase.shrink]
SETTINGS = settings(deadline=None, max_examples=120, phases=PHASES, suppress_health_check=[*HealthCheck])

EXTREME = (
    *(0.0, 1.0, 2.0, -1.0, -7.0, 0.5, -0.25, 1e-3, 255.5, 1023.0, 1024.0, 2.0**24 + 1, -(2.0**24) - 1, 1e8, -1e8),
    *(1e8 + 0.5, 2.0**53 - 1, 2.0**53 + 2, 1e300, float("nan"), float("inf")),
)
"""Places: what people have, what float32 does not hold, what no encoding takes."""

EPSILON = {kind: torch.finfo(kind).eps for kind in (torch.float64, torch.float32, torch.bfloat16, torch.float16)}

variants = st.sampled_from(every_variant())
few = st.integers(0, 5)
SHAPES = ((1, 1, 8), (2, 1, 4), (3, 3, 2), (6, 2, 8), (4, 4, 6), (5, 1, 2), (2, 2, 3), (1, 1, 1), (3, 1, 5))
shapes = st.sampled_from(SHAPES)
"""Heads, key/value heads, width of a head."""


@st.composite
def positions(draw: st.DrawFn, n: int, axes: int, rows: int) -> Positions:
    """Of n tokens, in one way for all rows or in each its own."""
    own = draw(st.sampled_from((1, rows)))
    place = st.one_of(st.sampled_from(EXTREME[:8]), st.sampled_from(EXTREME), st.integers(-40, 40).map(float))
    near = st.integers(0, 9).map(float)
    coords = draw(
        st.lists(draw(st.sampled_from((near, near, place))), min_size=own * n * axes, max_size=own * n * axes)
    )
    told = {}
    if draw(st.integers(0, 3)) == 0:
        segment = draw(st.lists(st.integers(-1, 1), min_size=rows * n, max_size=rows * n))
        told["segment"] = torch.tensor(segment, dtype=torch.int64).view(rows, n)
    if draw(st.integers(0, 4)) == 0:
        placed = draw(st.lists(st.booleans(), min_size=rows * n, max_size=rows * n))
        told["placed"] = torch.tensor(placed, dtype=torch.bool).view(rows, n)
    return Positions(torch.tensor(coords, dtype=torch.float64).view(own, n, axes), draw(st.integers(0, 2)), **told)


@SETTINGS
@given(st.data())
def test_attention(data: st.DataObject):
    (name, options), (h, g, d) = data.draw(variants), data.draw(shapes)
    rows, n = data.draw(st.integers(1, 3)), data.draw(few)
    m = data.draw(st.sampled_from((n, n, n + 2, max(0, n - 1))))
    mask = Mask(causal=data.draw(st.booleans()), window=data.draw(st.sampled_from((None, None, 1, 3))))
    dtype = data.draw(st.sampled_from([*EPSILON]))
    try:
        encoding = weigh(create(name, Shape(h * d, h, d, 2, mask.causal), **options).double(), seed=1)
    except UserError:
        return
    axes = encoding.domain.axes or data.draw(st.integers(1, 2))
    q_pos = data.draw(positions(n, axes, rows))
    k_pos = q_pos if m == n and data.draw(st.booleans()) else data.draw(positions(m, axes, rows))
    q, k, v = (normal(rows, heads, t, d, seed=at).to(dtype) for at, (heads, t) in enumerate(((h, n), (g, m), (g, m))))

    def found(backend: str, kind: torch.dtype) -> torch.Tensor:
        with torch.no_grad():
            made = encoding if kind == torch.float64 else create(name, Shape(h * d, h, d, 2, mask.causal), **options)
            weigh(made.to(kind), seed=1)
            out = attend(*(each.to(kind) for each in (q, k, v)), made, q_pos, k_pos, mask=mask, backend=backend)
            assert out.shape == (rows, h, n, out.shape[3]) and out.dtype == kind
            return out.double()

    try:
        right = found("reference", torch.float64)
    except UserError:
        _refused(lambda: found("auto", dtype), name)
        return
    assert torch.isfinite(right).all()
    most = 1 + _size(encoding, q, k, q_pos, k_pos)
    far = max((float(each.coords.abs().max()) for each in (q_pos, k_pos) if each.coords.numel()), default=0.0)
    for kind in {torch.float64, dtype}:
        rounded = found("auto", kind)
        assert torch.isfinite(rounded).all(), label((name, options))
        # What rounding does to a logit moves a weight by as much; an angle is known to so much of a place.
        bound = 40 * most * (EPSILON[kind] + far * EPSILON[torch.float64])
        if bound < 0.5 and right.numel():
            assert gap(rounded, right) < bound * (1 + right.abs().max()), label((name, options))


def _refused(ask, name: str) -> None:
    """What the definition refuses, the lowering refuses too."""
    try:
        ask()
    except UserError:
        return
    raise AssertionError(f"{name}: the definition refuses what is computed")


def _size(encoding, q, k, q_pos, k_pos) -> float:
    """The largest finite logit that the definition gives any pair."""
    if not q.numel() or not k.numel():
        return 0.0
    repeated = k.repeat_interleave(q.shape[1] // k.shape[1], dim=1).double()
    with torch.no_grad():
        try:
            logits = encoding.score(q.double(), repeated, q_pos, k_pos)
        except TypeError:  # it is told which keys each query sees
            seen = torch.ones(1, 1, q.shape[2], k.shape[2], dtype=torch.bool)
            logits = encoding.score(q.double(), repeated, q_pos, k_pos, seen)
    logits = logits[torch.isfinite(logits)]
    return float(logits.abs().max()) if logits.numel() else 0.0


@settings(SETTINGS, max_examples=60)
@given(variants, shapes, few, st.integers(0, 2), st.booleans(), st.sampled_from((None, 1, 3)))
def test_models(variant, shape, n: int, rows: int, causal: bool, window: int | None):
    """A model of these sizes, whole and token by token, is that of the definition."""
    (name, options), (h, g, d) = variant, shape
    mask = Mask(causal=causal, window=window)
    try:
        nets = [
            weigh(
                Transformer(
                    29,
                    h * d,
                    2,
                    h,
                    create(name, Shape(h * d, h, d, 2, causal), **options),
                    kv_heads=g,
                    mask=mask,
                    backend=backend,
                ).double()
            ).eval()
            for backend in ("auto", "reference")
        ]
        token = tokens(rows, n)
        with torch.no_grad():
            found, right = (net(token) for net in nets)
    except UserError:
        return
    assert found.shape == (rows, n, 29) and gap(found, right) < 1e-9
    if not causal or not rows:
        return
    try:
        with torch.no_grad():
            cache = Cache(n + 1)
            parts = [nets[0](token[:, at : at + 1], cache=cache) for at in range(n)]
    except UserError:
        return
    assert not parts or gap(torch.cat(parts, dim=1), right) < 1e-9


@pytest.mark.parametrize("variant", every_variant(), ids=label)
@pytest.mark.parametrize("shape", [(1, 1, 8), (6, 2, 8)])
def test_models_of_nothing(variant, shape):
    """No rows, no tokens or neither: as many logits, also with a cache."""
    (name, options), (h, g, d) = variant, shape
    for causal, rows_and_n in product((True, False), [(0, 1), (0, 3), (1, 0), (0, 0)]):
        with torch.no_grad(), contextlib.suppress(UserError):
            encoding = create(name, Shape(h * d, h, d, 2, causal), **options)
            net = weigh(Transformer(29, h * d, 2, h, encoding, kv_heads=g, mask=Mask(causal=causal))).eval()
            assert net(tokens(*rows_and_n)).shape == (*rows_and_n, 29)
            if causal:
                assert net(tokens(*rows_and_n), cache=Cache(3)).shape == (*rows_and_n, 29)
