"""The three rules of the task, each worked out in plain Python: all are right in training, one is elsewhere."""

import ast
from collections import Counter
from pathlib import Path

import pytest
import torch

from gnomon.errors import OptionError
from gnomon.lab import build, tasks
from gnomon.lab.experiment import Experiment, Measure, Model, Problem, Training
from gnomon.lab.task import IGNORED, Batch
from gnomon.lab.tasks import shortcut as module
from gnomon.lab.tasks.shortcut import WINDOW, Shortcut

OPTIONS = [{}, {"classes": 13, "others": 3}, {"cue": "anywhere"}]
each = pytest.mark.parametrize("options", OPTIONS, ids=str)


def letters(read: list[str]) -> list[tuple[int, str]]:
    return [(place, word) for place, word in enumerate(read) if len(word) == 1 and word != "?"]


def by_content(read: list[str]) -> str:
    (most, twice), *others = Counter(word for _, word in letters(read)).most_common()
    assert twice == 2 and all(count == 1 for _, count in others)
    return most


def by_place(read: list[str]) -> str | None:
    """The first letter of places 0 to 5."""
    return next((word for place, word in letters(read) if place < 6), None)


def by_order(read: list[str]) -> str:
    return letters(read)[0][1]


def sequences(task: Shortcut, batch: Batch) -> list[tuple[list[str], str]]:
    found = []
    for inputs, targets in zip(batch.inputs, batch.targets.tolist(), strict=True):
        read = task.spell(inputs).split()
        [at] = [place for place, token in enumerate(targets) if token != IGNORED]
        assert read[at] == "?" and read.count("?") == 1
        assert len({word for _, word in letters(read)}) == task.classes
        found.append((read, task.symbols[targets[at]]))
    return found


@each
def test_the_letter_that_is_said_twice_is_the_answer_everywhere(options: dict):
    task = tasks.create(Problem("shortcut", options))
    batch = task.examples("test", 30, 60)
    assert all(by_content(read) == answer for read, answer in sequences(task, batch))
    for step in range(4):
        rows = sequences(task, task.batch(0, step, 64, 20))
        assert all(by_content(read) == answer and len(read) == 20 for read, answer in rows)


@each
def test_groups_say_where_the_cue_stands(options: dict):
    task = tasks.create(Problem("shortcut", options))
    batch = task.examples("test", 30, 60)
    starts = {"start": 0, "middle": 12, "end": 24}
    for (read, answer), group in zip(sequences(task, batch), batch.group.tolist(), strict=True):
        first = starts[task.groups[group].name]
        assert [place for place, word in letters(read) if word == answer] == [
            place for place, _ in letters(read) if first <= place < first + WINDOW
        ]
    trained = [group.trained for group in task.groups]
    anywhere = options.get("cue") == "anywhere"
    assert trained == ([True] * 3 if anywhere else [True, False, False])
    assert Counter(batch.group.tolist()) == ({0: 20, 1: 20, 2: 20} if anywhere else {0: 60, 1: 60, 2: 60})


def test_all_rules_are_right_in_training_and_only_content_elsewhere():
    task = Shortcut()
    for step in range(4):
        for read, answer in sequences(task, task.batch(0, step, 64, 24)):
            assert by_content(read) == by_place(read) == by_order(read) == answer
    batch = task.examples("test", 24, 400)
    rows = sequences(task, batch)
    for at, group in enumerate(task.groups):
        here = [row for row, which in zip(rows, batch.group.tolist(), strict=True) if which == at]
        share = {rule: sum(rule(read) == answer for read, answer in here) / 400 for rule in (by_place, by_order)}
        if group.trained:
            assert set(share.values()) == {1.0}
        else:
            assert max(share.values()) < task.chance(24).exact
        assert group.name != "end" or share[by_order] == share[by_place] == 0


def test_the_mark_and_the_cue_stand_at_every_place_and_at_no_fixed_distance():
    task = Shortcut()
    rows = [row for step in range(20) for row in sequences(task, task.batch(0, step, 64, 18))]
    assert {read.index("?") for read, _ in rows} == set(range(18))
    assert {read.index(answer) for read, answer in rows} == set(range(5))
    assert {read.index("?") - read.index(answer) for read, answer in rows} >= set(range(-4, 18)) - {0}
    free = Shortcut(cue="anywhere")
    rows = [row for step in range(20) for row in sequences(free, free.batch(0, step, 64, 18))]
    assert {read.index(answer) for read, answer in rows} == set(range(17))


def test_the_chance_is_that_of_the_commonest_class():
    task, many = Shortcut(classes=3), 6000
    counted = Counter(answer for _, answer in sequences(task, task.examples("test", 18, many // 3)))
    assert max(counted.values()) / many == pytest.approx(task.chance(18).exact, abs=0.03)
    assert task.chance(18).exact == task.chance(18).token


def test_a_batch_is_a_function_of_its_arguments_and_may_come_again():
    batch = Shortcut().batch(1, 2, 4, 24)
    torch.rand(5)
    assert torch.equal(batch.inputs, Shortcut().batch(1, 2, 4, 24).inputs)
    assert not torch.equal(batch.inputs, Shortcut().batch(1, 3, 4, 24).inputs)
    few = Shortcut(sequences=10)
    assert len({tuple(row) for step in range(9) for row in few.batch(0, step, 16, 24).inputs.tolist()}) == 10


def test_the_examples_of_the_docstring_are_sequences_of_the_task():
    text = ast.get_docstring(ast.parse(Path(module.__file__).read_text(encoding="utf-8")))
    shown = [line.partition(" -> ") for line in text.splitlines() if " -> " in line]
    assert len(shown) == 3
    for (read, _, answer), first in zip(shown, (0, 6, 12), strict=True):
        words, said = read.split(), answer.split()[0]
        assert len(words) == 18 and by_content(words) == said and words.count("?") == 1
        inside = [word for place, word in letters(words) if first <= place < first + WINDOW]
        assert inside == [said, said]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"classes": 1}, "2, 1 or more"),
        ({"others": 0}, "2, 1 or more"),
        ({"cue": "end"}, "start, anywhere"),
        ({"sequences": 0}, "1 or more"),
    ],
)
def test_a_wrong_option_is_explained(options: dict, said: str):
    with pytest.raises(OptionError, match=said):
        tasks.create(Problem("shortcut", options))


@pytest.mark.parametrize(("classes", "length"), [(4, 17), (13, 18)])
def test_a_length_without_room_is_refused(classes: int, length: int):
    task = Shortcut(classes=classes)
    with pytest.raises(OptionError, match="cannot hold this length"):
        task.batch(0, 0, 2, length)
    assert len(task.batch(0, 0, 2, length + 1).inputs) == 2


def test_an_experiment_of_it_can_be_made():
    experiment = Experiment(
        "learned",
        task=Problem("shortcut", {"sequences": 16}),
        model=Model(width=16, depth=1, heads=2),
        training=Training(steps=2, batch=4, length=18),
        measure=Measure(lengths=(18, 24), examples=8),
    )
    build.check(experiment, cpu=True)
