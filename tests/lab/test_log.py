"""`--log-json`: what is written, line by line, is what docs/log.md says; nothing of it is lost or half-written."""

import errno
import json
import logging
import os
import re
import signal
import time
import warnings
from dataclasses import fields
from pathlib import Path
from typing import get_args

import pytest

from gnomon.cli import main
from gnomon.errors import OptionError, StoreError
from gnomon.lab.events import ASIDE, Event, Phase, Quiet
from gnomon.lab.log import FORMAT, SCHEMA, Log, Logged, logged
from gnomon.lab.progress import LiveTable, PlainLines
from tests.fuzz import quick

PAGE = Path(__file__).parents[2] / "docs" / "log.md"
MINE = """import warnings

import torch

from gnomon import Encoding


class Fails(Encoding):
    def __init__(self):
        super().__init__()
        warnings.warn("of the file itself")

    def query(self, q, prepared):
        return q if q.shape[0] == 1 or torch.is_grad_enabled() is False else q.reshape(3, 3)
"""
PLAN = """from gnomon.lab.experiment import Experiment, Measure, Model, Text, Training

PARTS = dict(
    task=Text("text.txt"),
    model=Model(width=16, depth=1, heads=2),
    training=Training(steps=4, batch=2, length=8),
    measure=Measure(lengths=(8,), bytes=64, pairs=2, targets=2),
)
EXPERIMENTS = [Experiment(name, **PARTS) for name in ("none", "mine.py:Fails")]
"""


def lines(path: Path) -> list[dict]:
    """The lines of a log, each held to the schema."""
    found = [json.loads(line) for line in path.read_text().splitlines()]
    for line in found:
        assert line.keys() == {"time", "kind", *SCHEMA[line["kind"]]}, line
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00", line["time"])
    assert [line["time"] for line in found] == sorted(line["time"] for line in found)
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("log")
    (made / "mine.py").write_text(MINE)
    (made / "plan.py").write_text(PLAN)
    (made / "text.txt").write_text("the sun casts a shadow " * 2000)
    return made


def test_a_sweep_is_told_from_its_begin_to_its_end(folder: Path, monkeypatch: pytest.MonkeyPatch):
    """One run that ends well and one that fails, each in a process of its own, and a second command after them."""
    monkeypatch.chdir(folder)
    words = ["compare", "plan.py", "--cpu", "--workers", "1", "--log-json", "new/log.jsonl"]
    assert main(words) == 1
    found = lines(folder / "new/log.jsonl")
    begin, [plan] = found[0], [line for line in found if line["kind"] == "plan"]
    assert (begin["kind"], begin["format"], begin["process"]) == ("begin", FORMAT, os.getpid())
    assert begin["command"] == "gnomon compare plan.py --cpu --workers 1 --log-json new/log.jsonl"
    assert (plan["runs"], plan["stored"], plan["trials"]) == (2, 0, False)
    runs = {label: [line for line in found if line.get("label") == label] for label in ("none", "Fails")}
    for label, ends in (("none", "finished"), ("Fails", "failed")):
        phases = list(dict.fromkeys(line["phase"] for line in runs[label] if line["kind"] == "run"))
        assert phases[:2] == ["queued", "start"] and phases[-1] == ends
    assert {"train", "checkpoint", "measure"} < {line["phase"] for line in runs["none"]}
    [saved] = [line for line in runs["none"] if line["phase"] == "checkpoint"]
    assert (saved["step"], saved["steps"]) == (4, 4)
    assert runs["Fails"][-1]["reason"].startswith("mine.py, line 14: RuntimeError")
    said = [(line["label"], line["text"]) for line in found if line["kind"] == "warning"]
    assert ("Fails", "UserWarning: of the file itself") in said and len(said) == len({*said})
    assert (found[-1]["kind"], found[-1]["code"], found[-1]["reason"]) == ("end", 1, None)

    with quick.stopped():
        assert main([*words, "--retry"]) == 130
    more = lines(folder / "new/log.jsonl")
    assert more[: len(found)] == found
    assert more[-1]["code"] == 130 and [line["stored"] for line in more if line["kind"] == "plan"] == [0, 1]
    assert "the same command goes on" in more[-1]["reason"]


