"""What is left out for its size: only questions that apply, and none of small models."""

import pytest

from gnomon.analysis import fit, quick
from gnomon.analysis.study import QUESTIONS, Settings
from gnomon.encoding import Shape
from gnomon.encodings import ENCODINGS, create

SMALL = Shape(width=32, heads=2)


@pytest.mark.parametrize("name", ENCODINGS)
def test_only_what_applies_is_left_out(monkeypatch: pytest.MonkeyPatch, name: str):
    encoding, settings = create(name, SMALL), Settings(positions=64, training=16, last=1000, others=False)
    assert quick.slow(encoding, SMALL, settings) == {}
    for limits in (quick.NUMBERS, quick.DIMENSIONS):
        monkeypatch.setattr(quick, "NUMBERS" if limits is quick.NUMBERS else "DIMENSIONS", dict.fromkeys(limits, 0))
    monkeypatch.setattr(quick, "WIDTH", 0)
    # The others are not fitted beside: whether it applies does not depend on them.
    monkeypatch.setattr(fit, "_compared", lambda *_: ([], ""))
    limited = {*quick.NUMBERS, *quick.DIMENSIONS, "fit"}
    sections = {key: QUESTIONS[key](encoding, SMALL, settings, None) for key in limited}
    left_out = {*quick.slow(encoding, SMALL, settings)}
    applying = {key for key, section in sections.items() if section.applies}
    # Kernels of biases are quick at any size; a narrow table cannot be fitted, a wide one can.
    applying -= {"kernel"} if name not in ("sinusoidal", "rope") else set()
    assert left_out - {"fit"} == applying & {*quick.NUMBERS, *quick.DIMENSIONS} - ({"uniqueness", "terms"} - left_out)
    assert "fit" in left_out or "fit" not in applying


def test_the_size_that_does_it_is_told():
    large, settings = Shape(width=2048, heads=16), Settings(positions=65_536)
    told = quick.slow(create("sinusoidal", large), large, settings)
    assert told["uniqueness"] == "65,536 places of 2,048 numbers" and told["terms"] == "positions of 2,048 numbers"
    assert {*told} == {*quick.NUMBERS, *quick.DIMENSIONS, "fit"}
    # Of a head's 128 dimensions, and of a table that ends at 1,024 places.
    assert {*quick.slow(create("rope", large), large, settings)} == {"uniqueness", "fit"}
    assert {*quick.slow(create("learned", large), large, settings)} == {"terms", "fit"}
