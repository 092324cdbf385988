"""The encodings that are measured: options, bounds, positions, and their attention as a call."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Literal

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from gnomon import encodings, positions
from gnomon.attention import Attention, attend, attend_by, plan
from gnomon.encoding import Encoding, Property, Shape
from gnomon.errors import unknown
from gnomon.masks import BIDIRECTIONAL, CAUSAL
from gnomon.positions import Positions

HEADS, HEAD_DIM = 8, 64
WIDTH = HEADS * HEAD_DIM
REACH = 4
"""Arbitrary positions of n tokens lie below REACH n."""


FEW, MANY = 256, 768
"""Queries at a time whose biases fit a cache, and from which on PyTorch's kernel takes larger blocks."""


class Given(StrEnum):
    """Attention without positions and with what a kind of encoding adds to it, as this code would: references.

    They are measured, and no proof of how low others can go: other numbers of queries at a time may be faster."""

    WHOLE = "biases given, all at once"
    BIASES = f"biases given, {FEW} at a time"
    TABLE = f"a table given, {MANY} at a time"
    ADDED = "a table added to the inputs"
    COPIED = "q and k copied"


@dataclass(frozen=True)
class Floor:
    """What a count of operations or bytes says, or a reference measured in the same run, beside a bound that is missed.

    Of operations it is one where time is that of products; of memory, where all heads are computed in one call."""

    least: float
    why: str
    kind: Literal["floor", "reference"] = "floor"

    def note(self, per: float = 1.0) -> str:
        """In words, of a ratio that is `per` times as large."""
        return f"{self.kind} {self.least * per:.3g}x: {self.why}"


@dataclass(frozen=True)
class Bounds:
    """On time where every token is seen, on time under a causal mask, and on memory; over plain SDPA."""

    bidirectional: float
    causal: float
    memory: float
    slow: Floor | Given | None = None
    """The floor of time, in times of SDPA, or what is measured beside it in the same run."""
    large: Floor | None = None
    """The floor of memory, in tensors as large as the queries, the output among them."""

    def time(self, causal: bool) -> float:
        return self.causal if causal else self.bidirectional


PLAIN = Bounds(1.05, 1.05, 1.1)
TABLED, SCATTERED = Bounds(1.1, 1.15, 1.2, Given.TABLE), Bounds(1.3, 1.4, 1.3, Given.BIASES)
KEYS, VALUES = Bounds(1.3, 1.5, 1.5, Given.BIASES), Bounds(1.6, 1.8, 1.6, Given.BIASES)


@dataclass(frozen=True)
class Subject:
    """One encoding with its options, and the bounds that it is held to."""

    name: str
    even: Bounds | None = None
    """At evenly spaced positions; None: no bound was set."""
    sorted: Bounds | None = None
    """At arbitrary ones, which were set whether they are in order or not."""
    options: Mapping[str, object] = field(default_factory=dict)
    reach: str | None = None
    """The option that says how far positions go."""
    most: int | None = None
    """Tokens that are measured at most, where more take minutes and gigabytes."""
    places: bool = True
    """Whether it makes a difference where tokens lie."""
    reads: bool = False
    """Whether a network reads positions, once a forward pass: then attention by a plan made before is measured too."""

    def build(self, n: int, causal: bool, heads: int = HEADS, head_dim: int = HEAD_DIM) -> Encoding:
        """The encoding for `n` tokens anywhere below REACH n."""
        far = {} if self.reach is None else {self.reach: REACH * n}
        shape = Shape(heads * head_dim, heads, head_dim, causal=causal)
        # As it is used; a module is born in training, where some compute otherwise.
        return encodings.create(self.name, shape, **self.options, **far).eval()

    def sized(self, n: int) -> int:
        """How many of `n` tokens are measured."""
        return n if self.most is None else min(n, self.most)

    def masks(self) -> list[bool]:
        """Whether the mask is causal, for each that it takes."""
        return [True] if encodings.named(self.name).causal else [False, True]


def _same(bounds: Bounds) -> dict[str, Bounds]:
    return {"even": bounds, "sorted": bounds}


