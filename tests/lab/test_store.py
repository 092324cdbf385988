"""The store: whole runs or none, ours or refused, and the numbers by SQL."""

import errno
import io
import json
import shutil
import subprocess
from pathlib import Path

import pytest

from gnomon.errors import StoreError, UserError
from gnomon.lab.query import run_row
from gnomon.lab.run import Settings
from gnomon.lab.store import MARKER, Store, missing
from tests.lab.toys import STEPS, make, results, toy, vouch


@pytest.fixture(scope="module")
def filled(text: Path, tmp_path_factory: pytest.TempPathFactory) -> Store:
    """A finished run, one with a refused length, one that diverged and one that failed."""
    path = tmp_path_factory.mktemp("filled") / "runs"
    make(toy(text, "rope"), path, Settings(command="gnomon compare"))
    make(toy(text, "learned", options={"max_positions": 20}), path)
    make(toy(text, "none", learning_rate=1e30, warmup=0.0), path)
    make(toy(text, "learned", options={"max_positions": 10}), path)
    return Store(path)


def test_a_folder_that_is_new_or_empty_becomes_a_store_with_the_first_claim(tmp_path: Path):
    (tmp_path / "empty").mkdir()
    for name in ("empty", "new/deep"):
        store = Store(tmp_path / name, create=True)
        assert store.records() == []
        assert [path.name for path in tmp_path.rglob("*") if path.name != "empty"] == []
        with store.claim("0" * 16) as ours:
            assert ours
        assert json.loads((store.path / MARKER).read_text()) == {"format": 1}
        assert Store(tmp_path / name).records() == []
        shutil.rmtree(store.path)


@pytest.mark.parametrize("create", [True, False])
def test_a_folder_of_someone_elses_is_refused_and_left_alone(tmp_path: Path, create: bool):
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(StoreError, match="not a store"):
        Store(tmp_path, create=create)
    assert [entry.name for entry in tmp_path.iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize("status", [None, "finished", "failed", "diverged"])
def test_what_is_to_be_made_is_what_has_no_record_and_on_a_retry_what_has_not_finished(status: str | None):
    record = None if status is None else {"status": status}
    assert missing(record, retry=False) == (status is None)
    assert missing(record, retry=True) == (status != "finished")


def test_a_file_is_no_store(tmp_path: Path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError):
        Store(tmp_path / "file", create=True)


def test_reading_makes_no_store(tmp_path: Path):
    with pytest.raises(StoreError, match="no store"):
        Store(tmp_path / "runs")
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("marker", "said"),
    [('{"format": 2}', "newer"), ('{"format": "x"}', "damaged"), ("{", "damaged"), ("[]", "damaged")],
)
def test_a_store_of_another_format_is_refused(tmp_path: Path, marker: str, said: str):
    (tmp_path / MARKER).write_text(marker)
    with pytest.raises(StoreError, match=said):
        Store(tmp_path, create=True)


@pytest.mark.parametrize("marker", ["", "{", "[]", '{"format": "x"}', '{"fosmat": 1}', None])
def test_a_store_whose_marker_is_damaged_is_not_given_up(filled: Store, tmp_path: Path, marker: str | None):
    path = Path(shutil.copytree(filled.path, tmp_path / "my runs"))
    (path / MARKER).unlink()
    if marker is not None:
        (path / MARKER).write_text(marker)
    with pytest.raises(StoreError, match="the marker of a store is damaged") as error:
        Store(path, create=True)
    subprocess.run(["sh", "-c", error.value.do.partition(": ")[2]], check=True)
    assert Store(path).records() == filled.records()


