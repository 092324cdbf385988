"""The report of tasks with answers: who learned, how far it holds, and several tasks on one page."""

import copy
import hashlib
import json
import re

import pytest

from gnomon import report
from gnomon.commands.compare import show
from gnomon.errors import OptionError
from gnomon.report import frames, tables_answers
from gnomon.report.figures import by_length
from gnomon.report.headline import headline
from gnomon.report.headline_answers import percent
from gnomon.report.palette import LIGHT
from gnomon.report.summary import by_task, summarise
from gnomon.report.tables_answers import small
from tests.report import fakes

LENGTHS = (5, 10, 20, 40)
"""Trained at 10."""

FAR, NEAR, SHORT, IDLE = (1, 1, 0.97, 0.95), (1, 0.96, 0.92, 0.1), (1, 0.99, 0.2, 0), (0.9, 0.4, 0, 0)


def record(label, shares, seed=0, *, task="copy", options=None, groups=()):
    """A record of a task with answers whose shares of right answers are exactly these; None is refused."""
    made = copy.deepcopy(fakes.record("rope", seed))
    experiment = made["experiment"]
    experiment["task"] = {"kind": "problem", "name": task, "options": options or {}, "path": None, "digest": None}
    experiment["training"]["length"] = 10
    experiment["measure"] = {"lengths": list(LENGTHS), "examples": 500, "part": "test"}
    experiment["encoding"] = label
    rows = []
    for length, share in zip(LENGTHS, shares, strict=True):
        row = {"length": length, "status": "refused", "reason": "no such position"}
        if share is not None:
            numbers = {"exact": share, "exact_se": 0.005, "token_accuracy": 0.5 + share / 2, "token_accuracy_se": 0.002}
            row = {"length": length, "status": "measured", "reason": None, **numbers, "loss": 1.25, "examples": 500}
            row |= {"tokens": 5000, "chance_exact": 10.0**-length, "chance_token": 0.25}
            row["groups"] = [
                {"name": name, "trained": on, **numbers, "loss": 1.25, "examples": 250} for name, on in groups
            ]
        rows.append(row)
    return made | {
        "label": label,
        "lengths": rows,
        "hash": hashlib.sha256(f"{label} {seed} {task}".encode()).hexdigest()[:16],
        "data": {"name": task},
    }


def texts(table):
    return {row.series.label: [cell.text for cell in row.cells] for row in table.rows}


def test_reach_is_read_off_right_answers_and_who_did_not_learn_has_none():
    summary = summarise([record("a", IDLE), record("b", SHORT), record("c", FAR), record("d", NEAR)])
    assert [series.label for series in summary.ranked()] == ["c", "d", "b", "a"]
    assert [series.reach and series.reach.text for series in summary.ranked()] == ["≥40", "20", "10", None]
    assert [series.did_not_learn for series in summary.ranked()] == [False, False, False, True]
    assert [series.in_range().median for series in summary.ranked()] == [1, 0.96, 0.99, 0.4]


def test_of_equal_reach_more_right_answers_at_the_end_come_first():
    summary = summarise([record("a", (1, 1, 0.95, 0.2)), record("b", (1, 0.95, 0.95, 0.4))])
    assert [series.label for series in summary.ranked()] == ["b", "a"]


def test_seeds_that_did_not_learn_are_the_shortest_and_none_is_left_out():
    runs = [record("a", shares, seed) for seed, shares in enumerate((FAR, IDLE, IDLE))]
    (series,) = summarise(runs).series
    assert series.did_not_learn and len(series.unlearned) == 2 and len(series.runs) == 3
    (series,) = summarise([*runs[:2], record("a", FAR, 3)]).series
    assert series.reach.text == "≥40" and len(series.unlearned) == 1
    assert tables_answers.results(summarise([*runs[:2], record("a", FAR, 3)])).rows[0].cells[4].note == (
        "1 of 3 seeds did not learn"
    )


def test_a_verdict_within_two_standard_errors_is_a_close_call():
    close, clear = (summarise([record("a", (1, 1, share, 0))]).series[0] for share in (0.905, 0.95))
    assert close.reach.close and not clear.reach.close


