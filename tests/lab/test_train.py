"""Training is a pure function of the experiment, also when it is interrupted."""

import math
from pathlib import Path

import pytest
import torch
from accelerate import Accelerator
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from gnomon.lab import build, checkpoint, corpus
from gnomon.lab.checkpoint import History
from gnomon.lab.experiment import Experiment, Training
from gnomon.lab.train import Stopped, Watch, learning_rate, optimizer_of, train
from tests.lab.toys import STEPS, toy


def trained(experiment: Experiment, watch: Watch = Watch()) -> tuple[dict[str, torch.Tensor], History]:
    task = build.task(corpus.load(experiment.task))
    model, history = train(build.model(experiment, task), task, experiment, Accelerator(cpu=True), watch)
    return model.state_dict(), history


def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return one.keys() == other.keys() and all(one[name].equal(other[name]) for name in one)


def test_the_learning_rate_rises_then_falls_by_half_a_cosine():
    training = Training(steps=101, learning_rate=1.0, warmup=20 / 101, floor=0.2)
    rates = [learning_rate(training, step) for step in range(101)]
    assert rates[:20] == pytest.approx([(step + 1) / 20 for step in range(20)])
    assert rates[20] == 1.0
    assert rates[60] == pytest.approx(0.6)
    assert rates[100] == pytest.approx(0.2)
    assert rates[20:] == sorted(rates[20:], reverse=True)


@pytest.mark.parametrize("warmup", [0.0, 1.0])
def test_the_learning_rate_at_the_ends_of_the_range(warmup: float):
    assert 0 < learning_rate(Training(steps=1, warmup=warmup), 0) <= Training().learning_rate


@pytest.mark.parametrize("encoding", ["learned", "t5", "rope"])
def test_matrices_decay_and_nothing_else(text: Path, encoding: str):
    experiment = toy(text, encoding)
    model = build.model(experiment, build.task(corpus.load(experiment.task)))
    decayed, kept = ({id(p) for p in group["params"]} for group in optimizer_of(model, Training()).param_groups)
    for name, parameter in model.named_parameters():
        matrix = name.endswith("weight") and "norm" not in name and ".encoding." not in name
        assert (id(parameter) in decayed, id(parameter) in kept) == (matrix, not matrix), name


def test_it_learns(text: Path):
    _, history = trained(toy(text, steps=100, learning_rate=1e-2))
    assert history.losses[0] == pytest.approx(math.log(256), abs=1.0)
    assert sum(history.losses[-10:]) / 10 < 2.5


def test_the_seed_decides_everything(text: Path):
    one, first = trained(toy(text, seed=1))
    torch.rand(3)
    again, second = trained(toy(text, seed=1))
    other, _ = trained(toy(text, seed=2))
    assert same(one, again) and first.losses == second.losses
    assert not same(one, other)


def interrupted(experiment: Experiment, path: Path, stops: tuple[int, ...]) -> tuple[dict[str, torch.Tensor], History]:
    """What a run ends as that is stopped at each of these steps, and goes on from its checkpoint."""
    for stop in stops:
        seen: list[int] = []
        watch = Watch(lambda history: seen.append(history.step), lambda: seen[-1] == stop, path)  # noqa: B023
        with pytest.raises(Stopped):
            trained(experiment, watch)
        assert checkpoint.step_of(path, experiment.hash) == stop
    return trained(experiment, Watch(checkpoint=path))


@pytest.mark.parametrize("stops", [(1,), (STEPS - 1,), (3, 4, 11)])
def test_an_interrupted_run_ends_as_an_undisturbed_one_to_the_bit(text: Path, tmp_path: Path, stops: tuple[int, ...]):
    experiment = toy(text, "learned", dropout=0.2)
    undisturbed, expected = trained(experiment)
    resumed, history = interrupted(experiment, tmp_path / "checkpoint", stops)
    assert same(undisturbed, resumed)
    assert history.losses == expected.losses and history.step == STEPS


def test_every_step_has_a_dropout_of_its_own(text: Path):
    experiment = toy(text)
    task = build.task(corpus.load(experiment.task))
    model, seeds = build.model(experiment, task), []
    model.register_forward_pre_hook(lambda *_: seeds.append(torch.initial_seed()))
    train(model, task, experiment, Accelerator(cpu=True))
    assert len(set(seeds)) == STEPS


def test_a_run_that_is_trained_is_not_trained_again(text: Path, tmp_path: Path):
    experiment, path = toy(text), tmp_path / "checkpoint"
    once, first = trained(experiment, Watch(checkpoint=path))
    before = path.read_bytes()
    again, second = trained(experiment, Watch(checkpoint=path))
    assert same(once, again) and first.losses == second.losses and path.read_bytes() == before


def test_a_loss_that_is_not_finite_ends_training_at_that_step(text: Path):
    _, history = trained(toy(text, learning_rate=1e30, warmup=0.0))
    assert 1 < history.step < STEPS
    assert not math.isfinite(history.losses[-1]) and all(map(math.isfinite, history.losses[:-1]))
    assert len(history.seconds) == history.step


def damage(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def of_another_run(path: Path) -> None:
    save_file(load_file(path), path, {"format": checkpoint.FORMAT, "experiment": "f" * 16, "step": "5"})


def of_another_shape(path: Path) -> None:
    tensors = {name: tensor[..., :1].clone() if tensor.dim() else tensor for name, tensor in load_file(path).items()}
    with safe_open(path, "pt") as file:
        metadata = file.metadata()
    save_file(tensors, path, metadata)


def with_another_number(path: Path) -> None:
    """As finite as the one that was written: nothing but its sum tells."""
    written = bytearray(path.read_bytes())
    written[-1] ^= 1
    path.write_bytes(written)


@pytest.mark.parametrize("spoil", [damage, empty, of_another_run, of_another_shape, with_another_number, Path.unlink])
def test_a_checkpoint_that_cannot_be_used_is_not_used(text: Path, tmp_path: Path, spoil):
    experiment, path = toy(text), tmp_path / "checkpoint"
    expected, _ = trained(experiment)
    with pytest.raises(Stopped):
        trained(experiment, Watch(stop=lambda: True, checkpoint=path))
    spoil(path)
    if spoil not in (of_another_shape, with_another_number):
        assert checkpoint.step_of(path, experiment.hash) == 0
    resumed, history = trained(experiment, Watch(checkpoint=path))
    assert same(expected, resumed) and history.step == STEPS
