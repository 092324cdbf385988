"""Tasks with answers as experiments: one value with one hash, trained and measured, with classes of the user's own."""

import hashlib
import json
import math
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from accelerate import Accelerator

from gnomon.errors import DataError, OptionError, UserError
from gnomon.lab import build, corpus
from gnomon.lab.experiment import Experiment, Measure, Model, Problem, Training, hash_of
from gnomon.lab.parts import canonical
from gnomon.lab.places import laid
from gnomon.lab.presets import adjusted, problem, quick
from gnomon.lab.seeds import generator
from gnomon.lab.store import Store
from gnomon.lab.task import IGNORED
from gnomon.lab.train import Stopped, Watch, _weight, train
from tests.lab.toys import make, results

MINE = '''
import torch
from gnomon import positions
from gnomon.lab.task import Batch, Chance, Task

class Column(Task):
    """Which of three columns of a grid is bright: real-valued cells, seen both ways, the grid's own places."""
    vocabulary, features, causal = 3, 1, False

    def __init__(self, noise: float = 0.1):
        self.noise = noise

    def _drawn(self, seed, count, rows):
        draw = torch.Generator().manual_seed(seed)
        bright = torch.randint(3, (count,), generator=draw)
        cells = self.noise * torch.randn(count, rows, 3, generator=draw)
        cells = cells + torch.nn.functional.one_hot(bright, 3)[:, None]
        targets = torch.full((count, 3 * rows), -100)
        targets[:, 0] = bright
        return Batch(cells.flatten(1)[..., None], targets, positions.grid(rows, 3))

    def batch(self, seed, step, count, length):
        return self._drawn(1000 * seed + step, count, length)

    def examples(self, part, length, count):
        return self._drawn(-1, count, length)

    def chance(self, length):
        return Chance(1 / 3, 1 / 3)
'''


def toy(task: Problem, encoding: str = "rope", options: dict | None = None, **changes) -> Experiment:
    training = {"steps": 12, "batch": 4, "length": 4, "learning_rate": 3e-3}
    measure = {"lengths": (2, 4, 6), "examples": 12}
    training |= {name: changes.pop(name) for name in list(changes) if name in Training.__dataclass_fields__}
    measure |= {name: changes.pop(name) for name in list(changes) if name in Measure.__dataclass_fields__}
    [pinned] = corpus.pin(
        [
            Experiment(
                encoding,
                options or {},
                task,
                Model(width=16, depth=1, heads=2, **changes),
                Training(**training),
                Measure(**measure),
            )
        ]
    )
    return pinned


COPY = Problem("copy", {"alphabet": 5})


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(MINE)
    return tmp_path / "mine.py"


def test_the_hash_of_a_problem_is_fixed():
    """Every stored run hangs on this. Where it changes on purpose, raise `experiment.FORMAT` with it."""
    experiment = Experiment("rope", task=Problem("addition", {"order": "reversed", "shift": 1.0}))
    written = (
        '{"code":null,"encoding":"rope","format":3,'
        '"measure":{"examples":512,"lengths":[64,128,160,256,512,1024],"part":"test"},'
        '"model":{"backend":"auto","depth":2,"dropout":0.0,"feed_forward":null,"heads":4,"kv_heads":null,'
        '"scale_embeddings":true,"table":1.0,"tied":true,"width":64},"options":{},"seed":0,'
        '"task":{"digest":null,"kind":"problem","name":"addition","options":{"order":"reversed","shift":1}},'
        '"training":{"batch":16,"clip":1.0,"floor":0.1,"learning_rate":0.003,"length":128,"precision":"fp32",'
        '"randomised":null,"steps":1000,"warmup":0.1,"weight_decay":0.1}}'
    )
    assert experiment.hash == hashlib.sha256(written.encode()).hexdigest()[:16]


def test_json_and_copies_give_the_same_experiment_back():
    for task in (COPY, Problem("addition", {"measured_shifts": [1, 2]}), Problem("mine.py:Own", digest="0" * 64)):
        experiment = Experiment("rope", task=task, measure=Measure(lengths=(4,), examples=7))
        for again in (
            Experiment.from_json(json.loads(canonical(experiment.to_json()))),
            pickle.loads(pickle.dumps(experiment)),
        ):
            assert again == experiment and again.hash == experiment.hash and hash(again) == hash(experiment)
        assert hash_of(json.loads(json.dumps(experiment.to_json()))) == experiment.hash


