"""The scorecard: a number of the results makes the cell, and what did not learn its task is shown and not ranked."""

import contextlib
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from gnomon.claims import costs, experiments
from gnomon.claims.adjectives import JUDGED
from gnomon.claims.cells import UNLEARNED
from gnomon.claims.columns import COLUMNS, LIMITS
from gnomon.claims.scorecard import DOCUMENTED, scorecard, shown
from gnomon.claims.sources import Runs, rows
from gnomon.claims.values import Lost
from gnomon.errors import OptionError
from gnomon.lab import tasks
from gnomon.lab.experiment import Experiment, Model, Problem
from gnomon.lab.load import load
from tests.claims.made_up import HERE, TRAINED, keep, record, right, text, texts

ROOT = Path(__file__).resolve().parents[2]
OF = {column.key: column for column in JUDGED}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    """Where results lie, and no benchmarks do."""
    monkeypatch.setattr(experiments, "FOLDER", tmp_path)
    monkeypatch.setattr(costs, "FILE", tmp_path / "results.json")
    return tmp_path


def card(*keys: str, at: Path | None = None):
    return scorecard(at, [OF[key] for key in keys])


def test_a_cell_is_the_mean_over_seeds_with_its_evidence(folder):
    keep(folder, text=texts({"alibi": (0.02, 0.05, 0.04)}))
    cell = card("text_2x").cell("text_2x", "alibi")
    assert (cell.mean, cell.low, cell.high) == pytest.approx((0.11 / 3, 0.02, 0.05))
    assert (cell.runs, cell.state, cell.of) == (3, "measured", "experiment text")
    assert cell.where == f"text; length {2 * TRAINED}, trained on {TRAINED}"
    assert [*cell.values] == [0, 1, 2]


def test_another_number_makes_another_cell(folder):
    keep(folder, text=texts({"alibi": (0.02, 0.05, 0.04)}))
    assert shown(card("text_2x"), "text_2x", "alibi") == "0.0367"
    keep(folder, text=texts({"alibi": (0.02, 0.05, 0.32)}))
    assert shown(card("text_2x"), "text_2x", "alibi") == "0.13"


def test_what_did_not_learn_is_shown_and_not_ranked(folder):
    runs = texts({"alibi": (0.02, 0.03), "rope": (0.5, 0.6), "t5": (0.0, 0.0)}, loss=2.0)
    runs += [text("rope", 2, 0.0, loss=3.25), *(text("t5", seed, 0.0, loss=3.25) for seed in (2, 3))]
    runs = [run for run in runs if run["label"] != "t5" or run["experiment"]["seed"] > 1]
    keep(folder, text=runs)
    found = card("text_2x")
    rope, t5 = (found.cell("text_2x", name) for name in ("rope", "t5"))
    assert (rope.state, rope.runs, rope.without) == ("in part", 3, {UNLEARNED: (2,)})
    assert (t5.state, t5.mean) == ("not learned", None)
    assert [shown(found, "text_2x", name) for name in ("rope", "t5", "alibi", "none")] == [
        "0.55 (2/3)",
        "(0/2)",
        "0.025",
        "-",
    ]
    assert found.ranked("text_2x") == ["alibi"]


def test_a_run_that_did_not_finish_counts(folder):
    keep(folder, text=[text("alibi", 0, 0.0), text("alibi", 1, 0.0, status="diverged")])
    assert card("text_2x").cell("text_2x", "alibi").without == {"diverged": (1,)}


def test_a_length_that_is_refused_is_told(folder):
    lengths = {TRAINED: {"paired_loss": 2.0, "paired_excess": 0.0}, 2 * TRAINED: "refused"}
    keep(folder, text=[record("learned", 0, lengths)])
    cell = card("text_2x").cell("text_2x", "learned")
    assert cell.without == {f"refused at length {2 * TRAINED}": (0,)} and cell.state == "no number"


