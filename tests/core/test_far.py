"""Far keys, whose distances no query tells apart, attended to without a bias for each pair: the same numbers."""

import pytest
import torch

from gnomon import Shape, attend
from gnomon.backends import far, sdpa, tabled
from gnomon.encodings import create
from gnomon.masks import BIDIRECTIONAL, CAUSAL, Mask
from gnomon.positions import Positions, packed, sequence

N, CLIP = 61, 5
ENCODINGS = {
    "shaw, keys": ("shaw", dict(values=False, clip=CLIP)),
    "shaw": ("shaw", dict(clip=CLIP)),
    "shaw, a table a head": ("shaw", dict(per_head=True, left=CLIP, right=2)),
    "deberta": ("deberta", dict(span=CLIP)),
    "deberta, c2p": ("deberta", dict(span=CLIP, terms="c2p")),
    "deberta, p2c": ("deberta", dict(span=CLIP, terms="p2c")),
    "deberta, logarithmic": ("deberta", dict(span=9, buckets=6)),
    "alibi": ("alibi", {}),
    "t5": ("t5", dict(buckets=8, max_distance=9)),
    "relative_bias": ("relative_bias", dict(clip=CLIP)),
}
CONTENT_FREE = {"alibi", "t5", "relative_bias"}
"""Where positions are evenly spaced, these are a view of a table."""
MASKS = {"causal": CAUSAL, "bidirectional": BIDIRECTIONAL, "windowed": Mask(window=30)}
SORTED = torch.randperm(3 * N, generator=torch.Generator().manual_seed(5))[:N].sort().values.double()
POSITIONS = {
    "from 0": sequence(N),
    "from 7": sequence(N, 7),
    "backwards": sequence(N, 70, step=-1.0),
    "sorted": Positions(SORTED[None, :, None]),
    "falling": Positions(SORTED.flip(0)[None, :, None]),
    "a step of the clip": Positions(CLIP * torch.arange(N).double()[None, :, None]),
    "rows apart": Positions(torch.stack([SORTED, SORTED + torch.arange(N) // 3])[..., None]),
    "one row falling": Positions(torch.stack([SORTED, SORTED.flip(0)])[..., None]),
    "in turn": Positions(SORTED[None, torch.arange(N).view(-1).roll(20), None]),
}
APART = {"one row falling", "in turn"}
"""Where most parts have no key that all queries see from beyond the table."""


def made(name: str, options: dict, dtype: torch.dtype, groups: int = 6, causal: bool = True):
    torch.manual_seed(3)
    encoding = create(name, Shape(width=24, heads=6, head_dim=4, causal=causal), **options).to(dtype)
    with torch.no_grad():
        for parameter in encoding.parameters():
            parameter.normal_(std=0.5)
    q, k, v = (torch.randn(2, count, N, 4, dtype=dtype) for count in (6, groups, groups))
    return encoding, q, k, v


@pytest.fixture
def calls(monkeypatch):
    """How often far keys were attended to; a few of them suffice here."""
    found, real = [], far.attend_far

    def counted(*args):
        found.append(args)
        return real(*args)

    monkeypatch.setattr(far, "attend_far", counted)
    monkeypatch.setattr(far, "LEAST", 2)
    monkeypatch.setattr(sdpa, "CHUNK", 8)
    monkeypatch.setattr(sdpa, "SHARED", 0)
    return found


@pytest.mark.parametrize("pos", POSITIONS)
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("name", ENCODINGS)
def test_far_keys_give_what_pairs_give(name, mask, pos, calls):
    encoding, q, k, v = made(*ENCODINGS[name], torch.float64, causal=mask != "bidirectional")
    with torch.no_grad():
        found = attend(q, k, v, encoding, POSITIONS[pos], mask=MASKS[mask])
        expected = attend(q, k, v, encoding, POSITIONS[pos], mask=MASKS[mask], backend="reference")
    assert (found - expected).abs().max() < 1e-12
    tabled = name in CONTENT_FREE and pos in {"from 0", "from 7", "backwards"}
    assert not (tabled and calls)
    if not tabled and pos not in APART | {"backwards"} and mask != "windowed":
        assert len(calls) >= (N // 8 - 2) * (1 if mask == "causal" else 2), "far keys were looked at pair by pair"


def test_far_keys_serve_groups_of_heads(calls):
    encoding, q, k, v = made("shaw", dict(clip=CLIP), torch.float64, groups=2)
    with torch.no_grad():
        found, expected = (attend(q, k, v, encoding, backend=backend) for backend in ("sdpa", "reference"))
    assert (found - expected).abs().max() < 1e-12 and calls


@pytest.mark.parametrize(("dtype", "bound"), [(torch.float32, 1e-5), (torch.bfloat16, 0.06)])
@pytest.mark.parametrize("name", ["shaw", "alibi", "t5", "relative_bias"])
def test_far_keys_in_less_precision(name, dtype, bound, calls):
    """In 16 bits biases without content are counted from the largest of all, and so not in parts."""
    encoding, q, k, v = made(*ENCODINGS[name], dtype)
    pos = POSITIONS["sorted"].shifted(1e6)
    with torch.no_grad():
        found = attend(q, k, v, encoding, pos)
        expected = attend(*(t.double() for t in (q, k, v)), encoding.double(), pos, backend="reference")
    assert found.dtype == dtype and (found.double() - expected).abs().max() < bound
    assert bool(calls) == (name == "shaw" or dtype == torch.float32)


@pytest.mark.parametrize("name", ENCODINGS)
def test_far_keys_of_a_step_with_a_cache(name, calls):
    """One query, the last, over all keys."""
    encoding, q, k, v = made(*ENCODINGS[name], torch.float64)
    pos = sequence(N)
    with torch.no_grad():
        for some in (pos.tokens(N - 1, N), pos.tokens(N - 9, N)):
            last = q[:, :, -some.length :]
            found = attend(last, k, v, encoding, some, pos)
            expected = attend(last, k, v, encoding, some, pos, backend="reference")
            assert (found - expected).abs().max() < 1e-12


@pytest.mark.parametrize(
    "pos",
    [
        packed([20, N - 20]),
        Positions(sequence(N).coords[:, torch.randperm(N, generator=torch.Generator().manual_seed(2))]),
        Positions(sequence(N).coords, index=sequence(N).turns()),
        Positions(SORTED[None, :, None], placed=torch.arange(N)[None] % 9 > 0),
    ],
    ids=["packed", "in no order", "turns told", "some without a place"],
)
def test_what_is_not_known_is_looked_at_pair_by_pair(pos, calls):
    encoding, q, k, v = made("shaw", dict(clip=CLIP), torch.float64)
    with torch.no_grad():
        found, expected = (attend(q, k, v, encoding, pos, backend=backend) for backend in ("sdpa", "reference"))
    assert (found - expected).abs().max() < 1e-12 and not calls


@pytest.mark.parametrize("beyond", [0.0, -0.25, 0.25, -1.0, 1.0])
@pytest.mark.parametrize("side", [-1, 1])
def test_keys_at_the_end_of_the_table(side, beyond, calls):
    """A cluster of queries, and keys around the distance from which on all are one."""
    encoding, q, k, v = made("deberta", dict(span=CLIP), torch.float64)
    coords = torch.zeros(N, dtype=torch.float64)
    coords[: N // 2] = side * (CLIP + beyond)
    q_pos, k_pos = Positions(torch.zeros(1, N, 1, dtype=torch.float64)), Positions(coords[None, :, None])
    with torch.no_grad():
        found, expected = (
            attend(q, k, v, encoding, q_pos, k_pos, mask=BIDIRECTIONAL, backend=backend)
            for backend in ("sdpa", "reference")
        )
    assert (found - expected).abs().max() < 1e-12 and bool(calls) == (beyond >= 0)


@pytest.mark.parametrize("side", [-1, 1])
def test_far_keys_in_no_order_that_begin_or_end_where_the_queries_are(side, calls):
    """Keys on one side of all queries, the first and the last of them at the same place as a query."""
    encoding, q, k, v = made("alibi", {}, torch.float64)
    coords = side * torch.arange(N, dtype=torch.float64).flip(0)
    coords[[0, -1]] = 0.0
    q_pos = Positions(torch.zeros(1, N, 1, dtype=torch.float64) - 0.0 * side)
    k_pos = Positions(coords[None, :, None])
    with torch.no_grad():
        found, expected = (
            attend(q, k, v, encoding, q_pos, k_pos, mask=BIDIRECTIONAL, backend=backend)
            for backend in ("sdpa", "reference")
        )
    assert calls and (found - expected).abs().max() < 1e-12


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_what_cannot_be_cut_is_looked_up(dtype, monkeypatch):
    """Documents, padding and 16 bits: sorted positions alone are no reason to look at every pair."""
    monkeypatch.setattr(sdpa, "SHARED", 0)
    monkeypatch.setattr(sdpa, "CHUNK", 8)
    monkeypatch.setattr(far, "LEAST", 2)
    monkeypatch.setattr(tabled, "WORTH", 1)
    padding = torch.zeros(1, N, dtype=torch.int64)
    padding[:, -3:] = -1
    for pos, cut in (
        (POSITIONS["sorted"], dtype == torch.float32),
        (Positions(SORTED[None, :, None], segment=padding), False),
    ):
        encoding, *_ = made("alibi", {}, dtype)
        with torch.no_grad():
            plan = sdpa.Sdpa().plan(encoding, pos, pos, BIDIRECTIONAL, 6, dtype)
        assert plan.looked_up == (not cut)


def test_gradients_and_dropout_need_the_weights(calls):
    encoding, q, k, v = made("shaw", dict(clip=CLIP), torch.float64)
    attend(q, k, v, encoding)
    with torch.no_grad():
        attend(q, k, v, encoding, dropout=0.5)
    assert not calls


def test_a_bias_without_an_end_has_no_far_keys(calls):
    encoding, q, k, v = made("transformer_xl", {}, torch.float64)
    with torch.no_grad():
        attend(q, k, v, encoding)
    assert not calls


def test_the_kernel_is_there():
    """It is no public name of torch: a release without it shows here first, not as a slow path."""
    q = torch.randn(1, 2, 3, 4)
    out, weight = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(
        q, q, q, 0.0, False, attn_mask=None, scale=0.3
    )
    logits = 0.3 * q @ q.mT
    assert torch.allclose(weight, logits.logsumexp(-1), atol=1e-6)
    assert torch.allclose(out, logits.softmax(-1) @ q, atol=1e-6)
