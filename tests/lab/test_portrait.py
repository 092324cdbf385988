"""What an encoding looks like is what its formula says."""

import math

import pytest
import torch

from gnomon import positions
from gnomon.encoding import Shape
from gnomon.encodings import create
from gnomon.lab.portrait import portrait
from tests.core.common import every_variant, label, weigh

SHAPE = Shape(width=24, heads=3, head_dim=8)
N = 9


def drawn(name: str, **options: object) -> dict | None:
    return portrait(create(name, SHAPE, **options), SHAPE, N)


def test_nothing_looks_like_nothing():
    assert drawn("none") is None


def test_alibi_is_a_line_a_head():
    found = drawn("alibi")
    assert found["kind"] == "bias" and found["distance"] == list(range(N))
    for head, slope in zip(found["heads"], (2**-4, 2**-8, 2**-2), strict=True):
        assert head == pytest.approx([-slope * x for x in range(N)])


def test_rope_is_a_mean_of_cosines():
    found = drawn("rope")
    expected = [sum(math.cos(x * 10000 ** (-m / 4)) for m in range(4)) / 4 for x in range(N)]
    assert found["kind"] == "rotation" and len(found["heads"]) == 1
    assert found["heads"][0] == pytest.approx(expected)


def test_sinusoidal_is_a_mean_of_cosines():
    found = drawn("sinusoidal")
    expected = [sum(math.cos(x * 10000 ** (-m / 12)) for m in range(12)) / 12 for x in range(N)]
    assert found["kind"] == "absolute" and found["heads"][0] == pytest.approx(expected)


def test_shaw_is_the_length_of_its_rows():
    encoding = create("shaw", SHAPE, clip=4).double()
    with torch.no_grad():
        for parameter in encoding.parameters():
            parameter.normal_(generator=torch.Generator().manual_seed(0))
    found = portrait(encoding, SHAPE, N)
    assert found["kind"] == "content"
    head = torch.tensor(found["heads"][0])
    lengths = sorted(
        {round(x, 9) for p in encoding.parameters() for x in (p.norm(dim=-1) / math.sqrt(8)).flatten().tolist()}
    )
    assert all(min(abs(x - y) for y in lengths) < 1e-6 for x in head.tolist())
    assert head[4:].std() < 1e-12 < head[:4].std()


@pytest.mark.parametrize("variant", every_variant(), ids=label)
def test_a_portrait_is_of_the_last_token_of_a_real_sequence(variant):
    """Turns and neighbours are those that a model sees: the definition's whole matrix, at positions.sequence."""
    name, options = variant
    encoding = weigh(create(name, SHAPE, **options)).double()
    found = portrait(encoding, SHAPE, N)
    if found is None or found["kind"] == "absolute":
        assert found is not None or name in ("none", "cope")
        return
    line, d = positions.sequence(N), SHAPE.head_dim
    if encoding.domain.axes not in (None, 1):
        line = positions.timed(line.coords.expand(1, N, encoding.domain.axes))
    basis = torch.eye(d).double()[:, None, None].expand(d, SHAPE.heads, N, d)
    nothing = torch.zeros_like(basis)

    def logits(q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
        return encoding.score(q, k, line, line)[:, :, -1].flip(-1)

    with torch.no_grad():
        bias = logits(nothing, nothing)[0]
        expected = {
            "bias": bias,
            "content": (logits(basis, nothing) - bias).square().sum(0).sqrt(),
            "rotation": (logits(basis, basis).mean(0) - bias) / (logits(basis, basis).mean(0) - bias)[:, :1],
        }[found["kind"]]
    heads = torch.tensor(found["heads"], dtype=torch.float64)
    torch.testing.assert_close(heads.expand_as(expected), expected, rtol=1e-9, atol=1e-9)