@pytest.mark.parametrize(
    ("runs", "title"),
    [
        ([record("a", FAR), record("b", SHORT)], "Trained on copy up to length 10, a (100% right in range) holds to"),
        (
            [record("a", NEAR), record("b", SHORT)],
            "no encoding holds to 40; a (96% right in range) holds farthest, to 20.",
        ),
        ([record("a", NEAR)], "no encoding holds to 40; a (96% right in range) holds to 20."),
        ([record("b", SHORT), record("a", IDLE)], "no encoding that learned holds past it: b (99% right in range)."),
        ([record("a", IDLE)], "Nothing to compare: no encoding learned copy within its training length."),
    ],
)
def test_the_title_says_who_holds(runs, title):
    assert title in headline(summarise(runs)).title


def test_the_findings_give_shares_and_chances():
    refusing = record("r", (1, 1, None, None))
    found = [
        str(f)
        for f in headline(summarise([record("a", IDLE), record("b", SHORT), refusing, record("c", NEAR)])).findings
    ]
    assert "b (99% right in range) fails past 10: 20% right at 20 and 0% right at 40." in found
    assert "c (96% right in range) holds to 20, then fails: 10% right at 40." in found
    assert "r (100% right in range) is not measured at 20 and 40: refused." in found
    [idle] = [text for text in found if text.startswith("a ")]
    assert "40% of the answers are right at length 10 (guessing: <1%), fewer than 90%" in idle
    assert "Most right at 40: c, 10%." in found


@pytest.mark.parametrize(
    ("share", "text"), [(0, "0%"), (1, "100%"), (0.996, ">99%"), (0.004, "<1%"), (0.006, "1%"), (0.5, "50%")]
)
def test_what_is_not_all_is_not_called_all(share, text):
    assert percent(share) == text


@pytest.mark.parametrize(("share", "text"), [(0, "0.000"), (0.25, "0.250"), (1e-10, "1e−10"), (2e-4, "2e−4")])
def test_a_small_chance_is_not_called_none(share, text):
    assert small(share) == text


def test_the_tables_hold_the_numbers():
    summary = summarise([record("a", NEAR), record("b", (1, 1, None, 0)), record("c", IDLE)])
    table = tables_answers.results(summary)
    assert [name for name, _ in table.columns][:5] == ["in range", "in range", "at 20", "at 40", "reach"]
    rows = texts(table)
    assert rows["a"][:5] == ["0.960", "0.980", "0.920", "0.100", "20"]
    assert rows["b"][:5] == ["1.000", "1.000", "refused", "0.000", "10"]
    assert rows["c"][:5] == ["0.400", "0.700", "0.000", "0.000", "did not learn"]
    every = tables_answers.every_length(summary)
    assert [cell.text for cell in every.rows[1].cells] == ["10", "0.960", "1e−10", "0.980", "0.250", "1.250", "500"]
    assert tables_answers.by_group(summary) is None


def test_groups_have_a_table_of_their_own():
    groups = (("shift 0", True), ("shift 3", False))
    table = tables_answers.by_group(summarise([record("a", (1, 1, 1, None), seed, groups=groups) for seed in range(2)]))
    assert [[cell.text for cell in row.cells] for row in table.rows[:2]] == [
        ["5", "shift 0", "1.000", "1.000", "250"],
        ["5", "shift 3", "1.000", "1.000", "250"],
    ]
    assert table.rows[1].cells[1].note == "not trained on" and len(table.rows) == 6


def test_the_figure_has_chances_a_limit_and_an_axis_of_shares():
    summary = summarise([record("a", NEAR), record("b", (1, 1, None, None))])
    spec = by_length(summary, LIGHT)
    data = spec["datasets"]
    assert {row["quantity"] for row in data["medians"]} == {"exact", "token_accuracy", "loss"}
    assert data["tolerance"] == [{"quantity": "exact", "value": 0.9}]
    assert [row["value"] for row in data["chances"] if row["quantity"] == "token_accuracy"] == [0.25] * 4
    assert {(row["quantity"], row["value"]) for row in data["shares"]} == {
        (key, end) for key in ("exact", "token_accuracy") for end in (0, 1)
    }
    assert all((row["low"], row["high"]) == (0, 1) for row in data["ends"] if row["quantity"] == "exact")
    assert {param["name"]: param.get("value") for param in spec["params"]}["answered"] == "exact"
    assert len(data["gaps"]) == 2 and frames.chances(summarise([fakes.record("rope")])) == []


