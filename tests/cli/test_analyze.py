"""`gnomon analyze`: what it prints, what it writes, what it refuses."""

import functools
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from gnomon.analysis import permutation, translation, wavelengths
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
    assert shown.out.splitlines()[-2] == f"gnomon analyze sinusoidal {' '.join(SMALL)} --out analysis.html"
    assert "docs/theorems" in shown.out.splitlines()[-1]
    short = shown.out.partition("In short")[2].partition("\nwavelengths\n")[0]
    assert [line.split()[0] for line in short.splitlines() if line[:1].strip()] == list(QUESTIONS)
    assert "kernel: Kernel" not in shown.out and "theorem1: vectors of two positions differ" in shown.out


def test_what_does_not_apply_comes_last_and_each_reason_once(gnomon):
    shown = gnomon("analyze", "alibi", *SMALL).out
    told, _, others = shown.partition("Questions that do not apply")
    heads = [line.partition(":")[0] for line in told.splitlines()]
    assert [key for key in QUESTIONS if key in heads] == [
        "kernel", "fit", "rounding", "translation", "permutation", "grids"
    ]  # fmt: skip
    others = " ".join(others.split())
    for keys in (
        "wavelengths: alibi adds",
        "theorem1, theorem2, theorem3: alibi has",
        "aliasing: alibi: not made",
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
    # The command to copy is whole.
    assert max(len(line) for line in shown.splitlines() if not line.startswith("gnomon analyze")) <= 80
    assert all("figures" not in section or section["figures"] == [] for section in told["sections"])
    more = json.loads(gnomon("analyze", "rope", "--only", "kernel", *SMALL, "--json", "--figures").out)
    assert more["sections"][0]["figures"]
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
    assert "In short" in text and "Made by gnomon 0." in text
    assert "gnomon analyze alibi --only kernel grids --width 32" in text
    assert 'data-figure="kernel-0"' in text and 'data-figure="grids-2"' in text


@pytest.mark.parametrize(
    "arguments, told",
    [
        (["sinusoidl"], "sinusoidal"),
        (["sinusoidal", "--options", "base=1"], "above 1"),
        (["sinusoidal", "--options", "base"], "KEY=VALUE"),
        (["sinusoidal", "--options", "base=2", "base=3"], "twice"),
        (["sinusoidal", "--positions", "0"], "2 to 1048576"),
        (["sinusoidal", "--last", "0"], "1 to 10"),
        (["sinusoidal", "--training", "0"], "1 to 10"),
        (["sinusoidal", "--only", "kernels"], "kernel"),
        (["sinusoidal", "--only", "kernel", "kernel"], "twice"),
        (["sinusoidal", "--positions", "1000000000000"], "2 to 1048576"),
        (["sinusoidal", "--positions", "1000000"], "all rows are held at once"),
        (["sinusoidal", "--last", "1000000000000"], "hours"),
        (["sinusoidal", "--last", "10000000000000000"], "10000000000000"),
        (["sinusoidal", "--figures"], "add --json"),
        (["sinusoidal", "--width", "511"], "such as 512"),
        (["sinusoidal", "--width", "-4"], "give a larger width"),
        (["sinusoidal", "--heads", "0"], "give a larger heads"),
        (["sinusoidal", "--positions", "8192.5"], "a whole number, such as"),
        (["sinusoidal", "--positions", "0"], "nearest that is allowed is 2"),
        (["sinusoidal", "--options", "base=foo"], "base of sinusoidal"),
        (["sinusoidal", "--options", "convention=foo"], "choose one of those allowed"),
        (["sinusoidal", "--only", "theorem1,theorem2"], "a space between two: theorem1 theorem2"),
        (["rope", "--width", "18", "--heads", "2"], "multiple of 2"),
        (["rope", "--width", "0"], "sizes"),
        (["sinusoidal", "--out", "."], "one file"),
        (["sinusoidal", "--out", "/dev/null"], "regular file"),
        (["sinusoidal", "--out", "x" * 300], "page cannot be written"),
        (["sinusoidal", "--out", "x" * 250], "page cannot be written"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_mistakes_are_told(gnomon, monkeypatch, arguments, told):
    """Before anything is asked."""
    monkeypatch.setattr(wavelengths, "section", lambda *_, **__: pytest.fail("a question is asked"))
    done = gnomon("analyze", *arguments)
    assert done.code == 2 and told in done.err and "Traceback" not in done.err


@pytest.mark.parametrize(
    "option, told", [("--only", "one or more"), ("--options", "one or more"), ("--last", "Missing")]
)
def test_an_option_with_nothing_after_it_is_a_mistake(gnomon, option, told):
    done = gnomon("analyze", "sinusoidal", option)
    assert done.code == 2 and told in done.err
    assert "a whole number, such as" in gnomon("analyze", "sinusoidal", "--last", "1e9").err


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="a folder in which no file can be made")
def test_a_folder_that_takes_no_file_is_told_before_the_work(gnomon, monkeypatch):
    monkeypatch.setattr(wavelengths, "section", lambda *_, **__: pytest.fail("a question is asked"))
    done = gnomon("analyze", "sinusoidal", "--out", "/proc/page.html")
    assert done.code == 2 and "the page cannot be written" in done.err


@pytest.mark.parametrize("columns", ["40", "80", "120"])
@pytest.mark.parametrize("arguments", [["analyze", "sinusoidl"], ["analyze", "rope", "--only", "kernels"]])
def test_a_mistake_is_told_within_the_screen(gnomon, monkeypatch, columns, arguments):
    monkeypatch.setenv("COLUMNS", columns)
    told = gnomon(*arguments).err
    assert max(map(len, told.splitlines())) <= int(columns)
    monkeypatch.setenv("COLUMNS", "1000")
    whole = gnomon(*arguments).err
    assert " ".join(told.split()) == " ".join(whole.split()) and len(told.splitlines()) > len(whole.splitlines())


def test_no_word_of_a_mistake_is_cut(gnomon, monkeypatch, tmp_path: Path):
    monkeypatch.setenv("COLUMNS", "20")
    out = tmp_path / ("x" * 60)
    out.mkdir()
    assert str(out) in gnomon("analyze", "sinusoidal", "--out", str(out)).err
