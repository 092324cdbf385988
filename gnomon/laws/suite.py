"""The laws. Each is a number that is zero but for rounding; a docstring's first line is the law's sentence.

No law names an encoding. Positions are random, weights have standard deviation 0.3, float64 is exact to 1e-12.
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from gnomon.attention import attend
from gnomon.backends import Flex, Reference
from gnomon.encoding import Encoding, Property
from gnomon.errors import PositionError
from gnomon.kv_cache import Cache
from gnomon.laws.case import KV_HEADS, ROWS, SHAPE, TOKENS, Case, gap
from gnomon.pairs import Mask, dense
from gnomon.positions import Positions, sequence

EXACT = 1e-12


@dataclass(frozen=True)
class Outcome:
    """How far a law was missed, and how far it may be; or why it does not apply."""

    error: float
    tolerance: float = EXACT
    reason: str | None = None

    @property
    def holds(self) -> bool:
        return self.error <= self.tolerance


@dataclass(frozen=True)
class Law:
    """A check, and the property whose declaration it tests; None: every encoding obeys it.

    margin: how many tolerances a broken law is missed by. An output of 8 bits is never wrong by many roundings.
    """

    name: str
    check: Callable[[Case], Outcome]
    declares: Property | None = None
    margin: float = 100.0

    def broken(self, outcome: Outcome) -> bool:
        """Whether it is missed by far more than rounding can explain."""
        return outcome.error > self.margin * outcome.tolerance

    @property
    def sentence(self) -> str:
        return self.check.__doc__.strip().splitlines()[0].rstrip(".")


def lowering(case: Case) -> Outcome:
    """The lowering gives the numbers of the definition, at random and at even positions."""
    encoding = case.make()
    x, errors = _inputs(case), []
    for pos in _layouts(case):
        errors.append(gap(encoding.embed(x, pos), x + encoding.absolute(pos)))
        q, k, v = case.heads()
        expected = attend(q, k, v, encoding, pos, mask=case.mask, backend=Reference())
        errors.append(gap(attend(q, k, v, encoding, pos, mask=case.mask, backend=case.backend()), expected))
    return Outcome(max(errors))


def flex(case: Case) -> Outcome:
    """FlexAttention gives the numbers of the definition."""
    encoding, errors = case.make(), []
    placed, segment = torch.arange(TOKENS)[None] >= 2, (torch.arange(TOKENS) // 4)[None]
    for pos in (_even(case), replace(case.positions(), placed=placed, segment=segment)):
        q, k, v = case.heads()
        expected = attend(q, k, v, encoding, pos, mask=case.mask, backend=Reference())
        found = attend(q, k, v, encoding, pos, mask=case.mask, backend=Flex(compiled=False))
        errors.append(gap(found, expected))
    return Outcome(max(errors))


def gradients(case: Case) -> Outcome:
    """Gradients of inputs and parameters are the derivative of the outputs."""
    encoding, layouts = case.make(), [case.positions(), _even(case)]
    inputs = [t.requires_grad_() for t in (_inputs(case), *case.heads(), *encoding.parameters())]
    g = case.generator(22)
    directions = [torch.randn(t.shape, generator=g, dtype=torch.float64) for t in inputs]

    def loss() -> Tensor:
        x, q, k, v = inputs[:4]
        outs = [attend(q, k, v, encoding, p, mask=case.mask, backend=case.backend()) for p in layouts]
        return sum(out.pow(2).sum() for out in outs) + sum(encoding.embed(x, p).pow(2).sum() for p in layouts)

    grads = torch.autograd.grad(loss(), inputs, allow_unused=True)
    slope = sum((grad * d).sum() for grad, d in zip(grads, directions, strict=True) if grad is not None)
    return Outcome(gap(slope, _derivative(loss, inputs, directions)), tolerance=1e-7)


def cached(case: Case) -> Outcome:
    """Decoding with a cache gives the logits of the full forward pass, however the sequence is split."""
    if not case.causal:
        return Outcome(0.0, reason="without a causal mask, later tokens change earlier ones")
    model, tokens, pos = case.model(), case.tokens(), case.positions()
    full = model(tokens, pos)
    splits = [[1] * TOKENS, [TOKENS - 1, 1], [5, 4, 2], [2, 3, 3, 3], [TOKENS]]
    return Outcome(max(gap(_decode(case, model, tokens, pos, split), full) for split in splits))


def cacheable(case: Case) -> Outcome:
    """A lowered key stays right however the sequence goes on."""
    encoding, pos = case.make(), case.positions()
    k, half = case.heads()[1], TOKENS // 2
    early = pos.tokens(0, half)
    short = encoding.key(k[:, :, :half], encoding.prepare(early, early, torch.float64))
    return Outcome(gap(short, encoding.key(k, encoding.prepare(pos, pos, torch.float64))[:, :, :half]))


def packed(case: Case) -> Outcome:
    """Documents packed into one row give what each gives apart."""
    model, tokens, pos = case.model(), case.tokens(1), case.positions(1)
    bounds = [0, 4, 5, TOKENS]
    segment = torch.bucketize(torch.arange(TOKENS), torch.tensor(bounds[1:]), right=True)[None]
    together = model(tokens, replace(pos, segment=segment))
    apart = [model(tokens[:, a:b], pos.tokens(a, b)) for a, b in zip(bounds, bounds[1:], strict=False)]
    return Outcome(gap(together, torch.cat(apart, dim=1)))


def padded(case: Case) -> Outcome:
    """Padding, on either side, changes nothing for the tokens beside it and makes no nan."""
    model, tokens, pos, errors = case.model(), case.tokens(), case.positions(), []
    for left in (True, False):
        lengths = torch.tensor([TOKENS, 7, 3, 1])
        column = torch.arange(TOKENS)
        real = column >= TOKENS - lengths[:, None] if left else column < lengths[:, None]
        logits = model(tokens, replace(pos, segment=torch.where(real, 0, -1)))
        errors.append(0.0 if torch.isfinite(logits).all() else float("inf"))
        for row, length in enumerate(lengths.tolist()):
            start = TOKENS - length if left else 0
            alone = model(tokens[row : row + 1, start : start + length],
                          pos.row(torch.tensor([row])).tokens(start, start + length))  # fmt: skip
            errors.append(gap(logits[row : row + 1, start : start + length], alone))
    return Outcome(max(errors))


def batch(case: Case) -> Outcome:
    """A row gives the same wherever it stands in a batch, and alone."""
    model, tokens, pos = case.model(), case.tokens(), case.positions()
    logits, order = model(tokens, pos), torch.tensor([2, 0, 3, 1])
    errors = [gap(model(tokens[order], pos.row(order)), logits[order])]
    for row in range(ROWS):
        one = torch.tensor([row])
        errors.append(gap(model(tokens[one], pos.row(one)), logits[one]))
    return Outcome(max(errors))


def translation(case: Case) -> Outcome:
    """Moving every position by the same amount changes no output."""
    model, tokens, pos = case.model(), case.tokens(), case.positions()
    by = torch.rand(pos.axes, generator=case.generator(20), dtype=torch.float64).mul(case.room()).floor()
    return Outcome(gap(model(tokens, pos.shifted(by.tolist())), model(tokens, pos)))


def continuity(case: Case) -> Outcome:
    """A small move of the positions makes a small change of the output."""
    encoding = case.make()
    if encoding.domain.whole:
        return Outcome(0.0, reason="takes whole positions only")
    model, tokens, step = case.model(), case.tokens(), 1e-9
    pos = case.positions()
    pos = replace(pos, coords=pos.coords.floor() + 1)
    sign = torch.rand(pos.coords.shape, generator=case.generator(21)).sub(0.5).sign().to(torch.float64)
    moved = replace(pos, coords=pos.coords + step * sign)
    return Outcome(gap(model(tokens, moved), model(tokens, pos)), tolerance=1e5 * step)


def domain(case: Case) -> Outcome:
    """Positions are defined just where the encoding says: finite there, an error that says so elsewhere."""
    encoding, x = case.make(), _inputs(case)[:, :1]
    limits = encoding.domain
    inside = [max(limits.lowest, -1e7), min(limits.highest, 1e7)]
    finite = all(torch.isfinite(_everything(case, encoding, x, _at(limits.axes, p))).all() for p in inside)
    outside = [p for p in (limits.lowest - 1, limits.highest + 1) if abs(p) != float("inf")]
    if limits.whole:
        outside.append(inside[0] + 0.5)
    refused = all(_refuses(case, encoding, x, _at(limits.axes, p)) for p in outside)
    return Outcome(0.0 if finite and refused else float("inf"))


def precision(case: Case) -> Outcome:
    """In float32, positions near 10^7 cost no more accuracy than no positions at all."""
    return _precision(case, torch.float32, [0.0, 1e3, 1e5, 1e7])


def half(case: Case) -> Outcome:
    """In bfloat16, positions cost no more accuracy than no positions at all."""
    return _precision(case, torch.bfloat16, [0.0, 257.0, 2049.0, 1e5])


def state(case: Case) -> Outcome:
    """Casts, copies, the meta device and earlier calls leave no trace in the tables."""
    x, pos = _inputs(case), case.positions()
    fresh, weights = case.make(), case.make().state_dict()
    expected = _everything(case, fresh, x, pos)
    cast = case.make().to(torch.bfloat16).to(torch.float64)
    with torch.device("meta"):
        meta = case.encoding(case.shape)
    used = case.make()
    for n, salt in ((3 * TOKENS, 9), (TOKENS, 9), (TOKENS, 0)):
        _everything(case, used, _inputs(case, n).to(torch.bfloat16), case.positions(n=n, salt=salt), torch.bfloat16)
    errors = []
    for encoding in (cast, meta.to_empty(device="cpu").to(torch.float64), copy.deepcopy(fresh), used):
        encoding.load_state_dict(weights)
        errors.append(gap(_everything(case, encoding, x, pos), expected))
    return Outcome(max(errors), tolerance=0.0)


def matters(case: Case) -> Outcome:
    """Putting every token at the same position changes the logits of a cached step."""
    if not any(type(case.make()).__dict__.get(hook) for hook in ("embed", "query", "key", "bias")):
        return Outcome(0.0, reason="it acts nowhere")
    model, tokens, pos = case.model(), case.tokens(), case.positions()
    together = replace(pos, coords=pos.coords[:, :1].expand_as(pos.coords).contiguous())
    split = [TOKENS - 1, 1] if case.causal else [TOKENS]
    last = [_decode(case, model, tokens, p, split)[:, -1] for p in (pos, together)]
    change = (last[0] - last[1]).abs().max().item()
    return Outcome(1e-3 / change if change else float("inf"), tolerance=1.0)


def causality(case: Case) -> Outcome:
    """Under a causal mask a token's output does not depend on later tokens; without one it does."""
    model, tokens, pos, errors = case.model(), case.tokens(), [case.positions(), _even(case)], []
    changed = tokens.clone()
    changed[:, 6:] = (changed[:, 6:] + 1) % model.embedding.num_embeddings
    for p in pos:
        error = gap(model(changed, p)[:, :6], model(tokens, p)[:, :6])
        errors.append(error if case.causal else 1e-3 * EXACT / max(error, 1e-300))
    return Outcome(max(errors))


