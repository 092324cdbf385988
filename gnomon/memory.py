"""A memory of layer inputs: what Transformer-XL keeps of the segments that came before."""

from collections.abc import Mapping

import torch
from jaxtyping import Float
from torch import Tensor

from gnomon.checked import checked
from gnomon.errors import OptionError
from gnomon.past import Extent, Past, check_goes_on
from gnomon.positions import KINDS, Positions
from gnomon.ring import Held, Ring, joined_and_kept, sample_of, tokens_of


@checked
class Memory(Past):
    """The layer inputs of the last `size` tokens, from which keys and values are computed anew: Transformer-XL's cache.

    For training on text in order: what is remembered carries no gradient, but the projections that read it do.
    Dai et al. 2019, "Transformer-XL: Attentive Language Models Beyond a Fixed-Length Context", section 3.2.
    """

    def __init__(self, size: int):
        if size < 1:
            raise OptionError("a memory needs room", given=f"size {size}", allowed="1 or more tokens")
        self.size = size
        self.length = 0
        self._inputs: dict[int, Held] = {}
        """Of each layer, `[b, 1, m, w]`."""
        self._positions: Positions | None = None

    @property
    def inputs(self) -> dict[int, Tensor]:
        """What is remembered of each layer's inputs, `[b, m, w]`."""
        held = {layer: tokens_of(inputs)[:, 0] for layer, inputs in self._inputs.items()}
        return {layer: x.clone() if isinstance(self._inputs[layer], Ring) else x for layer, x in held.items()}

    def extend(self, pos: Positions) -> Extent:
        """Take in the positions of new tokens; keys are computed for those remembered, then for these."""
        new = pos.first() if self._positions is None else pos.after(self._positions)
        keys = new if self._positions is None else self._positions.append(new)
        self._positions = keys.tokens(max(0, keys.length - self.size), keys.length)
        self.counted = self.counted and pos.counts_from(self.length)
        self.length += pos.length
        return Extent(new, keys, keys)

    def tensors(self) -> dict[str, Tensor]:
        """What is remembered, by name."""
        fields = {} if self._positions is None else {name: getattr(self._positions, name) for name in KINDS}
        held = {name: field for name, field in fields.items() if field is not None}
        layers = {f"layer {layer}": inputs for layer, inputs in self.inputs.items()}
        numbers = {"length": torch.tensor(self.length), "counted": torch.tensor(self.counted)}
        return {**numbers, **held, **layers}

    def load(self, tensors: Mapping[str, Tensor], device: torch.device) -> None:
        """Remember what `tensors` said."""
        self.length, self.counted = int(tensors["length"]), bool(tensors["counted"])
        if "coords" in tensors:
            fields = {name: tensors[name].to(device) for name in KINDS if name in tensors}
            first = self.length - fields["coords"].shape[1]
            held = Positions(turn=first, **fields)
            # As before it was saved, also in what is known of the positions: that decides how they are computed with.
            self._positions = held.counting(first) if self.counted else held
        layers = {name: x for name, x in tensors.items() if name.startswith("layer ")}
        self._inputs = {int(name.removeprefix("layer ")): x.to(device)[:, None] for name, x in layers.items()}

    def recall(self, layer: int, x: Float[Tensor, "b n w"]) -> Float[Tensor, "b m w"]:
        """The inputs of the layer that are remembered, then `x`, which is remembered from now on."""
        held, new = self._inputs.get(layer), x[:, None]
        if held is not None:
            check_goes_on(x, sample_of(held)[:, 0], 1, dtype=False)
            if sample_of(held).dtype != x.dtype:
                held = tokens_of(held).to(x.dtype)
        both, self._inputs[layer] = joined_and_kept(held, new, 0, self.size)
        return both[:, 0]