def test_a_file_that_may_not_be_read_is_told_as_that(filled: Store, tmp_path: Path, monkeypatch):
    """As in a store of somebody else's, and not as damage, whose cure is to remove the run."""
    path = Path(shutil.copytree(filled.path, tmp_path / "runs"))
    store, hash = Store(path), next(r["hash"] for r in filled.records() if r["label"] == "rope")
    opened, closed = io.open, set()

    def refuse(file, *given, **more):
        if isinstance(file, Path) and file.name in closed:
            raise PermissionError(errno.EACCES, "Permission denied", str(file))
        return opened(file, *given, **more)

    monkeypatch.setattr("io.open", refuse)
    for name, read in {
        MARKER: lambda: Store(path),
        "record.json": store.records,
        "SHA256SUMS": store.records,
        "curve.parquet": lambda: store.curve(hash),
        "positions.parquet": store.table,
        "weights.safetensors": lambda: store.weights(hash),
    }.items():
        closed.clear()
        closed.add(name)
        with pytest.raises(StoreError, match="cannot be read") as error:
            read()
        assert "Permission denied" in error.value.given and "owner" in error.value.do and "remove" not in error.value.do


def test_a_finished_run_has_all_it_should(filled: Store):
    [record] = [r for r in filled.records() if r["label"] == "rope"]
    assert record["status"] == "finished" and record["reason"] is None
    assert record["command"] == "gnomon compare"
    assert [row["length"] for row in record["lengths"]] == [8, 16, 32]
    assert record["parameters"]["total"] > 0 and record["parameters"]["encoding"] == 0
    assert record["cost"]["ms_per_step"] > 0 and record["cost"]["peak_memory_bytes"] > 1e7
    assert record["environment"]["torch"] and record["environment"]["threads"] >= 1
    assert record["data"]["bytes"]["test"] > 0
    curve = filled.curve(record["hash"])
    assert [row["step"] for row in curve] == list(range(STEPS))
    assert curve[0]["learning_rate"] < max(row["learning_rate"] for row in curve) == 3e-3
    assert {row["length"] for row in filled.positions(record["hash"])} == {8, 16, 32}
    assert not filled.checkpoint(record["hash"]).exists()
    assert {f.name for f in filled.folder(record["hash"]).iterdir()} == {
        "SHA256SUMS",
        "record.json",
        "curve.parquet",
        "positions.parquet",
        "weights.safetensors",
    }


def test_what_went_wrong_is_a_record_with_its_reason(filled: Store):
    found = {(r["label"], r["status"]): r for r in filled.records()}
    refused = found["learned max_positions=20", "finished"]
    assert [row["status"] for row in refused["lengths"]] == ["measured", "measured", "refused"]
    diverged = found["none", "diverged"]
    assert "step" in diverged["reason"] and diverged["lengths"] == []
    failed = found["learned max_positions=10", "failed"]
    assert "Learned has no such position" in failed["reason"]


def test_a_run_is_made_once_and_a_failed_one_again_only_on_request(filled: Store, text: Path):
    finished, failed = toy(text, "rope"), toy(text, "learned", options={"max_positions": 10})
    before = [(filled.folder(e.hash) / "record.json").stat().st_mtime_ns for e in (finished, failed)]
    assert [make(e, filled.path) for e in (finished, failed)] == ["present", "present"]
    assert make(finished, filled.path, Settings(retry=True)) == "present"
    after = [(filled.folder(e.hash) / "record.json").stat().st_mtime_ns for e in (finished, failed)]
    assert before == after
    assert make(failed, filled.path, Settings(retry=True)) == "written"


def test_queries(filled: Store):
    assert len(filled.table().rows) == 4
    answer = filled.sql("select label, length, loss from lengths where status = 'measured' order by label, length")
    assert answer.columns == ("label", "length", "loss")
    assert [(row["label"], row["length"]) for row in answer.dicts()] == [
        ("learned max_positions=20", 8),
        ("learned max_positions=20", 16),
        ("rope", 8),
        ("rope", 16),
        ("rope", 32),
    ]
    [rope] = [r for r in filled.records() if r["label"] == "rope"]
    assert [row[2] for row in answer.rows[2:]] == [row["loss"] for row in rope["lengths"]]
    assert filled.sql("select count(*) from curves where label = 'rope'").rows == [(STEPS,)]
    bins = filled.sql("select length, position, loss, se, windows from positions where label = 'rope'").rows
    assert bins == [tuple(row.values())[:5] for row in filled.positions(rope["hash"])]


