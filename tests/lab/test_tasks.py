"""Every answer worked out again in plain Python, from the words of a sequence; chances from many answers."""

import ast
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import torch

from gnomon.errors import OptionError
from gnomon.lab import tasks
from gnomon.lab.experiment import Problem
from gnomon.lab.task import IGNORED, Batch
from gnomon.lab.tasks.sequences import Sequences

FOLDER = Path(tasks.__file__).parent

SEVERAL = {
    "copy": [{}, {"alphabet": 2}, {"alphabet": 40, "unique": True}],
    "reverse": [{}, {"alphabet": 30, "unique": True}],
    "sort": [{"alphabet": 30}, {"alphabet": 3, "unique": False}],
    "parity": [{}],
    "count": [{"alphabet": 2}, {"alphabet": 5}, {"alphabet": 3, "ask": "number"}],
    "recall": [{"keys": 12, "values": 5}, {"keys": 12, "values": 3, "depth": 0.5}],
    "passkey": [{"digits": 2}, {"digits": 3, "alphabet": 4, "depth": 0.1}],
    "addition": [
        *({"order": order, "hints": hints} for order in ("plain", "reversed") for hints in (0, 20)),
        {"shift": 2, "measured_shifts": (0, 5)},
        {"base": 2},
    ],
    "multiplication": [
        *({"order": order, "hints": hints} for order in ("plain", "reversed") for hints in (0, 30)),
        {"base": 3, "shift": 1},
    ],
}
APART = {name for name in tasks.TASKS if Path(__file__).with_name(f"test_{name}.py").is_file()} | {"ecg"}
"""Tasks of other forms, each with a test file of its own; `ecg` shares that of `series`."""
CASES = [(name, options) for name, several in SEVERAL.items() for options in several]
each = pytest.mark.parametrize(("name", "options"), CASES, ids=lambda value: str(value))


def made(name: str, options: dict) -> Sequences:
    return tasks.create(Problem(name, options))


def sequences(task: Sequences, batch: Batch) -> list[tuple[list[str], list[str]]]:
    """(x, answer) of each row in words; the answer ends with <eos>, and is exactly what is scored."""
    words = (*task.symbols, "<bos>", "<sep>", "<eos>", "<pad>")
    found = []
    for inputs, targets in zip(batch.inputs.tolist(), batch.targets.tolist(), strict=True):
        read = [words[token] for token in inputs]
        at = read.index("<sep>")
        assert read[0] == "<bos>" and set(targets[:at]) <= {IGNORED}
        answer = [words[token] for token in targets[at:] if token != IGNORED]
        assert answer[-1] == "<eos>" and targets[at + len(answer) :] == [IGNORED] * (len(targets) - at - len(answer))
        # What is read after the answer's first token is the right answer so far, then padding.
        assert read[at + 1 :] == ([*answer, *["<pad>"] * len(read)])[: len(read) - at - 1]
        found.append((read[1:at], answer[:-1]))
    return found


def value(words: list[str], options: dict) -> int:
    """A written number, its blanks and hints left out."""
    digits = [word for word in words if word != "_" and not word.startswith("h")]
    digits = digits if options.get("order") == "reversed" else digits[::-1]
    return sum(int(digit) * options.get("base", 10) ** place for place, digit in enumerate(digits))


def numbers(x: list[str], sign: str, options: dict) -> tuple[int, int]:
    at = x.index(sign)
    return value(x[:at], options), value(x[at + 1 :], options)


def right(name: str, x: list[str], answer: list[str], options: dict) -> bool:
    """Whether an answer is right, by other means than those of the task."""
    if name == "copy":
        return answer == x
    if name == "reverse":
        return answer == x[::-1]
    if name == "sort":
        return answer == sorted(x, key=lambda word: int(word[1:]) if word[1:] else ord(word))
    if name == "parity":
        return answer == [str(x.count("1") % 2)]
    if name == "count" and options.get("ask") == "number":
        return answer == list(str(x.count("a")))
    if name == "count":
        (first, most), *others = Counter(x).most_common()
        return answer == [first] and all(count < most for _, count in others)
    if name == "recall":
        assert len(set(x[:-2:2])) == len(x) // 2 - 1 and x[-2] == "?"
        return answer == [dict(zip(x[:-2:2], x[1:-2:2], strict=True))[x[-1]]]
    if name == "passkey":
        return answer == x[x.index("[") + 1 : x.index("]")] and x[-1] == "?"
    a, b = numbers(x, "+" if name == "addition" else "*", options)
    return value(answer, options) == (a + b if name == "addition" else a * b)


