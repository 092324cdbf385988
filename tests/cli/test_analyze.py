"""`gnomon analyze`: what it prints, what it writes, what it refuses."""

import functools
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from gnomon.analysis import permutation, translation
from gnomon.analysis.study import QUESTIONS
from gnomon.encodings import ENCODINGS

SMALL = ("--width", "32", "--heads", "2", "--positions", "256", "--last", "3000")


@pytest.fixture(scope="module", autouse=True)
def once() -> Iterator[None]:
    """What is found without looking at the encoding that is asked about is found once for all of these tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(translation, "every", functools.cache(translation.every))
        for name in ("every", "without_positions", "causal_depths", "exactly", "certified"):
            patch.setattr(permutation, name, functools.cache(getattr(permutation, name)))
        yield


def test_every_question_is_answered_or_says_why_not(gnomon):
    shown = gnomon("analyze", "sinusoidal", *SMALL)
    assert shown.code == 0
    heads = [line.partition(":")[0] for line in shown.out.splitlines()]
    assert [key for key in QUESTIONS if key in heads] == list(QUESTIONS)
    assert "analysis.html" in shown.out.splitlines()[-1]


def test_what_does_not_apply_comes_last_and_each_reason_once(gnomon):
    shown = gnomon("analyze", "alibi", *SMALL).out
    told, _, others = shown.partition("Questions that do not apply")
    heads = [line.partition(":")[0] for line in told.splitlines()]
    assert [key for key in QUESTIONS if key in heads] == [
        "kernel", "fit", "rounding", "translation", "permutation", "grids"
    ]  # fmt: skip
    others = " ".join(others.split())
    for keys in (
        "wavelengths: Alibi adds",
        "theorem1, theorem2, theorem3: alibi has",
        "aliasing: Alibi is",
        "terms: Nothing",
    ):
        assert others.count(keys) == 1
    assert others.count("has no vector of a position") == 1
    only = gnomon("analyze", "alibi", "--only", "aliasing").out
    assert only.startswith("Questions that do not apply")
    assert "do not apply" not in gnomon("analyze", "sinusoidal", *SMALL, "--only", "kernel").out


def test_json_and_80_columns_say_the_same(gnomon, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    told = json.loads(gnomon("analyze", "rope", "--only", "kernel", "wavelengths", *SMALL, "--json").out)
    assert [section["key"] for section in told["sections"]] == ["kernel", "wavelengths"]
    shown = gnomon("analyze", "rope", "--only", "kernel", "wavelengths", *SMALL).out
    assert max(map(len, shown.splitlines())) <= 80
    assert told["sections"][0]["numbers"] and told["settings"]["width"] == 32


@pytest.mark.parametrize("name", ENCODINGS)
def test_no_encoding_ends_in_a_traceback(gnomon, name: str):
    shown = gnomon("analyze", name, *SMALL, "--json")
    assert shown.code == 0
    sections = json.loads(shown.out)["sections"]
    assert [section["key"] for section in sections] == list(QUESTIONS)
    assert all(section["answer"] and section["question"] for section in sections)


@pytest.mark.parametrize("width", ["1", "2", "3"])
@pytest.mark.parametrize("convention", ["paper", "tensor2tensor"])
def test_no_width_ends_in_a_traceback(gnomon, width: str, convention: str):
    """A sine without its cosine, a width without a wave, a grid of which one axis has none."""
    small = ("--heads", "1", "--positions", "64", "--last", "100", "--options", f"convention={convention}")
    shown = gnomon("analyze", "sinusoidal", "--width", width, *small)
    assert shown.code == 0
    assert not re.search(r"\b1\s+(pairs|heads|waves)", shown.out)


def test_a_table_that_ends_is_asked_as_far_as_it_goes(gnomon):
    shown = gnomon("analyze", "learned", "--width", "32", "--positions", "100000", "--only", "uniqueness").out
    assert "no more than 1,024 positions" in " ".join(shown.split())


def test_a_page_is_written(gnomon, tmp_path: Path):
    out = tmp_path / "mine" / "page.html"
    assert gnomon("analyze", "alibi", *SMALL, "--only", "kernel", "grids", "--out", str(out)).code == 0
    text = out.read_text(encoding="utf-8")
    assert "gnomon analyze alibi --only kernel grids --width 32" in text
    assert 'data-figure="kernel-0"' in text and 'data-figure="grids-2"' in text


@pytest.mark.parametrize(
    "arguments, told",
    [
        (["sinusoidl"], "sinusoidal"),
        (["sinusoidal", "--options", "base=1"], "above 1"),
        (["sinusoidal", "--options", "base"], "KEY=VALUE"),
        (["sinusoidal", "--options", "base=2", "base=3"], "twice"),
        (["sinusoidal", "--positions", "0"], "2 or more"),
        (["sinusoidal", "--last", "0"], "1 or more"),
        (["sinusoidal", "--training", "0"], "1 or more"),
        (["sinusoidal", "--only", "kernels"], "kernel"),
        (["rope", "--width", "18", "--heads", "2"], "multiple of 2"),
        (["rope", "--width", "0"], "sizes"),
        (["sinusoidal", "--out", "."], "one file"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_mistakes_are_told(gnomon, arguments, told):
    done = gnomon("analyze", *arguments)
    assert done.code == 2 and told in done.err and "Traceback" not in done.err
