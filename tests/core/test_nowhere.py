"""Padding, and tokens without a place: their coordinates mean nothing, be they no numbers at all."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from gnomon.attention import attend
from gnomon.encoding import Encoding
from gnomon.encodings import create
from gnomon.encodings.frequencies import among
from gnomon.masks import BIDIRECTIONAL, CAUSAL
from gnomon.pairs import dense
from gnomon.positions import Positions
from tests.core.common import HEADS, SHAPE, anywhere, at, every_variant, gap, heads, label, make, normal, weigh

N = 9
FAR = 2.0**48


def nowhere(pos: Positions, coordinate: float) -> Positions:
    """The second token without a place, padding at the end, both at `coordinate`."""
    placed, segment = torch.arange(N) != 1, torch.where(torch.arange(N) < N - 2, 0, -1)
    coords = torch.where((placed & (segment == 0))[:, None], pos.coords, coordinate)
    return replace(pos, coords=coords, placed=placed[None], segment=segment[None])


def outcomes(encoding: Encoding, pos: Positions, backend: str) -> list[Tensor]:
    """What attention and the model's input come to, and the gradients of queries and of the encoding."""
    q, k, v = heads(N)
    q.requires_grad_()
    received, added = (
        attend(q, k, v, encoding, pos, mask=CAUSAL, backend=backend),
        encoding.embed(normal(2, N, 48), pos),
    )
    learned = [parameter for parameter in encoding.parameters() if parameter.requires_grad]
    total = received.square().sum() + added[:, : N - 2].square().sum()
    found = torch.autograd.grad(total, [q, *learned], allow_unused=True)
    return [received, added[:, : N - 2], *(gradient for gradient in found if gradient is not None)]


@pytest.mark.parametrize("variant", every_variant(), ids=label)
@pytest.mark.parametrize("backend", ["auto", "reference"])
def test_a_coordinate_that_is_no_number_changes_nothing(variant, backend):
    encoding = weigh(make(variant[0], **variant[1]).double()).eval()
    pos = anywhere(encoding, 2, N)
    found, expected = (outcomes(encoding, nowhere(pos, where), backend) for where in (float("nan"), 0.0))
    assert all(a.isfinite().all() and gap(a, b) < 1e-12 for a, b in zip(found, expected, strict=True))


@pytest.mark.parametrize("name", ["sandwich", "transformer_xl"])
@pytest.mark.parametrize("first", [[], [0.0], [float("nan")]], ids=["text", "a prefix at 0", "a prefix nowhere"])
def test_waves_are_counted_from_where_the_text_is(name, first):
    """Far from there an angle w p is rounded: at 2^48 to hundredths of a turn."""
    encoding = weigh(create(name, SHAPE).double())
    coords = torch.tensor([*first, *(FAR + x for x in (0.0, 1.5, 2.25, 7.0, 7.5))], dtype=torch.float64)
    pos = Positions(coords[None, :, None], placed=(torch.arange(len(coords)) >= len(first))[None])
    q, k, v = heads(len(coords))
    found, expected = (attend(q, k, v, encoding, pos, mask=BIDIRECTIONAL, backend=b) for b in ("sdpa", "reference"))
    assert gap(found, expected) < 1e-12


def test_those_nowhere_stand_beside_the_first_that_is_somewhere():
    pos = replace(nowhere(at([[float(x) for x in range(5, 5 + N)]] * 2), float("nan")), turn=0)
    assert among(pos).tolist() == [[5, 5, 7, 8, 9, 10, 11, 5, 5]] * 2
    blank = replace(pos, segment=torch.full((1, N), -1))
    assert among(blank).tolist() == [[0] * N] * 2
    line = at([3.0, 4.0])
    assert among(line).tolist() == [[3, 4]] and among(at([])).shape == (1, 0)


def test_padding_is_in_no_bucket_of_its_own():
    """A bucket of what is no number would be no entry of the table."""
    encoding = create("t5", SHAPE).double()
    pos = Positions(
        torch.tensor([[[0.0], [1.0], [float("nan")]]], dtype=torch.float64), segment=torch.tensor([[0, 0, -1]])
    )
    empty = torch.empty(0, dtype=torch.float64)
    assert dense(encoding.bias(empty, empty, pos, pos), 1, HEADS, 3, 3).isfinite().all()