@pytest.fixture(scope="module")
def several(tmp_path_factory):
    records = [
        record("rope", NEAR),
        record("alibi", FAR),
        record("alibi", SHORT, task="addition", options={"order": "reversed"}, groups=(("shift 0", True),)),
        fakes.record("alibi"),
        fakes.record("rope"),
    ]
    out = tmp_path_factory.mktemp("several") / "report.html"
    curves = {run["hash"]: [{"step": step, "loss": 3 / (1 + step)} for step in range(5)] for run in records}
    return report.write(records, out, curves=curves, positions=fakes.positions(records[3:])), records


def test_tasks_are_kept_apart_and_an_encoding_looks_alike_in_all(several):
    summaries = by_task(several[1])
    assert [summary.task for summary in summaries] == ["copy", "addition order=reversed", "text"]
    assert [{series.label: series.order for series in summary.series} for summary in summaries] == [
        {"rope": 0, "alibi": 1},
        {"alibi": 1},
        {"alibi": 1, "rope": 0},
    ]


def test_a_page_of_several_tasks(several):
    text = several[0].read_text(encoding="utf-8")
    specs = json.loads(re.search(r'<script type="application/json" id="specs">(.*?)</script>', text, re.DOTALL)[1])
    pictures = re.findall(r'data-figure="([^"]+)"[^>]*>\s*<svg', text)
    assert set(pictures) == set(specs) and {"length", "length-1", "length-2", "position-2", "training-1"} <= set(specs)
    ids = re.findall(r'\sid="([^"]+)"', text)
    assert len(ids) == len(set(ids))
    words = " ".join(re.sub(r"<[^>]+>", " ", text).split())
    for part in (
        "Position encodings on 3 tasks: copy, addition order=reversed and text.",
        "On addition order=reversed",
        "Trained on copy up to length 10, alibi (100% right in range) holds to the longest length measured, 40.",
        "Every group of examples in numbers",
        "fewer than 90% of the answers right at its training length",
        "Paired loss",
        "500 examples of copy",
    ):
        assert part in words, part
    assert text.count('name="answered"') == 3 and text.count('name="quantity"') == 4
    assert len(re.findall(r'data-label="', text)) == 2


def test_a_page_of_one_task_with_answers_says_nothing_of_text(tmp_path):
    out = report.write([record("rope", NEAR), record("alibi", IDLE)], tmp_path / "report.html")
    words = " ".join(re.sub(r"<[^>]+>", " ", out.read_text(encoding="utf-8")).split())
    assert "Right answers against length" in words and "did not learn" in words
    assert "Paired loss" not in words and "byte" not in words.partition("{")[0]


def test_the_main_figure_is_of_one_task(several, tmp_path):
    with pytest.raises(OptionError, match="of one task"):
        report.figure(several[1], tmp_path / "figure.svg")
    made = report.figure(several[1][:2], tmp_path / "figure.svg", quantity="token_accuracy")
    assert "Tokens of answers that are right" in made.read_text()
    with pytest.raises(OptionError, match="token_accuracy"):
        report.figure(several[1][:2], tmp_path / "figure.svg", quantity="paired_loss")


def test_the_printed_table_is_by_task(several, capsys):
    show(several[1])
    out = capsys.readouterr().out
    assert [line for line in out.splitlines() if line.startswith("on ")] == [
        "on copy",
        "on addition order=reversed",
        "on text",
    ]
    rows = [line.split() for line in out.splitlines() if line.startswith(("rope ", "alibi "))]
    assert rows[1][:6] == ["rope", "1", "0.960", "0.920", "0.100", "20"]
    assert "by guessing: 1e−10 at 10, 1e−20 at 20, 1e−40 at 40" in " ".join(out.split())
    assert max(map(len, out.splitlines())) <= 80