def test_without_results_every_cell_says_what_to_run():
    found = scorecard()
    for column in COLUMNS:
        told = found.found[column.key]
        if isinstance(column.source, Runs):
            assert told.cells == {} and f"gnomon compare experiments/{column.source.experiments[0]}.py" in told.why
    assert shown(found, "text_2x", "alibi") == shown(found, "forward", "alibi") == "-"
    assert found.labels[: len(DOCUMENTED)] == DOCUMENTED
    assert "make bench" in found.found["forward"].why and not found.found["code"].why
    json.dumps(found.as_dict())


def marks(key: str) -> dict[str, str]:
    found = card(key)
    return {label: shown(found, key, label).lstrip("-.0123456789") for label in found.ranked(key)}


def test_the_best_and_those_that_are_as_good(folder):
    rises = {"alibi": (0.02, 0.03, 0.04), "shaw": (0.03, 0.03, 0.06), "rope": (0.9, 0.91, 0.92)}
    keep(folder, text=texts(rises | {"t5": (0.0, 0.0, 0.3)}))
    assert card("text_2x").ranked("text_2x") == ["alibi", "shaw", "t5", "rope"]
    assert marks("text_2x") == {"alibi": "*", "shaw": "*", "t5": "?", "rope": ""}
    assert card("text_2x").best("text_2x") == ("alibi", "shaw") and card("text_2x").undecided("text_2x") == ("t5",)
    # Paired by seed: always worse by as much, though the seeds lie farther apart than that.
    keep(folder, text=texts({"alibi": (0.02, 0.05, 0.09), "shaw": (0.22, 0.251, 0.29)}))
    assert marks("text_2x") == {"alibi": "*", "shaw": ""}


def test_where_nobody_is_told_apart_nobody_is_best(folder):
    keep(folder, text=texts({"alibi": (0.02,), "rope": (0.9,)}))
    assert marks("text_2x") == {"alibi": "", "rope": ""}, "one seed tells nothing"
    keep(folder, text=texts({"alibi": (0.02, 0.021, 0.02), "rope": (0.03, 0.031, 0.03)}))
    assert marks("text_2x") == {"alibi": "", "rope": ""}, "a difference that does not count"
    keep(folder, text=texts({"alibi": (0.02, 0.03, 0.02), "rope": (0.3, 0.02, 0.9)}))
    assert marks("text_2x") == {"alibi": "", "rope": ""}, "seeds that lie too far apart"


def test_where_nobody_holds_nobody_is_best(folder):
    keep(folder, text=texts({"alibi": (0.2, 0.21, 0.2), "rope": (0.9, 0.91, 0.92)}))
    assert marks("text_2x") == {"alibi": "", "rope": ""}
    keep(folder, text=texts({"alibi": (0.05, 0.05, 0.06), "rope": (0.9, 0.91, 0.92)}))
    assert marks("text_2x") == {"alibi": "*", "rope": ""}


def test_where_more_is_better_the_highest_is_best(folder):
    copy = Problem("copy")
    runs = [right(copy, name, seed, {20: 1.0, 40: share + seed / 100}, trained=20)
            for name, share in (("none", 0.2), ("alibi", 0.9)) for seed in range(3)]  # fmt: skip
    keep(folder, algorithmic=runs)
    assert card("copy_2x").best("copy_2x") == ("alibi",)


def test_a_task_is_found_in_the_second_experiment_and_by_its_options(folder):
    unique = right(Problem("copy", {"unique": True}), "rope", 0, {20: 1.0, 40: 0.1}, trained=20)
    keep(
        folder,
        algorithmic=[unique],
        algorithmic_more=[right(Problem("copy"), "rope", 0, {20: 1.0, 40: 0.7}, trained=20)],
    )
    cell = card("copy_2x").cell("copy_2x", "rope")
    assert (cell.mean, cell.of) == (0.7, "experiment algorithmic_more")
    keep(folder, algorithmic_more=[unique])
    assert "have no runs of it: copy" in card("copy_2x").found["copy_2x"].why


