"""What is read of a store is what a store says: a value of another kind is damage, told by where it stands."""

import copy
import json
import os
from pathlib import Path

import pyarrow
import pytest
from pyarrow import parquet

from gnomon.errors import DataError, OptionError, StoreError
from gnomon.lab import written
from gnomon.lab.experiment import Experiment, hash_of
from gnomon.lab.exported import RECORDS, Exported, export
from gnomon.lab.presets import problem
from gnomon.lab.store import Store
from gnomon.lab.tasks.jsonl import Jsonl
from tests.lab.toys import make, toy, vouch
from tests.report import fakes
from tests.report.test_answers import record as answered

DEEP = "[" * 100_000


@pytest.fixture
def store(text: Path, tmp_path: Path) -> Store:
    """A store of one run."""
    make(toy(text, steps=2, lengths=(8, 16)), tmp_path / "runs")
    return Store(tmp_path / "runs")


def test_what_runs_write_is_whole(store: Store):
    assert written.faults(store.records()[0]) == []
    assert written.faults(fakes.record("rope")) == written.faults(fakes.record("learned", status="failed")) == []
    assert written.faults(answered("rope", (1, 0.5, None, 0.1), groups=[("a", True)])) == []


CHANGES = {
    "label": (("label",), None, "label"),
    "a length of no token": (("lengths", 1, "length"), 0, "lengths[1].length"),
    "a length that is true": (("lengths", 1, "length"), True, "lengths[1].length"),
    "a loss that is text": (("lengths", 0, "loss"), "2.5", "lengths[0].loss"),
    "a loss of no float": (("lengths", 0, "loss"), 10**400, "lengths[0].loss"),
    "no loss": (("lengths", 0, "paired_loss"), None, "lengths[0].paired_loss"),
    "a seed that no table holds": (("experiment", "seed"), 2**63, "experiment.seed"),
    "a width that is text": (("experiment", "model", "width"), "16", "experiment.model.width"),
    "no learning rate": (("experiment", "training", "learning_rate"), None, "experiment.training.learning_rate"),
    "lengths of an experiment": (("experiment", "measure", "lengths"), [8, None], "experiment.measure.lengths[1]"),
    "options that are a list": (("experiment", "options"), [], "experiment.options"),
    "no kind of task": (("experiment", "task", "kind"), None, "experiment.task.kind"),
    "another kind of task": (("experiment", "task", "kind"), "image", "experiment.task.kind"),
    "an environment that is text": (("environment",), "torch", "environment"),
    "a baseline that is text": (("data", "unigram_loss"), {"test": "x"}, "data.unigram_loss.test"),
    "a variant without lengths": (("variants",), [{"options": {}}], "variants[0].lengths"),
    "a memory that is a list": (("cost", "peak_memory_bytes"), [1], "cost.peak_memory_bytes"),
    "lists without end": (("lengths",), [[[[]]]], "lengths[0]"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_another_kind_of_value_is_told_by_where_it_stands(change: str, store: Store):
    path, value, said = CHANGES[change]
    record = copy.deepcopy(store.records()[0])
    part = record
    for name in path[:-1]:
        part = part[name]
    part[path[-1]] = value
    assert written.faults(record) == [said]
    record["hash"] = hash_of(record["experiment"])
    folder = store.folder(store.hashes()[0])
    (folder / "record.json").write_text(json.dumps(record))
    vouch(folder)
    folder.rename(store.folder(record["hash"]))
    for read in (store.records, store.table):
        with pytest.raises(StoreError) as error:
            read()
        assert said in error.value.given


def test_many_faults_are_a_few_words():
    needed = [name for name, part in written.RECORD.items() if not part.absent]
    assert written.faults({}) == [*needed[:5], f"{len(needed) - 5} more"]


def test_a_task_has_a_name_and_right_answers():
    record = answered("rope", (1, 0.5, None, 0.1))
    del record["experiment"]["task"]["name"], record["lengths"][0]["exact"]
    assert written.faults(record) == ["experiment.task.name", "lengths[0].exact"]


@pytest.mark.parametrize("text", [DEEP, '{"a":' * 50_000, "NaN", "[Infinity]", "1" * 5000, "", "{", "\ud800"])
def test_what_is_no_json_is_one_kind_of_error(text: str):
    with pytest.raises(ValueError):
        written.loads(text)


def test_lists_without_end_are_damage_wherever_json_is_read(store: Store, tmp_path: Path):
    export(store, tmp_path / "told")
    for file, read in (
        (tmp_path / "told" / RECORDS, Exported(tmp_path / "told").records),
        (store.folder(store.hashes()[0]) / "record.json", store.records),
        (store.path / "gnomon-store.json", lambda: Store(store.path)),
    ):
        file.write_text(DEEP)
        if file.name == "record.json":
            vouch(file.parent)
        with pytest.raises(StoreError, match="lists within lists without end"):
            read()
    (tmp_path / "pairs").write_text(DEEP)
    with pytest.raises(DataError, match="line 1: not JSON"):
        Jsonl(str(tmp_path / "pairs"))
    assert problem(["copy", f"alphabet={DEEP}"]).options["alphabet"] == DEEP


def test_odd_letters_are_exported_and_read_again(store: Store, tmp_path: Path):
    """Half a character, of which the name of a file may consist, and letters at which Python ends a line."""
    [hash] = store.hashes()
    file = store.folder(hash) / "record.json"
    record = json.loads(file.read_text()) | {"reason": "\udcff\u2028\u0085 \x1c日本", "status": "failed"}
    file.write_text(json.dumps(record))
    vouch(file.parent)
    export(store, tmp_path / "told")
    [read] = Exported(tmp_path / "told").records()
    assert read["reason"] == record["reason"]
    assert "日本" in store.table().dicts()[0]["reason"] and "\\udcff" in store.table().csv()


def test_a_run_that_is_exported_twice_counts_once_or_not_at_all(store: Store, tmp_path: Path):
    [file, *_] = export(store, tmp_path / "told")
    file.write_bytes(file.read_bytes() * 2)
    with pytest.raises(StoreError, match="stands there already"):
        Exported(tmp_path / "told").records()
    file.write_bytes(b"")
    assert Exported(tmp_path / "told").records() == []


@pytest.mark.parametrize("name", ["curve", "positions"])
def test_a_table_without_its_columns_is_damage(name: str, store: Store):
    [hash] = store.hashes()
    file = store.folder(hash) / f"{name}.parquet"
    read = {"curve": store.curve, "positions": store.positions}[name]
    held = parquet.read_table(file)
    for spoilt in (
        held.drop_columns("loss"),
        held.set_column(0, held.column_names[0], pyarrow.array(["x"] * len(held))),
    ):
        parquet.write_table(spoilt, file)
        with pytest.raises(StoreError, match=rf"{name}\.parquet"):
            read(hash)


def test_a_store_whose_name_is_no_text_is_read(store: Store, tmp_path: Path):
    odd = tmp_path / os.fsdecode(b"runs\xff")
    store.path.rename(odd)
    [hash] = Store(odd).hashes()
    assert len(Store(odd).curve(hash)) == 2


def test_targets_that_are_all_empty_are_examples(tmp_path: Path):
    """The answer is the end alone."""
    (tmp_path / "pairs").write_text("\n".join(json.dumps({"input": f"{at}", "target": ""}) for at in range(100, 200)))
    task = Jsonl(str(tmp_path / "pairs"))
    assert task.batch(0, 0, 3, 3).inputs.shape[0] == 3 and task.examples("test", 3, 4).inputs.shape[0] == 4


@pytest.mark.parametrize(
    "value", [10**400, 10**5000, float("inf"), {"a": 1}, object()], ids=lambda value: type(value).__name__
)
def test_options_that_no_file_can_hold_are_refused(value: object):
    with pytest.raises(OptionError, match="cannot be written down"):
        Experiment("rope", {"theta": [value]})


def test_lists_in_lists_have_an_end():
    deep: list = []
    for _ in range(5000):
        deep = [deep]
    endless: list = []
    endless.append(endless)
    for value in (deep, endless):
        with pytest.raises(OptionError, match="cannot be written down"):
            Experiment("rope", {"theta": value})
    assert Experiment("rope", {"theta": [[[1.0]]]}).options["theta"] == (((1,),),)
