"""What comes next found again where the last symbol stood before; sequences of several lengths that come again."""

import ast
from collections import Counter
from pathlib import Path

import pytest
import torch

from gnomon.errors import OptionError
from gnomon.lab import build, tasks
from gnomon.lab.experiment import Experiment, Measure, Model, Problem, Training
from gnomon.lab.task import IGNORED, Batch
from gnomon.lab.tasks import repeated as module
from gnomon.lab.tasks.copy import Copy
from gnomon.lab.tasks.repeated import Repeated

OPTIONS = [{}, {"alphabet": 6, "pattern": 3}, {"pattern": 4, "depth": 0.5}]
each = pytest.mark.parametrize("options", OPTIONS, ids=str)


def right(read: list[str], pattern: int) -> bool:
    """Whether the text ends in a pattern that stands in it once before, its symbols nowhere else."""
    text, again = read[1:-pattern], read[-pattern:]
    places = [[place for place, word in enumerate(text) if word == symbol] for symbol in again]
    once = all(len(found) == 1 for found in places)
    return read[0] == "<bos>" and once and [place for [place] in places] == [*range(places[0][0], places[-1][0] + 1)]


def sequences(task: Repeated, batch: Batch) -> list[list[str]]:
    """The words of each row with its last target, padding left out; exactly the second occurrence's rest is scored."""
    found = []
    for inputs, targets in zip(batch.inputs.tolist(), batch.targets.tolist(), strict=True):
        scored = [place for place, token in enumerate(targets) if token != IGNORED]
        assert scored == [*range(scored[0], scored[0] + task.pattern - 1)]
        last = scored[-1]
        whole = [*inputs[: last + 1], targets[last]]
        # Padding, or for the longest row nothing, after what is said last.
        assert all(task.symbols[token] == "<pad>" for token in inputs[last + 2 :])
        assert [whole[place + 1] for place in scored] == [targets[place] for place in scored]
        found.append([task.symbols[token] for token in whole])
    return found


@each
def test_every_pattern_stands_once_before(options: dict):
    task = tasks.create(Problem("repeated", options))
    rows = [row for step in range(8) for row in sequences(task, task.batch(0, step, 32, 16))]
    assert all(right(row, task.pattern) for row in rows)
    assert {len(row) - 1 for row in rows} == set(range(2 * task.pattern, 17))
    assert {word for row in rows for word in row} == {*task.symbols} - {"<pad>"}


@each
def test_the_first_occurrence_is_as_deep_as_told(options: dict):
    task = tasks.create(Problem("repeated", options))
    batch = task.examples("test", 21, 60)
    for row, group in zip(sequences(task, batch), batch.group.tolist(), strict=True):
        assert right(row, task.pattern) and len(row) == 22
        depth = float(task.groups[group].name.removeprefix("depth "))
        assert row.index(row[-task.pattern]) - 1 == round(depth * (21 - 2 * task.pattern))
    assert {group.name for group in task.groups if group.trained} == (
        {"depth 0.5"} if "depth" in options else {f"depth {d}" for d in (0, 0.25, 0.5, 0.75, 1)}
    )
    assert not torch.equal(batch.inputs, task.examples("validation", 21, 60).inputs)


def test_the_chance_is_what_the_commonest_answer_gives():
    task, many = Repeated(alphabet=5, pattern=3), 20_000
    answers = [tuple(row[-2:]) for row in sequences(task, task.examples("test", 6, many))]
    found = task.chance(6)
    assert max(Counter(answers).values()) / many == pytest.approx(found.exact, abs=0.01)
    for place in (0, 1):
        best = max(Counter(answer[place] for answer in answers).values())
        assert best / many == pytest.approx(found.token, abs=0.015)


def test_a_batch_is_a_function_of_its_arguments():
    batch = Repeated().batch(1, 2, 4, 20)
    torch.rand(5)
    assert torch.equal(batch.inputs, Repeated().batch(1, 2, 4, 20).inputs)
    assert not torch.equal(batch.inputs, Repeated().batch(1, 3, 4, 20).inputs)


@pytest.mark.parametrize("name", ["repeated", "copy"])
def test_sequences_of_several_lengths_come_again(name: str):
    """Also of a task with an answer after `<sep>`: whatever has `sequences` has so many."""
    task = Repeated(sequences=12) if name == "repeated" else Copy()
    task.sequences = 12
    batches = [task.batch(3, step, 16, 20) for step in range(12)]
    assert len({tuple(row) for batch in batches for row in batch.inputs.tolist()}) == 12
    assert len({int((row != IGNORED).nonzero()[-1]) for row in batches[0].targets}) > 3
    assert task.describe()["training_sequences"] == 12
    longer = task.batch(3, 0, 16, 24)
    assert longer.inputs.shape[1] > batches[0].inputs.shape[1]
    assert torch.equal(task.batch(3, 5, 16, 20).inputs, batches[5].inputs)


def test_the_example_of_the_docstring_is_a_sequence_of_the_task():
    text = ast.get_docstring(ast.parse(Path(module.__file__).read_text(encoding="utf-8")))
    [shown] = [line.partition("pattern=") for line in text.splitlines() if "<bos>" in line]
    assert right(shown[0].split(), int(shown[2][0]))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"pattern": 1}, "2 or more"),
        ({"pattern": 26}, "2 or more"),
        ({"depth": 1.5}, "0 to 1"),
        ({"sequences": 0}, "1 or more"),
    ],
)
def test_a_wrong_option_is_explained(options: dict, said: str):
    with pytest.raises(OptionError, match=said):
        tasks.create(Problem("repeated", options))


def test_a_length_without_room_for_two_patterns_is_refused():
    with pytest.raises(OptionError, match="cannot hold this length"):
        Repeated().batch(0, 0, 2, 11)
    assert len(Repeated().examples("test", 12, 5).inputs) == 5


def test_an_experiment_of_it_can_be_made():
    experiment = Experiment(
        "t5",
        task=Problem("repeated", {"sequences": 16}),
        model=Model(width=16, depth=1, heads=2),
        training=Training(steps=2, batch=4, length=16),
        measure=Measure(lengths=(16, 24), examples=8),
    )
    build.check(experiment, cpu=True)
