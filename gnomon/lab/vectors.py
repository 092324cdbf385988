"""A Transformer that reads vectors of numbers in place of tokens: pixels of a patch, the channels of a moment."""

from typing import Any

import torch
from torch import Tensor, nn

from gnomon.errors import OptionError
from gnomon.transformer import Transformer


class VectorTransformer(Transformer):
    """`Transformer` whose input is `[b, n, features]`: a linear map in place of the table of tokens.

    The map gives features of variance 1 the variance that tokens have, 1 / w. Its logits have a table of their own.
    """

    def __init__(self, features: int, vocabulary: int, *sizes: Any, **options: Any):
        super().__init__(vocabulary, *sizes, **options, tied=False)
        self.embedding = nn.Linear(features, self.width)
        self._reset_input()

    def _reset(self) -> None:
        super()._reset()
        if isinstance(self.embedding, nn.Linear):
            self._reset_input()

    def _reset_input(self) -> None:
        nn.init.normal_(self.embedding.weight, std=(self.width * self.embedding.in_features) ** -0.5)
        nn.init.zeros_(self.embedding.bias)

    def _reads(self, tokens: Tensor) -> None:
        features = self.embedding.in_features
        if tokens.dim() != 3 or tokens.shape[2] != features or not tokens.is_floating_point():
            raise OptionError(
                "a model of vectors reads rows of them",
                given=f"shape {list(tokens.shape)}, {tokens.dtype}",
                allowed=f"[b, n, {features}] of torch.float32",
            )
        if not torch.compiler.is_compiling() and tokens.device.type == "cpu" and not tokens.isfinite().all():
            raise OptionError("a model of vectors reads finite numbers", given="nan or inf")
