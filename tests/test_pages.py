"""The pages of the encodings are those of their docstrings, and every docstring has what a page needs."""

import pytest

from gnomon.encodings import ENCODINGS
from tests.pages import FOLDER, pages, sections


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
    missing = [label for label in ("Positions", "Cost", "Use", "Fails", "Source") if label not in told]
    assert not missing
    assert name == "none" or "@" in ENCODINGS[name].bibtex