def test_what_a_shift_loses_is_of_two_groups(folder):
    task = Problem("images", {"positions": "flat", "patch": 4})
    groups = [(7, "as trained", 0.95), (7, "4 right", 0.35)]
    keep(folder, images=[right(task, "learned", 0, {7: 0.95}, groups, trained=7)])
    assert card("image_line").cell("image_line", "learned").mean == pytest.approx(0.6)
    assert card("image_grid").found["image_grid"].cells == {}


def test_times_are_of_the_same_seed_on_the_same_machine(folder):
    runs = [text("none", 0, 0.0, ms=10.0), text("none", 1, 0.0, ms=20.0)]
    runs += [text("rope", 0, 0.0, ms=11.0), text("rope", 1, 0.0, ms=24.0)]
    runs.append(text("rope", 2, 0.0, ms=24.0, environment=HERE | {"processor": "another"}))
    keep(folder, text=runs)
    cell = card("step").cell("step", "rope")
    assert cell.values == pytest.approx({0: 1.1, 1: 1.2})
    assert cell.without == {"has no run of none beside it on the same machine": (2,)}


def test_of_several_budgets_the_least_or_the_mean_is_meant(folder):
    def digits(share: float, shown: float, **more):
        return right(Problem("images", {"positions": "grid", "share": share}), "rope", 0, {7: shown}, trained=7, **more)

    pairs = [right(Problem("adjacency"), "rope", 0, {32: share}, steps=steps) for steps, share in ((9, 0.5), (99, 0.9))]
    keep(folder, efficiency=[digits(0.05, 0.4), digits(1.0, 0.9)], entanglement=pairs)
    found = card("few_digits", "pairs")
    assert found.cell("few_digits", "rope").values == {0: 0.4}
    assert found.cell("pairs", "rope").values == pytest.approx({0: 0.7})
    keep(folder, entanglement=[*pairs, right(Problem("adjacency"), "none", 0, {32: 0.5}, steps=99)])
    assert card("pairs").cell("pairs", "none").without == {"was not made with every number of steps": (0,)}


def test_configurations_that_a_column_does_not_tell_apart_have_no_number(folder):
    keep(folder, text=[text("rope", 0, 0.1), text("rope", 0, 0.2, model=Model(depth=3))])
    cell = card("text_2x").cell("text_2x", "rope")
    assert cell.mean is None and "several configurations" in str([*cell.without])


def test_rows_are_encodings():
    assert dict(rows(["rope axes=2", "alibi"])) == {"rope": "rope axes=2", "alibi": "alibi"}
    spans = ["deberta span=12", "deberta span=12 terms=c2p"]
    assert dict(rows(spans)) == {"deberta": spans[0], "deberta terms=c2p": spans[1]}
    labels = ["deberta", "deberta terms=c2p", "randomised learned", "learned beyond=wrap"]
    assert dict(rows(labels)) == {label: label for label in labels[:3]} | {"learned": labels[3]}


def test_probes_are_read_where_they_were_asked(folder):
    def layer(r2: float) -> dict:
        return {"r2": {"mean": r2}}

    heads = [[{"places": {"mean": share}} for share in each] for each in ((0.9, 0.9), (0.1, 0.3))]
    told = {"dilution": {"layers": [layer(0.9), layer(0.7), layer(-0.1)]}, "distance": {"layers": heads}}
    numbers = {TRAINED: {"loss": 2.0, "exact": 0.0}}
    keep(folder, dilution=[record("learned", 0, numbers, Problem("masked"), probes=told)])
    found = card("place_known", "place_faded", "places_used")
    assert [found.cell(key, "learned").mean for key in found.found] == pytest.approx([-0.1, 0.9, 0.2])
    not_asked = {name: {"not_asked": "why"} for name in told}
    keep(folder, dilution=[record("learned", 0, numbers, Problem("masked"), probes=not_asked)])
    found = card("place_known", "place_faded", "places_used")
    assert {*(why for key in found.found for why in found.cell(key, "learned").without)} == {"has no such number"}


def test_outputs_that_a_shift_changes_are_those_of_the_shift_by_5(folder):
    shifts = [{"by": by, "output": {"mean": by / 100}} for by in (1.0, 5.0, 25.0)]
    keep(folder, text=[text("learned", 0, 0.0, probes={"translation": {"shifts": shifts}})])
    assert card("text_shift").cell("text_shift", "learned").mean == 0.05


