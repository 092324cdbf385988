"""Stdout is for what a command says, whatever a user's file prints; and one that cannot be written is told."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gnomon.lab.store import Store
from tests.cli.processes import environment, process

NOISY = """
import os
from gnomon import Encoding

print("imported")
os.system("echo started")


class Noisy(Encoding):
    bibtex = "@misc{noisy}"

    def __init__(self):
        super().__init__()
        print("built")
"""
FAILS = """
    def embed(self, x, pos):
        return x if x.shape[0] == 1 else x.reshape(7, 7)
"""
SIZES = ["--text", "book.txt", "--steps", "1", "--length", "16", "--lengths", "16", "--workers", "1"]
PLAN = """
from gnomon.lab.presets import PRESETS

print("planned")
EXPERIMENTS = [experiment for experiment in PRESETS["quick"]() if experiment.encoding == "none"]
"""


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "noisy.py").write_text(NOISY)
    (tmp_path / "plan.py").write_text(PLAN)
    (tmp_path / "book.txt").write_bytes(bytes(65 + i % 23 for i in range(20_000)))
    return tmp_path


@pytest.mark.parametrize("arguments", [["cite", "noisy.py:Noisy"], ["list", "noisy.py:Noisy"]], ids=" ".join)
def test_what_a_users_file_prints_is_on_stderr(here: Path, arguments: list[str]):
    done = process(*arguments, "--json", cwd=here)
    assert done.code == 0 and "noisy" in json.dumps(json.loads(done.out)).lower()
    assert {"imported", "started"} <= set(done.err.split())
    assert ("built" in done.err) == (arguments[0] == "list")


def test_what_plans_and_workers_print_is_not_on_stdout(here: Path):
    done = process("compare", "plan.py", "--encoding", "noisy.py:Noisy", *SIZES, "--json", cwd=here)
    assert done.code == 0, done.err
    assert [record["label"] for record in json.loads(done.out)["records"]] == ["none", "Noisy"]
    assert {"planned", "imported", "built"} <= set(done.err.split())


def shell(command: str, **more: str) -> subprocess.CompletedProcess:
    line = f"{sys.executable} -m gnomon {command}"
    return subprocess.run(["sh", "-c", line], capture_output=True, text=True, env=environment() | more, timeout=60)


@pytest.mark.parametrize("command", ["cite rope --json", "cite --help", "--version"])
@pytest.mark.parametrize(("where", "said"), [(">&-", "stdout is closed"), (">/dev/full", "No space left on device")])
def test_a_stdout_that_cannot_be_written_is_told(command: str, where: str, said: str):
    done = shell(f"{command} {where}")
    assert done.returncode == 2 and said in done.stderr and "stdout" in done.stderr
    assert len(done.stderr.splitlines()) <= 2


@pytest.mark.parametrize("where", ["2>&-", "2>/dev/full"])
def test_a_stderr_that_cannot_be_written_changes_no_exit_code(where: str):
    done = shell(f"cite ropes {where}")
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "")
    assert shell(f"cite rope {where}").stdout.startswith("@")


@pytest.mark.parametrize(
    ("where", "words"), [("a pipe without a reader", []), ("/dev/full", ["--json"])], ids=["pipe", "full"]
)
def test_runs_are_made_whether_or_not_their_progress_can_be_shown(here: Path, where: str, words: list[str]):
    """And what they have found is said, and their exit code is that of the runs: 1, since one has failed."""
    (here / "noisy.py").write_text(NOISY + FAILS)
    if where == "/dev/full":
        stderr = os.open(where, os.O_WRONLY)
    else:
        reader, stderr = os.pipe()
        os.close(reader)
    line = [sys.executable, "-m", "gnomon", "compare", "plan.py", "--encoding", "noisy.py:Noisy", *SIZES, "--cpu"]
    told = dict(stdout=subprocess.PIPE, stderr=stderr, text=True, env=environment(), cwd=here, timeout=300)
    done = subprocess.run([*line, *words], **told)
    os.close(stderr)
    assert done.returncode == 1 and "report" in done.stdout
    assert sorted(record["status"] for record in Store(here / "runs").records()) == ["failed", "finished"]


def test_a_stdout_that_cannot_be_written_is_told_after_the_runs(here: Path):
    line = f"{sys.executable} -m gnomon compare plan.py {' '.join(SIZES)} --cpu --log-json log > /dev/full"
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, env=environment(), cwd=here, timeout=300)
    assert done.returncode == 2 and "No space left on device: stdout" in done.stderr and "Traceback" not in done.stderr
    assert json.loads((here / "log").read_text().splitlines()[-1])["code"] == 2
    assert [record["status"] for record in Store(here / "runs").records()] == ["finished"]


def test_what_an_encoding_lacks_is_an_escape(here: Path):
    (here / "noisy.py").write_text(NOISY.replace("{noisy}", "{å}"))
    ascii_only = environment() | {"PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "gnomon", "cite", "noisy.py:Noisy"]
    for more in ([], ["--json"]):
        done = subprocess.run([*command, *more], capture_output=True, text=True, env=ascii_only, cwd=here, timeout=60)
        assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["noisy.py:Noisy"] == "@misc{å}"


def test_stdout_is_given_back():
    code = (
        "from gnomon.cli import main; main(['--version']); print('mine', flush=True); import os; os.system('echo too')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment(), timeout=60)
    assert done.stdout.split()[-2:] == ["mine", "too"], done.stderr
