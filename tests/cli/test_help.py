"""`--help` teaches, comes without torch, and a wrong word is met with the nearest right one."""

import subprocess
import sys
import time

import pytest

from gnomon import __version__
from gnomon.commands import COMMANDS
from gnomon.errors import unknown
from tests.cli.processes import environment, process

LOADED = "import sys; from gnomon.cli import main; main({!r}); print(*sys.modules, file=sys.stderr)"


@pytest.mark.parametrize("arguments", [["--help"], ["compare", "--help"], ["--version"]], ids=" ".join)
def test_help_comes_without_torch(arguments):
    start = time.perf_counter()
    command = [sys.executable, "-c", LOADED.format(arguments)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment(), check=True)
    print(f"gnomon {' '.join(arguments)}: {time.perf_counter() - start:.2f} s")
    loaded = {name.split(".")[0] for name in done.stderr.split()}
    assert loaded.isdisjoint({"torch", "numpy", "altair", "duckdb", "pyarrow", "accelerate"})


def test_version(gnomon):
    assert gnomon("--version").out == f"gnomon {__version__}\n"


def test_the_help_names_every_command_with_an_example(gnomon):
    shown = gnomon("--help")
    assert shown.code == 0
    for name in COMMANDS:
        assert f"$ gnomon {name}" in shown.out


def test_no_command_at_all_shows_the_help_and_is_a_mistake(gnomon):
    shown = gnomon()
    assert shown.code == 2
    assert "gnomon compare" in shown.out


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(gnomon, name):
    shown = gnomon(name, "--help")
    assert shown.code == 0
    assert f"\n    gnomon {name}" in shown.out
    assert "--json" in shown.out
    prose = [line for line in shown.out.splitlines() if line.startswith(("  ", "╭", "│"))]
    assert max(map(len, prose)) <= 80


@pytest.mark.parametrize("arguments", [[], *([name] for name in COMMANDS)], ids=" ".join)
def test_no_help_of_an_option_or_command_wraps(gnomon, arguments):
    shown = [line.strip("│ ") for line in gnomon(*arguments, "--help").out.splitlines()]
    heads = ("positional arguments", "options", "subcommands")
    first = next(at for at, line in enumerate(shown) if line.strip("╭╮─ ") in heads)
    begins = ("-", "[", "NAME", "•", "*", "$", "(required)", "╭", "╰", *heads)
    assert [line for line in shown[first:] if line and not line.startswith(begins)] == []


def test_an_unknown_command_suggests_the_nearest(gnomon):
    shown = gnomon("comapre")
    assert shown.code == 2
    assert "did you mean 'compare'?" in shown.err
    assert not shown.out


def test_an_unknown_option_suggests_the_nearest(gnomon):
    shown = gnomon("compare", "--lenghts", "64")
    assert shown.code == 2
    assert "--lengths" in shown.err


def test_a_value_of_the_wrong_kind_is_a_mistake(gnomon):
    shown = gnomon("compare", "--steps", "many")
    assert shown.code == 2
    assert "--steps" in shown.err
    assert "Traceback" not in shown.err


def test_a_reader_that_leaves_is_no_error():
    command = [sys.executable, "-m", "gnomon", "cite"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment()) as run:
        run.stdout.close()
        assert run.wait(timeout=60) == 0
        assert not run.stderr.read()


def test_python_m_gnomon_is_gnomon():
    assert process("--version").out == f"gnomon {__version__}\n"


@pytest.mark.parametrize(
    ("kind", "known", "said"),
    [
        ("option of t5", ["buckets", "max_distance"], "choose one of those allowed"),
        ("command", ["list"], "choose one of those allowed"),
        ("option of none", [], "leave it out"),
        ("option of t5", ["buckets", "bucket"], "did you mean 'bucket'?"),
    ],
)
def test_what_to_do_about_an_unknown_name_reads_well_for_every_kind(kind, known, said):
    error = unknown(kind, "bukket" if "mean" in said else "xyz", known)
    assert error.do == said
    assert str(error).startswith(f"unknown {kind} '")
