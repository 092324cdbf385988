"""The page of an analysis: all that was found is on it, and nothing of it runs."""

from pathlib import Path

import pytest

import gnomon
from gnomon.errors import OptionError
from gnomon.report import study
from gnomon.section import Line, Lines, Section, Table, does_not_apply
from tests.report.fakes import VICIOUS


def found(text: str = "plain") -> list[Section]:
    table = Table(f"numbers {text}", ("lag", "value"), ((44, 0.123456), (10**9, None)), note=text)
    figure = Lines(f"figure {text}", text, "value", (Line(text, [1, 2, 3], [1.0, 4.0, 9.0]),), note=text)
    return [
        Section("kernel", "The kernel", "What does distance do?", text, (table,), (figure,), (text, "so it ends")),
        does_not_apply("grids", "Grids", "How far is the patch below?", f"no grid: {text}"),
    ]


def page(tmp_path: Path, sections: list[Section], title: str = "sinusoidal") -> str:
    out = study.write(sections, tmp_path / "deep" / "page.html", title=title, settings={"width": 512}, command="gnomon")
    return out.read_text(encoding="utf-8")


def test_everything_that_was_found_is_on_the_page(tmp_path: Path):
    text = page(tmp_path, found())
    for part in ("The kernel", "What does distance do?", "numbers plain", "1,000,000,000", "0.1235", "so it ends"):
        assert part in text
    assert "no grid: plain" in text and text.count('data-figure="') == 1


def test_no_string_of_a_section_is_markup(tmp_path: Path):
    text = page(tmp_path, found(VICIOUS), title=VICIOUS)
    assert "window.pwned = 1</script>" not in text
    assert text.count("<script") == page(tmp_path, found()).count("<script") and "default-src &#39;none" in text


def test_the_caption_says_what_bars_are(tmp_path: Path):
    line = Line("loss", [1, 2], [3.0, 4.0], [0.1, 0.2])
    figures = (Lines("by length", "length", "nats", (line,), note="Windows."), Lines("others", "length", "nats", ()))
    text = page(tmp_path, [Section("lengths", "Lengths", "How well?", "", figures=figures)])
    assert text.count("<figcaption>") == 1
    assert "<figcaption>Windows. Bars reach one standard error to either side.</figcaption>" in text
    assert "<p></p>" not in text


def test_a_folder_is_refused(tmp_path: Path):
    with pytest.raises(OptionError, match="one file"):
        study.write(found(), tmp_path, title="x", settings={}, command="gnomon")


@pytest.mark.parametrize(
    "value, shown",
    [
        (None, "-"),
        (True, "yes"),
        (3, "3"),
        (1234567, "1,234,567"),
        (0.000123456, "0.0001235"),
        ("word", "word"),
        (60612.3, "60,612"),
        (-3e4, "-30,000"),
        (9876.54, "9877"),
        (1e15, "1e+15"),
    ],
)
def test_cells(value, shown: str):
    assert study.cell(value) == shown


def test_the_foot_says_what_made_the_page(tmp_path: Path, monkeypatch):
    for commit, said in (("0123abc+changes", " (commit 0123abc+changes) on "), (None, " on ")):
        monkeypatch.setattr("gnomon.lab.environment.commit", lambda commit=commit: commit)
        study.write(found(), tmp_path / "page.html", title="x", settings={}, command="gnomon", short=True)
        assert f"Made by gnomon {gnomon.__version__}{said}" in (tmp_path / "page.html").read_text()