def test_whatever_changes_the_task_changes_the_hash_and_its_place_does_not():
    hashes = {
        Experiment("rope", task=task, measure=measure).hash
        for task in (COPY, Problem("copy", {"alphabet": 6}), Problem("reverse", {"alphabet": 5}))
        for measure in (Measure(), Measure(examples=7))
    }
    assert len(hashes) == 6
    here, there = (Experiment("rope", task=Problem(f"{at}/own.py:Own", digest="0")) for at in ("a", "b"))
    assert here.hash == there.hash != Experiment("rope", task=Problem("own.py:Own", digest="1")).hash
    here, there = (Experiment("rope", task=Problem("jsonl", path=path, digest="0")) for path in ("a", "b"))
    assert here.hash == there.hash


def test_names_tell_the_task():
    experiment = Experiment("rope", {"theta": 5}, Problem("addition", {"order": "reversed", "measured_shifts": [1, 2]}))
    assert experiment.label == "rope theta=5"
    assert experiment.title == "rope theta=5 on addition measured_shifts=1,2 order=reversed"
    assert Problem("a/b/own.py:Own").label == "Own"


@pytest.mark.parametrize("task", [Problem("jsonl", path="x"), Problem("own.py:Own")])
def test_what_is_read_must_be_pinned(task: Problem):
    with pytest.raises(ValueError, match="pin"):
        _ = Experiment("rope", task=task).hash


@pytest.mark.parametrize(
    ("task", "measure", "said"),
    [(COPY, Measure(bytes=7), "bytes is of text"), (None, Measure(examples=7), "examples is of tasks with answers")],
)
def test_what_is_measured_of_another_kind_of_task_is_refused(task: Problem | None, measure: Measure, said: str):
    with pytest.raises(OptionError, match=said):
        Experiment("rope", measure=measure, **({} if task is None else {"task": task}))


def test_data_and_code_are_pinned(tmp_path: Path, mine: Path):
    assert corpus.digest_of(COPY) is None
    (tmp_path / "pairs.jsonl").write_text('{"input": "a", "target": "b"}\n')
    pairs = Problem("jsonl", path=str(tmp_path / "pairs.jsonl"))
    own, before = Problem(f"{mine}:Column"), corpus.digest_of(pairs)
    code = corpus.digest_of(own)
    (tmp_path / "pairs.jsonl").write_text('{"input": "a", "target": "c"}\n')
    mine.write_text(MINE + "\n# changed\n")
    assert corpus.digest_of(pairs) != before and corpus.digest_of(own) != code
    for task in (pairs, own):
        with pytest.raises(DataError, match="has changed"):
            build.task_of(Experiment("rope", task=Problem(task.name, path=task.path, digest="0" * 64)))
    with pytest.raises(OptionError, match="no such file with a task"):
        corpus.digest_of(Problem(f"{tmp_path}/nowhere.py:Mine"))
    with pytest.raises(DataError, match="jsonl reads a file"):
        corpus.digest_of(Problem("jsonl"))


