"""What an encoding looks like is what its formula says."""

import math

import pytest
import torch

from gnomon.encoding import Shape
from gnomon.encodings import create
from gnomon.lab.portrait import portrait

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
