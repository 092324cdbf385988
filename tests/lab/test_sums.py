"""No number is made of a file that is not as its run wrote it, by whatever way the file is read."""

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from gnomon.cli import main
from gnomon.errors import StoreError
from gnomon.lab import sums
from gnomon.lab.exported import export
from gnomon.lab.probes.subject import restored
from gnomon.lab.run import Settings
from gnomon.lab.store import Store
from gnomon.lab.verify import verify
from tests.lab.toys import STEPS, make, toy, vouch, write_text

FILES = ("record.json", "curve.parquet", "positions.parquet", "weights.safetensors")
READERS: dict[str, tuple[set[str], Callable[[Store, str], object]]] = {
    "record": ({"record.json"}, lambda store, hash: store.record(hash)),
    "records": ({"record.json"}, lambda store, hash: store.records()),
    "curve": ({"curve.parquet"}, lambda store, hash: store.curve(hash)),
    "positions": ({"positions.parquet"}, lambda store, hash: store.positions(hash)),
    "weights": ({"weights.safetensors"}, lambda store, hash: store.weights(hash)),
    "curves": ({"record.json", "curve.parquet"}, lambda store, hash: store.sql("select sum(loss) from curves")),
    "by position": ({"record.json", "positions.parquet"}, lambda store, hash: store.sql("select * from positions")),
    "probe": ({"record.json", "weights.safetensors"}, lambda store, hash: restored(store, hash)),
    "export": ({"record.json", "positions.parquet"}, lambda store, hash: export(store, store.path.parent / "told")),
}
"""Ways to read a run, each with the files that its numbers come from."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp("whole")
    experiment = toy(write_text(folder))
    make(experiment, folder / "runs", Settings(command="gnomon compare mine.py --store elsewhere --seeds 0 1"))
    return folder / "runs", experiment.hash


@pytest.fixture
def store(whole: tuple[Path, str], tmp_path: Path) -> Store:
    return Store(shutil.copytree(whole[0], tmp_path / "runs"))


@pytest.fixture
def run(whole: tuple[Path, str]) -> str:
    return whole[1]


def other_digit(file: Path) -> None:
    """The first loss of a record is another, in its last digit."""
    text = file.read_text()
    number = re.search(r'"loss": (\d+\.\d+)', text)
    changed = number[1][:-1] + str((int(number[1][-1]) + 1) % 10)
    file.write_text(text[: number.start(1)] + changed + text[number.end(1) :])
    assert json.loads(file.read_text()) != json.loads(text)


def other_bit(file: Path) -> None:
    """A bit in the middle of a file is another."""
    held = bytearray(file.read_bytes())
    held[len(held) // 2] ^= 1
    file.write_bytes(held)


@pytest.mark.parametrize("name", FILES)
def test_one_bit_or_digit_is_damage_to_whoever_reads_it(store: Store, run: str, name: str):
    file = store.folder(run) / name
    (other_digit if name == "record.json" else other_bit)(file)
    for reads, read in READERS.values():
        if name in reads:
            with pytest.raises(StoreError, match="damaged") as error:
                read(store, run)
            assert str(file) in error.value.given and "its bytes are not those that the run wrote" in error.value.given
    assert [fault.where for fault in verify(store)] == [f"{run}/{name}"]


def test_what_is_whole_is_read(store: Store, run: str):
    for _, read in READERS.values():
        assert read(store, run) is not None


def test_commands_tell_damage_and_no_number(store: Store, run: str, capsys: pytest.CaptureFixture):
    other_digit(store.folder(run) / "record.json")
    for words in (["results", "--csv"], ["results", "--json"], ["report"], ["probe", "--store"]):
        assert main([words[0], *words[2:], *words[1:2], str(store.path)]) == 2, words
        said = capsys.readouterr()
        assert said.out == "" and "record.json: its bytes are not those" in " ".join(said.err.split())


SPOILT = {
    "gone": lambda file: file.unlink(),
    "empty": lambda file: file.write_text(""),
    "cut off": lambda file: file.write_text(file.read_text()[:-30]),
    "cut off after a line": lambda file: file.write_text(file.read_text().splitlines(keepends=True)[0]),
    "no sums": lambda file: file.write_text("no sums\n"),
}


@pytest.mark.parametrize("how", SPOILT)
def test_sums_that_are_gone_or_cut_off_vouch_for_nothing(store: Store, run: str, how: str):
    SPOILT[how](store.folder(run) / sums.NAME)
    for reads, read in READERS.values():
        if reads != {"curve.parquet"}:  # the first line is its own
            with pytest.raises(StoreError, match=sums.NAME):
                read(store, run)
    faults = verify(store)
    assert faults and {fault.kind for fault in faults} == {"wrong"}
    assert all(sums.NAME in fault.where + fault.what for fault in faults)


def test_who_knows_that_a_run_is_whole_may_make_its_sums_anew(store: Store, run: str):
    """As for a run of a gnomon that kept none; the command is the one that is told."""
    (store.folder(run) / sums.NAME).unlink()
    [fault] = verify(store)
    subprocess.run(["sh", "-c", fault.do.rpartition("whole: ")[2]], check=True)
    assert verify(store) == [] and len(store.records()) == 1


def test_a_file_that_is_listed_and_gone_is_no_run_without_one(store: Store, run: str):
    for name, read in (("curve.parquet", store.curve), ("positions.parquet", store.positions)):
        (store.folder(run) / name).unlink()
        with pytest.raises(StoreError, match="it is missing"):
            read(run)
    vouch(store.folder(run))
    assert store.curve(run) == store.positions(run) == []


def test_a_run_that_has_ended_is_taken_only_if_it_is_whole(store: Store, run: str, whole, tmp_path: Path):
    experiment = toy(whole[0].parent / "text.txt", steps=STEPS)
    assert experiment.hash == run and make(experiment, store.path) == "present"
    other_digit(store.folder(run) / "record.json")
    with pytest.raises(StoreError, match="damaged"):
        make(experiment, store.path)


def test_the_advice_names_this_store_and_not_the_one_that_the_run_was_made_in(store: Store, run: str):
    other_bit(store.weights(run))
    [fault] = verify(store)
    assert fault.do == (
        f"remove {store.folder(run)} and run again: gnomon compare mine.py --seeds 0 1 --store {store.path}"
    )
