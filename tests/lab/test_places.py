"""Where tokens lie in training and measurement: drawn, moved by the encoding, remembered from earlier segments."""

from pathlib import Path

import pytest
import torch
from accelerate import Accelerator

from gnomon import positions
from gnomon.encodings.rope import Rope
from gnomon.errors import OptionError
from gnomon.lab import build, corpus
from gnomon.lab.experiment import Experiment, Measure, Training
from gnomon.lab.places import places, read
from gnomon.lab.seeds import generator
from tests.lab.test_train import interrupted, same, trained
from tests.lab.toys import toy


@pytest.fixture
def remembering(monkeypatch):
    monkeypatch.setattr(Rope, "memory", 10)


def test_rows_of_a_stream_go_on_where_they_ended(text: Path):
    task = build.task(corpus.load(toy(text).task))
    first, second = (task.stream(3, step, 4, 16) for step in (0, 1))
    assert torch.equal(first.targets[:, -1], second.inputs[:, 0])
    assert torch.equal(first.inputs[:, 1:], first.targets[:, :-1])
    assert not torch.equal(first.inputs[0], first.inputs[1])


def test_a_memory_changes_training(text: Path, monkeypatch):
    without, _ = trained(toy(text))
    monkeypatch.setattr(Rope, "memory", 10)
    assert not same(trained(toy(text))[0], without)


@pytest.mark.parametrize("encoding", ["rope", "transformer_xl"])
@pytest.mark.parametrize("stops", [(1,), (3, 4, 11)])
def test_an_interrupted_run_with_a_memory_ends_as_an_undisturbed_one(
    text: Path, tmp_path: Path, remembering, stops: tuple[int, ...], encoding: str
):
    experiment = toy(text, encoding, options={"mem_len": 10} if encoding == "transformer_xl" else {})
    undisturbed, expected = trained(experiment)
    resumed, history = interrupted(experiment, tmp_path / "checkpoint", stops)
    assert same(resumed, undisturbed) and history.losses == expected.losses


def test_a_long_window_is_read_in_segments_of_the_training_length(text: Path, remembering):
    experiment = toy(text)
    model = build.model(experiment, build.task(corpus.load(experiment.task))).eval()
    monkey = generator("test", 0)
    tokens = torch.randint(256, (2, 4 * experiment.training.length), generator=monkey)
    with torch.no_grad():
        logits = read(model, tokens, experiment.training, monkey)
        whole = model(tokens)
    assert logits.shape == whole.shape
    first = slice(0, experiment.training.length)
    assert torch.allclose(logits[:, first], whole[:, first], atol=1e-5)
    assert not torch.allclose(logits[:, -1], whole[:, -1], atol=1e-3)


def test_randomised_places_are_drawn_anew_and_in_order():
    drawn = generator("test", 1)
    training = Training(length=8, randomised=100)
    one, other = (places(training, 8, 0, drawn, torch.device("cpu")) for _ in range(2))
    for pos in (one, other):
        apart = pos.coords[0, 1:, 0] - pos.coords[0, :-1, 0]
        assert (apart >= 1).all() and pos.coords.min() >= 0 and pos.coords.max() < 100
    assert not torch.equal(one.coords, other.coords)


def test_randomised_training_is_another_experiment_with_a_name(text: Path):
    plain = toy(text)
    drawn = toy(text, randomised=200)
    assert drawn.label == "randomised rope" and drawn.hash != plain.hash
    assert not same(trained(drawn)[0], trained(plain)[0])
    assert same(trained(drawn)[0], trained(drawn)[0])


def test_too_few_places_are_refused():
    with pytest.raises(OptionError, match="a place for each token"):
        Training(length=128, randomised=100)
    with pytest.raises(OptionError, match="longest length"):
        Experiment("rope", training=Training(length=64, randomised=100), measure=Measure(lengths=(64, 128)))


def test_training_asks_every_encoding_for_positions_and_a_loss(text: Path, monkeypatch):
    """A moved window and a loss of the encoding's own reach the weights."""
    asked = []

    def draw(self, pos, generator, rows):
        asked.append("draw")
        return pos.shifted(1000.0)

    def auxiliary(self, pos, generator):
        asked.append(pos.coords.min().item())
        return self.extra.sum() * 3

    monkeypatch.setattr(Rope, "draw", draw)
    monkeypatch.setattr(Rope, "auxiliary", auxiliary)
    experiment = toy(text, steps=2)
    task = build.task(corpus.load(experiment.task))
    model = build.model(experiment, task)
    encoding = model.encodings[0]
    encoding.extra = torch.nn.Parameter(torch.ones(2))
    from gnomon.lab.train import train

    train(model, task, experiment, Accelerator(cpu=True))
    assert asked == ["draw", 1000.0] * 2
    assert (encoding.extra < 1).all()


def test_a_memory_and_randomised_places_exclude_each_other(text: Path, remembering):
    with pytest.raises(OptionError, match="segment before"):
        build.check(toy(text, randomised=200), cpu=True)


def test_each_row_of_a_batch_has_a_window_of_its_own(text: Path, monkeypatch):
    """SeqPE's shifts differ from row to row in training, as the paper's do."""
    from gnomon.lab.train import train
    from gnomon.transformer import Transformer

    seen = []
    forward = Transformer.forward

    def watched(self, tokens, pos=None, **options):
        seen.append(pos)
        return forward(self, tokens, pos, **options)

    monkeypatch.setattr(Transformer, "forward", watched)
    experiment = toy(text, "seqpe", options={"shift_rate": 1.0}, steps=2)
    task = build.task(corpus.load(experiment.task))
    train(build.model(experiment, task), task, experiment, Accelerator(cpu=True))
    assert all(pos.rows == experiment.training.batch for pos in seen)
    assert len({tuple(row) for row in seen[0].coords[:, 0].tolist()}) > 1


def test_a_drawing_is_the_same_on_every_machine():
    assert torch.equal(*(positions.randomised(5, 50, generator=generator("x", 2)).coords for _ in range(2)))
