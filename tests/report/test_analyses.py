"""The part of the report that needs no training: folded, named apart from everything else, and the same markup."""

import re

import pytest

from gnomon.report import study
from tests.report import fakes
from tests.report.test_page import Page, spec_of

FIGURES = {f"analysis-{at}-{figure}" for at in (0, 1) for figure in ("kernel-0", "kernel-1", "fit-0")}


@pytest.fixture(scope="module")
def text(written) -> str:
    return written("analysed").read_text(encoding="utf-8")


def test_each_encoding_is_folded_under_its_name(text: str):
    folded = [attributes for tag, attributes in Page(text).tags if tag == "details" and "class" in attributes]
    assert [(one["class"], one["id"], "open" in one) for one in folded] == [
        ("analysis", "analysis-0", False), ("analysis", "analysis-1", False),
    ]  # fmt: skip
    assert "<summary>rope</summary>" in text


def test_figures_of_all_encodings_have_names_of_their_own(text: str, written):
    assert spec_of(text).keys() - spec_of(written("troubled").read_text(encoding="utf-8")).keys() == FIGURES
    assert not FIGURES - {*re.findall(r'data-figure="([^"]+)"[^>]*>\s*<svg', text)}


def test_everything_that_was_found_is_told(text: str):
    words = Page(text).text
    for part in (
        "model width 64.",
        "What does distance do?",
        "It turns.",
        "0.125",
        "no grid: It turns.",
        "aliasing positions of 2,048 numbers, which takes more than a second or two",
        "gnomon analyze rope",
        f"an encoding of your own {fakes.VICIOUS}",
    ):
        assert " ".join(part.split()) in words, part


def test_a_section_is_the_same_markup_as_on_a_page_of_its_own(text: str, tmp_path):
    [one, _] = fakes.analyses().found
    page = study.write(one.sections, tmp_path / "page.html", title="rope", settings={}, command="gnomon")
    alone = page.read_text(encoding="utf-8").partition("<main>")[2].partition("</main>")[0]
    within = text.partition('id="analysis-0"')[2].partition('id="analysis-1"')[0].replace("analysis-0-", "")
    for tag, count in (("figure", 3), ("table", 1)):
        every = re.compile(rf"<{tag}\b.*?</{tag}>", re.DOTALL)
        assert len(every.findall(alone)) == count and every.findall(alone) == every.findall(within)


def test_without_analyses_there_is_no_such_part(written):
    assert "without training" not in written("troubled").read_text(encoding="utf-8").partition("<main>")[2]