def _tabled(name: str, **more: str) -> Subject:
    return Subject(name, TABLED, SCATTERED, **more)


ADDED = replace(PLAIN, slow=Given.ADDED, large=Floor(2, "inputs with what is added to them, and the output"))
ROTATED = replace(PLAIN, slow=Given.COPIED, large=Floor(3, "rotated q and k of all heads, and the output"))
WIDENED = Bounds(
    1.6, 1.7, 1.6,
    Floor(1.5, "operations: q and k of twice the width; SDPA wants values as wide, 2x"),
    Floor(5, "q and k of all heads, of twice the width, and the output"),
)  # fmt: skip

KNOWN: dict[str, Subject] = {
    "none": Subject("none", **_same(PLAIN), places=False),
    "learned": Subject("learned", **_same(ADDED), reach="max_positions"),
    "sinusoidal": Subject("sinusoidal", **_same(ADDED)),
    "rope": Subject("rope", **_same(ROTATED)),
    "rope_mixed": Subject("rope_mixed", **_same(ROTATED)),
    "xpos": Subject("xpos", **_same(ROTATED), reach="longest"),
    "alibi": _tabled("alibi"),
    "t5": _tabled("t5"),
    "kerple": _tabled("kerple"),
    "sandwich": _tabled("sandwich"),
    # What it divides by differs from query to query: no table of lags serves all of them.
    "fire": Subject("fire", replace(TABLED, slow=Given.BIASES), SCATTERED),
    "relative_bias": _tabled("relative_bias"),
    "shaw keys": Subject("shaw", **_same(KEYS), options={"values": False}),
    "shaw": Subject("shaw", **_same(VALUES)),
    "deberta": Subject("deberta", **_same(Bounds(1.6, 1.9, 1.6, Given.BIASES))),
    "seqpe": Subject("seqpe", **_same(WIDENED), reads=True),
    "transformer_xl": Subject(
        "transformer_xl",
        even=Bounds(2.1, 2.1, 1.6, Floor(1.5, "operations: a product with W r of each diagonal")),
        sorted=Bounds(2.1, 2.1, 1.6, Floor(5, "operations: a product as wide as r for each pair")),
    ),
    "chain": Subject("chain", reads=True),
    "cope": Subject("cope", places=False, most=1024),
}
"""Bounds are those that were set for speed and memory; chain and cope have none."""


def subjects(known: Mapping[str, Subject], names: Iterable[str]) -> dict[str, Subject]:
    """Those that are known, and each encoding that is among none of them as it comes, without bounds."""
    said = {subject.name for subject in known.values()}
    return {**known, **{name: Subject(name) for name in names if name not in said}}


SUBJECTS = subjects(KNOWN, encodings.ENCODINGS)


def chosen(names: Sequence[str], among: Sequence[str] = ()) -> dict[str, Subject]:
    """Those of the names, or all; OptionError for a name that is none."""
    known = {label: SUBJECTS[label] for label in among or SUBJECTS}
    for name in names:
        if name not in known:
            raise unknown("encoding", name, known)
    return {label: subject for label, subject in known.items() if label in (names or known)}


def cacheable() -> list[str]:
    """Those whose keys stay right in a cache."""
    return [label for label, subject in SUBJECTS.items() if Property.CACHEABLE in subject.build(8, True).properties]


def fused() -> list[str]:
    """Those that a fused kernel can serve: all but the contextual."""
    made = {label: subject.build(8, True) for label, subject in SUBJECTS.items()}
    return [label for label, encoding in made.items() if Property.CONTEXTUAL not in encoding.properties]


def places(encoding: Encoding, n: int, even: bool, device: str = "cpu") -> Callable[[], Positions]:
    """How the positions of `n` tokens are made: 0, 1, 2, ..., or sorted random ones.

    They are made anew for each call, so that nothing can be remembered of them.
    """
    if even:
        return lambda: positions.sequence(n, device=device)
    coords = scattered(encoding, n).sort().values.to(device)
    return lambda: positions.timed(coords)