def test_what_did_not_learn_in_its_few_steps_has_no_reach(filled: Store):
    query = "select label, learned, reach from runs where status = 'finished' order by label"
    assert filled.sql(query).rows == [("learned max_positions=20", False, None), ("rope", False, None)]
    record = next(record for record in filled.records() if record["label"] == "learned max_positions=20")
    assert run_row(record)["unigram_loss"] == record["data"]["unigram_loss"]["test"]
    record["data"]["unigram_loss"]["test"] = 8.0
    assert [run_row(record)[key] for key in ("learned", "reach", "reach_censored")] == [True, 16, False]


def test_an_older_record_without_the_unigram_loss_keeps_its_reach(filled: Store):
    record = next(record for record in filled.records() if record["label"] == "learned max_positions=20")
    for data in ({key: value for key, value in record["data"].items() if key != "unigram_loss"}, None):
        row = run_row(record | {"data": data})
        assert [row[key] for key in ("unigram_loss", "learned", "reach")] == [None, None, 16]


def test_csv_has_a_header_and_quotes_what_needs_it(filled: Store):
    lines = filled.sql("select 'a,\"b' as x, null as y, 1.5 as z").csv().splitlines()
    assert lines == ["x,y,z", '"a,""b",,1.5']


def test_an_empty_store_answers_too(tmp_path: Path):
    store = Store(tmp_path / "runs", create=True)
    for view in ("runs", "lengths", "positions", "curves"):
        assert store.sql(f"select hash, label from {view}").rows == []


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("selec 1", "no answer"),
        ("select nothing from runs", "no answer"),
        ("select * from read_csv('{secret}')", "no answer"),
        ("", "one statement"),
        (" -- nothing", "one statement"),
        ("select 1; select 2", "2 statements"),
        ("copy runs to '{out}'", "changes nothing"),
        ("install httpfs", "changes nothing"),
        ("set enable_external_access = true", "changes nothing"),
        ("attach '{out}'", "changes nothing"),
        ("create table more as select 1", "changes nothing"),
        ("delete from runs returning label", "changes nothing"),
    ],
)
def test_what_is_not_one_query_of_the_store_is_a_users_error(filled: Store, tmp_path: Path, query: str, said: str):
    (tmp_path / "secret").write_text("a\n1\n")
    with pytest.raises(UserError, match=said) as error:
        filled.sql(query.format(out=tmp_path / "out", secret=tmp_path / "secret"))
    assert "runs, lengths, positions, curves" in error.value.allowed
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "query", ["describe runs", "from lengths;", "pivot runs on status using count(*)", "values (1)"]
)
def test_every_way_to_ask_is_a_query(filled: Store, query: str):
    assert filled.sql(query).rows


def test_a_damaged_table_is_told(filled: Store, tmp_path: Path):
    path = shutil.copytree(filled.path, tmp_path / "runs")
    for file in path.glob("*/positions.parquet"):
        file.write_text("xx")
    with pytest.raises(StoreError, match=r"damaged.*\n.*positions\.parquet"):
        Store(path).table()


@pytest.mark.parametrize(("part", "value"), [("lengths", [1]), ("lengths", [{}]), ("parameters", {"total": "x"})])
def test_a_part_of_a_record_that_is_none_is_damage(filled: Store, tmp_path: Path, part: str, value: object):
    path = shutil.copytree(filled.path, tmp_path / "runs")
    file = next(path.glob("*/record.json"))
    file.write_text(json.dumps(json.loads(file.read_text()) | {part: value}))
    vouch(file.parent)
    with pytest.raises(StoreError, match=f"it lacks, or says by another kind of value: {part}"):
        Store(path).records()


