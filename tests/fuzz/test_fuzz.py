"""A few examples of each attack, and whether an attack would find what no command may do."""

import os
import re
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from gnomon import cli
from gnomon.lab import sums
from tests.fuzz import stored, watched
from tests.fuzz.attacks import ATTACKS, Attack
from tests.fuzz.damage import damaged, torn
from tests.fuzz.sandbox import Sandbox, make
from tests.fuzz.watched import Finding, call

PHASES = [Phase.reuse, Phase.generate, Phase.shrink]
"""Not that which explains: it traces every line, and commands get slower than they may be."""


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Sandbox:
    return make(tmp_path_factory.mktemp("fuzz"))


@pytest.mark.parametrize("name", ATTACKS)
def test_no_attack_finds_anything(name: str, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("tempfile.tempdir", str(sandbox.home))
    attack = ATTACKS[name]

    @settings(max_examples=attack.examples, suppress_health_check=[*HealthCheck], phases=PHASES)
    @given(attack.made)
    def strike(made: object) -> None:
        attack.strike(sandbox, made)

    strike()


def outside(sandbox: Sandbox) -> int:
    (sandbox.home.parent / "elsewhere").write_text("x")
    return 0


def swallowed(sandbox: Sandbox) -> int:
    try:
        os.mkdir(sandbox.home.parent / "elsewhere")
    except Exception:
        return 0


def wrong(sandbox: Sandbox) -> int:
    raise KeyError("name")


def told(sandbox: Sandbox) -> int:
    print("Traceback (most recent call last):", file=watched.sys.stderr)
    return 1


FAULTS = {
    "a traceback": (wrong, "KeyError"),
    "a traceback that is printed": (told, "shows a traceback"),
    "an exit code of its own": (lambda sandbox: 3, "exit code 3"),
    "no word of why": (lambda sandbox: 2, "no word of why"),
    "a write elsewhere": (outside, "elsewhere"),
    "a write elsewhere whose error is taken": (swallowed, "elsewhere"),
    "no end, at work": (lambda sandbox: [None for _ in iter(int, 1)], "does not end"),
    "no end, waiting": (lambda sandbox: time.sleep(60), "does not end"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found(fault: str, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch):
    command, said = FAULTS[fault]
    monkeypatch.setattr(watched, "PATIENCE", 0.3)
    monkeypatch.setattr(watched, "WAIT", 1.0)
    monkeypatch.setattr(cli, "main", lambda words: command(sandbox))
    with pytest.raises(Finding, match=said):
        call(["list"], sandbox.home)
    assert not (sandbox.home.parent / "elsewhere").exists()


def test_what_no_word_names_may_not_change(sandbox: Sandbox):
    with pytest.raises(Finding, match=r"text\.txt"), sandbox.unchanged(["report", "toys", "--out=new"]):
        Path("new").touch()
        Path("text.txt").write_text("other")
    assert (sandbox.work / "text.txt").stat().st_size > 1000 and not (sandbox.work / "new").exists()


def test_a_document_is_damaged_where_it_is_said():
    document = {"a": [1, {"b": 2}], "c": "x"}
    assert damaged(document, [(0.99, "replace", None)]) == {"a": [1, {"b": 2}], "c": None}
    assert damaged(document, [(0.99, "remove", 0)]) == {"a": [1, {"b": 2}]}
    assert damaged(document, [(0.4, "double", 0)])["a"] == [1, {"b": 2}, 1]
    assert document == {"a": [1, {"b": 2}], "c": "x"}
    assert torn(b"0123456789", "cut", 0.5) == b"01234"
    assert torn(b"loss: 0.5, more", "digit", 0.9) == b"loss: 7.5, more" and torn(b"none", "digit", 0.5) == b"none"
    assert torn(b"aaaa", "bit", 0.5) == b"aaea" and torn(b"", "bit", 0.5) == b""


def test_an_answer_that_is_another_is_found(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch):
    """A number of a record is changed, and nobody looks at its sum."""
    monkeypatch.setattr("tempfile.tempdir", str(sandbox.home))
    monkeypatch.setattr(sums, "_hold", lambda found, told: None)
    text = (sandbox.work / "toys" / sandbox.runs[0] / "record.json").read_text()
    with pytest.raises(Finding, match="gives another answer"):
        for at in (match.start(1) for match in re.finditer(r'"loss": (\d)', text)):
            stored.file(sandbox, (["results", "toys", "--csv"], *_at(sandbox, text, at)))


def _at(sandbox: Sandbox, text: str, at: int) -> tuple[float, str, float]:
    """Which file of the store is the first record, how it is torn, and where."""
    known = sorted(path for path in (sandbox.work / "toys").rglob("*") if path.is_file() and path.suffix != ".lock")
    which = known.index(sandbox.work / "toys" / sandbox.runs[0] / "record.json")
    return (which + 0.5) / len(known), "digit", (at + 0.5) / len(text)


def test_the_long_form_says_what_it_has_found(capsys, monkeypatch: pytest.MonkeyPatch):
    from tests.fuzz import __main__ as long

    monkeypatch.setattr("sys.argv", ["fuzz", "--minutes", "0.02", "--only", "experiments"])
    monkeypatch.setattr(long, "ROUND", 3)
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr(long, "make", lambda folder: None)
    broken = Attack(st.integers(), lambda sandbox, made: 1 // made, 3)
    monkeypatch.setitem(ATTACKS, "experiments", broken)
    assert long.main() == 1
    said = capsys.readouterr().out
    assert "ZeroDivisionError" in said and "what=0" in said and " experiments: " in said
