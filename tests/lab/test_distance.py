"""Every answer looked up again so many places back; what counting symbols is worth; sequences that come again."""

import ast
from collections import Counter
from pathlib import Path

import pytest
import torch
from accelerate import Accelerator

from gnomon.errors import OptionError
from gnomon.lab import build, tasks
from gnomon.lab.answers import evaluate
from gnomon.lab.experiment import Experiment, Measure, Model, Problem, Training
from gnomon.lab.task import IGNORED, Batch
from gnomon.lab.tasks import distance as module
from gnomon.lab.tasks.distance import Distance
from gnomon.lab.train import train

OPTIONS = [{}, {"alphabet": 4, "distances": 3}, {"alphabet": 5, "distances": 4, "causal": True}]
each = pytest.mark.parametrize("options", OPTIONS, ids=str)


def right(read: list[str], answer: str) -> bool:
    [at] = [place for place, word in enumerate(read) if word.startswith("?")]
    back = int(read[at][1:])
    return back <= at and read[at - back] == answer


def sequences(task: Distance, batch: Batch) -> list[tuple[list[str], str]]:
    """The words of each row, and the one that is scored, at the mark."""
    found = []
    for inputs, targets in zip(batch.inputs, batch.targets.tolist(), strict=True):
        read = task.spell(inputs).split()
        [at] = [place for place, token in enumerate(targets) if token != IGNORED]
        assert read[at].startswith("?")
        found.append((read, task.symbols[targets[at]]))
    return found


@each
def test_every_answer_is_so_many_places_before_the_mark(options: dict):
    task = tasks.create(Problem("distance", options))
    batches = [task.batch(0, step, 64, 12) for step in range(8)]
    found = [row for batch in batches for row in sequences(task, batch)]
    assert all(right(*row) and len(row[0]) == 12 for row in found)
    marks = Counter(word for read, _ in found for word in read if word.startswith("?"))
    assert set(marks) == {f"?{k}" for k in range(1, task.distances + 1)}
    assert {read.index(mark) for read, _ in found for mark in marks if mark in read} == set(range(1, 12))
    assert task.causal is options.get("causal", False)


@each
def test_each_distance_is_measured_by_itself(options: dict):
    task = tasks.create(Problem("distance", options))
    batch = task.examples("test", 20, 60)
    for (read, answer), group in zip(sequences(task, batch), batch.group.tolist(), strict=True):
        assert right(read, answer)
        assert f"?{task.groups[group].name.removeprefix('distance ')}" in read
    assert max(Counter(batch.group.tolist()).values()) - min(Counter(batch.group.tolist()).values()) <= 1
    assert all(group.trained for group in task.groups)
    assert not torch.equal(batch.inputs, task.examples("validation", 20, 60).inputs)


@pytest.mark.parametrize("length", [10, 16, 35])
def test_counting_symbols_is_worth_no_more_than_chance(length: int):
    """Guesses that see no places: the commonest symbol, the rarest one, and any that is there."""
    task, many = Distance(), 4000
    rows = sequences(task, task.examples("test", length, many))
    kept = Counter(answer for _, answer in rows)
    assert max(kept.values()) / many == pytest.approx(task.chance(length).exact, abs=0.02)
    guesses = Counter()
    for read, answer in rows:
        counts = Counter(word for word in read if not word.startswith("?"))
        assert max(counts.values()) - min(counts[word] for word in task.symbols[:16]) <= 2
        guesses["most"] += max(sorted(counts), key=counts.get) == answer
        guesses["least"] += min(sorted(counts), key=counts.get) == answer
    # One symbol more than others, of all that are visible: the most that a guess can be worth.
    bound = -(-length // task.alphabet) / (length - 1)
    assert max(guesses.values()) / many < bound + 0.015


def test_sequences_come_again_out_of_so_many():
    task = Distance(sequences=40)
    seen = Counter(tuple(row) for step in range(20) for row in task.batch(1, step, 32, 12).inputs.tolist())
    assert len(seen) == 40
    other = Counter(tuple(row) for step in range(20) for row in task.batch(2, step, 32, 12).inputs.tolist())
    assert len(other) == 40 and not set(seen) & set(other)
    again = Distance(sequences=40).batch(1, 7, 32, 12)
    assert torch.equal(again.inputs, task.batch(1, 7, 32, 12).inputs)
    assert torch.equal(again.targets, task.batch(1, 7, 32, 12).targets)
    assert all(right(*row) for row in sequences(task, again))
    examples = task.examples("test", 12, 50).inputs
    assert torch.equal(examples, Distance().examples("test", 12, 50).inputs)
    assert task.describe()["training_sequences"] == 40 and "training_sequences" not in Distance().describe()


def test_a_batch_is_a_function_of_its_arguments():
    task = Distance()
    batch = task.batch(1, 2, 4, 12)
    torch.rand(5)
    assert torch.equal(batch.inputs, Distance().batch(1, 2, 4, 12).inputs)
    assert not torch.equal(batch.inputs, task.batch(1, 3, 4, 12).inputs)
    assert not torch.equal(batch.inputs, task.batch(2, 2, 4, 12).inputs)


def test_the_examples_of_the_docstring_are_sequences_of_the_task():
    text = ast.get_docstring(ast.parse(Path(module.__file__).read_text(encoding="utf-8")))
    shown = [line.partition(" -> ") for line in text.splitlines() if " -> " in line]
    assert len(shown) == 3
    for read, _, answer in shown:
        assert right(read.split(), answer.split()[0])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"alphabet": 1}, "2 or more"),
        ({"distances": 0}, "1 or more"),
        ({"sequences": 0}, "1 or more"),
        ({"distance": 3}, "did you mean 'distances'"),
    ],
)
def test_a_wrong_option_is_explained(options: dict, said: str):
    with pytest.raises(OptionError, match=said):
        tasks.create(Problem("distance", options))


def test_a_length_without_room_for_each_distance_is_refused():
    task = Distance(distances=5)
    with pytest.raises(OptionError, match="cannot hold this length"):
        task.batch(0, 0, 2, 5)
    assert len(task.examples("test", 6, 10).inputs) == 10


@pytest.mark.parametrize("causal", [False, True])
def test_it_takes_positions(causal: bool):
    """Of two small models, the one that sees distances learns it, and the other stays at chance where it is blind."""
    problem = Problem("distance", {"alphabet": 4, "distances": 2, "causal": causal})
    found = {}
    for encoding in ("rope", "none"):
        experiment = Experiment(
            encoding,
            task=problem,
            model=Model(width=32, depth=1, heads=2),
            training=Training(steps=120, batch=32, length=6, learning_rate=1e-2),
            measure=Measure(lengths=(6,), examples=400),
        )
        build.check(experiment, cpu=True)
        task = build.task_of(experiment)
        model = build.model(experiment, task)
        train(model, task, experiment, Accelerator(cpu=True))
        [row] = evaluate(model, task, experiment, torch.device("cpu")).lengths
        found[encoding] = row["exact"]
    assert found["rope"] > 0.9
    # Two of each symbol, one of them the answer; under a causal mask the number of tokens before is seen as well.
    assert found["none"] < (0.6 if causal else 0.4)