def window(case: Case) -> Outcome:
    """Under a window of size s, a query receives what it would from its s nearest turns alone."""
    encoding, pos, size, errors = case.make(), case.positions(), 3, []
    q, k, v = case.heads()
    mask = replace(case.mask, window=size)
    out = attend(q, k, v, encoding, pos, mask=mask, backend=case.backend())
    for i in range(TOKENS):
        a, b = max(i - size + 1, 0), i + 1 if case.causal else min(i + size, TOKENS)
        near = slice(a, b)
        alone = attend(q[:, :, i : i + 1], k[:, :, near], v[:, :, near], encoding, pos.tokens(i, i + 1),
                       pos.tokens(a, b), mask=Mask(causal=False), backend=case.backend())  # fmt: skip
        errors.append(gap(out[:, :, i : i + 1], alone))
    return Outcome(max(errors))


def blank(case: Case) -> Outcome:
    """A query that sees no key receives zeros, and no gradient is nan."""
    encoding, pos = case.make(), case.positions()
    segment = torch.zeros(ROWS, TOKENS, dtype=torch.int64)
    segment[:, 2] = -1
    segment[1] = -1
    q, k, v = [t.requires_grad_() for t in case.heads()]
    out = attend(q, k, v, encoding, replace(pos, segment=segment), mask=case.mask, backend=case.backend())
    unseen = (segment < 0)[:, None, :, None].expand_as(out)
    grads = torch.autograd.grad(out.pow(2).sum(), (q, k, v))
    finite = all(torch.isfinite(t).all() for t in (out, *grads))
    return Outcome(out[unseen].abs().max().item() if finite else float("inf"), tolerance=0.0)


