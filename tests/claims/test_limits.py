"""The page of the limits: it is as the records are now, and its boxes are those of claims that there are."""

import re

import pytest

from gnomon.claims import CLAIMS
from tests.limit_diagrams import DIAGRAMS
from tests.limit_pages import COLOURS, FILE, Box, Diagram, Facts, mermaid, page

BOXES = [box for diagram in DIAGRAMS for box in diagram.boxes]


@pytest.fixture(scope="module")
def facts():
    return Facts()


def test_the_page_is_as_the_records_are(facts):
    assert FILE.read_text(encoding="utf-8") == page(facts), "run `python -m tests.limit_pages`"


@pytest.mark.parametrize("diagram", DIAGRAMS, ids=lambda diagram: diagram.title)
def test_arrows_are_between_boxes(diagram):
    keys = [box.key for box in diagram.boxes]
    assert len({*keys}) == len(keys) and {key for arrow in diagram.arrows for key in arrow[:2]} == {*keys}


def test_every_box_has_its_verdicts_and_its_number(facts):
    """And a number once its claims have evidence."""
    text = page(facts)
    for box in BOXES:
        for id in box.claims:
            assert id in CLAIMS and f"<b>{id} {facts.word(id)}</b>" in text
        if box.found is not None and all(facts.entry(id).numbers is not None for id in box.claims):
            assert re.search(r"\d", box.found(facts)), box.key


class Told:
    """Verdicts without a ledger."""

    def __init__(self, **words: str):
        self.words = words

    def word(self, id: str) -> str:
        return self.words[id]


@pytest.mark.parametrize("words", [("holds",), ("does not hold",), ("not measured",), ("holds", "does not hold")])
def test_the_colour_of_a_box_is_that_of_its_verdicts(words):
    claims = dict(zip(["A", "B"], words, strict=False))
    diagram = Diagram("", "", (Box("one", "said", tuple(claims)), Box("two", "nothing")), (("one", "two", "so"),))
    text = mermaid(diagram, Told(**claims))
    name = words[0] if len(words) == 1 else "mixed"
    assert f"classDef {name.replace(' ', '_')} {COLOURS[name]}" in text and text.count("classDef") == 1
    assert "one -->|so| two" in text and 'two["nothing"]' in text
