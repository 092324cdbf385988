"""Gradients by parts are those of the definition: of every encoding, mask and kind of positions."""

from dataclasses import dataclass, replace

import pytest
import torch
from torch import Tensor, nn
from torch.autograd import gradcheck, gradgradcheck
from torch.utils.checkpoint import checkpoint

from gnomon import positions, products
from gnomon.attention import Attention, attend
from gnomon.backends import held, pairwise, sdpa, tabled, trained
from gnomon.encoding import Encoding, Property
from gnomon.errors import BackendError
from gnomon.masks import BIDIRECTIONAL, CAUSAL, Mask
from gnomon.pairs import Divisible
from gnomon.positions import Positions
from tests.core.common import (
    HEADS,
    WIDTH,
    anywhere,
    at,
    every_variant,
    gap,
    heads,
    label,
    make,
    model,
    normal,
    only_causal,
    tokens,
    weigh,
)

N = 9
SMALL = [
    (sdpa, "CHUNK", 4), (sdpa, "TRAINED", 0), (trained, "SCORES", 150), (products, "BLOCK", 3), (tabled, "WORTH", 1e-9),
]  # fmt: skip
"""Sizes with which a few tokens meet every way to divide them."""


@pytest.fixture
def calls(monkeypatch):
    """How often a gradient was found by parts."""
    for module, name, value in SMALL:
        monkeypatch.setattr(module, name, value)
    found, real = [], trained._gradients

    def counted(*args):
        found.append(args)
        return real(*args)

    monkeypatch.setattr(trained, "_gradients", counted)
    return found


def lowered(variant: tuple[str, dict], causal: bool = True) -> Encoding:
    name, options = variant
    encoding = make(name, causal=causal, **options).double()
    if options.get("shared"):
        encoding.serves(*(nn.Linear(WIDTH, WIDTH).double() for _ in range(2)))
    return weigh(encoding)


def gradients(encoding: Encoding, pos: Positions, mask: Mask, backend: str, groups: bool = True) -> list[Tensor]:
    """What q, k, v and every parameter of the encoding receive."""
    q, k, v = heads(N)
    if not groups:
        k, v = (t.repeat_interleave(2, dim=1) for t in (k, v))
    leaves = [q.requires_grad_(), k.requires_grad_(), v.requires_grad_(), *encoding.parameters()]
    out = attend(q, k, v, encoding, pos, mask=mask, backend=backend)
    found = torch.autograd.grad(out, leaves, normal(*out.shape, seed=9), allow_unused=True)
    return [out, *(torch.zeros_like(leaf) if one is None else one for leaf, one in zip(leaves, found, strict=True))]


def adds(variant: tuple[str, dict]) -> bool:
    """Whether something is added to logits or values, so that a gradient has parts; `none` has only its masks."""
    encoding = make(variant[0], **variant[1])
    some, (q, k, _) = anywhere(encoding, 1, 1), heads(1)
    return variant[0] == "none" or encoding.bias(q, k, some, some) is not None


@pytest.mark.parametrize("variant", [variant for variant in every_variant() if adds(variant)], ids=label)
def test_as_the_definition_says(variant, calls, monkeypatch):
    """Anywhere; of several documents, some without a place, some padding that sees nothing; evenly spaced."""
    causal = only_causal(variant[0])
    encoding = lowered(variant, causal)
    scattered = anywhere(encoding, 2, N)
    segment = torch.tensor([[0] * 4 + [1] * (N - 6) + [-1] * 2, [-1] + [0] * (N - 1)])
    packed = replace(scattered, segment=segment, placed=torch.arange(N)[None].expand(2, -1) % 4 > 0)
    cases = [(scattered, CAUSAL, 0), (packed, Mask(causal=causal), 0), (packed, CAUSAL, 2**22)]
    if encoding.domain.axes in (None, 1):
        cases += [(positions.sequence(N), CAUSAL, 0), (positions.sequence(N, 3), Mask(causal, window=3), 0)]
    for pos, mask, shared in cases:
        monkeypatch.setattr(sdpa, "SHARED", shared)
        found, expected = (
            gradients(encoding, pos, mask, way, encoding.kv_heads is None) for way in ("sdpa", "reference")
        )
        for one, other in zip(found, expected, strict=True):
            assert one.isfinite().all() and gap(one, other) < 1e-11
    assert len(calls) >= 2


OTHERS = [("shaw", {}), ("deberta", {}), ("t5", {}), ("kerple", {}), ("transformer_xl", {})]