def content(name: str, x: list[str]) -> int:
    """The length of a content, as the task counts it."""
    if name in ("addition", "multiplication"):
        return sum(word.isdigit() for word in x) // 2
    return {"recall": (len(x) - 2) // 2, "passkey": len(x) - 1}.get(name, len(x))


@each
def test_every_answer_is_right_and_every_length_is_drawn(name: str, options: dict):
    task = made(name, options)
    found = [pair for step in range(8) for pair in sequences(task, task.batch(3, step, 32, 9))]
    assert all(right(name, x, answer, options) for x, answer in found)
    assert {content(name, x) for x, _ in found} == set(range(task.shortest, 10))
    words = Counter(word for x, _ in found for word in x)
    unused = {f"h{n}" for n in range(100)}
    assert {word for word in task.symbols if word not in words} <= unused | {"_", *"0123456789"}


@each
def test_examples_have_their_length_and_are_not_those_of_training(name: str, options: dict):
    task = made(name, options)
    batch = task.examples("test", 10, 40)
    found = sequences(task, batch)
    assert all(right(name, x, answer, options) and content(name, x) == 10 for x, answer in found)
    assert torch.equal(batch.inputs, task.examples("test", 10, 40).inputs)
    assert not torch.equal(batch.inputs, task.examples("validation", 10, 40).inputs)
    trained = {tuple(x) for step in range(8) for x, _ in sequences(task, task.batch(0, step, 32, 10))}
    if name not in ("parity", "count", "copy") and options.get("base", 10) == 10:
        assert not trained & {tuple(x) for x, _ in found}
    if not task.groups:
        assert batch.group is None and len(found) == 40
    else:
        counted = Counter(task.groups[at] for at in batch.group.tolist())
        assert set(counted) == set(task.groups)
        assert sum(n for group, n in counted.items() if group.trained) == 40
        assert all(n == 40 for group, n in counted.items() if not group.trained)


@each
def test_a_batch_is_a_function_of_its_arguments(name: str, options: dict):
    task, other = made(name, options), made(name, options)
    batch = task.batch(1, 2, 4, 9)
    torch.rand(5)
    again = other.batch(1, 2, 4, 9)
    assert torch.equal(batch.inputs, again.inputs) and torch.equal(batch.targets, again.targets)
    assert not torch.equal(batch.inputs, task.batch(2, 2, 4, 9).inputs)
    assert int(batch.inputs.max()) < task.vocabulary and int(batch.inputs.min()) >= 0


MANY = 20_000
SHORT = {"passkey": 6, "multiplication": 1}


@each
def test_the_chance_is_what_the_commonest_answer_gives(name: str, options: dict):
    """Counted over many answers of a length so short that each of them occurs often."""
    task, length = made(name, options), SHORT.get(name, 2)
    batch = task.examples("validation", length, MANY)
    if batch.group is not None:
        batch = batch.rows((batch.group == next(i for i, g in enumerate(task.groups) if g.trained)).nonzero()[:, 0])
    answers = [tuple(token for token in row if token != IGNORED) for row in batch.targets.tolist()]
    whole = Counter(answers)
    best, counted = 0, 0
    for place in range(max(map(len, answers))):
        here = Counter(answer[place] for answer in answers if place < len(answer))
        best, counted = best + max(here.values()), counted + sum(here.values())
    found = task.chance(length)
    few = 5 / len(answers) ** 0.5
    # The largest of several counts lies a little above what each is expected to be.
    assert found.exact - few * found.exact**0.5 <= max(whole.values()) / len(answers) <= found.exact + few
    assert abs(best / counted - found.token) < few


@pytest.mark.parametrize("name", SEVERAL)
def test_the_examples_of_the_docstring_are_sequences_of_the_task(name: str):
    text = ast.get_docstring(ast.parse((FOLDER / f"{name}.py").read_text(encoding="utf-8")))
    shown = [line.strip() for line in text.splitlines() if line.strip().startswith("<bos>")]
    assert shown
    for line in shown:
        sequence, _, told = line.partition("<eos>")
        options = {word.partition("=")[0]: word.partition("=")[2] for word in told.split() if "=" in word}
        x, _, answer = sequence.removeprefix("<bos>").partition("<sep>")
        assert right(name, x.split(), answer.split(), options), line


def test_the_marks_of_equal_places_are_equal():
    task = made("addition", {"order": "plain", "hints": 20})
    for x, answer in sequences(task, task.examples("test", 4, 20)):
        at, marks = x.index("+"), answer[::2]
        assert [int(mark[1:]) for mark in marks] == list(range(int(marks[0][1:]), int(marks[0][1:]) + 5))
        assert x[:at:2] == x[at + 1 :: 2] == marks[1:]
    assert len({answer[0] for _, answer in sequences(task, task.examples("test", 4, 200))}) == 16
    task = made("multiplication", {"order": "reversed", "hints": 20})
    for x, answer in sequences(task, task.examples("test", 4, 20)):
        assert x[: x.index("*") : 2] == answer[:8:2] and len(answer) == 16


def test_operands_are_shifted_as_told():
    task = made("addition", {"shift": 2, "measured_shifts": [0, 5]})
    assert {x.count("_") for x, _ in sequences(task, task.batch(0, 0, 20, 6))} == {2}
    batch = task.examples("test", 6, 20)
    for (x, _), at in zip(sequences(task, batch), batch.group.tolist(), strict=True):
        shift = int(task.groups[at].name.removeprefix("shift "))
        assert x[:shift] == ["_"] * shift and "_" not in x[shift:]
    assert [group.trained for group in task.groups] == [True, False, False]


@pytest.mark.parametrize(("name", "asked"), [("passkey", "["), ("recall", None)])
def test_what_is_asked_for_lies_as_deep_as_told(name: str, asked: str | None):
    task = made(name, SEVERAL[name][1])
    batch = task.examples("test", 9, 30)
    seen = set()
    for (x, _), at in zip(sequences(task, batch), batch.group.tolist(), strict=True):
        place, last = (x.index(asked), 4) if asked else (x.index(x[-1]) // 2, 8)
        depth = float(task.groups[at].name.removeprefix("depth "))
        assert place == round(depth * last)
        seen.add(depth)
    assert {0.0, 0.25, 0.5, 0.75, 1.0} <= seen
    assert [float(g.name.removeprefix("depth ")) for g in task.groups if g.trained] == [SEVERAL[name][1]["depth"]]


@pytest.mark.parametrize(
    ("name", "options", "length"),
    [
        ("copy", {"alphabet": 9, "unique": True}, 10),
        ("sort", {"alphabet": 9}, 10),
        ("recall", {"keys": 9}, 10),
        ("passkey", {}, 6),
        ("addition", {"hints": 9}, 9),
        ("multiplication", {"hints": 8}, 5),
        ("parity", {}, 0),
    ],
)
def test_a_length_that_the_task_cannot_hold_is_refused(name: str, options: dict, length: int):
    task = made(name, options)
    for ask in (task.check_length, lambda n: task.batch(0, 0, 2, n), lambda n: task.examples("test", n, 2)):
        with pytest.raises(OptionError, match="cannot hold this length"):
            ask(length)
    nearest = length + 1 if length <= task.shortest else length - 1
    assert len(task.examples("test", nearest, 4).inputs) >= 4


@pytest.mark.parametrize(
    ("problem", "said"),
    [
        (Problem("cpy"), "did you mean 'copy'"),
        (Problem("copy", {"alphabt": 3}), "did you mean 'alphabet'"),
        (Problem("copy", {"alphabet": 1}), "2 or more"),
        (Problem("copy", {"alphabet": "x"}), "whole number"),
        (Problem("copy", path="x.jsonl"), "reads no file"),
        (Problem("addition", {"order": "up"}), "plain, reversed"),
        (Problem("addition", {"shift": -1}), "0 or more"),
        (Problem("multiplication", {"hints": 3}), "even"),
        (Problem("passkey", {"depth": 2}), "0 to 1"),
        (Problem("recall", {"values": 1}), "2 or more"),
        (Problem("jsonl"), "needs path"),
    ],
)
def test_a_wrong_option_is_explained(problem: Problem, said: str):
    with pytest.raises(OptionError, match=said):
        tasks.create(problem)


def test_every_task_has_a_file_and_a_case_here_or_tests_of_its_own():
    files = {path.stem for path in FOLDER.glob("*.py")}
    assert set(tasks.TASKS) <= files
    assert set(SEVERAL) == set(tasks.TASKS) - APART


def test_naming_tasks_takes_no_torch():
    code = "import sys, gnomon.lab.tasks; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
