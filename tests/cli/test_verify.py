"""`gnomon results --verify`: every damage to a store is named, and a store that is whole passes."""

import errno
import io
import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from pyarrow import parquet
from safetensors.torch import load_file, save_file

from gnomon.lab import consistency, sums
from gnomon.lab.experiment import Experiment, hash_of
from gnomon.lab.run import Settings
from gnomon.lab.store import MARKER, TRIALS, Store
from gnomon.lab.verify import Fault, verify
from tests.lab.toys import make, toy, vouch, write_text


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A store with a finished run, one with a refused length, one that diverged, one that failed; their hashes."""
    folder = tmp_path_factory.mktemp("whole")
    text, path = write_text(folder), folder / "runs"
    experiments = {
        "rope": toy(text, "rope"),
        "refused": toy(text, "learned", options={"max_positions": 20}),
        "diverged": toy(text, "none", learning_rate=1e30, warmup=0.0),
        "failed": toy(text, "learned", options={"max_positions": 10}),
    }
    for experiment in experiments.values():
        make(experiment, path, Settings(command="gnomon compare"))
    return path, {name: experiment.hash for name, experiment in experiments.items()}


@pytest.fixture
def store(whole: tuple[Path, dict[str, str]], tmp_path: Path) -> Store:
    return Store(shutil.copytree(whole[0], tmp_path / "runs"))


def vouched(store: Store) -> list[Fault]:
    """What is found beside what the sums tell: they are made anew, as if the run had written what is there now."""
    for file in store.path.glob(f"*/{sums.NAME}"):
        vouch(file.parent)
    return verify(store)


@pytest.fixture
def run(whole: tuple[Path, dict[str, str]]) -> str:
    return whole[1]["rope"]


def only(store: Store, found: Callable[[Store], list[Fault]] = verify) -> Fault:
    """The one fault of a store."""
    [fault] = found(store)
    assert fault.do
    return fault


def test_a_whole_store_passes_and_is_left_as_it_was(whole, gnomon):
    path, _ = whole
    before = {file: (file.stat().st_mtime_ns, file.read_bytes()) for file in path.rglob("*.*") if file.is_file()}
    random_state = torch.get_rng_state()
    shown = gnomon("results", str(path), "--verify")
    assert (shown.code, shown.out) == (0, "4 runs: 0 wrong, 0 left over\n")
    assert json.loads(gnomon("results", str(path), "--verify", "--json").out) == {"runs": 4, "faults": []}
    kept = {file: before[file] for file in before if file.suffix != ".lock"}
    assert kept == {file: (file.stat().st_mtime_ns, file.read_bytes()) for file in kept}
    assert torch.equal(torch.get_rng_state(), random_state)


def test_damage_is_shown_with_what_to_do_and_exit_code_1(gnomon, store: Store, run: str):
    store.weights(run).unlink()
    shown = gnomon("results", str(store.path), "--verify")
    said = " ".join(shown.out.split())
    assert shown.code == 1 and "weights.safetensors" in said and "4 runs: 1 wrong, 0 left over" in said
    assert "do: remove" in said and "and run again: gnomon compare" in said
    [fault] = json.loads(gnomon("results", str(store.path), "--verify", "--json").out)["faults"]
    assert fault["where"] == f"{run}/weights.safetensors" and fault["kind"] == "wrong"


@pytest.mark.parametrize("other", [["--csv"], ["--sql", "select 1"]], ids=["csv", "sql"])
def test_it_is_asked_alone(gnomon, store: Store, other: list[str]):
    assert gnomon("results", str(store.path), "--verify", *other).code == 2


@pytest.mark.parametrize("name", ["record.json", "curve.parquet", "positions.parquet", "weights.safetensors"])
@pytest.mark.parametrize("share", [0.0, 0.5, 0.99], ids=["empty", "half", "end"])
def test_a_file_that_is_cut_off(store: Store, run: str, name: str, share: float):
    file = store.folder(run) / name
    file.write_bytes(file.read_bytes()[: int(share * file.stat().st_size)])
    fault = only(store, vouched)
    assert (fault.kind, fault.where) == ("wrong", f"{run}/{name}") and f"remove {file.parent}" in fault.do


@pytest.mark.parametrize("name", ["record.json", "curve.parquet", "positions.parquet", "weights.safetensors"])
def test_any_byte_that_flips_is_found_by_the_sums(store: Store, run: str, name: str, monkeypatch):
    folder = store.folder(run)
    sums.write(folder / sums.NAME)
    file, draw = folder / name, random.Random(name)
    good = file.read_bytes()
    for _ in range(6):
        bad = bytearray(good)
        bad[draw.randrange(len(good))] ^= 1 << draw.randrange(8)
        file.write_bytes(bad)
        assert {(fault.kind, fault.where) for fault in verify(store)} == {("wrong", f"{run}/{name}")}
    file.write_bytes(good)
    assert verify(store) == []


@pytest.mark.parametrize("name", ["curve.parquet", "positions.parquet", "record.json"])
def test_no_byte_that_flips_ends_the_check(store: Store, run: str, name: str, monkeypatch):
    """Without sums some flips are not seen; none of them is a traceback."""
    monkeypatch.setattr(consistency, "of_weights", lambda *run: ())
    file, draw, found = store.folder(run) / name, random.Random(name), 0
    good = file.read_bytes()
    for _ in range(40):
        bad = bytearray(good)
        bad[draw.randrange(len(good))] ^= 1 << draw.randrange(8)
        file.write_bytes(bad)
        found += bool(vouched(store))
    assert found > 10


def test_sums_that_are_none_or_name_what_is_gone(store: Store, run: str):
    file = store.folder(run) / sums.NAME
    sums.write(file)
    good = file.read_text()
    for line in ("x\n", f"{'0' * 64}  ../../{MARKER}\n", f"{'0' * 64}  \xff\n"):
        file.write_text(good + line, encoding="latin-1")
        assert {fault.where.rpartition("/")[0] for fault in verify(store)} == {run}
    file.write_text(f"{good}{'0' * 64}  gone.txt\n")
    assert "missing" in only(store).what


def change(file: Path, *path: object, to: object) -> None:
    """Set one value in a record, by its path."""
    record = json.loads(file.read_text())
    part = record
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = to
    file.write_text(json.dumps(record))


RECORD: dict[str, tuple[tuple, object, str]] = {
    "status": (("status",), "done", "its status is 'done'"),
    "a label of another": (("label",), "alibi", "its label is 'alibi'"),
    "a reason without a failure": (("reason",), "x", "with reason 'x'"),
    "seed": (("experiment", "seed"), 1, "does not describe the run"),
    "hash": (("hash",), "0" * 16, "does not describe the run"),
    "a length that is missing": (("lengths",), [], "it has lengths []"),
    "a length twice": (("lengths", 1, "length"), 8, "it has lengths [8, 8, 32]"),
    "a loss that is none": (("lengths", 0, "loss"), float("nan"), "NaN is no number of JSON"),
    "a loss that is missing": (("lengths", 0, "loss"), None, "by another kind of value: lengths[0].loss"),
    "a loss that is another": (("lengths", 0, "loss"), 4.0, "contradicts the other numbers: bits_per_byte"),
    "an excess": (("lengths", 2, "paired_excess"), 0.5, "contradicts the other numbers: paired_excess"),
    "a perplexity": (("lengths", 2, "sliding_perplexity"), 0.5, "contradicts the other numbers: sliding_perplexity"),
    "tokens": (("lengths", 0, "tokens"), 5, "contradicts the other numbers: tokens"),
    "what became of a length": (("lengths", 0, "status"), "lost", "its status is 'lost'"),
    "refused, and not why": (("lengths", 0), {"length": 8, "status": "refused", "reason": None}, "no reason is told"),
    "text": (("data", "digest"), "0", "the text it was made with is not that of its experiment"),
    "parameters": (("parameters", "total"), 5, "its record says 5"),
    "speed": (("cost", "ms_per_step"), 1e9, "its speed is not that of its record"),
    "no cost": (("cost",), {}, "cost.ms_per_step, cost.peak_memory_bytes"),
    "newer": (("format",), 9, "a newer gnomon wrote this record"),
}


@pytest.mark.parametrize("name", RECORD)
def test_a_record_that_contradicts_itself_or_its_experiment(store: Store, run: str, name: str):
    path, value, said = RECORD[name]
    change(store.folder(run) / "record.json", *path, to=value)
    faults = vouched(store)
    assert {fault.kind for fault in faults} == {"wrong"} and all(fault.where.startswith(run) for fault in faults)
    assert [fault for fault in faults if said in fault.what and fault.do], [fault.what for fault in faults]


def test_an_experiment_of_another_gnomon(store: Store, run: str):
    file = store.folder(run) / "record.json"
    record = json.loads(file.read_text())
    record["experiment"]["format"] = 1
    record["hash"] = hash_of(record["experiment"])
    file.write_text(json.dumps(record))
    file.parent.rename(store.folder(record["hash"]))
    assert "does not know its experiment" in next(fault for fault in vouched(store) if fault.kind == "wrong").what


TABLES: dict[str, tuple[str, Callable, str]] = {
    "steps": ("curve", lambda rows: rows[:-1], "23 steps of 24"),
    "no steps": ("curve", lambda rows: [], "its 0 steps"),
    "order of steps": ("curve", lambda rows: rows[::-1], "steps are not 0, 1, 2"),
    "a loss of training": ("curve", lambda rows: [rows[0] | {"loss": float("inf")}, *rows[1:]], "its losses"),
    "rates": ("curve", lambda rows: [row | {"learning_rate": 1.0} for row in rows], "learning rates"),
    "lengths": ("positions", lambda rows: [row for row in rows if row["length"] != 8], "it has lengths [16, 32]"),
    "a bin": ("positions", lambda rows: [row for row in rows if row["first"] != 3], "do not follow one another"),
    "the last bin": ("positions", lambda rows: [row for row in rows if row["last"] != 31], "its bins end at 31"),
    "places": ("positions", lambda rows: [row | {"position": 0.5} for row in rows], "where it begins"),
    "windows": ("positions", lambda rows: [row | {"windows": 1} for row in rows], "not over the 64 windows"),
    "losses": ("positions", lambda rows: [row | {"loss": row["loss"] + 0.1} for row in rows], "its mean loss is"),
    "errors": ("positions", lambda rows: [row | {"se": float("nan")} for row in rows], "no finite number"),
}


@pytest.mark.parametrize("name", TABLES)
def test_a_table_that_contradicts_its_record(store: Store, run: str, name: str):
    kind, spoil, said = TABLES[name]
    file = store.folder(run) / f"{kind}.parquet"
    held = parquet.read_table(file)
    parquet.write_table(type(held).from_pylist(spoil(held.to_pylist()), schema=held.schema), file)
    fault = vouched(store)[0]
    assert fault.where == f"{run}/{kind}.parquet" and said in fault.what


@pytest.mark.parametrize("kind", ["curve", "positions"])
def test_a_table_with_other_columns(store: Store, run: str, kind: str):
    file = store.folder(run) / f"{kind}.parquet"
    held = parquet.read_table(file)
    parquet.write_table(held.rename_columns(["other", *held.column_names[1:]]), file)
    fault = only(store, vouched)
    assert fault.where == f"{run}/{kind}.parquet" and "other: int64" in fault.what


def spoilt(tensors: dict, metadata: dict, how: str, other: str) -> None:
    first = next(iter(tensors))
    if how == "name":
        tensors["other"] = tensors.pop(first)
    elif how == "missing":
        del tensors[first]
    elif how == "shape":
        tensors[first] = tensors[first][None]
    elif how == "nan":
        tensors[first].view(-1)[3] = float("nan")
    elif how == "owner":
        metadata["experiment"] = other


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("name", "do not fit the model"),
        ("missing", "its record says"),
        ("shape", "do not fit the model"),
        ("nan", "a weight is no finite number"),
        ("owner", "they are those of the run"),
    ],
)
def test_weights_of_another_model(store: Store, run: str, whole, how: str, said: str):
    file, metadata = store.weights(run), {"experiment": run}
    tensors = load_file(file)
    spoilt(tensors, metadata, how, whole[1]["refused"])
    save_file(tensors, file, metadata)
    faults = vouched(store)
    assert {fault.where for fault in faults} == {f"{run}/weights.safetensors"} and said in faults[0].what


def test_a_users_code_is_not_run(tmp_path: Path, whole):
    path, _ = whole
    mine = tmp_path / "mine.py"
    mine.write_text("from gnomon import Encoding\n\n\nclass Mine(Encoding):\n    '''Mine.'''\n")
    experiment = toy(path.parent / "text.txt", f"{mine}:Mine", steps=2)
    make(experiment, tmp_path / "runs")
    mine.write_text("raise SystemExit('run')")
    store = Store(tmp_path / "runs")
    assert verify(store) == []
    change(store.folder(experiment.hash) / "record.json", "parameters", "total", to=7)
    assert "its record says 7" in vouched(store)[0].what


def test_what_may_not_be_read_is_no_end_of_the_check(store: Store, run: str, monkeypatch):
    opened = io.open

    def refuse(file, *given, **more):
        if isinstance(file, Path) and run in file.parts:
            raise PermissionError(errno.EACCES, "Permission denied", str(file))
        return opened(file, *given, **more)

    monkeypatch.setattr("io.open", refuse)
    fault = only(store)
    assert fault.where.startswith(f"{run}/") and "Permission denied" in fault.what and "owner" in fault.do


def test_a_store_of_trials_that_was_about_to_be_made_is_no_end_of_the_check(store: Store, run: str):
    """A process is killed between the folder and its marker, or while it writes that."""
    (store.path / TRIALS).mkdir()
    assert verify(store) == []
    (store.path / TRIALS / f"{MARKER}.0123.tmp").touch()
    assert (only(store).kind, only(store).where) == ("left", f"{TRIALS}/{MARKER}.0123.tmp")
    (store.path / TRIALS / MARKER).write_text("{")
    fault = next(fault for fault in verify(store) if fault.kind == "wrong")
    assert fault.where == TRIALS and "the marker of a store is damaged" in fault.what and "write it anew" in fault.do


def test_a_run_that_has_another_name(store: Store, run: str):
    folder = store.folder(run)
    for name in ("0123456789abcdef", "my best run"):
        folder.rename(store.path / name)
        [fault] = [fault for fault in vouched(store) if fault.kind == "wrong"]
        assert name in fault.where and fault.do == f"rename it: mv {store.path / name} {folder}"
        (store.path / name).rename(folder)
    shutil.copytree(folder, store.path / "copy")
    assert "under its own name" in only(store, vouched).do
    assert f"remove {store.path / 'copy'}" in only(store, vouched).do


def test_a_file_in_the_place_of_a_run_and_one_that_is_no_part_of_it(store: Store, run: str):
    (store.folder(run) / "notes.txt").write_text("x")
    assert (only(store, vouched).kind, only(store, vouched).where) == ("left", f"{run}/notes.txt")
    (store.folder(run) / "notes.txt").unlink()
    (store.path / ("a" * 16)).write_text("x")
    assert only(store, vouched).where == "a" * 16


def checkpoint(store: Store, hash: str, owner: str, step: int = 5) -> Path:
    """A file like a checkpoint of `owner` under the name of `hash`, made of one that gnomon writes."""
    from gnomon.lab.checkpoint import History, save

    parameter = torch.nn.Linear(2, 2)
    save(store.checkpoint(hash), owner, parameter, torch.optim.AdamW(parameter.parameters()), history(History, step))
    return store.checkpoint(hash)


def history(kind: type, step: int):
    """A history of so many steps, whatever it keeps of each."""
    return kind(*([1] * step for _ in ("losses", "seconds")))


def test_a_checkpoint_of_another_experiment(store: Store, whole):
    path = checkpoint(store, whole[1]["failed"], whole[1]["rope"])
    fault = only(store)
    assert (fault.kind, fault.where) == ("wrong", f".work/{path.name}")
    assert fault.what == f"a checkpoint of another run: {whole[1]['rope']}" and f"remove {path}" in fault.do


def test_a_checkpoint_that_is_cut_off(store: Store, whole):
    path = checkpoint(store, whole[1]["failed"], whole[1]["failed"])
    assert verify(store) == []  # a retry goes on from there
    path.write_bytes(path.read_bytes()[:50])
    assert only(store).kind == "wrong" and "cannot be read" in only(store).what


def test_a_checkpoint_in_which_a_number_is_another(store: Store, whole):
    path = checkpoint(store, whole[1]["failed"], whole[1]["failed"])
    written = bytearray(path.read_bytes())
    written[-1] ^= 1
    path.write_bytes(written)
    assert only(store).kind == "wrong" and "not those that the run wrote" in only(store).what


@pytest.mark.parametrize(("old", "new"), [(b'"5"', b'"6"'), (b'"5"', b'"x"'), (b'"step"', b'"stfp"')])
def test_a_checkpoint_whose_step_is_another(store: Store, whole, old: bytes, new: bytes):
    """It is told beside the numbers, and is none of them."""
    path = checkpoint(store, whole[1]["failed"], whole[1]["failed"])
    held = path.read_bytes()
    assert held.count(old) == 1
    path.write_bytes(held.replace(old, new))
    assert only(store).kind == "wrong" and "not those that the run wrote" in only(store).what


def test_a_checkpoint_of_another_gnomon(store: Store, whole, monkeypatch):
    with monkeypatch.context() as older:
        older.setattr("gnomon.lab.checkpoint.FORMAT", "0")
        checkpoint(store, whole[1]["failed"], whole[1]["failed"])
    assert only(store).kind == "left" and "another gnomon" in only(store).what


def test_what_killed_processes_leave_is_named_and_is_no_damage(gnomon, store: Store, whole):
    run, unknown = whole[1]["rope"], "f" * 16
    checkpoint(store, run, run)
    checkpoint(store, unknown, unknown, step=7)
    (store.work / f"{unknown}.lock").touch()
    (store.work / f"{'e' * 16}.lock").touch()
    (store.work / f"{run}.abcd.tmp").mkdir()
    (store.work / f"{run}.123.log").write_text("x")
    (store.work / f"{whole[1]['failed']}.123.log").write_text("what it said")
    (store.work / "strange").touch()
    (store.path / f"{MARKER}.x.tmp").touch()
    (store.path / "report.html.x.tmp").touch()
    found = {fault.where.removeprefix(".work/"): fault for fault in verify(store)}
    said = {
        f"{run}.checkpoint.safetensors": "has ended",
        f"{unknown}.checkpoint.safetensors": "stopped at step 7",
        f"{'e' * 16}.lock": "nobody makes",
        f"{run}.abcd.tmp": "its process died",
        f"{run}.123.log": "did not fail",
        "strange": "nothing of a run",
        f"{MARKER}.x.tmp": "its process died",
        "report.html.x.tmp": "its process died",
    }
    assert {*found} == {*said} and all(said[name] in found[name].what for name in said)
    assert {fault.kind for fault in found.values()} == {"left"}
    shown = gnomon("results", str(store.path), "--verify")
    assert shown.code == 0 and "4 runs: 0 wrong, 8 left over" in shown.out


def test_what_a_process_is_making_now_is_none_of_it(store: Store):
    run = "d" * 16
    with store.claim(run):
        (store.work / f"{run}.abcd.tmp").mkdir()
        (store.work / f"{run}.1.log").touch()
        assert verify(store) == []
    assert {fault.where.rpartition(".")[2] for fault in verify(store)} == {"tmp", "log", "lock"}


def test_the_experiments_of_the_toys_are_read_again(whole):
    """What the checks compare with is the experiment that was asked for."""
    store = Store(whole[0])
    for name, hash in whole[1].items():
        record = store.record(hash)
        assert Experiment.from_json(record["experiment"]).hash == hash
        ends = {"diverged": "diverged", "failed": "failed"}
        assert record["status"] == ends.get(name, "finished")
