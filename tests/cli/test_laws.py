"""`gnomon laws` on two encodings, and a small part of the matrix of mutants."""

import json

import pytest

from gnomon.commands import laws as command
from gnomon.laws import LAWS, Row, mutants


@pytest.fixture(autouse=True)
def in_this_process(request, monkeypatch):
    """What a test replaces is not replaced in other processes."""
    if "several_processes" not in request.node.name:
        monkeypatch.setattr(command, "ENOUGH", 10**6)


def test_laws_in_several_processes_are_those_of_one(gnomon, monkeypatch):
    several = json.loads(gnomon("laws", "none", "learned", "--json").out)
    monkeypatch.setattr(command, "ENOUGH", 10**6)
    alone = json.loads(gnomon("laws", "none", "learned", "--json").out)
    assert [row | {"error": 0} for row in several] == [row | {"error": 0} for row in alone]


def test_laws_of_one_encoding(gnomon, monkeypatch):
    monkeypatch.setattr("gnomon.laws.LAWS", {name: LAWS[name] for name in ("lowering", "translation", "continuity")})
    shown = gnomon("laws", "none", "t5")
    assert shown.code == 0
    assert max(map(len, shown.out.splitlines())) <= 80
    header, _, *rows = shown.out.splitlines()
    assert header.split() == ["law", "tolerance", "none", "t5"]
    assert rows[2].split() == ["continuity", "1e-04", "0", "no"]
    assert "all hold, or fail as declared" in shown.out


def test_laws_as_json(gnomon, monkeypatch):
    monkeypatch.setattr("gnomon.laws.LAWS", {"translation": LAWS["translation"]})
    rows = json.loads(gnomon("laws", "alibi", "sinusoidal", "--json").out)
    verdicts = {row["encoding"]: row["verdict"] for row in rows}
    assert verdicts["alibi"] == "holds"
    assert verdicts["sinusoidal"] == "fails as declared"


def test_a_broken_law_is_shown_and_counted(gnomon, monkeypatch):
    monkeypatch.setattr("gnomon.laws.LAWS", {"lowering": LAWS["lowering"]})

    def broken(law, case):
        return Row(case.label, "causal", law.name, "BROKEN", 0.5, 1e-12, None, 0)

    monkeypatch.setattr("gnomon.laws.judge", broken)
    shown = gnomon("laws", "rope")
    assert shown.code == 1
    assert "rope, causal, lowering: 5.0e-01 (tolerance 1e-12)" in shown.out


def test_laws_of_an_unknown_encoding(gnomon):
    shown = gnomon("laws", "ropes")
    assert shown.code == 2
    assert "did you mean 'rope'?" in shown.err


def test_mutants_take_no_names(gnomon):
    assert gnomon("laws", "rope", "--mutants").code == 2


@pytest.fixture
def two_mutants(monkeypatch):
    names = ("t5: table zeroed", "alibi: slope of the next head")
    chosen = [mutant for mutant in mutants.MUTANTS if mutant.name in names]
    assert len(chosen) == 2
    monkeypatch.setattr(mutants, "MUTANTS", chosen)
    monkeypatch.setattr(mutants, "LAWS", {name: LAWS[name] for name in ("lowering", "matters", "translation")})


def test_the_matrix(gnomon, two_mutants):
    shown = gnomon("laws", "--mutants")
    assert shown.code == 0
    assert max(map(len, shown.out.splitlines())) <= 80
    zeroed = next(line for line in shown.out.splitlines() if line.startswith("t5: table zeroed"))
    assert zeroed.count(command.MARKS["killed"]) == 1
    assert "every mutant is caught" in shown.out


def test_the_matrix_as_json(gnomon, two_mutants):
    cells = json.loads(gnomon("laws", "--mutants", "--json").out)
    assert len(cells) == 2 * 3
