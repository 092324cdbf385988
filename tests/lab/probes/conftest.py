"""Runs for the probes: two steps of training each."""

from pathlib import Path

import pytest

from gnomon.lab.experiment import Experiment, Measure, Model, Problem, Training
from gnomon.lab.store import Store
from tests.lab.toys import make, toy


@pytest.fixture(scope="session")
def store(text, tmp_path_factory) -> Store:
    """Untaught runs of a text, by encoding, and of a task with answers."""
    path = tmp_path_factory.mktemp("probed")
    for experiment in experiments(text).values():
        assert make(experiment, path) == "written"
    return Store(path)


def experiments(text: Path) -> dict[str, Experiment]:
    made = {name: toy(text, name, steps=2) for name in ("sinusoidal", "rope")}
    made["memory"] = toy(text, "transformer_xl", steps=2, options={"mem_len": 16})
    made["randomised"] = toy(text, "sinusoidal", steps=2, randomised=40)
    made["table"] = toy(text, "learned", steps=2, options={"max_positions": 16})
    made["recall"] = Experiment(
        "alibi",
        task=Problem("recall", {"keys": 8, "values": 8}),
        model=Model(width=16, depth=1, heads=2),
        training=Training(steps=2, batch=4, length=4),
        measure=Measure(lengths=(4, 8), examples=8),
    )
    return made
