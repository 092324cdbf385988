"""Results without weights: the same numbers as the store has, in files that are the same every time."""

import json
from pathlib import Path

import pytest

from gnomon.errors import OptionError, StoreError
from gnomon.lab import engine
from gnomon.lab.exported import Exported, export, opened
from gnomon.lab.load import Plan
from gnomon.lab.store import Store
from gnomon.lab.tuning import Tuning
from tests.lab.toys import make, toy


@pytest.fixture(scope="module")
def store(text: Path, tmp_path_factory: pytest.TempPathFactory) -> Store:
    store = Store(tmp_path_factory.mktemp("exported") / "runs", create=True)
    for seed in (1, 0):
        make(toy(text, "rope", seed=seed, steps=6), store.path)
    make(toy(text, "alibi", steps=6), store.path)
    engine.run_plan(Plan([toy(text, "none", steps=4)], Tuning((1e-3,))), store, 1)
    return store


def test_what_is_exported_reads_as_the_store_does(store: Store, tmp_path: Path):
    written = export(store, tmp_path / "out")
    assert [file.name for file in written] == ["records.jsonl", "tuning.jsonl", "positions.parquet"]
    found = opened(tmp_path / "out")
    assert isinstance(found, Exported) and isinstance(opened(store.path), Store)
    assert found.records() == store.records() and found.hashes() == store.hashes()
    assert found.trials().records() == store.trials().records()
    for hash in store.hashes():
        assert found.positions(hash) == store.positions(hash) != []
        assert found.record(hash) == store.record(hash)
        assert found.curve(hash) == [] and not found.weights(hash).exists()
    assert found.table() == store.table()
    query = "select * from positions order by hash, length, first"
    assert found.sql(query) == store.sql(query)
    assert found.sql("select * from curves").rows == []


def test_the_files_are_the_same_every_time_and_follow_the_store(store: Store, tmp_path: Path):
    first = {file.name: file.read_bytes() for file in export(store, tmp_path)}
    assert {file.name: file.read_bytes() for file in export(store, tmp_path)} == first
    export(Store(tmp_path / "empty", create=True), tmp_path)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["records.jsonl"]
    assert Exported(tmp_path).records() == []


def test_what_is_no_export_is_said(store: Store, tmp_path: Path):
    with pytest.raises(OptionError, match="out of a store"):
        export(store, store.path)
    with pytest.raises(StoreError, match="no exported results"):
        Exported(tmp_path)
    [records, *_] = export(store, tmp_path)
    lines = records.read_text().splitlines()
    for wrong, said in (
        ("{", "line 2"),
        ("[]", "line 2"),
        (lines[1].replace('"seed":0', '"seed":9'), "does not describe"),
        (lines[1].replace('"format":1', '"format":99'), "newer"),
        (json.dumps(json.loads(lines[1]) | {"lengths": 3}), "kind of value: lengths"),
    ):
        records.write_text("\n".join([lines[0], wrong, *lines[2:]]) + "\n")
        with pytest.raises(StoreError, match=f"(?s).*{said}"):
            Exported(tmp_path).records()


def test_an_export_is_no_store_and_is_said_to_be_one(store: Store, tmp_path: Path):
    """Where the runs themselves are asked for: weights, checkpoints, files to be verified, a place for more runs."""
    export(store, tmp_path / "exported")
    for create in (False, True):
        with pytest.raises(StoreError, match="exported results"):
            Store(tmp_path / "exported", create=create)
