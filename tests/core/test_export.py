"""torch.export at one length, run at another: no length, and no number worked out from one, is baked into the graph."""

import pytest
import torch

from gnomon.encodings import ENCODINGS
from tests.core.common import gap, make, model, tokens


@pytest.mark.parametrize("name", ENCODINGS)
def test_an_exported_model_takes_other_lengths(name):
    net = model(make(name), depth=1)
    length = torch.export.Dim("n", min=2, max=60)
    exported = torch.export.export(net, (tokens(2, 8),), dynamic_shapes=({1: length},)).module()
    for n in (8, 3, 40):
        assert gap(exported(tokens(2, n)), net(tokens(2, n))) < 1e-12
