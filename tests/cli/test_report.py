"""`gnomon report --analysis`: each encoding once, from a store or exported results, and by the command it names."""

import json
import shlex
from pathlib import Path

import pytest

from gnomon.analysis import quick
from gnomon.commands.analyses import analyses
from gnomon.commands.analyze import _options, words_of
from gnomon.lab.exported import export, opened
from gnomon.lab.store import Store
from tests.lab.toys import make, toy, write_text
from tests.report import fakes


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Two seeds of one encoding, and one of another."""
    folder = tmp_path_factory.mktemp("report")
    text = write_text(folder)
    for encoding, seed in (("cope", 0), ("cope", 1), ("seqpe", 0)):
        make(toy(text, encoding, seed=seed, steps=1), folder / "runs")
    return Store(folder / "runs")


def test_exported_results_tell_each_encoding_once(gnomon, store: Store, tmp_path: Path):
    export(store, tmp_path / "out")
    done = gnomon("report", str(tmp_path / "out"), "--analysis", "--out", str(tmp_path / "page.html"))
    assert (done.code, done.out) == (0, f"report: {tmp_path / 'page.html'}\n")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert [text.count(f"<summary>{name}</summary>") for name in ("cope", "seqpe")] == [1, 1]
    assert "model width 16, 2 heads, trained at length 16, places 0 to 31." in text
    assert 'data-figure="analysis-0-permutation-0"' in text and "gnomon analyze cope --width 16" in text
    assert analyses(store.records()) == analyses(opened(tmp_path / "out").records())


def test_a_page_that_cannot_be_written_is_told_before_the_work(gnomon, store: Store, tmp_path: Path, monkeypatch):
    monkeypatch.setattr("gnomon.commands.report.analyses", lambda *_: pytest.fail("it was analysed"))
    done = gnomon("report", str(store.path), "--analysis", "--out", str(tmp_path))
    assert done.code == 2 and "a report is one file" in done.err


def run(encoding: str, length: int = 64, **changes) -> dict:
    """A record of a small model."""
    made = fakes.record("rope", **changes)
    made["experiment"] |= {"encoding": encoding}
    made["experiment"]["model"] |= {"width": 16, "heads": 2}
    made["experiment"]["training"] |= {"length": length}
    made["experiment"]["measure"] |= {"lengths": [length, 2 * length]}
    return made


def test_tasks_share_an_encoding_and_sizes_do_not():
    wide = run("none")
    wide["experiment"]["model"] |= {"width": 32}
    found = analyses([run("none"), run("none", 256), wide]).found
    assert [one.sizes for one in found] == [
        "model width 16, 2 heads, trained at length 256, places 0 to 511",
        "model width 32, 2 heads, trained at length 64, places 0 to 127",
    ]


def test_what_is_left_out_is_said(monkeypatch):
    monkeypatch.setattr(quick, "NUMBERS", {"uniqueness": 0})
    monkeypatch.setattr(quick, "DIMENSIONS", {"kernel": 0, "aliasing": 0})
    [one] = analyses([run("rope", options={"theta": 500})]).found
    assert one.label == "rope theta=500" and {*one.left_out} == {"uniqueness", "kernel", "aliasing"}
    assert not {*one.left_out} & {section.key for section in one.sections}
    assert "--only wavelengths theorem1" in one.command and "--options theta=500" in one.command


def test_what_is_no_encoding_of_gnomon_is_said():
    convolution = run("none") | {"label": "convolution"}
    convolution["experiment"]["model"] |= {"kind": "convolution"}
    found = analyses([run("mine.py:Square"), convolution, run("rope", options={"gone": 1})])
    assert found.found == () and {*found.others} == {"Square", "convolution", "rope gone=1"}
    assert "own" in found.others["Square"] and "gone" in found.others["rope gone=1"]


def test_the_command_finds_the_same(gnomon):
    [one] = analyses([run("learned", options={"max_positions": 32})]).found
    words = shlex.split(one.command)[1:]
    again = json.loads(gnomon(*words, "--only", "uniqueness", "terms", "--json").out)["sections"]
    here = {section.key: section for section in one.sections}
    assert [section["answer"] for section in again] == [here[section["key"]].answer for section in again]


@pytest.mark.parametrize(
    "options", [{"a": 1.5, "b": "paper", "c": [14, 14]}, {"a": "10", "b": None, "c": "x y", "d": True}]
)
def test_options_are_read_as_they_were_written(options):
    assert _options(words_of(options)) == options