def test_what_is_wrong_is_told_at_the_end(folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.chdir(folder)
    assert main(["compare", "gone.py", "--log-json", str(tmp_path / "log")]) == 2
    begin, end = lines(tmp_path / "log")
    assert begin["kind"] == "begin" and end["code"] == 2 and "no such experiment file" in end["reason"]


@pytest.mark.parametrize("name", ["", ".", "pipe", "file/in"])
def test_what_is_no_file_is_refused_before_the_work(name: str, folder: Path, monkeypatch, tmp_path: Path, capsys):
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    Path("file").touch()
    assert main(["compare", str(folder / "plan.py"), "--log-json", name]) == 2
    assert "log" in capsys.readouterr().err and sorted(os.listdir()) == ["file", "pipe"]


def test_listeners_show_nothing_of_what_is_for_logs(tmp_path: Path):
    """A line for people says what a run does; a checkpoint does not change that."""
    for phase in ASIDE:
        event = Event("a", "rope", 0, phase, reason="said")
        stream = (tmp_path / "shown").open("w")
        PlainLines(stream).update(event)
        stream.close()
        assert (tmp_path / "shown").read_text() == ""
        from rich.console import Console

        table = LiveTable(Console(file=(tmp_path / "table").open("w")))
        table.update(event)
        assert table.events == {}


def test_a_warning_is_told_once_and_still_said(tmp_path: Path):
    with pytest.warns(DeprecationWarning, match="old"), logged(tmp_path / "log", command="", store="", gnomon=""):
        for _ in range(3):
            logging.getLogger("other").warning("much %s", "noise")
            warnings.warn("old", DeprecationWarning, stacklevel=1)
        logging.getLogger("gnomon.lab.run").error("an event already")
        logging.getLogger("other").info("nothing")
    assert [line["text"] for line in lines(tmp_path / "log")[1:]] == ["much noise", "DeprecationWarning: old"]
    before = len(logging.getLogger().handlers)
    with logged(tmp_path / "log", command="", store="", gnomon=""):
        pass
    assert len(logging.getLogger().handlers) == before


def test_two_that_share_a_file_write_whole_lines(tmp_path: Path):
    logs = [Log(tmp_path / "log") for _ in range(2)]
    for at in range(50):
        Logged(logs[at % 2], Quiet()).update(Event(f"{at}", "\ud800\u2028" * 500, 0, "train", loss=0.5))
    assert [line["hash"] for line in lines(tmp_path / "log")] == [f"{at}" for at in range(50)]


def test_a_disk_that_fills_up_ends_the_log_and_not_the_runs(tmp_path: Path, monkeypatch, capsys):
    log = Log(tmp_path / "log")

    def full(handle: int, held: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("gnomon.lab.log.os.write", full)
    for _ in range(3):
        log.write("end", code=0)
    assert capsys.readouterr().err.count("No space left on device") == 1


@pytest.mark.parametrize("room", [0, 30, 60])
def test_half_a_line_of_a_full_disk_is_no_part_of_the_next(tmp_path: Path, monkeypatch, room: int):
    """A disk takes what it has room for and says how much; then there is room again, and the command is given again."""
    log, write = Log(tmp_path / "log"), os.write
    log.write("end", code=0)
    left = [room]

    def nearly_full(handle: int, held: bytes) -> int:
        if not left[0]:
            raise OSError(28, "No space left on device")
        taken = write(handle, held[: left[0]])
        left[0] -= taken
        return taken

    with monkeypatch.context() as now:
        now.setattr("gnomon.lab.log.os.write", nearly_full)
        log.write("end", code=1)
    Log(tmp_path / "log").write("end", code=2)
    found = (tmp_path / "log").read_text().splitlines()
    assert [json.loads(found[at])["code"] for at in (0, -1)] == [0, 2] and len(found) == 2 + bool(room)


def test_a_write_that_takes_a_part_is_gone_on_with(tmp_path: Path, monkeypatch):
    log, write = Log(tmp_path / "log"), os.write
    monkeypatch.setattr("gnomon.lab.log.os.write", lambda handle, held: write(handle, held[:7]))
    for code in (0, 1):
        log.write("end", code=code)
    assert [line["code"] for line in lines(tmp_path / "log")] == [0, 1]


def test_what_cannot_be_formatted_is_told_of_and_ends_nothing(tmp_path: Path, monkeypatch, capsys):
    class Unsayable(UserWarning):
        def __str__(self) -> str:
            raise RuntimeError("no words")

    monkeypatch.setattr(logging.getLogger(), "handlers", [])  # those of pytest raise
    with logged(tmp_path / "log", command="", store="", gnomon=""):
        logging.getLogger("other").warning("%d tokens", "many")
        logging.getLogger("other").warning(Unsayable())
        logging.getLogger("other").warning("said")
    assert [line["text"] for line in lines(tmp_path / "log")[1:]] == ["said"]
    assert "%d tokens" in capsys.readouterr().err


def test_a_run_tells_its_work_four_times_a_second_whoever_makes_it(tmp_path: Path, monkeypatch):
    now = iter(0.01 * at for at in range(1000))
    monkeypatch.setattr("gnomon.lab.log.time.monotonic", lambda: next(now))
    log = Logged(Log(tmp_path / "log"), Quiet())
    for step in range(100):
        log.update(Event("a", "rope", 0, "train", step))
    for phase in ("checkpoint", "warning", "warning", "measure", "finished"):
        log.update(Event("a", "rope", 0, phase, reason="said"))
    found = lines(tmp_path / "log")
    told = [line.get("phase", "warning") for line in found]
    assert told == ["train"] * 4 + ["checkpoint", "warning", "warning", "measure", "finished"]


@pytest.mark.parametrize("at", ["gnomon.lab.engine.run_plan", "gnomon.commands.compare.write"], ids=["before", "after"])
def test_sigterm_is_told_with_its_exit_code_at_any_time(at: str, folder: Path, monkeypatch, tmp_path: Path):
    """Also before the first run and after the last one, where no worker would hear it."""

    def terminate(*given: object, **more: object) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(10)

    monkeypatch.chdir(folder)
    before = signal.signal(signal.SIGTERM, lambda *given: pytest.fail("nobody has heard it"))
    try:
        with quick.in_this_process():
            monkeypatch.setattr(at, terminate)
            words = ["compare", "plan.py", "--cpu", "--store", str(tmp_path / "runs")]
            assert main([*words, "--log-json", str(tmp_path / "log")]) == 130
    finally:
        signal.signal(signal.SIGTERM, before)
    end = lines(tmp_path / "log")[-1]
    assert (end["kind"], end["code"]) == ("end", 130) and "terminated" in end["reason"]


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (BrokenPipeError(errno.EPIPE, "Broken pipe", "stdout"), 0),
        (OSError(errno.ENOSPC, "No space left on device", "stdout"), 2),
        (StoreError("gone"), 2),
        (KeyboardInterrupt(), 130),
        (BrokenPipeError(errno.EPIPE, "Broken pipe"), None),
        (ZeroDivisionError(), None),
    ],
    ids=["pipe", "full", "mistake", "interrupted", "another pipe", "bug"],
)
def test_the_code_of_the_end_is_that_of_the_command(error, code, folder: Path, monkeypatch, tmp_path: Path):
    def end(*given: object) -> None:
        raise error

    monkeypatch.chdir(folder)
    monkeypatch.setattr("gnomon.commands.compare.Compare._made", end)
    words = ["compare", "plan.py", "--log-json", str(tmp_path / "log")]
    if code is None:
        with pytest.raises(type(error)):
            main(words)
    else:
        assert main(words) == code
    assert lines(tmp_path / "log")[-1]["code"] == code


def test_a_folder_that_cannot_be_made_is_a_users_error(tmp_path: Path):
    (tmp_path / "file").touch()
    with pytest.raises((StoreError, OptionError)):
        Log(tmp_path / "file" / "in")


def test_the_page_says_what_the_schema_says():
    page = PAGE.read_text()
    parts = dict(re.findall(r"^## `(\w+)`.*?\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL))
    assert parts.keys() == SCHEMA.keys()
    for kind, known in SCHEMA.items():
        table = parts[kind].split("| phase |")[0]
        named = {
            name for row in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)
        }
        assert named == {*known}
    assert {field.name for field in fields(Event)} == {*SCHEMA["run"]}
    phases = {name for name in get_args(Phase) if name != "warning"}
    assert phases == {
        *re.findall(r"`(\w+)`", "".join(re.findall(r"^\| (`.*?) \|", parts["run"].split("| phase |")[1], re.M)))
    }
    assert all(phase in SCHEMA["run"]["phase"] for phase in phases)
