"""What is hidden is the text's own; how much, and by what, counted; which documents windows are of."""

import ast
from collections import Counter
from pathlib import Path

import pytest
import torch
from accelerate import Accelerator

from gnomon.errors import DataError, OptionError
from gnomon.lab import build, corpus, tasks
from gnomon.lab.answers import evaluate
from gnomon.lab.experiment import Experiment, Measure, Model, Problem, Training
from gnomon.lab.task import IGNORED, Batch
from gnomon.lab.tasks import masked as module
from gnomon.lab.tasks.masked import MASK, Masked
from gnomon.lab.train import train


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twenty documents, each of a letter of its own between words that all have."""
    path = tmp_path_factory.mktemp("texts")
    for n in range(20):
        letter = "abcdefghijklmnopqrst"[n]
        (path / f"{n}.txt").write_text(f"{letter}{letter}{letter} casts, a sha-dow "[: 20 + n % 3] * (40 + n))
    return path


def originals(batch: Batch) -> list[bytes]:
    whole = torch.where(batch.targets == IGNORED, batch.inputs, batch.targets)
    assert int(whole.max()) < MASK
    return [bytes(row) for row in whole.tolist()]


@pytest.mark.parametrize("whole_words", [False, True])
def test_windows_are_the_texts_own_and_no_part_has_anothers(folder: Path, whole_words: bool):
    task = Masked(str(folder), whole_words)
    known = corpus.own(folder)
    assert task.corpus == known and task.vocabulary == 257 and task.causal is False
    drawn = {
        "train": [window for step in range(8) for window in originals(task.batch(0, step, 64, 40))],
        "validation": originals(task.examples("validation", 40, 300)),
        "test": originals(task.examples("test", 40, 300)),
    }
    for part, windows in drawn.items():
        documents = known.parts()[part]
        assert all(len(window) == 40 and any(window in document for document in documents) for window in windows)
        # Every document is drawn from: each has a letter that is its own.
        reached = {document for document in documents for window in windows if window in document}
        assert reached == set(documents)
        assert not any(
            window in document
            for name in drawn
            if name != part
            for document in known.parts()[name]
            for window in windows
        )


@pytest.mark.parametrize("whole_words", [False, True])
@pytest.mark.parametrize(("length", "chosen"), [(1, 1), (6, 1), (20, 3), (64, 10)])
def test_as_many_bytes_are_scored_as_in_bert(folder: Path, whole_words: bool, length: int, chosen: int):
    task = Masked(str(folder), whole_words)
    scored = (task.batch(0, 0, 400, length).targets != IGNORED).double()
    assert set(scored.sum(dim=1).tolist()) == {chosen}
    # Every place of a window is as likely as any other, within five standard errors; a word is chosen as a whole.
    if not whole_words:
        share = chosen / length
        assert (scored.mean(dim=0) - share).abs().max() <= 5 * (share * (1 - share) / 400) ** 0.5 + 1e-9


def test_bytes_are_hidden_drawn_or_kept_as_in_bert(folder: Path):
    batch = Masked(str(folder)).batch(0, 0, 2000, 64)
    scored = batch.targets != IGNORED
    read, said = batch.inputs[scored], batch.targets[scored]
    many = len(said)
    assert (read == MASK).double().mean() == pytest.approx(0.8, abs=5 * (0.16 / many) ** 0.5)
    # A byte drawn at random is the right one in one of 256 cases.
    assert (read == said).double().mean() == pytest.approx(0.1 + 0.1 / 256, abs=5 * (0.09 / many) ** 0.5)
    others = Counter(read[(read != MASK) & (read != said)].tolist())
    assert len(others) == 256 and max(others.values()) < 4 * many * 0.1 / 256
    assert not (batch.inputs[~scored] == MASK).any()


def test_whole_words_are_chosen_together(folder: Path):
    """All of a word but at most one a row, which is cut where there are enough bytes; others stand alone."""
    batch = Masked(str(folder), whole_words=True).batch(0, 0, 300, 60)
    together = 0
    for window, targets in zip(originals(batch), batch.targets.tolist(), strict=True):
        chosen = [token != IGNORED for token in targets]
        words, begun = [], None
        for at, byte in enumerate([*window, ord(" ")]):
            if chr(byte).isalnum():
                begun = at if begun is None else begun
            elif begun is not None:
                words.append(chosen[begun:at])
                begun = None
        assert sum(any(word) and not all(word) for word in words) <= 1
        together += sum(all(word) and len(word) > 1 for word in words)
    assert together > 300


def test_the_chance_is_that_of_the_commonest_byte(folder: Path):
    task = Masked(str(folder))
    answers = [[token for token in row if token != IGNORED] for row in task.batch(0, 0, 20_000, 6).targets.tolist()]
    counted = Counter(answer for [answer] in answers)
    found = task.chance(6)
    assert max(counted.values()) / len(answers) == pytest.approx(found.token, abs=0.02)
    assert found.exact == found.token and task.chance(20).exact == pytest.approx(found.token**3)
    everything = Counter(b"".join(corpus.own(folder).train))
    assert found.token == pytest.approx(max(everything.values()) / sum(everything.values()))


def test_a_batch_is_a_function_of_its_arguments(folder: Path):
    task, again = Masked(str(folder)), Masked(str(folder))
    batch = task.batch(1, 2, 4, 30)
    torch.rand(5)
    assert torch.equal(batch.inputs, again.batch(1, 2, 4, 30).inputs)
    assert torch.equal(batch.targets, again.batch(1, 2, 4, 30).targets)
    assert not torch.equal(batch.inputs, task.batch(1, 3, 4, 30).inputs)
    examples = task.examples("test", 30, 9)
    assert torch.equal(examples.inputs, again.examples("test", 30, 9).inputs)
    assert not torch.equal(examples.inputs, task.examples("validation", 30, 9).inputs)


def test_a_fraction_of_each_document_is_trained_on_and_nothing_less_is_measured(folder: Path):
    whole, tenth = Masked(str(folder)), Masked(str(folder), fraction=0.1)
    for used, document in zip(tenth.corpus.train, whole.corpus.train, strict=True):
        assert document.startswith(used) and len(used) == round(len(document) / 10)
    assert torch.equal(whole.examples("test", 30, 9).inputs, tenth.examples("test", 30, 9).inputs)
    windows = originals(tenth.batch(0, 0, 200, 30))
    assert all(any(window in used for used in tenth.corpus.train) for window in windows)


def test_a_window_that_no_document_has_room_for_is_refused(folder: Path):
    task = Masked(str(folder), fraction=0.1)
    longest = max(map(len, task.corpus.train))
    assert task.batch(0, 0, 2, longest).inputs.shape == (2, longest)
    with pytest.raises(DataError, match=f"at most {longest}"):
        task.batch(0, 0, 2, longest + 1)
    assert task.examples("test", longest + 1, 2).inputs.shape[1] == longest + 1


@pytest.mark.parametrize(("options", "said"), [({"fraction": 0.0}, "above 0"), ({"fraction": 1.5}, "at most 1")])
def test_a_wrong_option_is_explained(folder: Path, options: dict, said: str):
    with pytest.raises(OptionError, match=said):
        tasks.create(Problem("masked", options, path=str(folder)))


def test_the_example_of_the_docstring_is_a_window_of_the_task():
    text = ast.get_docstring(ast.parse(Path(module.__file__).read_text(encoding="utf-8")))
    [shown] = [line.strip() for line in text.splitlines() if " -> " in line]
    read, _, said = shown.partition(" -> ")
    assert len(read) == 19 and read.count("_") == max(1, round(0.15 * len(read)))
    for answer in said.split(", "):
        read = read.replace("_", " " if answer == "a space" else answer, 1)
    assert read == "To be, or not to be"


def test_an_experiment_of_it_is_pinned_to_its_text_and_learns_some_of_it(folder: Path):
    experiment = Experiment(
        "rope",
        task=Problem("masked", path=str(folder)),
        model=Model(width=32, depth=1, heads=2),
        training=Training(steps=60, batch=16, length=32, learning_rate=1e-2),
        measure=Measure(lengths=(32, 48), examples=100),
    )
    [pinned] = corpus.pin([experiment])
    assert pinned.task.digest is not None and pinned.task.digest != experiment.task.digest
    build.check(pinned, cpu=True)
    task = build.task_of(pinned)
    assert {"unigram_loss", "form", "bytes"} <= task.describe().keys()
    model = build.model(pinned, task)
    train(model, task, pinned, Accelerator(cpu=True))
    row = evaluate(model, task, pinned, torch.device("cpu")).lengths[0]
    assert row["token_accuracy"] > row["chance_token"] + 0.2
    assert row["loss"] < task.describe()["unigram_loss"]["test"] - 0.3