@pytest.mark.parametrize("variant", OTHERS, ids=label)
def test_first_and_second_derivatives(variant, calls):
    """gradcheck of inputs and tables; a derivative of a derivative takes all pairs at once."""
    encoding = weigh(make(variant[0], causal=False, **variant[1]).double())
    q, k, v = (normal(1, h, 3, 8, seed=i).requires_grad_() for i, h in enumerate((6, 3, 3)))
    tables = [table for table in encoding.parameters() if table.numel() < 600]

    def out(q, k, v, *_):
        return attend(q, k, v, encoding, anywhere(encoding, 1, 3), mask=BIDIRECTIONAL)

    assert gradcheck(out, (q, k, v, *tables), fast_mode=True)
    assert gradgradcheck(out, (q, k, v, *tables), fast_mode=True)
    assert calls


TWICE = [
    *OTHERS,
    ("shaw", {"form": "relative_key_query", "max_positions": 64}),
    ("fire", {}),
    ("deberta", {"buckets": 4, "span": 9}),
]


@pytest.mark.parametrize("variant", TWICE, ids=label)
@pytest.mark.parametrize("even", [True, False])
def test_a_gradient_with_a_graph_is_the_same(variant, even, calls):
    """Also where a bias holds the queries themselves, or two tensors of which one is made of the other."""
    encoding = weigh(make(variant[0], causal=False, **variant[1]).double())
    q, k, v = (t.requires_grad_() for t in heads(N))
    leaves = [q, k, v, *encoding.parameters()]
    pos = positions.sequence(N) if even else positions.timed(torch.randperm(N).double())
    loss = attend(q, k, v, encoding, pos, mask=BIDIRECTIONAL).square().sum()
    once, again = (
        torch.autograd.grad(loss, leaves, retain_graph=True, create_graph=graph, allow_unused=True)
        for graph in (False, True)
    )
    assert calls
    for one, other in zip(once, again, strict=True):
        assert (one is None) == (other is None) and (one is None or gap(one, other) < 1e-12)


@pytest.mark.parametrize("variant", TWICE, ids=label)
@pytest.mark.parametrize("of", ["queries", "keys", "values", "tables"])
def test_a_gradient_of_one_alone(variant, of, calls):
    """What else the bias is made of has none: parts that have one are not written where parts without lie."""
    encoding = weigh(make(variant[0], causal=False, **variant[1]).double()).requires_grad_(of == "tables")
    some = dict(zip(("queries", "keys", "values"), heads(N), strict=True))
    leaves = [*encoding.parameters()] if of == "tables" else [some[of].requires_grad_()]
    pos = positions.timed(torch.randperm(N, generator=torch.Generator().manual_seed(0)).double())
    found = [
        torch.autograd.grad(
            attend(*some.values(), encoding, pos, mask=BIDIRECTIONAL, backend=b).square().sum(),
            leaves,
            allow_unused=True,
        )
        for b in ("sdpa", "reference")
    ]
    for one, other in zip(*found, strict=True):
        assert (one is None) == (other is None) and (one is None or gap(one, other) < 1e-10)


def test_products_of_rows_with_themselves():
    """A table that is made of the rows has its gradient once."""
    x = normal(1, 2, 4, 3).requires_grad_()
    loss = products.products(x, x[0, :, :3].repeat(1, 3, 1)[:, :7], slice(0, 7), 4).square().sum()
    once, again = (torch.autograd.grad(loss, x, retain_graph=True, create_graph=graph)[0] for graph in (False, True))
    assert gap(once, again) < 1e-12


@pytest.mark.parametrize("name", ["none", "rope", "alibi", "t5", "shaw", "deberta", "fire"])
@pytest.mark.parametrize("large", [False, True])
def test_dropout_under_a_reentrant_checkpoint(name, large, calls, monkeypatch):
    """The pass is made first without a gradient, then with one: it has to drop the same.

    Of v the output is linear but for what values of pairs add, which is what zeros receive.
    """
    if not large:
        monkeypatch.setattr(sdpa, "TRAINED", 2**22)
    encoding = weigh(make(name).double())
    q, k, v = heads(N)
    v.requires_grad_()
    weight = normal(2, HEADS, N, 8, seed=5)

    def out(v):
        return attend(q, k, v, encoding, mask=CAUSAL, dropout=0.5)

    torch.manual_seed(0)
    with torch.no_grad():
        of_zeros = out(torch.zeros_like(v))
    torch.manual_seed(0)
    received = checkpoint(out, v, use_reentrant=True)
    (received * weight).sum().backward()
    assert gap((v.grad * v).sum(), ((received - of_zeros) * weight).sum()) < 1e-10


