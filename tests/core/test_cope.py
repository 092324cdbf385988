"""CoPE: what is counted, in which order, which backends can, and what is refused."""

import math

import pytest
import torch

from gnomon.attention import Attention, attend
from gnomon.encoding import Property
from gnomon.encodings.cope import Cope
from gnomon.errors import BackendError, OptionError
from gnomon.kv_cache import Cache
from gnomon.laws import LAWS, cases, judge
from gnomon.laws.mutants import cope as mutants
from gnomon.masks import BIDIRECTIONAL, CAUSAL, Mask
from gnomon.positions import Positions, packed, sequence
from tests.core.common import HEAD_DIM, HEADS, WIDTH, gap, heads, make, model, normal, tokens, weigh


def counted(gates: list[list[float]], q_pos=None, k_pos=None, rows: int = 64) -> torch.Tensor:
    gates = torch.tensor(gates, dtype=torch.float64)
    q_pos = sequence(gates.shape[0]) if q_pos is None else q_pos
    k_pos = sequence(gates.shape[1]) if k_pos is None else k_pos
    return Cope(2, rows).count(gates[None, None], q_pos, k_pos)[0, 0]


def test_from_each_key_to_the_query():
    found = counted([[1, 0, 0], [0.5, 0.25, 0], [0.5, 0.25, 1]])
    assert found.tril().tolist() == [[1, 0, 0], [0.75, 0.25, 0], [1.75, 1.25, 1]]


def test_on_both_sides_without_a_mask():
    """Both ends are counted on either side, so the query's own gate is in every sum."""
    found = counted([[0.5, 1, 0.25], [0.5, 1, 0.25], [0.5, 1, 0.25]])
    assert found.tolist() == [[0.5, 1.5, 1.75], [1.5, 1, 1.25], [1.75, 1.25, 0.25]]


def test_no_more_than_the_table_has():
    assert counted([[1.0] * 6] * 6, rows=3).max() == 2
    assert counted([[1.0] * 6] * 6, rows=1).max() == 0


def test_order_is_that_of_turns():
    """Tokens laid out in another order than they came count alike."""
    gates, order = torch.rand(5, 5, dtype=torch.float64), torch.tensor([3, 0, 4, 2, 1])
    plain = counted(gates.tolist())
    coords = torch.zeros(1, 5, 1, dtype=torch.float64)
    pos = Positions(coords, index=10 * order[None])
    assert gap(counted(gates[order][:, order].tolist(), pos, pos), plain[order][:, order]) < 1e-15