def scattered(encoding: Encoding, n: int, seed: int = 1) -> Tensor:
    """`n` different positions of its domain, in no order, real where such are taken."""
    domain, generator = encoding.domain, torch.Generator().manual_seed(seed)
    low, high = max(0.0, domain.lowest), min(REACH * n - 1.0, domain.highest)
    if domain.whole:
        return low + torch.randperm(int(high - low) + 1, generator=generator)[:n].to(torch.float64)
    return low + (high - low) * torch.rand(n, dtype=torch.float64, generator=generator)


@dataclass(frozen=True)
class Setting:
    """Sizes, mask, positions and place of one attention."""

    n: int
    causal: bool
    even: bool = True
    batch: int = 1
    device: str = "cpu"
    dtype: torch.dtype = torch.float32
    backend: str = "auto"
    grad: bool = False

    def sized(self, n: int) -> "Setting":
        """The same for so many tokens."""
        return replace(self, n=n)

    def heads(self) -> list[Tensor]:
        """q, k and v."""
        sizes = (self.batch, HEADS, self.n, HEAD_DIM)
        return [torch.randn(sizes, device=self.device, dtype=self.dtype, requires_grad=self.grad) for _ in range(3)]

    def inputs(self) -> Tensor:
        """What a layer reads."""
        sizes = (self.batch, self.n, WIDTH)
        return torch.randn(sizes, device=self.device, dtype=self.dtype, requires_grad=self.grad)

    @property
    def mask(self):
        return CAUSAL if self.causal else BIDIRECTIONAL

    def run(self, forward: Callable[[], Tensor], leaves: Sequence[Tensor]) -> Callable[[], None]:
        """The call: forward alone, or forward and backward, whose gradients are dropped."""
        if not self.grad:

            def call() -> None:
                with torch.no_grad():
                    forward()
        else:

            def call() -> None:
                forward().sum().backward()
                for leaf in leaves:
                    leaf.grad = None

        return call


def plain(setting: Setting) -> Callable[[], None]:
    """SDPA without positions under the same mask: the limit of kernels."""
    q, k, v = leaves = setting.heads()
    return setting.run(lambda: scaled_dot_product_attention(q, k, v, is_causal=setting.causal), leaves)


def kernel(subject: Subject, setting: Setting) -> Callable[[], None]:
    """Attention with all work on positions: what is added to inputs, the plan, and the kernel."""
    encoding = subject.build(setting.n, setting.causal).to(setting.device, setting.dtype).train(setting.grad)
    pos, x = places(encoding, setting.n, setting.even, setting.device), setting.inputs()
    q, k, v = setting.heads()

    def forward() -> Tensor:
        here = pos()
        added = encoding.embed(x, here)
        out = attend(q, k, v, encoding, here, mask=setting.mask, backend=setting.backend)
        return out.sum() + added.sum() if setting.grad and added is not x else out

    return setting.run(forward, [q, k, v, x, *encoding.parameters()])


def planned(subject: Subject, setting: Setting) -> Callable[[], None]:
    """Attention by a plan made before, as in all layers of a model but the first."""
    encoding = subject.build(setting.n, setting.causal).to(setting.device, setting.dtype)
    pos, (q, k, v) = places(encoding, setting.n, setting.even, setting.device)(), setting.heads()
    with torch.no_grad():
        made = plan(encoding, pos, heads=HEADS, dtype=setting.dtype, mask=setting.mask, backend=setting.backend)
    return setting.run(lambda: attend_by(made, q, k, v), [q, k, v, *encoding.parameters()])


def layer(subject: Subject, setting: Setting) -> Callable[[], None]:
    """The whole layer: projections, attention with all work on positions, projection."""
    encoding = subject.build(setting.n, setting.causal)
    module = Attention(WIDTH, HEADS, encoding, mask=setting.mask, backend=setting.backend)
    module = module.to(setting.device, setting.dtype).train(setting.grad)
    pos, x = places(encoding, setting.n, setting.even, setting.device), setting.inputs()

    def forward() -> Tensor:
        here = pos()
        return module(encoding.embed(x, here), here)

    return setting.run(forward, [x, *module.parameters()])


KINDS = {"kernel": kernel, "layer": layer, "planned": planned}
