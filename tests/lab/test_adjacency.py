"""Every answer found again by reading; what one word's place, and both words' presence, are worth."""

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
from gnomon.lab.tasks import adjacency as module
from gnomon.lab.tasks.adjacency import Adjacency
from gnomon.lab.train import train

OPTIONS = [{}, {"pairs": 1, "others": 3}]
each = pytest.mark.parametrize("options", OPTIONS, ids=str)


def pair(read: list[str]) -> tuple[int, int]:
    """Where the two words of the one pair stand."""
    [first] = [place for place, word in enumerate(read) if word.startswith("deep")]
    [second] = [place for place, word in enumerate(read) if word.startswith("learning")]
    assert read[first].removeprefix("deep") == read[second].removeprefix("learning")
    return first, second


def right(read: list[str], answer: str) -> bool:
    text = " ".join(read)
    return answer == ("yes" if any(f"deep{n} learning{n}" in text for n in ("", *range(2, 9))) else "no")


def sequences(task: Adjacency, batch: Batch) -> list[tuple[list[str], str]]:
    found = []
    for inputs, targets in zip(batch.inputs, batch.targets.tolist(), strict=True):
        read = task.spell(inputs).split()
        [at] = [place for place, token in enumerate(targets) if token != IGNORED]
        assert at == pair(read)[1]
        found.append((read, task.symbols[targets[at]]))
    return found


@each
def test_every_answer_is_right(options: dict):
    task = tasks.create(Problem("adjacency", options))
    found = [row for step in range(8) for row in sequences(task, task.batch(0, step, 64, 8))]
    assert all(right(*row) and len(row[0]) == 8 for row in found)
    assert Counter(answer for _, answer in found)["yes"] / len(found) == pytest.approx(0.5, abs=0.1)
    # The second word at every distance from the first, on both sides.
    assert {second - first for first, second in (pair(read) for read, _ in found)} == {*range(-5, 0), *range(1, 7)}
    words = {word for read, _ in found for word in read}
    assert words == {*task.symbols} - {"yes", "no"}


@each
def test_groups_are_pairs_together_and_apart(options: dict):
    task = tasks.create(Problem("adjacency", options))
    batch = task.examples("test", 12, 60)
    for (read, answer), group in zip(sequences(task, batch), batch.group.tolist(), strict=True):
        assert right(read, answer)
        assert task.groups[group].name == ("adjacent" if answer == "yes" else "apart")
    assert Counter(batch.group.tolist()) == {0: 30, 1: 30}
    assert not torch.equal(batch.inputs, task.examples("validation", 12, 60).inputs)


@pytest.mark.parametrize("length", [4, 5, 9])
def test_neither_the_words_nor_one_place_tells_the_answer(length: int):
    """For every place of either word, the answers are even; and which words there are is the same for both."""
    task, many = Adjacency(others=2, pairs=1), 6_000
    rows = sequences(task, task.examples("test", length, many))
    placed = Counter((word, at, answer) for read, answer in rows for word, at in zip("12", pair(read), strict=True))
    for word, first in (("1", 0), ("2", 1)):
        for at in range(first, first + length - 1):
            yes, no = (placed[word, at, answer] for answer in ("yes", "no"))
            assert abs(yes - no) < 5 * (yes + no) ** 0.5
        assert sum(count for (of, _, _), count in placed.items() if of == word) == many
    bags = Counter((tuple(sorted(read)), answer) for read, answer in rows)
    for bag, _ in bags:
        assert abs(bags[bag, "yes"] - bags[bag, "no"]) < 5 * (bags[bag, "yes"] + bags[bag, "no"]) ** 0.5
    assert Counter(answer for _, answer in rows).most_common(1)[0][1] / many == task.chance(length).exact


def test_a_batch_is_a_function_of_its_arguments_and_may_come_again():
    batch = Adjacency().batch(1, 2, 4, 12)
    torch.rand(5)
    assert torch.equal(batch.inputs, Adjacency().batch(1, 2, 4, 12).inputs)
    assert not torch.equal(batch.inputs, Adjacency().batch(1, 3, 4, 12).inputs)
    few = Adjacency(sequences=10)
    assert len({tuple(row) for step in range(9) for row in few.batch(0, step, 16, 12).inputs.tolist()}) == 10


def test_the_examples_of_the_docstring_are_sequences_of_the_task():
    text = ast.get_docstring(ast.parse(Path(module.__file__).read_text(encoding="utf-8")))
    shown = [line.partition(" -> ") for line in text.splitlines() if " -> " in line]
    assert {answer.split()[0] for _, _, answer in shown} == {"yes", "no"}
    for read, _, answer in shown:
        pair(read.split())
        assert right(read.split(), answer.split()[0])


@pytest.mark.parametrize(
    ("options", "said"),
    [({"pairs": 0}, "1 or more"), ({"others": 0}, "1 or more"), ({"sequences": -1}, "1 or more")],
)
def test_a_wrong_option_is_explained(options: dict, said: str):
    with pytest.raises(OptionError, match=said):
        tasks.create(Problem("adjacency", options))


def test_a_length_without_room_is_refused():
    with pytest.raises(OptionError, match="cannot hold this length"):
        Adjacency().batch(0, 0, 2, 3)


def test_it_takes_positions():
    found = {}
    for encoding in ("rope", "none"):
        experiment = Experiment(
            encoding,
            task=Problem("adjacency", {"pairs": 1, "others": 4}),
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
    assert found["rope"] > 0.9 and found["none"] < 0.6
