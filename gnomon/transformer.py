"""A Transformer: tokens -> embeddings -> blocks -> logits. A decoder or an encoder by its mask."""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from gnomon.attention import Attention, check_one_each
from gnomon.backends import Backend
from gnomon.checked import checked
from gnomon.encoding import Encoding, Site
from gnomon.errors import OptionError
from gnomon.masks import CAUSAL, Mask
from gnomon.memory import Memory
from gnomon.once import one_pass
from gnomon.past import NoCache, Past
from gnomon.plan import Plan
from gnomon.positions import Positions
from gnomon.precision import autocasts


class Block(nn.Module):
    """Pre-norm attention and feed-forward, each added to the residual stream."""

    def __init__(self, attention: Attention, width: int, feed_forward: int, dropout: float):
        super().__init__()
        self.norm_attention, self.norm_feed_forward = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = attention
        self.up, self.down = nn.Linear(width, feed_forward), nn.Linear(feed_forward, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, plan: Plan, cache: Past, layer: int, source: Tensor | None = None) -> Tensor:
        """x attends to `source`: itself and what is remembered, unless something else is given."""
        source = cache.recall(layer, x) if source is None else source
        normed = self.norm_attention(x)
        keys = None if source is x else self.norm_attention(source)
        x = x + self.dropout(self.attention(normed, keys=keys, cache=cache, layer=layer, plan=plan))
        hidden = nn.functional.gelu(self.up(self.norm_feed_forward(x)))
        return x + self.dropout(self.down(hidden))


@checked
class Transformer(nn.Module):
    """A pre-norm Transformer under any position encoding.

    encoding: one for all layers (it decides itself whether they share tables), or a list with one for each layer, of
              which one at most acts at the input (learned, sinusoidal): what it adds there is for all layers.
    mask:     CAUSAL for a decoder, BIDIRECTIONAL for an encoder, or any other Mask.
    tied:     output logits are products with the token embeddings.
    scale_embeddings: token embeddings, of variance 1 / w, are multiplied by sqrt(w) before positions are added, as in
              the original Transformer; without it a sum of positions and tokens starts dominated by positions.
    mask_decoder: for an encoder that fills in masked tokens, an encoding that acts at the input (learned, sinusoidal):
              absolute positions enter before the last layer, and only in its queries. The layer is applied twice, to
              the sum and then to its own output, with keys and values of what entered it both times: the enhanced
              mask decoder of DeBERTa (He et al. 2021, section 4.2).
    """

    def __init__(
        self,
        vocabulary: int,
        width: int,
        depth: int,
        heads: int,
        encoding: Encoding | Sequence[Encoding],
        *,
        kv_heads: int | None = None,
        feed_forward: int | None = None,
        mask: Mask = CAUSAL,
        dropout: float = 0.0,
        tied: bool = True,
        scale_embeddings: bool = True,
        mask_decoder: Encoding | None = None,
        backend: str | Backend = "auto",
    ):
        super().__init__()
        if vocabulary < 1 or depth < 1 or (feed_forward is not None and feed_forward < 1):
            raise OptionError(
                "a model has sizes",
                given=f"vocabulary {vocabulary}, depth {depth}, feed_forward {feed_forward}",
                allowed="1 or more each",
            )
        layers = encoding.layers(depth) if isinstance(encoding, Encoding) else [*encoding]
        if len(layers) != depth:
            raise OptionError(
                "each layer has one encoding",
                given=f"{len(layers)} encodings, {depth} layers",
                do=f"give one encoding for all layers (gnomon.encodings.create makes one), or a list of {depth}",
            )
        _check_one_at_the_input(layers)
        if mask_decoder is not None:
            _check_mask_decoder(mask_decoder, mask, width)
        self.width, self.heads, self.scale_embeddings = width, heads, scale_embeddings
        self.mask_decoder = mask_decoder
        self.embedding = nn.Embedding(vocabulary, width)
        feed_forward = 4 * width if feed_forward is None else feed_forward
        attention = dict(kv_heads=kv_heads, mask=mask, dropout=dropout, backend=backend)
        self.blocks = nn.ModuleList(
            Block(Attention(width, heads, layer, **attention), width, feed_forward, dropout) for layer in layers
        )
        self.norm = nn.LayerNorm(width)
        self.unembedding = None if tied else nn.Linear(width, vocabulary, bias=False)
        self.dropout = nn.Dropout(dropout)
        # One plan serves all layers that share an encoding: the first layer of each makes it.
        self._first = [next(i for i, other in enumerate(layers) if other is layer) for layer in layers]
        self._makers = sorted(set(self._first))
        owners = [layer.owner for layer in layers]
        self._owners = sorted({next(i for i, other in enumerate(owners) if other is owner) for owner in owners})
        self._reset()

    def reset_parameters(self) -> None:
        """Initial values: variance 1 / fan-in, residual outputs smaller by sqrt(2 depth); those of the encodings."""
        self._reset()
        for first in self._makers:
            self.blocks[first].attention.encoding.reset_parameters()
        if self.mask_decoder is not None:
            self.mask_decoder.reset_parameters()

    def _reset(self) -> None:
        nn.init.normal_(self.embedding.weight, std=self.width**-0.5)
        for block in self.blocks:
            block.norm_attention.reset_parameters()
            block.norm_feed_forward.reset_parameters()
            block.attention.reset_projections()
            for linear in (block.up, block.down):
                nn.init.normal_(linear.weight, std=linear.in_features**-0.5)
                nn.init.zeros_(linear.bias)
            with torch.no_grad():
                for linear in (block.attention.out, block.down):
                    linear.weight *= (2 * len(self.blocks)) ** -0.5
        self.norm.reset_parameters()
        if self.unembedding is not None:
            nn.init.normal_(self.unembedding.weight, std=self.width**-0.5)

    def _reads(self, tokens: Tensor) -> None:
        """OptionError unless these are rows of tokens of the vocabulary; on a GPU nobody waits to see that."""
        asked, allowed = (
            "a model reads rows of tokens",
            f"[b, n] whole numbers from 0 to {self.embedding.num_embeddings - 1}",
        )
        if tokens.dim() != 2 or tokens.dtype not in (torch.int32, torch.int64):
            raise OptionError(asked, given=f"shape {list(tokens.shape)}, {tokens.dtype}", allowed=allowed)
        if torch.compiler.is_compiling() or tokens.device.type != "cpu" or not tokens.numel():
            return
        least, most = torch.aminmax(tokens)
        if least < 0 or most >= self.embedding.num_embeddings:
            raise OptionError(asked, given=f"tokens from {least} to {most}", allowed=allowed)

    @property
    def encodings(self) -> list[Encoding]:
        """The owners of the layers' encodings, each once: what training asks for positions and losses."""
        return [self.blocks[first].attention.encoding.owner for first in self._owners]

    @property
    def memory(self) -> int:
        """Tokens of earlier segments that it reads besides its own: as many as the encoding that asks for most."""
        return max(encoding.memory for encoding in self.encodings)

    def past(self) -> Past:
        """What a text that is read in segments begins with: an empty memory where there is one."""
        return Memory(self.memory) if self.memory else NoCache()

    @checked
    def forward(
        self, tokens: Int[Tensor, "b n"], pos: Positions | None = None, *, cache: Past | None = None
    ) -> Float[Tensor, "b n vocabulary"]:
        """Logits `[b, n, vocabulary]` of tokens `[b, n]` at `pos`; with a cache or memory, after the tokens it holds.

        Positions default to 0, 1, 2, ..., or to what follows cached tokens that were counted so. A call that raises
        leaves a cache as it was.
        """
        cache = NoCache() if cache is None else cache
        if torch.compiler.is_compiling():
            return self._forward(tokens, pos, cache)
        with cache.whole(), one_pass():
            cache.begin(self)
            return self._forward(tokens, pos, cache)

    def _forward(self, tokens: Tensor, pos: Positions | None, cache: Past) -> Tensor:
        self._reads(tokens)
        if pos is None:
            pos = cache.next(tokens.shape[1], tokens.device)
        check_one_each(pos, tokens)
        if self.mask_decoder is not None and not isinstance(cache, NoCache):
            raise OptionError(
                "a mask decoder reads whole texts",
                given=f"cache={type(cache).__name__}",
                do="call the model without a cache",
            )
        encodings = self.encodings
        for encoding in encodings:
            encoding.check_positions(pos)
        x = self.embedding(tokens)
        if self.scale_embeddings:
            x = x * self.width**0.5
        for encoding in encodings:
            x = encoding.embed(x, pos)
        x = self.dropout(x)
        extent, shared = cache.extend(pos), []
        check_one_each(extent.keys, tokens, "those of all tokens", tokens_at=None)
        dtype = torch.get_autocast_dtype(x.device.type) if autocasts(x.device) else x.dtype
        plans = {i: self.blocks[i].attention.plan(extent, dtype, shared) for i in self._makers}
        for layer, (block, first) in enumerate(zip(self.blocks, self._first, strict=True)):
            if self.mask_decoder is None or layer + 1 < len(self.blocks):
                x = block(x, plans[first], cache, layer)
            else:
                source, x = x, self.mask_decoder.embed(x, pos)
                for _ in range(2):
                    x = block(x, plans[first], cache, layer, source)
        x = self.norm(x)
        if self.unembedding is not None:
            return self.unembedding(x)
        return nn.functional.linear(x, self.embedding.weight)


