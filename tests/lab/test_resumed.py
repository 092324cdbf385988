"""A run that goes on from a checkpoint: with all that the model keeps, as it began, and its record says where not."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from gnomon.lab import checkpoint, environment
from gnomon.lab.experiment import Experiment
from gnomon.lab.exported import Exported, export
from gnomon.lab.run import Settings
from gnomon.lab.store import Store
from gnomon.lab.verify import verify
from gnomon.report import tables
from tests.lab.toys import STEPS, make, results, toy, vouch

MINE = '''
import torch
from gnomon.encoding import Encoding

class Mine(Encoding):
    """What it has seen is taken away: a running mean, a count, a mask, and a table that can be made anew."""

    def __init__(self, width: int):
        super().__init__()
        self.register_buffer("mean", torch.zeros(width))
        self.register_buffer("seen", torch.zeros((), dtype=torch.int64))
        self.register_buffer("mask", torch.full((2,), float("-inf")))
        self.register_buffer("table", torch.ones(width), persistent=False)

    def embed(self, x, pos):
        if self.training:
            self.seen += 1
            self.mean.lerp_(x.detach().mean((0, 1)), 1 / (1 + float(self.seen)))
        return x - self.mean * self.table
'''


@pytest.fixture
def mine(text: Path, tmp_path: Path) -> Experiment:
    """An encoding of the user's own that learns without a gradient."""
    (tmp_path / "mine.py").write_text(MINE)
    return toy(text, f"{tmp_path / 'mine.py'}:Mine")


def stopped(experiment: Experiment, path: Path, steps: int) -> Path:
    """Train some steps of a run; its checkpoint."""
    left = iter([False] * (steps - 1))
    assert make(experiment, path, Settings(stop=lambda: next(left, True))) == "stopped"
    return Store(path).checkpoint(experiment.hash)


def as_before(file: Path) -> None:
    """A checkpoint as it was written before: without buffers, and without what it was made on."""
    tensors = {name: tensor for name, tensor in load_file(file).items() if not name.startswith("buffer.")}
    with safe_open(file, "pt") as opened:
        metadata = {name: text for name, text in opened.metadata().items() if name != checkpoint.MADE}
    metadata |= {"format": "3", "sha256": checkpoint._sum(tensors, {})}
    save_file(tensors, file, metadata)


@pytest.mark.parametrize("before", [False, True])
def test_what_a_model_keeps_in_buffers_is_not_lost(mine: Experiment, tmp_path: Path, before: bool):
    """From a checkpoint that lacks them training begins anew, so that the numbers are right all the same."""
    file = stopped(mine, tmp_path / "runs", 11)
    if before:
        as_before(file)
    assert checkpoint.step_of(file, mine.hash) == 11
    for path in ("runs", "undisturbed"):
        make(mine, tmp_path / path)
    store, undisturbed = Store(tmp_path / "runs"), Store(tmp_path / "undisturbed")
    assert results(store, mine.hash) == results(undisturbed, mine.hash)
    weights = load_file(store.weights(mine.hash))
    [seen] = [tensor for name, tensor in weights.items() if name.endswith("seen")]
    assert seen == STEPS and not any(name.endswith("table") for name in weights)


def test_buffers_are_no_parameters_and_no_damage(mine: Experiment, tmp_path: Path):
    make(mine, tmp_path / "runs")
    store = Store(tmp_path / "runs")
    assert verify(store) == []
    # As it was before, where a record did not say which tensors are buffers.
    file, folder = store.weights(mine.hash), store.folder(mine.hash)
    record = json.loads((folder / "record.json").read_text())
    del record["buffers"]
    (folder / "record.json").write_text(json.dumps(record))
    vouch(folder)
    assert verify(store) == []
    save_file(dict([*load_file(file).items()][:2]), file, {"experiment": mine.hash})
    vouch(folder)
    assert "its record says" in verify(store)[0].what


def test_a_checkpoint_of_before_is_gone_on_from_where_it_has_all(text: Path, tmp_path: Path):
    experiment = toy(text, "t5")
    as_before(stopped(experiment, tmp_path / "runs", 11))
    make(experiment, tmp_path / "runs")
    make(experiment, tmp_path / "undisturbed")
    store, undisturbed = Store(tmp_path / "runs"), Store(tmp_path / "undisturbed")
    assert results(store, experiment.hash) == results(undisturbed, experiment.hash)
    record = store.record(experiment.hash)
    assert record["environments"] == [
        {"step": 0, "environment": {}},
        {"step": 11, "environment": record["environment"]},
    ]


@pytest.fixture
def threads() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("threads")
def test_a_run_goes_on_with_the_threads_that_it_began_with(text: Path, tmp_path: Path):
    """Whatever its share of the cores is now: another number of threads adds in another order."""
    sizes = {"width": 256, "length": 256, "batch": 16, "lengths": (256,), "steps": 4}
    experiment = toy(text, "rope", **sizes)
    torch.set_num_threads(2)
    make(experiment, tmp_path / "undisturbed")
    stopped(experiment, tmp_path / "runs", 2)
    torch.set_num_threads(1)
    make(experiment, tmp_path / "runs")
    assert torch.get_num_threads() == 1
    store, undisturbed = Store(tmp_path / "runs"), Store(tmp_path / "undisturbed")
    record = store.record(experiment.hash)
    assert record["environment"]["threads"] == 2 and "environments" not in record
    assert results(store, experiment.hash) == results(undisturbed, experiment.hash)


def test_the_record_of_a_run_that_went_on_elsewhere_says_so(text: Path, tmp_path: Path, monkeypatch):
    experiment, path = toy(text, "none"), tmp_path / "runs"
    for steps, torch_of in ((3, "2.9.0"), (4, "2.9.0"), (5, "2.10.0")):
        monkeypatch.setattr(environment.torch, "__version__", torch_of)
        stopped(experiment, path, steps)
    monkeypatch.setattr(environment.torch, "__version__", "2.11.0")
    make(experiment, path)
    store = Store(path)
    record = store.record(experiment.hash)
    told = [(part["step"], part["environment"]["torch"]) for part in record["environments"]]
    assert told == [(0, "2.9.0"), (7, "2.10.0"), (12, "2.11.0")]
    assert record["environments"][-1]["environment"] == record["environment"]
    export(store, tmp_path / "out")
    assert Exported(tmp_path / "out").records() == [json.loads(json.dumps(record))]
    assert tables.merged(tables.environments([record]), "environment")["torch"] == "2.9.0; 2.10.0; 2.11.0"


def test_a_checkpoint_whose_account_of_its_making_has_changed_is_damaged(text: Path, tmp_path: Path):
    experiment = toy(text, "none")
    file = stopped(experiment, tmp_path / "runs", 3)
    written = file.read_bytes()
    at = written.index(b"threads") + len(b'threads\\": ')
    file.write_bytes(written[:at] + b"7" + written[at + 1 :])
    assert not checkpoint.whole(file, experiment.hash)
