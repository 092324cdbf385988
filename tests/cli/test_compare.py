"""`gnomon compare`, `report` and `results` on two small runs; one of them diverges."""

import contextlib
import json

import pytest

from gnomon.cli import main
from gnomon.commands.compare import Compare
from gnomon.commands.portraits import portraits
from gnomon.lab.interrupt import Interrupted
from gnomon.lab.store import Store

pytestmark = pytest.mark.xdist_group("one store")

PLAN = """
from dataclasses import replace
from gnomon.lab.experiment import Measure, Model, Training
from gnomon.lab.presets import sweep

EXPERIMENTS = sweep(
    [("learned", {"max_positions": 16})],
    model=Model(width=16, depth=1, heads=2),
    training=Training(steps=3, batch=2, length=16),
    measure=Measure(lengths=(16, 32), bytes=256, pairs=4, targets=4),
)
training = replace(EXPERIMENTS[0].training, learning_rate=1e30)
EXPERIMENTS.append(replace(EXPERIMENTS[0], encoding="none", options={}, training=training))
"""


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    """A folder with a plan, a text, the store of one comparison, and what `--quiet` printed of it."""
    folder = tmp_path_factory.mktemp("compare")
    (folder / "plan.py").write_text(PLAN)
    (folder / "book.txt").write_text("".join(f"It is line {n} of a book of {n * n} lines.\n" for n in range(4000)))
    with (folder / "quiet.txt").open("w") as out, contextlib.redirect_stdout(out):
        assert main(arguments(folder, "--quiet")) == 1
    return folder


def arguments(folder, *more: str) -> list[str]:
    files = ["--text", str(folder / "book.txt"), "--store", str(folder / "runs")]
    return ["compare", str(folder / "plan.py"), *files, "--workers", "1", *more]


def test_compare_tells_what_it_found_and_where_the_report_is(gnomon, here):
    shown = gnomon(*arguments(here))
    assert shown.code == 1
    assert f"report: {here / 'runs' / 'report.html'}" in shown.out
    assert "2 runs, 2 of them already in the store" in shown.err
    assert max(len(line) for line in shown.out.splitlines() if not line.startswith("report")) <= 80
    lines = {line.split()[0]: line.split() for line in shown.out.splitlines() if line}
    assert "refused" in lines["learned"]
    assert "- learned max_positions=16 (" in shown.out
    assert "--retry" in shown.err


def test_quiet_prints_the_path_alone(here):
    assert (here / "quiet.txt").read_text() == f"{here / 'runs' / 'report.html'}\n"


def test_json_is_all_that_is_on_stdout(gnomon, here):
    shown = gnomon(*arguments(here, "--json"))
    found = json.loads(shown.out)
    assert [record["label"].split()[0] for record in found["records"]] == ["learned", "none"]
    assert [record["status"] for record in found["records"]] == ["finished", "diverged"]
    assert found["report"].endswith("report.html")
    assert found["records"][0]["command"].startswith(f"gnomon compare {here / 'plan.py'} --text ")
    assert [json.loads(line)["phase"] for line in shown.err.splitlines()] == ["stored", "diverged"]


def test_what_was_found_is_told_where_no_report_can_be_written(gnomon, here):
    report = here / "runs" / "report.html"
    kept = report.rename(here / "kept.html")
    report.mkdir()
    try:
        shown = gnomon(*arguments(here))
    finally:
        report.rmdir()
        kept.rename(report)
    assert shown.code == 2 and "refused" in shown.out and "report: " not in shown.out
    assert "a report is one file" in shown.err and "--out FILE" in shown.err


def test_report_again_and_its_figure(gnomon, here):
    out, figure = here / "again.html", here / "loss.svg"
    shown = gnomon("report", str(here / "runs"), "--out", str(out), "--figure", str(figure), "--json")
    assert shown.code == 0
    assert json.loads(shown.out) == {"report": str(out), "figure": str(figure)}
    assert "<html" in out.read_text()
    assert figure.read_text().startswith("<svg")


def test_the_report_shows_what_the_trained_encodings_look_like(here):
    store = Store(here / "runs")
    drawn = portraits(store, store.records())
    [finished] = [record["hash"] for record in store.records() if record["status"] == "finished"]
    assert {hash: look["kind"] for hash, look in drawn.items()} == {finished: "absolute"}


def test_results(gnomon, here):
    shown = gnomon("results", str(here / "runs"))
    assert shown.code == 0
    assert max(map(len, shown.out.splitlines()[:6])) <= 80
    assert "none, seed 0, diverged: the loss is" in shown.out


def test_results_as_csv_and_json(gnomon, here):
    header, *rows = gnomon("results", str(here / "runs"), "--csv").out.splitlines()
    assert header.startswith("label,seed,status")
    assert len(rows) == 2
    assert len(json.loads(gnomon("results", str(here / "runs"), "--json").out)) == 2


def test_results_by_sql(gnomon, here):
    query = "select length, status from lengths where label like 'learned%'"
    shown = gnomon("results", str(here / "runs"), "--sql", query, "--json")
    assert json.loads(shown.out) == [{"length": 16, "status": "measured"}, {"length": 32, "status": "refused"}]