def test_dropout_drops_the_same_weights_forwards_and_backwards(calls):
    """The output is linear in the values, so its product with them is that of their gradient; and of their mean."""
    encoding = weigh(make("shaw", causal=False).double())
    q, k, v = (t.requires_grad_() for t in heads(N))
    weight = normal(2, HEADS, N, 8, seed=5)

    def out(v, seed):
        torch.manual_seed(seed)
        return attend(q, k, v, encoding, mask=BIDIRECTIONAL, dropout=0.3)

    first = out(v, 0)
    assert gap(out(v, 0), first) == 0 and gap(out(v, 1), first) > 0.1
    moved = normal(*v.shape, seed=6)
    step = ((out(v + moved, 0) - out(v, 0)) * weight).sum()
    of_q, of_v = torch.autograd.grad((first * weight).sum(), [q, v])
    assert gap((of_v * moved).sum(), step) < 1e-10
    with torch.no_grad():
        turned = 1e-6 * normal(*q.shape, seed=7)
        more, less = (attend_at(q + sign * turned, k, v, encoding) for sign in (1, -1))
    assert gap((of_q * turned).sum(), ((more - less) * weight).sum() / 2) < 1e-10
    assert calls
    with pytest.raises(BackendError, match="second derivative"):
        torch.autograd.grad(out(v, 0).sum(), q, create_graph=True)


def attend_at(q, k, v, encoding):
    """Under the dropout of seed 0, by parts: with a gradient that nobody asks for."""
    torch.manual_seed(0)
    with torch.enable_grad():
        return attend(q.detach().requires_grad_(), k, v, encoding, mask=BIDIRECTIONAL, dropout=0.3).detach()


@pytest.mark.parametrize("name", ["none", "rope", "alibi"])
def test_dropout_is_right_on_average(name, calls):
    encoding = weigh(make(name).double())
    q, k, v = (t.requires_grad_() for t in heads(4, rows=1))
    many = [t.expand(3000, -1, -1, -1) for t in (q, k, v)]
    out = attend(*many, encoding, dropout=0.2)
    assert gap(out.mean(0), attend(q, k, v, encoding)[0]) < 0.2
    out.mean(0).sum().backward()
    assert calls and all(t.grad.isfinite().all() for t in (q, k, v))


@pytest.mark.parametrize("name", ["shaw", "t5", "fire"])
@pytest.mark.parametrize("reentrant", [True, False])
def test_under_checkpoints(name, reentrant, calls):
    """What is made again in the backward pass has the same gradients, those of the encoding too."""
    layer = weigh(Attention(WIDTH, HEADS, make(name), kv_heads=3).double())
    x, pos = normal(2, N, WIDTH).requires_grad_(), anywhere(layer.encoding, 2, N)
    leaves, found = [x, *layer.parameters()], []
    for call in (layer, lambda *given: checkpoint(layer, *given, use_reentrant=reentrant)):
        for leaf in leaves:
            leaf.grad = None
        call(x, pos).square().sum().backward()
        found.append([leaf.grad.clone() for leaf in leaves])
    assert all(gap(one, other) < 1e-12 for one, other in zip(*found, strict=True)) and len(calls) == 2


@pytest.mark.parametrize("variant", OTHERS, ids=label)
def test_autocast_and_16_bits(variant, calls):
    """In bfloat16, near what float64 says, with gradients in the precision of each leaf."""
    net, token = model(make(variant[0], **variant[1]), dtype=torch.float32), tokens(2, N)
    exact = model(make(variant[0], **variant[1]))
    exact.load_state_dict({name: t.double() for name, t in net.state_dict().items()})
    exact(token).sum().backward()
    with torch.autocast("cpu", torch.bfloat16):
        out = net(token)
    out.float().sum().backward()
    assert calls
    for one, other in zip(net.parameters(), exact.parameters(), strict=True):
        if other.grad is not None and other.grad.abs().max() > 1e-6:
            assert one.grad.dtype == torch.float32
            assert (one.grad - other.grad).norm() < 0.1 * other.grad.norm()


class Hidden(Encoding):
    """A bias whose gradient is found nowhere in it: a method of a module."""

    properties = Property.TRANSLATION_INVARIANT | Property.CONTENT_FREE

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones((), dtype=torch.float64))

    def _of(self, b, h, i, j):
        return self.weight * (i - j)

    def bias(self, q, k, q_pos, k_pos):
        return self._of


class Copied(Hidden):
    """A bias that holds its table, and of which a part holds a copy."""

    def bias(self, q, k, q_pos, k_pos):
        return Copies(self.weight * torch.arange(6.0, dtype=torch.float64))


@dataclass(frozen=True)
class Copies(Divisible):
    table: Tensor
    first: int = 0

    def __call__(self, b, h, i, j):
        return self.table[i] - self.first - j

    def part(self, queries, keys):
        return Copies(self.table[queries].clone(), self.first + keys.start)

    def of_heads(self, heads):
        return self


