"""The protocol of a position encoding: the paper's formula for one pair beside the same numbers as a kernel takes them.

logit_ij = scale <Q(q_i, p_i), K(k_j, p_j)> + bias_h(i, j)        out_i = sum_j softmax_ij V(v_j, p_i, p_j)
"""

import copy
import math
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Flag, StrEnum, auto
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from gnomon.checked import checked
from gnomon.errors import OptionError, PositionError
from gnomon.pairs import PairFunction
from gnomon.positions import FURTHEST, Positions


class Property(Flag):
    """What an encoding declares of itself; a law holds it to each."""

    TRANSLATION_INVARIANT = auto()
    """Moving every position by the same amount changes no output.

    On one axis a content-free bias then depends on p_i - p_j alone; see `Encoding.bias` for what a backend makes of it.
    """
    CONTINUOUS = auto()
    """It takes real-valued positions, and a small move of them makes a small change: 1e-9 moves no output by 1e-4."""
    CACHEABLE = auto()
    """A key that has been lowered stays right however the sequence goes on."""
    CONTENT_FREE = auto()
    """Its bias ignores queries and keys."""
    CONTEXTUAL = auto()
    """The logit of a pair depends on other keys too; only the reference backend can compute it."""
    RECURRENT = auto()
    """The position of a token is made from those before it: where one of them is dropped, all later ones change."""


@dataclass(frozen=True)
class Domain:
    """The positions that an encoding takes: `lowest` to `highest`, whole numbers only or not, on how many axes."""

    lowest: float = -math.inf
    highest: float = math.inf
    whole: bool = False
    axes: int | None = 1
    """None: any number of axes."""

    @property
    def unbounded(self) -> bool:
        return math.isinf(self.lowest) and math.isinf(self.highest)


