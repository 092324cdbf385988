"""Learning rates from a grid: the trials are of no seed that is measured, the best of them is what the runs have."""

import json
import math
from pathlib import Path

import pytest

from gnomon.errors import OptionError
from gnomon.lab import engine, tuning
from gnomon.lab.experiment import Experiment, Measure, Training
from gnomon.lab.load import Plan, load
from gnomon.lab.store import Store
from gnomon.lab.tuning import Tuning
from gnomon.lab.verify import verify
from tests.lab.toys import toy

TWO = Tuning((3e-3, 1e-4), share=0.5)


def told(loss: float | None, status: str = "finished") -> dict:
    return {"status": status, "lengths": [{"status": "measured", "loss": loss}] if status == "finished" else []}


def test_a_trial_is_measured_on_held_in_data_at_the_training_length():
    experiment = Experiment("rope", training=Training(steps=100, length=32), measure=Measure(lengths=(16, 64)), seed=3)
    [low, high] = TWO.trials([experiment, experiment])
    assert (low.training.learning_rate, high.training.learning_rate) == (1e-4, 3e-3)
    for trial in (low, high):
        assert (trial.seed, trial.training.steps) == (1000, 50)
        assert (trial.measure.part, trial.measure.lengths) == ("validation", (32,))


def test_all_seeds_of_a_configuration_share_their_trials():
    experiments = [Experiment(name, seed=seed) for seed in (0, 1) for name in ("rope", "none")]
    assert len(TWO.trials(experiments)) == 4


@pytest.mark.parametrize(
    ("losses", "best"),
    [
        ({1e-4: 2.0, 3e-3: 1.0}, 3e-3),
        ({1e-4: 1.0, 3e-3: 2.0}, 1e-4),
        ({1e-4: 1.0, 3e-3: 1.0}, 1e-4),
        ({1e-4: math.inf, 3e-3: 9.0}, 3e-3),
        ({3e-3: math.inf, 1e-4: math.inf}, 1e-4),
    ],
)
def test_the_lowest_loss_wins_and_of_equal_ones_the_lower_rate(losses: dict[float, float], best: float):
    assert tuning.best(losses) == best


@pytest.mark.parametrize("record", [told(None), told(1.0, "diverged"), told(1.0, "failed")])
def test_a_trial_without_a_loss_loses(record: dict):
    assert tuning.loss_of(record) == math.inf
    assert tuning.loss_of(told(1.5)) == 1.5


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"rates": ()}, "rates to try"),
        ({"rates": (0.0, 1.0)}, "above 0"),
        ({"rates": (1e-3, 1e-3)}, "different"),
        ({"rates": (1e-3,), "share": 0.0}, "share"),
        ({"rates": (1e-3,), "share": 1.5}, "share"),
    ],
)
def test_what_makes_no_grid_is_refused(given: dict, said: str):
    with pytest.raises(OptionError, match=f"(?s).*{said}"):
        Tuning(**given)


def test_a_seed_of_the_trials_is_not_measured():
    with pytest.raises(OptionError, match="another seed"):
        TWO.trials([Experiment("rope", seed=1000)])


def test_a_plan_is_tuned_and_its_trials_are_no_results(text: Path, tmp_path: Path):
    plan = Plan([toy(text, "rope", steps=12), toy(text, "none", steps=12)], Tuning((1e-5, 3e-2)))
    store = Store(tmp_path / "runs", create=True)
    records = engine.run_plan(plan, store, 1)
    trials = store.trials().records()
    assert (len(records), len(trials), len(store.records())) == (2, 4, 2)
    for record in records:
        [choice] = [c for c in tuning.choices([record], trials)]
        assert set(choice.losses) == {1e-5, 3e-2} and choice.seed == 1000
        rate = record["experiment"]["training"]["learning_rate"]
        assert choice.chosen == rate == min(choice.losses, key=lambda each: choice.losses[each])
    # A step of 1e-5 leaves a model that has learned nothing in twelve of them.
    assert {record["experiment"]["training"]["learning_rate"] for record in records} == {3e-2}
    assert verify(store) == []
    assert engine.run_plan(plan, store, 1) == records


def test_faults_of_trials_are_found(text: Path, tmp_path: Path):
    store = Store(tmp_path / "runs", create=True)
    engine.run_plan(Plan([toy(text, "none", steps=4)], Tuning((1e-3,))), store, 1)
    [trial] = store.trials().hashes()
    (store.trials().folder(trial) / "curve.parquet").unlink()
    assert {fault.where for fault in verify(store)} == {f"tuning/{trial}/curve.parquet"}


def test_a_choice_is_told_of_the_runs_it_is_for():
    trial = Experiment("rope", training=Training(learning_rate=1e-2)).to_json()
    run = Experiment("rope", training=Training(learning_rate=1e-3), seed=5).to_json()
    other = Experiment("alibi").to_json()
    records = [{"label": "rope", "experiment": run}, {"label": "alibi", "experiment": other}]
    [choice] = tuning.choices(records, [{"experiment": trial, **told(2.0)}])
    assert (choice.label, choice.losses, choice.chosen) == ("rope", {1e-2: 2.0}, 1e-3)


def test_budgets_of_steps_have_trials_of_their_own():
    runs = [
        {"label": "rope", "experiment": Experiment("rope", training=Training(steps=steps, learning_rate=1.0)).to_json()}
        for steps in (100, 400, 200)
    ]
    trials = [
        {
            "experiment": TWO.trial(Experiment("rope", training=Training(steps=steps)), 3e-3).to_json(),
            **told(steps / 100),
        }
        for steps in (100, 200, 400)
    ]
    assert [(c.steps, c.losses) for c in tuning.choices(runs, trials)] == [
        (50, {3e-3: 1.0}),
        (200, {3e-3: 4.0}),
        (100, {3e-3: 2.0}),
    ]
    assert [c.steps for c in tuning.choices(runs[:1], trials)] == [100]


FILE = """from gnomon.lab.experiment import Experiment
from gnomon.lab.tuning import Tuning
FORMS = {"quick": [Experiment("rope")], "standard": [Experiment("rope", seed=7)]}
TUNING = Tuning(rates=(1e-3, 1e-2))
"""


def test_a_file_has_forms_and_a_grid(tmp_path: Path):
    path = tmp_path / "mine.py"
    path.write_text(FILE)
    assert load(str(path)) == load(str(path), "quick") == Plan([Experiment("rope")], Tuning((1e-3, 1e-2)))
    assert load(str(path), "standard").experiments == [Experiment("rope", seed=7)]
    with pytest.raises(OptionError, match=r"(?s)unknown form.*quick"):
        load(str(path), "quik")
    path.write_text('EXPERIMENTS = []\nFORMS = {"quick": []}\n')
    with pytest.raises(OptionError, match="FORMS"):
        load(str(path))
    path.write_text(FILE.replace("Tuning(rates=(1e-3, 1e-2))", "(1e-3,)"))
    with pytest.raises(OptionError, match="is a Tuning"):
        load(str(path))
    with pytest.raises(OptionError, match="no forms"):
        load("quick", "standard")


def test_a_record_is_found_by_what_it_shares_with_its_trials():
    one = Experiment("rope", seed=1, training=Training(learning_rate=1e-2, steps=7)).to_json()
    two = json.loads(json.dumps(one | {"seed": 2}))
    two["training"] |= {"learning_rate": 1.0, "steps": 9}
    assert tuning.key(one) == tuning.key(two)
    two["training"]["length"] += 1
    assert tuning.key(one) != tuning.key(two)