def grouped(case: Case) -> Outcome:
    """Grouped key heads give what the same heads give repeated for each query head of the group."""
    encoding, pos = case.make(), case.positions()
    q, k, v = case.heads()
    repeated = [t.repeat_interleave(SHAPE.heads // KV_HEADS, dim=1) for t in (k, v)]
    found = attend(q, k, v, encoding, pos, mask=case.mask, backend=case.backend())
    return Outcome(gap(found, attend(q, *repeated, encoding, pos, mask=case.mask, backend=case.backend())))


def placeless(case: Case) -> Outcome:
    """A token without a place has no position: no bias, no rotation, nothing added, whatever its coordinates."""
    encoding, pos, x = case.make(), case.positions(), _inputs(case)
    placed = torch.ones(ROWS, TOKENS, dtype=torch.bool)
    placed[:, :3] = False
    elsewhere = torch.where(placed[..., None], pos.coords, case.positions(salt=8).coords)
    errors = [gap(_everything(case, encoding, x, replace(pos, coords=elsewhere, placed=placed)),
                  _everything(case, encoding, x, replace(pos, placed=placed)))]  # fmt: skip
    nowhere = replace(pos, placed=torch.zeros_like(placed))
    q, k, v = case.heads()
    plain = _Plain(encoding.scale(SHAPE.head_dim))
    errors.append(gap(attend(q, k, v, encoding, nowhere, mask=case.mask, backend=case.backend()),
                      attend(q, k, v, plain, nowhere, mask=case.mask, backend=case.backend())))  # fmt: skip
    errors.append(gap(encoding.embed(x, nowhere), x))
    return Outcome(max(errors))


def content_free(case: Case) -> Outcome:
    """The bias ignores queries and keys."""
    encoding, pos = case.make(), case.positions()
    q, k, _ = case.heads()
    pair = [encoding.bias(a, b, pos, pos) for a, b in ((q, k), (q.flip(0), k.flip(0)))]
    if pair[0] is None:
        return Outcome(0.0)
    first, second = [dense(p, ROWS, SHAPE.heads, TOKENS, TOKENS) for p in pair]
    return Outcome(gap(first, second))


LAWS: dict[str, Law] = {
    law.name: law
    for law in (
        Law("lowering", lowering),
        Law("flex", flex),
        Law("gradients", gradients),
        Law("cached", cached),
        Law("packed", packed),
        Law("padded", padded),
        Law("batch", batch),
        Law("causality", causality),
        Law("window", window),
        Law("blank", blank),
        Law("grouped", grouped),
        Law("placeless", placeless),
        Law("matters", matters),
        Law("domain", domain),
        Law("precision", precision),
        Law("half", half, margin=2.0),
        Law("state", state),
        Law("translation", translation, Property.TRANSLATION_INVARIANT),
        Law("continuity", continuity, Property.CONTINUOUS),
        Law("cacheable", cacheable, Property.CACHEABLE),
        Law("content_free", content_free, Property.CONTENT_FREE),
    )
}


class _Plain(Encoding):
    """No positions, with another encoding's scale."""

    def __init__(self, scale: float):
        super().__init__()
        self._scale = scale

    def scale(self, head_dim: int) -> float:
        return self._scale


class _Definition(Encoding):
    """Another encoding by its definition alone: what is added is `absolute`; under Reference, logits are `score`."""

    def __init__(self, encoding: Encoding):
        super().__init__()
        self.encoding = encoding
        self.properties, self.domain = encoding.properties, encoding.domain
        self.scale, self.score, self.value = encoding.scale, encoding.score, encoding.value

    def embed(self, x: Tensor, pos: Positions) -> Tensor:
        return x + self.encoding.absolute(pos)


def _inputs(case: Case, n: int = TOKENS) -> Tensor:
    return torch.randn(ROWS, n, SHAPE.width, generator=case.generator(6), dtype=torch.float64)


def _even(case: Case) -> Positions:
    """Evenly spaced positions inside the domain, on as many axes as the encoding takes."""
    limits = case.encoding(case.shape).domain
    start = max(limits.lowest, 3)
    if limits.axes in (None, 1):
        return sequence(TOKENS, int(start))
    line = sequence(TOKENS, int(start)).coords
    return Positions(line.expand(-1, -1, limits.axes))


def _layouts(case: Case) -> list[Positions]:
    """Positions of every kind a kernel may treat in a way of its own."""
    pos, even = case.positions(), _even(case)
    placed = torch.arange(TOKENS)[None] >= 2
    segment = (torch.arange(TOKENS) // 4)[None]
    layouts = [pos, even, replace(even, turn=0), replace(pos, placed=placed), replace(pos, segment=segment)]
    if case.encoding(case.shape).domain.axes is None:
        layouts.append(case.positions(axes=2))
    return layouts


def _everything(
    case: Case, encoding: Encoding, x: Tensor, pos: Positions, dtype: torch.dtype = torch.float64
) -> Tensor:
    """All that an encoding gives: embeddings and attention of random heads, in one flat tensor."""
    q, k, v = case.heads(x.shape[1], dtype=dtype)
    out = attend(q, k, v, encoding, pos, mask=case.mask, backend=case.backend())
    return torch.cat([encoding.embed(x, pos).flatten(), out.flatten()])


def _decode(case: Case, model, tokens: Tensor, pos: Positions, split: list[int]) -> Tensor:
    cache: Cache = case.cache(TOKENS)
    parts, start = [], 0
    for size in split:
        chunk = slice(start, start + size)
        parts.append(model(tokens[:, chunk], pos.tokens(start, start + size), cache=cache))
        start += size
    return torch.cat(parts, dim=1)


def _derivative(function: Callable[[], Tensor], inputs: list[Tensor], directions: list[Tensor]) -> Tensor:
    """The derivative of `function` along `directions`: central differences of two widths, extrapolated."""
    width = 1e-4

    def difference(step: float) -> Tensor:
        values = []
        for sign in (1, -1):
            with torch.no_grad():
                for t, d in zip(inputs, directions, strict=True):
                    t += sign * step * d
                values.append(function())
                for t, d in zip(inputs, directions, strict=True):
                    t -= sign * step * d
        return (values[0] - values[1]) / (2 * step)

    return (4 * difference(width) - difference(2 * width)) / 3


def _precision(case: Case, dtype: torch.dtype, starts: list[float]) -> Outcome:
    """The error against the definition in float64, over the error that the model has without positions."""
    limits, tokens, ratios = case.encoding(case.shape).domain, case.tokens(), []
    scale = case.encoding(case.shape).scale(SHAPE.head_dim)
    for start in starts:
        if start + TOKENS > limits.highest:
            continue
        pos, errors = _even(case).shifted(start), []
        for make in (lambda: case.encoding(case.shape), lambda: _Plain(scale)):
            low = case.model(make(), dtype)
            exact = replace(case, backend=Reference).model(_Definition(make()))
            with torch.no_grad():
                for rounded, wide in zip(low.parameters(), exact.parameters(), strict=True):
                    wide.copy_(rounded)
            errors.append(gap(low(tokens, pos).to(torch.float64), exact(tokens, pos)))
        ratios.append(errors[0] / errors[1])
    return Outcome(max(ratios), tolerance=4.0)


def _at(axes: int | None, place: float) -> Positions:
    return Positions(torch.full((1, 1, axes or 1), place, dtype=torch.float64))


def _refuses(case: Case, encoding: Encoding, x: Tensor, pos: Positions) -> bool:
    try:
        _everything(case, encoding, x, pos)
    except PositionError:
        return True
    return False