def test_a_net_without_positions_stands_beside_and_is_not_ranked(folder):
    task = Problem("images", {"positions": "grid", "patch": 4})
    groups = [(7, "as trained", 0.95), (7, "4 right", 0.95)]
    net = right(task, "none", 0, {7: 0.95}, groups, trained=7, model=Model(kind="convolution"))
    worse = [(7, "as trained", 0.95), (7, "4 right", 0.75)]
    keep(folder, images=[net, right(task, "rope", 0, {7: 0.95}, worse, options={"axes": 2}, trained=7)])
    found = card("image_grid")
    assert found.cell("image_grid", "convolution").mean == 0.0 and found.ranked("image_grid") == ["rope"]


def test_benchmarks_lie_between_their_quartiles(folder):
    def bench(ratio: float, quick: bool = False):
        row = {"section": "kernel, causal", "what": "rope even", "ratio": ratio, "spread": 0.1, "runs": 3}
        costs.FILE.write_text(
            json.dumps({"quick": quick, "scripts": {"forward": [row, row | {"what": "shaw keys even"}]}})
        )
        return card("forward")

    cell = bench(1.2).cell("forward", "rope")
    assert (cell.mean, cell.low, cell.high) == pytest.approx((1.2, 1.14, 1.26)) and cell.ranked
    assert [*bench(1.2).found["forward"].cells] == ["rope"]
    assert bench(1.5).cell("forward", "rope").mean == 1.5
    assert "small sizes" in bench(1.5, quick=True).found["forward"].why


def test_missed_kernels_are_counted_from_the_record_of_c34(folder):
    claims = ROOT / "results" / "claims"
    errors = json.loads((claims / "C34.json").read_text(encoding="utf-8"))["numbers"]["errors"]
    own = [error for name, _, _, error in errors if name == "alibi"]
    share = sum(error >= 0.2 for error in own) / len(own)
    assert card("kernels", at=claims).cell("kernels", "alibi").mean == pytest.approx(share)
    assert "no record of C34" in card("kernels", at=folder).found["kernels"].why


def test_columns_are_data_and_name_each_limit():
    assert [*dict.fromkeys(column.limit for column in COLUMNS)] == [*LIMITS]
    assert len({column.key for column in JUDGED}) == len({column.title for column in JUDGED}) == len(JUDGED)
    for column in JUDGED:
        assert column.measured.endswith(".") and column.unit and hash(replace(column, source=None))


def all_of(file: Path) -> list[Experiment]:
    """The runs of the quick form, and of what is too long for it."""
    runs = load(str(file)).experiments
    with contextlib.suppress(OptionError):
        runs = [*runs, *load(str(file), "recall").experiments]
    return runs


ASKED = [column for column in COLUMNS if isinstance(column.source, Runs)]


@pytest.mark.parametrize("column", ASKED, ids=lambda column: column.key)
def test_every_question_is_asked_by_an_experiment(column):
    """Of its task, at its length, in its groups, by its probe."""
    source, value = column.source, column.source.value
    plans = [file for name in source.experiments if (file := ROOT / "experiments" / f"{name}.py").is_file()]
    meant = [run for file in plans for run in all_of(file) if source.is_of(run.to_json()["task"])]
    assert meant, source
    chosen = source.picked([{"experiment": run.to_json(), "label": run.label} for run in meant])
    counted = Counter((record["label"], record["experiment"]["seed"]) for record in chosen)
    assert source.among == ("mean", "training.steps") or {*counted.values()} == {1}, "which of them is not told"
    for run in {run.title.partition(" on ")[2]: run for run in meant}.values():
        assert value.length({"experiment": run.to_json()}) in run.measure.lengths
        assert value.probe in ("", *run.measure.probes)
        if isinstance(value, Lost):
            assert {*value.names(run.to_json()["task"])} <= {group.name for group in tasks.create(run.task).groups}