def plainly(encoding, q, k, v, q_pos, k_pos, mask):
    """CoPE's attention with a loop over the keys between, one pair at a time, in Python's numbers."""
    rows, count, n, d = q.shape
    group, out = count // k.shape[1], torch.zeros_like(q)
    table, scale = encoding.weight.tolist(), d**-0.5
    q_turns, k_turns, q_placed, k_placed, q_documents, k_documents = (
        field.expand(rows, -1).tolist()
        for field in (q_pos.turns(), k_pos.turns(), q_pos.has_place(), k_pos.has_place(), q_pos.segments(),
                      k_pos.segments())
    )  # fmt: skip
    for b, h, i in ((b, h, i) for b in range(rows) for h in range(count) for i in range(n)):
        mine, now, query, keys = q_documents[b][i], q_turns[b][i], q[b, h, i].tolist(), k[b, h // group].tolist()
        product = [sum(x * y for x, y in zip(query, key, strict=True)) for key in keys]
        seen = [
            j
            for j, turn in enumerate(k_turns[b])
            if mine >= 0
            and k_documents[b][j] == mine
            and (not mask.causal or turn <= now)
            and (mask.window is None or abs(turn - now) < mask.window)
        ]
        weights = {}
        for j in seen:
            first, last = sorted((k_turns[b][j], now))
            between = [t for t in seen if first <= k_turns[b][t] <= last and k_placed[b][t]]
            p = min(sum(1 / (1 + math.exp(-scale * product[t])) for t in between), len(table) - 1)
            m = math.floor(p)
            here = [(1 - (p - m)) * e + (p - m) * f for e, f in zip(table[m], table[math.ceil(p)], strict=True)]
            term = sum(x * e for x, e in zip(query, here, strict=True)) * (scale if encoding.divided else 1)
            weights[j] = math.exp(scale * product[j] + term * (q_placed[b][i] and k_placed[b][j]))
        for j, weight in weights.items():
            out[b, h, i] += weight / sum(weights.values()) * v[b, h // group, j]
    return out


def scattered(n: int) -> Positions:
    """Coordinates, turns, documents, padding and places at random, in two rows."""
    g = torch.Generator().manual_seed(3)
    index = torch.stack([torch.randperm(20, generator=g)[:n] for _ in range(2)])
    return Positions(
        100 * torch.randn(2, n, 1, generator=g, dtype=torch.float64),
        index=index,
        segment=torch.randint(-1, 2, (2, n), generator=g),
        placed=torch.rand(2, n, generator=g) > 0.2,
    )


LAYOUTS = {
    "in order": sequence(8),
    "late": sequence(8, 5),
    "documents": packed([3, 5]),
    "scattered": scattered(8),
    "turns": Positions(torch.zeros(1, 8, 1, dtype=torch.float64), index=torch.tensor([[7, 0, 40, 3, 2, 9, 8, 1]])),
}
MASKS = {"causal": CAUSAL, "bidirectional": BIDIRECTIONAL, "window": Mask(window=3), "both sides": Mask(False, 4)}


@pytest.mark.parametrize("options", [{}, {"max_positions": 3, "divided": False}], ids=str)
@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_plain_form(layout, mask, options):
    """The formula once more, a loop over the keys between in the order of turns: running sums must give the same."""
    encoding, pos, (q, k, v) = weigh(Cope(HEAD_DIM, **options).double()), LAYOUTS[layout], heads(8)
    expected = plainly(encoding, q, k, v, pos, pos, mask)
    assert gap(attend(q, k, v, encoding, pos, mask=mask), expected) < 1e-12
    late = pos.tokens(5, 8)
    found = attend(q[:, :, 5:], k, v, encoding, late, pos, mask=mask)
    assert gap(found, expected[:, :, 5:]) < 1e-12


@pytest.mark.parametrize("mutant", mutants.MUTANTS, ids=lambda mutant: mutant.name)
def test_the_plain_form_sees_every_mutant(mutant):
    encoding, pos, (q, k, v) = mutant.case.make(), LAYOUTS["scattered"], heads(8)
    expected = plainly(encoding, q, k, v, pos, pos, CAUSAL)
    assert gap(attend(q, k, v, encoding, pos), expected) > 1e-3


def test_it_has_no_lowering_to_be_held_to():
    for case in cases(["cope"]):
        assert judge(LAWS["lowering"], case).verdict == "not applicable"
    assert judge(LAWS["lowering"], cases(["rope"])[0]).verdict == "holds"


def test_the_future_is_masked_before_the_gate():
    """Elsewhere an unmasked future moved the first row from 0.1 to 0.696."""
    encoding = weigh(Cope(HEAD_DIM).double())
    q, k, v = heads(6)
    out = attend(q, k, v, encoding)
    changed = k.clone()
    changed[:, :, 3:] *= -2
    assert torch.equal(attend(q, changed, v, encoding)[:, :, :3], out[:, :, :3])


@pytest.mark.parametrize("mask", [CAUSAL, BIDIRECTIONAL, Mask(window=2)], ids=["causal", "bidirectional", "window"])
def test_a_key_that_is_not_seen_is_not_counted(mask):
    """Documents side by side give what each gives alone, under any mask."""
    encoding = weigh(Cope(HEAD_DIM).double())
    q, k, v = heads(7)
    together = attend(q, k, v, encoding, packed([3, 4]), mask=mask)
    for part in (slice(0, 3), slice(3, 7)):
        apart = attend(q[:, :, part], k[:, :, part], v[:, :, part], encoding, mask=mask)
        assert gap(together[:, :, part], apart) < 1e-12


def test_coordinates_play_no_part():
    net, token = model(make("cope")), tokens(2, 9)
    assert torch.equal(net(token, sequence(9, 1e6, step=0.1)), net(token))


@pytest.mark.parametrize("split", [[1] * 9, [4, 5], [8, 1]], ids=str)
def test_cached_steps(split):
    net, token, cache = model(make("cope")), tokens(2, 9), Cache(9)
    parts = [net(part, cache=cache) for part in token.split(split, dim=1)]
    assert gap(torch.cat(parts, dim=1), net(token)) < 1e-12


@pytest.mark.parametrize("backend", ["sdpa", "flex"])
def test_fused_backends_refuse(backend):
    with pytest.raises(BackendError) as error:
        attend(*heads(5, dtype=torch.float32), make("cope"), backend=backend)
    assert "reference" in error.value.allowed and "reference" in error.value.do


def test_as_built_it_changes_nothing():
    """The table is zero at first, and gets a gradient all the same."""
    net, plain, token = model(make("cope")), model(make("none")), tokens(2, 9)
    for block in net.blocks:
        torch.nn.init.zeros_(block.attention.encoding.weight)
    weights = {k: v for k, v in net.state_dict().items() if "encoding" not in k}
    plain.load_state_dict(weights)
    assert gap(net(token), plain(token)) < 1e-13
    assert (Cope(HEAD_DIM).weight == 0).all()
    net(token).square().sum().backward()
    assert all(block.attention.encoding.weight.grad.abs().max() > 0 for block in net.blocks)


def test_each_layer_has_its_own_table():
    layers = make("cope").layers(3)
    assert len({id(layer.weight) for layer in layers}) == 3


def test_gradients_of_queries_keys_and_table():
    encoding = weigh(Cope(4, 6).double())
    q, k, v = (normal(1, 2, 4, 4, seed=seed).requires_grad_() for seed in range(3))

    def out(q, k, v, _):
        return attend(q, k, v, encoding)

    assert torch.autograd.gradcheck(out, (q, k, v, encoding.weight))


def test_in_bfloat16_the_count_is_not_rounded():
    """Ten thousand gates near 1 would stick at 256 in bfloat16."""
    n = 600
    encoding = Cope(2, 2 * n).bfloat16()
    torch.nn.init.constant_(encoding.weight, 0.0)
    with torch.no_grad():
        encoding.weight[:, 0] = torch.arange(2 * n) / n
    q = torch.tensor([30.0, 0.0]).expand(1, 1, 1, 2).bfloat16()
    k = torch.tensor([1.0, 0.0]).expand(1, 1, n, 2).bfloat16()
    v = torch.arange(n)[None, None, :, None].expand(-1, -1, -1, 2).bfloat16()
    exact = attend(q.double(), k.double(), v.double(), encoding.double(), backend="reference")
    assert gap(attend(q, k, v, encoding.bfloat16(), backend="reference").double(), exact) < 2**-7


def test_it_acts_on_logits_and_says_that_it_is_contextual():
    assert make("cope").sites == ["logits"]
    assert Property.CONTEXTUAL in Cope.properties and Property.CONTENT_FREE not in Cope.properties


def test_a_module_alone_and_other_head_widths():
    module = weigh(Attention(WIDTH, HEADS, make("cope")).double())
    assert torch.isfinite(module(normal(2, 5, WIDTH))).all()
    with pytest.raises(OptionError, match="head_dim"):
        Attention(WIDTH, 3, make("cope"))
    with pytest.raises(OptionError):
        Cope(8, 0)