def test_columns_of_one_name_keep_their_values(filled: Store):
    assert filled.sql("select 1 as a, 2 as a, 3 as a_1, 4 as a").dicts() == [{"a": 1, "a_2": 2, "a_1": 3, "a_3": 4}]


def test_a_write_that_fails_half_way_leaves_nothing(filled: Store, tmp_path: Path):
    record = filled.records()[0]
    store = Store(tmp_path / "runs", create=True)

    def full(file: Path) -> None:
        file.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    with pytest.raises(StoreError, match="No space left"):
        store.write(record, {"weights.safetensors": full})
    assert store.records() == [] and list(store.work.iterdir()) == []


def test_a_run_is_there_only_once_its_folder_has_its_name(filled: Store, tmp_path: Path, monkeypatch):
    """The rename is what decides: until then the files are all written, and nobody sees them."""
    store, record = Store(tmp_path / "runs", create=True), filled.records()[0]

    def interrupted(old: Path, new: Path) -> None:
        assert {file.name for file in Path(old).iterdir()} == {"SHA256SUMS", "record.json"} and store.hashes() == []
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("gnomon.lab.store.os.rename", interrupted)
    with pytest.raises(StoreError, match="Input/output error"):
        store.write(record, {})
    assert store.hashes() == [] and list(store.work.iterdir()) == []


@pytest.mark.parametrize(
    "spoil",
    [
        lambda text: text[: len(text) // 2],
        lambda text: "",
        lambda text: text.replace('"seed": 0', '"seed": 1'),
        lambda text: text.replace('"format": 1', '"format": 9', 1),
        lambda text: "[]",
    ],
    ids=["cut off", "empty", "changed", "newer", "list"],
)
def test_a_damaged_record_is_an_error_and_never_a_number(text: Path, tmp_path: Path, spoil):
    experiment = toy(text, steps=2)
    make(experiment, tmp_path / "runs")
    store = Store(tmp_path / "runs")
    file = store.folder(experiment.hash) / "record.json"
    file.write_text(spoil(file.read_text()))
    for vouched in (False, True):
        if vouched:
            vouch(file.parent)
        for read in (store.records, store.table, lambda: make(experiment, store.path)):
            with pytest.raises(StoreError, match=experiment.hash):
                read()


def test_a_record_that_lacks_what_every_record_says_is_damaged(text: Path, tmp_path: Path):
    experiment = toy(text, steps=2)
    make(experiment, tmp_path / "runs")
    store = Store(tmp_path / "runs")
    file = store.folder(experiment.hash) / "record.json"
    whole = json.loads(file.read_text())
    for name, wrong in (("label", None), ("lengths", "x"), ("cost", [])):
        file.write_text(json.dumps(whole | {name: wrong}))
        vouch(file.parent)
        with pytest.raises(StoreError, match=name):
            store.records()


def test_the_same_run_gives_the_same_numbers_in_another_store(filled: Store, text: Path, tmp_path: Path):
    experiment = toy(text, "rope")
    make(experiment, tmp_path / "other")
    assert results(Store(tmp_path / "other"), experiment.hash) == results(filled, experiment.hash)


@pytest.mark.parametrize("forgets", [True, False])
def test_a_run_has_its_own_peak_of_memory_or_none(text: Path, tmp_path: Path, monkeypatch, forgets: bool):
    """One process makes both: the large one first, whose peak is not that of the small one."""
    large = toy(text, "none", width=512, depth=2, batch=16, length=128, lengths=(128,), steps=2)
    small = toy(text, "none")
    if not forgets:
        monkeypatch.setattr("gnomon.lab.run.forget_peak", lambda: False)
    for experiment in (large, small):
        make(experiment, tmp_path / "runs")
    peaks = [Store(tmp_path / "runs").record(e.hash)["cost"]["peak_memory_bytes"] for e in (large, small)]
    if forgets:
        assert 1e7 < peaks[1] < peaks[0] - 5e7
    else:
        assert peaks[1] is None