@pytest.mark.parametrize("shared", [0, 2**22])
@pytest.mark.parametrize("kind", [Hidden, Copied])
def test_what_hides_its_gradient_has_it_all_the_same(kind, shared, calls, monkeypatch):
    monkeypatch.setattr(sdpa, "SHARED", shared)
    encoding, pos = kind(), at([[3.0, 1.0, 2.0, 0.5, 7.0, 6.0]])
    q, k, v = heads(6)
    out = attend(q, k, v, encoding, pos, mask=BIDIRECTIONAL)
    (found,) = torch.autograd.grad(out.square().sum(), encoding.weight)
    moved = []
    for step in (1e-6, -1e-6):
        with torch.no_grad():
            encoding.weight.fill_(1 + step)
            moved.append(attend(q, k, v, encoding, pos, mask=BIDIRECTIONAL).square().sum())
    assert gap(found, (moved[0] - moved[1]) / 2e-6) < 1e-6 and bool(calls) == bool(shared)


@pytest.mark.parametrize("name", ["shaw", "alibi"])
def test_transforms_see_all_pairs_at_once(name, calls):
    encoding, pos = weigh(make(name).double()), positions.sequence(N)
    q, k, v = heads(N)

    def loss(q):
        return attend(q, k, v, encoding, pos).square().sum()

    found = torch.func.grad(loss)(q)
    assert not calls
    q.requires_grad_()
    assert gap(found, torch.autograd.grad(loss(q), q)[0]) < 1e-12
    each = torch.func.vmap(lambda one: attend(one[None], k[:1], v[:1], encoding, pos)[0])(q.detach())
    assert gap(each[:1], attend(q[:1], k[:1], v[:1], encoding, pos)) < 1e-12


@pytest.mark.parametrize("name", ["alibi", "t5", "shaw", "none"])
def test_parts_are_taken_where_nothing_has_a_gradient(name, monkeypatch):
    """Not the mode is asked, but the tensors: in the mode that is the default, at any positions."""
    encoding, n, seen = make(name).double().requires_grad_(False), 40, []
    monkeypatch.setattr(sdpa, "CHUNK", 8)
    monkeypatch.setattr(sdpa, "SHARED", 0)
    real = pairwise.Pairwise.attend

    def attend_of(way, q, *rest):
        seen.append(q.shape[2])
        return real(way, q, *rest)

    monkeypatch.setattr(pairwise.Pairwise, "attend", attend_of)
    pos = replace(positions.timed(torch.arange(n).double() ** 1.5), segment=torch.zeros(1, n, dtype=torch.int64))
    if encoding.domain.whole:
        pos = replace(anywhere(encoding, 1, n), segment=torch.zeros(1, n, dtype=torch.int64))
    attend(*heads(n), encoding, pos)
    assert seen and max(seen) == 8


@pytest.mark.parametrize("width", [5, 8, 13])
@pytest.mark.parametrize("name", ["none", "alibi", "t5", "fire"])
def test_values_of_another_width_than_keys(name, width, calls):
    """The kernel of all weights is not taken for them, and what it gives is the same."""
    encoding, (q, k, _) = weigh(make(name).double()), heads(N)
    v = normal(2, 3, N, width, seed=4)
    leaves = [q.requires_grad_(), k.requires_grad_(), v.requires_grad_()]
    found = []
    for backend in ("sdpa", "reference"):
        out = attend(q, k, v, encoding, backend=backend)
        found.append([out, *torch.autograd.grad(out.square().sum(), leaves)])
    assert all(gap(one, other) < 1e-12 for one, other in zip(*found, strict=True))
    with torch.no_grad(), torch.profiler.profile() as told:
        attend(q, k, v, encoding)
    assert not any("attention_math" in event.key for event in told.key_averages())


def test_tensors_are_found_where_they_are_and_replaced():
    """In fields, tuples, and what functions enclose, also one that encloses itself; what holds none stays the same."""
    a, b, c = torch.zeros(1), torch.ones(2), torch.ones(3)

    def again(depth):
        return a if depth == 0 else again(depth - 1)

    value = (Copies(b), [again, lambda: c + a], "text")
    assert [id(t) for t in held.tensors(value)] == [id(b), id(a), id(c)]
    other = held.replaced(value, [a, c], [b, a])
    assert other[0] is value[0] and torch.equal(other[1][1](), torch.ones(2)) and other[1][0](0) is b
    assert held.replaced(value, [torch.zeros(1)], [a]) is value and torch.equal(value[1][1](), torch.ones(3))
