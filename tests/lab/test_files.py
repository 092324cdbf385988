"""Files that are there whole or not at all, in place of what they replace."""

import errno
import os
import stat
from pathlib import Path

import pytest

from gnomon.errors import StoreError
from gnomon.lab.experiment import Experiment, Text
from gnomon.lab.exported import export
from gnomon.lab.files import replace_file, writing
from gnomon.lab.log import Log
from gnomon.lab.run import Settings
from gnomon.lab.store import Store
from gnomon.report.still import put
from tests.lab.toys import make, toy


@pytest.fixture
def umask():
    """Sets the umask; afterwards it is as before."""
    before = os.umask(0o022)
    yield os.umask
    os.umask(before)


def test_a_link_leads_to_what_is_replaced(tmp_path: Path):
    (tmp_path / "real").mkdir()
    target, link = tmp_path / "real" / "report.html", tmp_path / "link.html"
    target.write_text("old")
    link.symlink_to(target)
    replace_file(link, lambda file: file.write_text("new"))
    assert link.is_symlink() and target.read_text() == "new" and os.listdir(tmp_path / "real") == ["report.html"]


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir], ids=["pipe", "folder"])
def test_only_files_are_replaced(make, tmp_path: Path):
    path = tmp_path / "there"
    make(path)
    with pytest.raises(StoreError, match="only a file"):
        replace_file(path, lambda file: file.write_text("new"))
    assert path.exists() and not path.is_file() and os.listdir(tmp_path) == ["there"]


def test_an_experiment_may_name_a_file_that_no_text_can():
    experiment = Experiment("rope", task=Text("caf\udce9.txt", digest="0" * 64))
    assert Experiment.from_json(experiment.to_json()).hash == experiment.hash


@pytest.mark.skipif(os.name == "nt", reason="no umask there")
@pytest.mark.parametrize(
    ("mask", "file", "folder"), [(0o022, 0o644, 0o755), (0o002, 0o664, 0o775), (0o077, 0o600, 0o700)]
)
def test_who_may_read_what_is_written_is_said_by_the_umask(umask, text: Path, tmp_path: Path, mask, file, folder):
    """Of a store: marker, claims, checkpoint, all files of a run; and of what is written besides."""
    umask(mask)
    store, stopped = Store(tmp_path / "runs", create=True), iter([False, True])
    make(toy(text), store.path)
    settings = Settings(stop=lambda: next(stopped, True), checkpoint_seconds=0.0)
    assert make(toy(text, "alibi"), store.path, settings) == "stopped"
    export(store, tmp_path / "told")
    put(tmp_path / "pages" / "page.html", b"<html>")
    Log(tmp_path / "logs" / "log.jsonl").close()
    found = {path: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.rglob("*")}
    assert any(path.name.endswith("checkpoint.safetensors") for path in found)
    assert {mode for path, mode in found.items() if path.is_dir()} == {folder}
    assert {path.name: mode for path, mode in found.items() if path.is_file() and mode != file} == {}


@pytest.mark.parametrize(
    ("write", "said"),
    [
        (lambda store, gone: export(store, gone), "the folder of exported results cannot be written"),
        (lambda store, gone: Log(gone / "log"), "the log cannot be written"),
        (lambda store, gone: put(gone / "page.html", b""), "the page cannot be written"),
        (lambda store, gone: Store(gone, create=True).make(), "the store cannot be written"),
    ],
    ids=["results", "log", "page", "store"],
)
def test_what_cannot_be_written_is_named(text: Path, tmp_path: Path, write, said: str):
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match=said) as error:
        write(Store(tmp_path / "runs", create=True), tmp_path / "file" / "in")
    assert "run the same command again" not in error.value.do


@pytest.mark.parametrize("number", [errno.EACCES, errno.EPERM])
def test_a_folder_that_may_not_be_written_is_told_as_that(tmp_path: Path, number: int):
    with pytest.raises(StoreError, match="cannot be written") as error, writing(tmp_path):
        raise OSError(number, os.strerror(number), str(tmp_path / "file"))
    assert "owner" in error.value.do and "room" not in error.value.do