def _check_one_at_the_input(layers: Sequence[Encoding]) -> None:
    """OptionError where several encodings would add to what the first layer reads, each of them for one layer."""
    adds = {id(layer.owner): layer.owner for layer in layers if Site.EMBEDDINGS in layer.owner.sites}
    if len(adds) > 1:
        names = list(dict.fromkeys(type(encoding).__name__ for encoding in adds.values()))
        copied = next((type(encoding).__name__ for encoding in adds.values() if encoding.per_layer), None)
        raise OptionError(
            "what is added at the input is added once, for all layers",
            given=f"{len(adds)} encodings that act there: {', '.join(names)}",
            allowed="one, in as many layers as you like",
            do="give that one, or the encoding 'none' in the other layers"
            if copied is None
            else f"set per_layer to False in {copied}, or let only one layer have an encoding with `embed`",
        )


def _check_mask_decoder(encoding: Encoding, mask: Mask, width: int) -> None:
    """OptionError unless `encoding` adds positions of this width and tokens see what comes after them."""
    if not isinstance(encoding, Encoding) or encoding.sites != [Site.EMBEDDINGS]:
        raise OptionError(
            "a mask decoder adds positions to what the last layer reads",
            given=repr(encoding),
            allowed="an encoding that acts at the input and nowhere else: learned, sinusoidal",
        )
    if mask.causal:
        raise OptionError("a mask decoder belongs to an encoder", given="a causal mask", do="use mask=BIDIRECTIONAL")
    encoding.check_sizes(width=width)
    if type(encoding).draw is not Encoding.draw or type(encoding).auxiliary is not Encoding.auxiliary:
        raise OptionError(
            "a mask decoder has positions that training neither draws nor teaches",
            given=type(encoding).__name__,
            allowed="learned, sinusoidal",
        )
