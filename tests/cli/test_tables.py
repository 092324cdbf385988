"""The tables of `gnomon compare` and `gnomon results` in 80 columns: no word of a name is broken."""

import json

import pytest

from gnomon.commands.compare import show
from gnomon.lab.experiment import hash_of
from gnomon.lab.store import Store
from tests.report.fakes import SIX, record

LONG = "learned max_positions=128 beyond=clamp"
REASON = "RuntimeError: out of memory. It tried to allocate 2.00 GiB of a total of 79 GiB, of which 3 GiB are free"


@pytest.fixture(scope="module")
def records():
    runs = [
        *map(record, SIX),
        record(LONG, profile=(1.9, (0.0, 0.2, None, None)), encoding="learned", options={"max_positions": 128}),
        record("none", 1, profile=(3.4, (0.0,) * 4)),
        record("rope", 5, status="failed", reason=REASON),
    ]
    for run in runs:
        run["hash"] = hash_of(run["experiment"])
    return runs


@pytest.fixture(scope="module")
def store(records, tmp_path_factory):
    made = Store(tmp_path_factory.mktemp("tables") / "runs", create=True)
    for run in records:
        made.write(run, {})
    return str(made.path)


def lines(text: str) -> list[str]:
    found = text.splitlines()
    assert max(map(len, found)) <= 80 and not any(line.endswith(" ") for line in found)
    return found


def test_results(gnomon, store):
    shown = lines(gnomon("results", store).out)
    rows = [line for line in shown if line.split()[-1:] and line.split()[-1] in {h[:8] for h in Store(store).hashes()}]
    assert len(rows) == 9
    assert "max_positions=128" in shown
    assert "- none, seed 1, did not learn: byte frequencies alone give 3.299 nats" in shown
    first = next(at for at, line in enumerate(shown) if line.startswith("- rope, seed 5, failed: RuntimeError"))
    assert shown[first + 1].startswith("  ")
    assert [line.split()[4] for line in rows if line.startswith("none")] == ["160", "-"]


def test_an_answer_that_is_too_wide_is_several_tables_or_a_line_a_value(gnomon, store, monkeypatch):
    """Each with the columns that tell its rows apart; where there is no room for one column, a line a value."""
    asked = "select * from lengths where label = 'alibi' order by length"
    shown = lines(gnomon("results", store, "--sql", asked).out)
    heads = [line.split() for line in shown if line.startswith("hash ")]
    assert len(heads) > 1 and all(head[:2] == ["hash", "length"] for head in heads)
    named = gnomon("results", store, "--sql", asked, "--json").out
    columns = set(json.loads(named)[0])
    assert {name for head in heads for name in head} == columns
    monkeypatch.setenv("COLUMNS", "30")
    narrow = gnomon("results", store, "--sql", asked).out.splitlines()
    assert sum(line.startswith("paired_excess_se") for line in narrow) == 6
    monkeypatch.delenv("COLUMNS")
    narrow = lines(gnomon("results", store, "--sql", "select label, seed from runs where label = 'alibi'").out)
    assert narrow[0].split() == ["label", "seed"] and narrow[2].split() == ["alibi", "0"]
    assert "no rows of hash" in gnomon("results", store, "--sql", "select * from lengths limit 0").out


def test_compare_leaves_costs_out_where_a_name_would_break(records, capsys):
    show(records)
    long = capsys.readouterr().out
    assert "\nlearned max_positions=128 " in "\n" + long.rpartition("encoding  ")[2]
    assert "ms/step" not in long and "time and memory are in the report" in long
    show([run for run in records if run["label"] != LONG])
    short = capsys.readouterr().out
    assert "ms/step" in short and "in the report" not in short
    assert lines(long) and lines(short)


ANSWERS = {
    "results": ["results", "{store}"],
    "sql": ["results", "{store}", "--sql", "select label, loss, reach, parameters from runs where loss is not null"],
    "list": ["list", "rope", "learned"],
}


@pytest.mark.parametrize("asked", ANSWERS)
@pytest.mark.parametrize("width", [60, 40, 16, 8])
def test_a_narrow_screen_cuts_no_number(gnomon, store, monkeypatch, asked: str, width: int):
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr("gnomon.commands.list._time", lambda made, shape: dict.fromkeys(made, 1.25))
    command = [word.format(store=store) for word in ANSWERS[asked]]
    wide = gnomon(*command).out
    monkeypatch.setenv("COLUMNS", str(width))
    narrow = gnomon(*command).out
    assert max(map(len, narrow.splitlines())) <= width
    words = {word for word in wide.split() if len(word) < width - 2 and not set(word) <= {"─"}}
    assert words - set(narrow.split()) == set()
    # What is longer than a line goes on in the next.
    left = "".join(narrow.split())
    assert [word for word in wide.split() if not set(word) <= {"─"} and word not in left] == []


def test_a_width_of_nothing_is_not_known(gnomon, store, monkeypatch):
    monkeypatch.setenv("COLUMNS", "0")
    assert "encoding  " in gnomon("results", store).out


def test_a_narrow_summary_has_every_number(records, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    show(records)
    narrow = capsys.readouterr().out
    assert max(map(len, narrow.splitlines())) <= 40
    monkeypatch.setenv("COLUMNS", "200")
    show(records)
    assert {word for word in capsys.readouterr().out.split() if "─" not in word} - set(narrow.split()) == set()


def test_laws_stand_side_by_side_where_there_is_room(gnomon, monkeypatch):
    from gnomon.laws import LAWS, Row

    monkeypatch.setattr("gnomon.laws.LAWS", {"lowering": LAWS["lowering"]})
    monkeypatch.setattr("gnomon.commands.laws.ENOUGH", 10**6)
    monkeypatch.setattr(
        "gnomon.laws.judge", lambda law, case: Row(case.label, "causal", law.name, "holds", 2e-15, 1e-12, None, 0)
    )
    monkeypatch.setenv("COLUMNS", "40")
    shown = gnomon("laws", "none", "rope_mixed", "sinusoidal", "transformer_xl").out
    heads = [" ".join(line.split()[2:]) for line in shown.splitlines() if line.startswith("law ")]
    assert len(heads) > 1 and " ".join(heads) == "none rope_mixed sinusoidal transformer_xl"
    assert shown.count("2e-15") == 4 and max(map(len, shown.splitlines())) <= 40


def test_nothing_is_said_of_numbers_where_no_run_finished(capsys):
    lost = [record(label, status="failed", reason=REASON) for label in ("rope", "alibi")]
    show(lost)
    shown = " ".join(capsys.readouterr().out.split())
    assert shown.startswith("Nothing to compare: no run finished (2 failed).")
    assert f"rope, seed 0; alibi, seed 0 failed: {REASON}" in shown
    assert "nats" not in shown and "reach" not in shown


def test_a_reason_stands_once_beside_what_was_measured(records, capsys):
    show(records)
    shown = " ".join(capsys.readouterr().out.split())
    assert shown.count(f"rope, seed 5 failed: {REASON}") == 1 and "nats per byte" in shown


def test_what_json_has_no_word_for_is_text(capsys):
    from datetime import date
    from decimal import Decimal

    from gnomon.commands.output import print_json

    print_json([date(2020, 1, 1), Decimal("1.5"), float("nan"), {date(2020, 1, 1): 1}])
    assert json.loads(capsys.readouterr().out) == ["2020-01-01", "1.5", None, {"2020-01-01": 1}]