@checked
@dataclass(frozen=True)
class Shape:
    """The sizes of a model that an encoding may need: width w, heads h, head_dim d, depth, and whether it is causal."""

    width: int
    heads: int
    head_dim: int | None = None
    """w / h unless it is given, for attention of your own."""
    depth: int = 1
    causal: bool = True

    def __post_init__(self):
        sizes = {"width": self.width, "heads": self.heads, "head_dim": self.head_dim, "depth": self.depth}
        small = {name: size for name, size in sizes.items() if size is not None and size < 1}
        if small:
            given = ", ".join(f"{name} {size}" for name, size in small.items())
            raise OptionError(
                "a model has sizes", given=given, allowed="1 or more each", do=f"give a larger {next(iter(small))}"
            )
        if self.head_dim is None:
            if self.width % self.heads:
                near = -(-self.width // self.heads) * self.heads
                raise OptionError(
                    "heads share the width equally",
                    given=f"width {self.width}, {self.heads} heads",
                    do=f"choose a width that is a multiple of the heads, such as {near}, or another number of heads",
                )
            object.__setattr__(self, "head_dim", self.width // self.heads)


class Site(StrEnum):
    """Where an encoding acts."""

    EMBEDDINGS = "embeddings"
    QUERIES_AND_KEYS = "queries and keys"
    LOGITS = "logits"
    SCALE = "scale"
    VALUES = "values"


SITES = {
    "embed": Site.EMBEDDINGS,
    "query": Site.QUERIES_AND_KEYS,
    "key": Site.QUERIES_AND_KEYS,
    "bias": Site.LOGITS,
    "scale": Site.SCALE,
    "mix": Site.VALUES,
}
"""Where each hook of the lowering acts."""


@dataclass(frozen=True)
class Mix:
    """What attention weights gather besides the values: `out_i += sum_j weight_ij table[h, row(i, j)]`."""

    table: Float[Tensor, "h rows d_v"]
    """One head's table may serve all heads."""
    row: PairFunction


class Encoding(nn.Module):
    """A position encoding. As it stands it is no encoding at all (NoPE): every hook is neutral.

    A subclass states the paper's formula in `score`, `absolute` or `value` (the definition), and overrides the hooks of
    the lowering so that they give the same numbers. Subclasses are final and inherit from this class only. An object
    serves one layer as it stands; `layers` says what serves several.
    """

    properties: Property = (
        Property.TRANSLATION_INVARIANT | Property.CONTINUOUS | Property.CACHEABLE | Property.CONTENT_FREE
    )
    domain: Domain = Domain(axes=None)
    bibtex: str = ""
    width: int | None = None
    """The model width w it was built for; None: any. So are `heads`, `head_dim`, and `kv_heads`, the heads of keys."""
    heads: int | None = None
    head_dim: int | None = None
    kv_heads: int | None = None
    variants: tuple[dict[str, Any], ...] = ()
    """Options, besides the defaults, under which the laws are checked."""
    beyond_domain: str = "choose positions inside the domain, or an encoding without bounds: rope, alibi, sinusoidal"
    """What to do about a position that it does not take."""
    causal: bool | None = None
    """True: it reads the past only, and refuses a mask that shows more."""
    per_layer: bool = False
    """Whether each layer has parameters of its own, drawn anew; `common` says what they share."""
    memory: int = 0
    """Tokens of earlier segments that a model under this encoding reads besides its own, in training too."""

    _owner: "tuple[Encoding, ...]" = ()
    """The encoding it is a copy of, where they share modules; in a tuple, so that it is no part of this one."""

    def __init__(self):
        super().__init__()

    def reset_parameters(self) -> None:
        """Draw the initial values of the encoding's own parameters; an encoding without any has nothing to do."""

    def reset_layer(self) -> None:
        """Draw the initial values of what a layer does not share with others: everything, unless `copies` keep some."""
        self.reset_parameters()

    @property
    def sites(self) -> list[Site]:
        """Where it acts, by the hooks of the lowering that it overrides; empty for no encoding at all.

        A contextual encoding has no lowering, and acts on logits.
        """
        changed = [hook for hook in SITES if getattr(type(self), hook) is not getattr(Encoding, hook)]
        if Property.CONTEXTUAL in self.properties:
            changed.append("bias")
        return list(dict.fromkeys(SITES[hook] for hook in changed))

    def check_sizes(
        self,
        *,
        width: int | None = None,
        heads: int | None = None,
        head_dim: int | None = None,
        kv_heads: int | None = None,
        causal: bool | None = None,
    ) -> None:
        """OptionError unless it was built for these sizes and such a mask; what is left out is not asked for."""
        sizes = {"width": width, "heads": heads, "head_dim": head_dim, "kv_heads": kv_heads}
        for name, size in sizes.items():
            if size is not None and getattr(self, name) not in (None, size):
                raise OptionError(
                    f"{type(self).__name__} was built for another {name}",
                    given=f"{name} {size}",
                    allowed=f"{name} {getattr(self, name)}",
                    do=f"give model and encoding the same {name}; encodings.create takes sizes from the model's Shape",
                )
        if self.causal and causal is False:
            always = type(self).causal
            raise OptionError(
                f"{type(self).__name__} reads the past only"
                if always
                else f"{type(self).__name__} was built for a causal mask: it tells no two later tokens apart",
                given="a mask that shows later tokens",
                do="use mask=CAUSAL" if always else "create it for a Shape(..., causal=False), or use mask=CAUSAL",
            )

    def check_positions(self, pos: Positions) -> None:
        """PositionError unless `pos` lies in the domain: as many axes, inside the bounds, whole where it has to be."""
        domain = self.domain
        lowest, highest = max(domain.lowest, -FURTHEST), min(domain.highest, FURTHEST)
        if domain.axes not in (None, pos.axes):
            raise PositionError(
                f"{type(self).__name__} takes positions on another number of axes",
                given=f"{pos.axes} axes",
                allowed=f"{domain.axes}",
                do="build the encoding with that many axes, or give positions.sequence for a line",
            )
        compiling = torch.compiler.is_compiling()
        if (compiling and domain.unbounded and not domain.whole) or pos.coords.is_meta:
            return
        # Of symbolic numbers the graph would keep what is asked here as a condition.
        ends = None if compiling else pos.ends()
        if ends is not None and all(lowest <= end <= highest and (not domain.whole or end == int(end)) for end in ends):
            return
        place = pos.anchored()
        inside = (place >= lowest) & (place <= highest)
        if domain.whole:
            inside = inside & (place == place.round())
        if compiling:
            torch._assert_async(inside.all(), f"a position outside the domain of {type(self).__name__}")
        elif not inside.all():
            raise PositionError(
                f"{type(self).__name__} has no such position",
                given=f"position {max(place[~inside].tolist(), key=abs):g}",
                allowed=f"{_end(lowest)} to {_end(highest)}" + ", whole numbers" * domain.whole,
                do=self.beyond_domain,
            )

    def check_continues(self, held: Positions, keys: Positions) -> None:
        """PositionError where the tokens `held` in a cache would come out otherwise now that all keys are at `keys`.

        For encodings whose tables depend on the whole context: what a cache holds came from an earlier one.
        """

    def serves(self, query: nn.Linear, key: nn.Linear, instead_of: tuple[nn.Linear, nn.Linear] | None = None) -> None:
        """Told, when the layer is built, which projections of queries and keys the layer that it serves has.

        For encodings that project positions with those; they stay parameters of the layer, and must not be registered.
        instead_of: those that the same layer had before.
        """

    @property
    def owner(self) -> "Encoding":
        """The encoding whose `prepare`, `draw` and `auxiliary` serve this one: itself, unless layers share modules."""
        return self._owner[0] if self._owner else self

    def layers(self, count: int) -> "list[Encoding]":
        """One encoding a layer: the same object for all of them, unless each layer has parameters of its own."""
        return self.copies(count, self.common()) if self.per_layer else [self] * count

    def common(self) -> "tuple[nn.Module, ...]":
        """The modules that all layers share, where each layer has parameters of its own besides."""
        return ()

    def copies(self, count: int, keep: Iterable[nn.Module] = ()) -> "list[Encoding]":
        """This encoding and others like it, `count` in all, each with initial values of its own (`reset_layer`).

        Where all share the modules in `keep`, what is prepared from those serves all: this one is the others' owner.
        """
        keep = [*keep]
        others = [copy.deepcopy(self, {id(one): one for one in (*keep, *self._owner)}) for _ in range(count - 1)]
        for other in others:
            other._owner = (self.owner,) if keep else ()
            other.reset_layer()
        return [self, *others][:count]

    def scale(self, head_dim: int) -> float:
        """What multiplies `<q, k>`: `1 / sqrt(d)` with the head width before any widening."""
        return head_dim**-0.5

    def draw(self, pos: Positions, generator: torch.Generator, rows: int = 1) -> Positions:
        """The positions to train a batch of `rows` on where its text lies at `pos`: those, unless they are moved.

        One row for all, or as many as the batch has.
        """
        return pos

    def auxiliary(self, pos: Positions, generator: torch.Generator) -> Tensor | float:
        """What training adds to the loss of a batch at `pos`."""
        return 0.0

    # The definition: the formula of the paper. Slow, plain, and what everything else is held against.

    def absolute(self, pos: Positions) -> Float[Tensor, "rows n w"] | float:
        """What is added to the embedding of each token at the model's input, `[rows, n, w]`; 0 where nothing is."""
        return 0.0

    def score(
        self, q: Float[Tensor, "b h i d"], k: Float[Tensor, "b h j d"], q_pos: Positions, k_pos: Positions
    ) -> Float[Tensor, "b h i j"]:
        """The logit of every pair, `[b, h, i, j]`, from q `[b, h, i, d]` and k `[b, h, j, d]`.

        That of a CONTEXTUAL encoding takes a fifth argument, `visible`: bools that broadcast to `[b, h, i, j]`, which
        keys each query sees; None where it sees every key.
        """
        return self.scale(q.shape[-1]) * dot(q, k)

    def value(self, v: Float[Tensor, "b h j d"], q_pos: Positions, k_pos: Positions) -> Float[Tensor, "b h #i j d"]:
        """What token i receives from token j, `[b, h, i or 1, j, d]`, from v `[b, h, j, d]`."""
        return v[:, :, None]

    # The lowering: the same numbers in the form that a fused kernel takes.

    def embed(self, x: Float[Tensor, "b n w"], pos: Positions) -> Float[Tensor, "b n w"]:
        """The embeddings `[b, n, w]` as they enter the first layer."""
        return x

    def prepare(self, pos: Positions, context: Positions, dtype: torch.dtype) -> Any:
        """Tables for `query` and `key` of the tokens at `pos`, made once per forward pass and shared by the layers.

        `context` has the positions of all keys that these tokens may see, cached ones first; `dtype` is float32 or
        float64, the precision that the tables are cast to after they have been formed in float64.
        """
        return None

    def query(self, q: Float[Tensor, "b h i d"], prepared: Any) -> Float[Tensor, "b h i wide"]:
        """q `[b, h, i, d]` as the kernel takes it; may be wider than d."""
        return q

    def key(self, k: Float[Tensor, "b g j d"], prepared: Any) -> Float[Tensor, "b g_or_h j wide"]:
        """k `[b, g, j, d]` as the kernel takes it, widened as the queries are; g heads, or one for each query head."""
        return k

    def bias(self, q: Tensor, k: Tensor, q_pos: Positions, k_pos: Positions) -> PairFunction | None:
        """A function of four indices whose value is added to the scaled logits, or None.

        q `[b, h, i, d]` and k `[b, g, j, d]` are as projected. A bias that reads k belongs to an encoding that leaves
        `key` alone, so that cached keys are still as projected; a content-free one must not touch q and k, which are
        empty then, of the precision of the logits: distances are taken in float64, and what follows in that.

        A backend may ask for the bias of a content-free, TRANSLATION_INVARIANT encoding at other positions than those
        of the tokens, on one axis, and use a value for every pair with the same p_i - p_j: as many queries and keys as
        it likes, in one row and one document, all with a place, their turns in any order. So such a bias reads neither
        turns nor documents nor other tokens, and it is the same function for all rows.
        """
        return None

    def mix(self, q_pos: Positions, k_pos: Positions) -> Mix | None:
        """What the weights gather besides the values, or None."""
        return None


def dot(q: Float[Tensor, "b h i d"], k: Float[Tensor, "b h j d"]) -> Float[Tensor, "b h i j"]:
    """`<q_i, k_j>` of every pair: `[b, h, i, d], [b, h, j, d] -> [b, h, i, j]`."""
    return torch.einsum("bhid,bhjd->bhij", q, k)


def difference(q_pos: Positions, k_pos: Positions) -> Float[Tensor, "rows 1 i j axes"]:
    """`p_i - p_j` of every pair, `[rows, 1, i, j, axes]`, tokens without a place at the origin."""
    return q_pos.anchored()[:, None, :, None] - k_pos.anchored()[:, None, None, :]


def both_placed(q_pos: Positions, k_pos: Positions) -> Bool[Tensor, "rows 1 i j"]:
    """Whether both tokens of a pair have a place, `[rows, 1, i, j]`."""
    return q_pos.has_place()[:, None, :, None] & k_pos.has_place()[:, None, None, :]


def _end(number: float) -> str:
    return f"{'-' * (number < 0)}2^53" if abs(number) == FURTHEST else f"{number:g}"
