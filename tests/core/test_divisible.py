"""A pair function of some queries, keys and heads gives what the whole gives there, before it is made and after."""

import pytest
import torch

from gnomon import pairs, positions
from gnomon.encoding import Shape
from gnomon.encodings import ENCODINGS, create
from gnomon.room import Room

SHAPE = Shape(width=32, heads=4, head_dim=8, causal=True)
N = 9
PLACES = {
    "even": positions.sequence(N),
    "anywhere": positions.timed(torch.tensor([3, 0, 17, 5, 8, 1, 2, 30, 9])),
    "two rows": positions.padded(torch.arange(N) >= torch.tensor([[0], [4]])),
}


def bias(name: str, pos: positions.Positions):
    encoding = create(name, SHAPE).double().eval()
    if encoding.domain.axes not in (None, 1):
        pytest.skip("lies on several axes")
    q, k = (torch.randn(2, 4, N, 8, dtype=torch.float64) for _ in range(2))
    return encoding.bias(q, k, pos, pos)


@pytest.mark.parametrize("name", ENCODINGS)
@pytest.mark.parametrize("place", PLACES)
def test_parts_are_parts_of_the_whole(name, place):
    whole, device = bias(name, PLACES[place]), torch.device("cpu")
    if not isinstance(whole, pairs.Divisible):
        pytest.skip("has no bias that can be cut")
    queries, keys, heads = slice(2, 5), slice(1, 4), slice(1, 3)
    with torch.no_grad():
        value = pairs.dense(whole, 2, 4, N, N).expand(2, 4, N, N)[:, heads, queries, keys]
        made = pairs.made(whole, 2, 4, N, N, device, Room())
        for some in (
            pairs.of_heads(pairs.part(whole, queries, keys), heads),
            pairs.part(pairs.of_heads(whole, heads), queries, keys),
            pairs.of_heads(pairs.part(made, queries, keys), heads),
            pairs.made(pairs.of_heads(pairs.part(whole, queries, keys), heads), 2, 2, 3, 3, device, Room()),
        ):
            found = pairs.dense(some, 2, 2, 3, 3)
            assert found.shape[2:] == (3, 3)
            assert (found - value).abs().max() < 1e-12