def test_experiments_with_tasks_are_read_without_torch():
    code = """
import sys
from gnomon.lab import corpus, presets
experiments = presets.adjusted(presets.quick(), task=presets.problem(["copy", "alphabet=5"]))
corpus.pin(experiments)
sys.exit('torch' in sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_task_from_the_command_line():
    assert problem(["addition", "order=reversed", "hints=30", "measured_shifts=[1, 2]"]) == Problem(
        "addition", {"order": "reversed", "hints": 30, "measured_shifts": [1, 2]}
    )
    assert problem(["jsonl", "path=a.jsonl"]) == Problem("jsonl", path="a.jsonl")
    with pytest.raises(OptionError, match="name=value"):
        problem(["copy", "alphabet"])
    found = adjusted(quick(), task=COPY, length=8)
    assert {e.task for e in found} == {COPY} and {e.training.length for e in found} == {8}
    assert found[0].measure.lengths == (4, 8, 10, 12, 16, 24)
    assert {e.training.steps for e in adjusted(found, task=Problem("sort"), steps=5)} == {5}
    assert adjusted(found, task=Problem("sort"))[0].measure.lengths == (4, 8, 10, 12, 16, 24)
    back = adjusted(found, text="book.txt")[0]
    assert back.measure == Measure(lengths=(*Measure().lengths,)) and back.training == Training()
    with pytest.raises(OptionError, match="one task"):
        adjusted(quick(), text="book.txt", task=COPY)


def trained(experiment: Experiment, watch: Watch = Watch()) -> tuple[dict, list[float]]:
    task = build.task_of(experiment)
    model, history = train(build.model(experiment, task), task, experiment, Accelerator(cpu=True), watch)
    assert len(history.tokens) == len(history.losses)
    return model.state_dict(), history.losses


def test_the_loss_is_that_of_the_answers():
    """The mean over scored tokens of what the untrained model makes of them."""
    experiment = toy(COPY, steps=1)
    task = build.task_of(experiment)
    model, batch = build.model(experiment, task), task.batch(0, 0, 4, 4)
    with torch.no_grad():
        logits = model(batch.inputs)
    scored = batch.targets != IGNORED
    losses = -logits.log_softmax(-1)[scored].gather(1, batch.targets[scored][:, None])
    assert trained(experiment)[1] == pytest.approx([float(losses.mean())], rel=1e-6)


def test_shares_of_a_batch_count_by_what_they_score():
    """The mean over processes of their weighted means is the mean over all scored tokens."""
    targets = torch.full((6, 5), IGNORED)
    for row, scored in enumerate((5, 1, 2, 3, 1, 1)):
        targets[row, :scored] = 0
    losses = torch.rand(6, 5)
    means = [
        float(losses[share][targets[share] == 0].mean()) * _weight(targets, share)
        for share in (slice(0, 3), slice(3, 6))
    ]
    assert sum(means) / 2 == pytest.approx(float(losses[targets == 0].mean()))
    assert _weight(torch.zeros(6, 5), slice(0, 3)) == _weight(targets, slice(0, 6)) == 1.0


def test_it_learns():
    _, losses = trained(toy(Problem("copy", {"alphabet": 3}), steps=150, batch=32, length=2, learning_rate=1e-2))
    assert sum(losses[-10:]) / 10 < 0.5 * math.log(3)


def test_an_interrupted_run_ends_as_an_undisturbed_one_to_the_bit(tmp_path: Path):
    experiment, path, seen = toy(COPY, dropout=0.1), tmp_path / "checkpoint", []
    expected = trained(experiment)
    with pytest.raises(Stopped):
        trained(experiment, Watch(lambda history: seen.append(history.step), lambda: seen[-1] == 5, path))
    weights, losses = trained(experiment, Watch(checkpoint=path))
    assert losses == expected[1] and all(weights[name].equal(tensor) for name, tensor in expected[0].items())


ROPE = ("rope", {})
DYNAMIC = ("rope", {"scaling": "dynamic", "original_length": 4, "factor": 2.0})


@pytest.mark.parametrize(
    ("encoding", "options"),
    [
        ROPE,
        DYNAMIC,
        *((name, {}) for name in ("none", "learned", "t5", "alibi", "cope", "transformer_xl", "deberta", "shaw")),
    ],
)
def test_padding_changes_no_answer(encoding: str, options: dict):
    """The logits of scored tokens are those of the row alone, whatever stands after it."""
    experiment = toy(COPY, encoding, options, length=8)
    task = build.task_of(experiment)
    model = build.model(experiment, task).eval()
    batch = task.batch(0, 0, 6, 8)
    with torch.no_grad():
        whole = model(batch.inputs, laid(batch, model, experiment.training, generator("x"), torch.device("cpu")))
        for row, (inputs, targets) in enumerate(zip(batch.inputs, batch.targets, strict=True)):
            size = int((targets != IGNORED).nonzero().max()) + 1
            alone = model(inputs[None, :size])
            scored = targets[:size] != IGNORED
            assert torch.allclose(whole[row, :size][scored], alone[0][scored], atol=1e-5)
    assert len({int((targets != IGNORED).nonzero().max()) for targets in batch.targets}) > 1


def test_a_memory_is_for_text():
    with pytest.raises(OptionError, match="stand alone"):
        build.check(toy(COPY, "transformer_xl", {"mem_len": 8}), cpu=True)
    build.check(toy(COPY, "transformer_xl"), cpu=True)


@pytest.mark.parametrize(
    ("experiment", "said"),
    [
        (lambda: toy(Problem("copy", {"alphabet": 5, "unique": True})), "cannot hold this length"),
        (lambda: toy(Problem("cpy")), "did you mean 'copy'"),
        (lambda: toy(COPY, "learned", {"max_positions": 8}), "no such position"),
        (lambda: toy(COPY, randomised=8), "place for every token"),
    ],
)
def test_what_cannot_be_trained_is_refused_before_it_is(experiment, said: str):
    with pytest.raises(UserError, match=said):
        build.check(experiment(), cpu=True)


@pytest.mark.parametrize("options", [{}, {"randomised": 40}])
def test_a_run_leaves_a_record(tmp_path: Path, options: dict):
    experiment = toy(Problem("passkey", {"digits": 1, "alphabet": 3}), lengths=(3, 6), **options)
    assert make(experiment, tmp_path / "runs") == "written"
    store = Store(tmp_path / "runs")
    record = store.record(experiment.hash)
    assert record["status"] == "finished", record["reason"]
    assert [row["length"] for row in record["lengths"]] == [3, 4, 6]
    assert {row["status"] for row in record["lengths"]} == {"measured"}
    assert {row["chance_exact"] for row in record["lengths"]} == {0.1}
    make(experiment, tmp_path / "again")
    assert results(store, experiment.hash) == results(Store(tmp_path / "again"), experiment.hash)
    [row] = store.table().dicts()
    assert row["label"] == f"{experiment.label} on passkey alphabet=3 digits=1" and row["learned"] is False
    assert row["exact"] == record["lengths"][1]["exact"] and row["chance_exact"] == 0.1
    assert row["reason"].startswith("did not learn: 0.") and row["bits_per_byte"] is None
    groups = store.sql("select length, name, exact from groups where length = 6").rows
    assert groups == [(6, group["name"], group["exact"]) for group in record["lengths"][2]["groups"]]
    assert len(groups) == 5
    assert store.sql("select task, text from runs").rows == [("passkey alphabet=3 digits=1", None)]
    assert store.sql("select chance_exact, examples from lengths").rows == [(0.1, 12)] * 3


def test_a_length_that_the_encoding_refuses_is_in_the_record(tmp_path: Path):
    experiment = toy(COPY, "learned", {"max_positions": 10})
    make(experiment, tmp_path / "runs")
    rows = Store(tmp_path / "runs").record(experiment.hash)["lengths"]
    assert [row["status"] for row in rows] == ["measured", "measured", "refused"]
    assert "no such position" in rows[2]["reason"]


def test_a_task_of_the_users_own_reads_vectors_both_ways_on_a_grid(tmp_path: Path, mine: Path):
    experiment = toy(
        Problem(f"{mine}:Column", {"noise": 0.05}), options={"axes": 2}, steps=120, batch=32, learning_rate=1e-2
    )
    assert experiment.task.digest is not None
    build.check(experiment, cpu=True)
    make(experiment, tmp_path / "runs")
    store = Store(tmp_path / "runs")
    record = store.record(experiment.hash)
    assert record["status"] == "finished", record["reason"]
    assert [row["exact"] for row in record["lengths"]] == [1.0, 1.0, 1.0]
    assert record["data"] == {"name": "Column", "learned": 0.9}
    task = build.task_of(experiment)
    restored = build.restore(experiment, task, store.weights(experiment.hash))
    batch = task.examples("test", 4, 12)
    assert (restored(batch.inputs, batch.pos)[:, 0].argmax(-1) == batch.targets[:, 0]).all()
    with pytest.raises(OptionError, match="reads rows of them"):
        restored(batch.inputs[..., 0], batch.pos)
    with pytest.raises(OptionError, match="finite"):
        restored(batch.inputs * math.inf, batch.pos)
    with pytest.raises(OptionError, match="not the task"):
        build.model(Experiment("rope"), task)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("def chance(", "def chanse(", "without chance"),
        ("vocabulary, features, causal = 3, 1, False", "features, causal = 1, False", "vocabulary of Column"),
        ("vocabulary, features, causal = 3, 1, False", "vocabulary, features, causal = 0, 1, False", "1 or more"),
        ("vocabulary, features, causal = 3, 1, False", "vocabulary, features, causal = 2, 1, False", "target outside"),
        ("[..., None], targets", ", targets", r"inputs \[2, 12\], not \[2, 12, 1\]"),
        ("targets[:, 0] = bright", "pass", "without a scored token"),
        ("return Chance(1 / 3, 1 / 3)", "return 1 / 0", "line 29: ZeroDivisionError"),
        ("def __init__(self, noise: float = 0.1):", "def __init__(self, *noise):", "options one by one"),
        ("class Column(Task)", "class Other(Task)", "unknown task in"),
        ("class Column(Task)", "class Column", "no task defined there"),
        ("import torch", "import torch, nowhere", "line 2"),
    ],
)
def test_a_mistake_in_a_users_task_is_told_with_its_place(mine: Path, before: str, after: str, said: str):
    assert before in MINE
    mine.write_text(MINE.replace(before, after))
    with pytest.raises(UserError, match=said) as error:
        build.check(toy(Problem(f"{mine}:Column"), options={"axes": 2}), cpu=True)
    assert "mine.py" in str(error.value)
