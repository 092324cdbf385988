"""The page is the same page whatever its text says: same tags, same attributes, no more scripts; and text it stays."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from gnomon import report
from gnomon.report import study
from tests.report.hostile import MARK, PIECES, PLAIN, WORDS, analyses, portraits, records, trials
from tests.report.test_page import Page

PAGES = ("report", "study")


def write(name: str, words: tuple[str, ...], folder: Path) -> Path:
    out = folder / f"{name}.html"
    if name == "study":
        found = enumerate(analyses(words).found)
        sections = [replace(section, key=f"{section.key}{at}") for at, one in found for section in one.sections]
        settings = {f"{word} is": word for word in words}
        return study.write(sections, out, title=words[0], settings=settings, command=words[0], overline=words[1])
    runs = records(words)
    return report.write(
        runs,
        out,
        portraits=portraits(runs, words),
        trials=trials(runs),
        analyses=analyses(words),
        command=None if name == "report" else words[0],
    )


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """(page, hostile or not) -> its text, written once."""
    made = {}

    def read(name: str, hostile: bool) -> str:
        if (name, hostile) not in made:
            folder = tmp_path_factory.mktemp("hostile")
            made[name, hostile] = write(name, WORDS if hostile else PLAIN, folder).read_text(encoding="utf-8")
        return made[name, hostile]

    return read


def without_pictures(text: str) -> str:
    return re.sub(r"<svg.*?</svg>", "", text, flags=re.DOTALL)


@pytest.mark.parametrize("name", PAGES)
def test_the_tags_are_those_of_a_harmless_page(name: str, written):
    pages = [Page(without_pictures(written(name, hostile))) for hostile in (True, False)]
    hostile, harmless = ([(tag, sorted(attributes)) for tag, attributes in page.tags] for page in pages)
    assert len(harmless) > 100 and hostile == harmless


@pytest.mark.parametrize("name", PAGES)
def test_pictures_draw_and_do_nothing_else(name: str, written):
    pictures = re.findall(r"<svg.*?</svg>", written(name, True), re.DOTALL)
    assert len(pictures) > 2 * len(WORDS)
    known = {"svg", "g", "path", "text", "line", "rect", "circle", "defs", "clippath", "lineargradient", "stop"}
    for picture in pictures:
        for tag, attributes in Page(picture).tags:
            assert tag in known, tag
            assert not [a for a in attributes if a.startswith("on") or "href" in a or a == "style"]


@pytest.mark.parametrize("name", PAGES)
def test_scripts_hold_no_text_but_data(name: str, written):
    """Of the four blocks one holds what was said, as JSON, and nothing in it ends the block."""
    blocks = re.findall(r"<script[^>]*>(.*?)</script>", written(name, True), re.DOTALL)
    said = [block for block in blocks if MARK in block]
    assert len(blocks) == 4 and len(said) == 1
    assert "<" not in said[0] and "&" not in said[0] and "'" not in said[0]
    found = json.dumps(json.loads(said[0]), ensure_ascii=False)
    assert all(json.dumps(piece, ensure_ascii=False)[1:-1] in found for piece in PIECES[:8])


@pytest.mark.parametrize("name", PAGES)
def test_what_was_said_is_read(name: str, written):
    """Escaping that loses a word would pass all of the above."""
    text = Page(without_pictures(written(name, True))).text
    for piece in PIECES:
        if piece.isprintable():
            assert " ".join(piece.split()) in text, piece


def test_pictures_alone_are_as_inert(tmp_path: Path):
    runs = [run for run in records(WORDS) if run["experiment"]["task"]["kind"] == "text"]
    for each in runs:
        each["experiment"]["task"] = runs[0]["experiment"]["task"]
    picture = report.figure(runs, tmp_path / "loss.svg").read_text(encoding="utf-8")
    assert "&lt;" in picture and "<b" not in picture
    assert not [tag for tag, _ in Page(picture).tags if tag in ("script", "img", "image", "foreignobject", "a", "b")]
    assert report.figure(runs, tmp_path / "loss.png").read_bytes().startswith(b"\x89PNG")
