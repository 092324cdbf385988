"""The pages of the encodings are those of their docstrings, and every docstring has what a page needs."""

import re

import pytest

from gnomon.encodings import ENCODINGS
from tests.pages import FOLDER, LABELS, REQUIRED, pages, sections


@pytest.mark.parametrize("file", pages())
def test_the_page_is_written_from_the_code(file: str):
    assert (FOLDER / file).read_text(encoding="utf-8") == pages()[file], "run `python -m tests.pages`"


def test_no_page_is_left_of_an_encoding_that_is_gone():
    assert {path.stem for path in FOLDER.iterdir()} - {"README"} <= set(ENCODINGS)


@pytest.mark.parametrize("name", ENCODINGS)
def test_a_docstring_says_what_a_chooser_asks(name: str):
    told = sections(ENCODINGS[name])
    assert told["sentence"].endswith(".")
    assert "=" in told["formula"] or "<-" in told["formula"], "the second paragraph is the formula"
    assert not [label for label in REQUIRED if label not in told]
    assert not {*told} - {*LABELS, "sentence", "formula", "body"}, "a label that no page has a place for"
    assert name == "none" or "@" in ENCODINGS[name].bibtex


class _Labelled:
    """One sentence.

    x = y

    What else there is.

    Positions: any, also (a list): 1. Cost: none
    Where it differs: in a word.
    Use:
    never.
    """


def test_a_label_that_is_not_known_is_none_of_the_part_before():
    told = sections(_Labelled)
    assert told["body"] == "What else there is." and told["Use"] == "never."
    assert told["Positions"] == "any, also (a list): 1." and told["Cost"] == "none"
    assert told["Where it differs"] == "in a word."


def test_a_label_is_there_once():
    class Twice:
        """One sentence.

        x = y

        Use: here. Use: there.
        """

    with pytest.raises(ValueError, match="twice"):
        sections(Twice)


def test_where_an_encoding_differs_has_a_heading_of_its_own():
    for name, kind in ENCODINGS.items():
        told = sections(kind)
        assert ("## Where it differs" in pages()[f"{name}.md"]) == ("Differs" in told)


def test_the_guide_names_every_label():
    guide = (FOLDER.parent.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    required, _, others = guide.partition(" are required.")
    required = required.rpartition("begin with a label. ")[2]
    assert {*re.findall(r"`([^`]+):`", required)} == {*REQUIRED}
    assert {*re.findall(r"`([^`]+):`", others.partition("A test refuses")[0])} == {*LABELS} - {*REQUIRED}