def test_a_task_with_answers_from_training_to_the_report(gnomon, here):
    store = str(here / "answers")
    options = ["--encodings", "rope", "--length", "3", "--lengths", "3", "6", "--steps", "3", "--workers", "1"]
    shown = gnomon("compare", "--task", "copy", "alphabet=4", *options, "--store", store)
    assert shown.code == 0, shown.err
    assert "rope on copy alphabet=4 seed 0: finished, 0." in shown.err
    assert shown.out.startswith("Nothing to compare: no encoding learned copy alphabet=4 within its training")
    rows = {line.split()[0]: line.split() for line in shown.out.splitlines() if line}
    assert rows["rope"][1] == "1" and rows["rope"][4:6] == ["not", "learned"]
    assert "by guessing: 0.016 at 3, 2e−4 at 6" in " ".join(shown.out.split())
    assert "Right answers against length" in (here / "answers" / "report.html").read_text()
    told = gnomon("results", store)
    assert told.code == 0 and "did not learn" in told.out
    query = "select label, chance_exact from lengths where length = 3"
    found = json.loads(gnomon("results", store, "--sql", query, "--json").out)
    assert found == [{"label": "rope", "chance_exact": 1 / 64}]


@pytest.mark.parametrize(
    "wrong, said",
    [
        (["compare", "quik"], "did you mean 'quick'?"),
        (["compare", "nowhere.py"], "no such experiment file"),
        (["compare", "--encodings", "ropes", "--steps", "1", "--store", "{here}/other"], "did you mean 'rope'?"),
        (["compare", "--text", "{here}/missing.txt", "--store", "{here}/other"], "missing.txt"),
        (["compare", "--text", "{here}/plan.py", "--store", "{here}/other"], "shorter than a window"),
        (["compare", "--steps", "0", "--store", "{here}/other"], "too small"),
        (["compare", "--workers", "0", "--text", "{here}/book.txt", "--store", "{here}/other"], "1 or more"),
        (["compare", "--out", "{here}/runs", "--store", "{here}/other"], "a report is one file"),
        (["compare", "--out", "{here}/book.txt/x.html", "--store", "{here}/other"], "cannot be written there"),
        (["compare", "--store", "{here}"], "not a store of gnomon"),
        (["report", "{here}/nowhere"], "there is no store here"),
        (["report", "{here}/runs", "--out", "{here}/x.html", "--figure", "{here}/x.jpg"], ".svg, .png"),
        (["report", "{here}/runs", "--out", "{here}/book.txt/x.html"], "book.txt"),
        (["results", "{here}"], "not a store of gnomon"),
        (["results", "{here}/runs", "--sql", "select labl from runs"], "labl"),
        (["results", "{here}/runs", "--csv", "--json"], "choose one"),
        (["results", "{here}/runs", "--sql", " "], "sql is empty"),
        (["compare", "--task", "cpy", "--store", "{here}/other"], "did you mean 'copy'?"),
        (["compare", "--task", "copy", "alphabt=3", "--store", "{here}/other"], "did you mean 'alphabet'?"),
        (["compare", "--task", "copy", "alphabet", "--store", "{here}/other"], "name=value"),
        (["compare", "--task", "sort", "alphabet=9", "--store", "{here}/other"], "cannot hold this length"),
        (["compare", "--task", "jsonl", "--store", "{here}/other"], "path=FILE"),
        (["compare", "--task", "jsonl", "path={here}/no.jsonl", "--store", "{here}/other"], "no.jsonl"),
        (["compare", "--task", "jsonl", "path={here}/book.txt", "--store", "{here}/other"], "line 1: not JSON"),
        (["compare", "--task", "{here}/plan.py:Mine", "--store", "{here}/other"], "unknown task in"),
        (["compare", "--task", "copy", "--text", "{here}/book.txt", "--store", "{here}/other"], "has one task"),
        (["compare", "--text", "", "--store", "{here}/other"], "text is empty"),
        (["compare", "--seeds", "0", "--encodings", "", "--store", "{here}/other"], "encodings is empty"),
        (["compare", "--encodings", "--store", "{here}/other"], "--encodings without a value"),
        (["compare", "--store", "{here}/other", "--task"], "--task without a value"),
        (["compare", "--seeds", "--tune", "1e-3", "--store", "{here}/other"], "--seeds without a value"),
        (["report", ""], "store is empty"),
    ],
    ids=lambda value: " ".join(value[:3]) if isinstance(value, list) else None,
)
def test_a_mistake_is_explained(gnomon, here, wrong, said):
    shown = gnomon(*(word.format(here=here) for word in wrong))
    assert shown.code == 2
    assert said in shown.err
    assert "Traceback" not in shown.err
    assert not shown.out
    assert not (here / "other").exists()


def test_the_command_is_written_as_it_can_be_typed():
    assert Compare().command == "gnomon compare quick"
    assert Compare(task=("copy", "alphabet=4")).command == "gnomon compare quick --task copy alphabet=4"
    typed = Compare("my plan.py", seeds=(0, 1), steps=5, cpu=True).command
    assert typed == "gnomon compare 'my plan.py' --steps 5 --seeds 0 1 --cpu"


def test_ctrl_c_ends_with_130_and_says_how_to_go_on(gnomon, here, monkeypatch):
    def interrupted(*arguments, **options):
        raise Interrupted(1, 2)

    monkeypatch.setattr("gnomon.lab.engine.run", interrupted)
    shown = gnomon(*arguments(here))
    assert shown.code == 130
    assert "the same command goes on where it stopped" in shown.err
    assert not shown.out
