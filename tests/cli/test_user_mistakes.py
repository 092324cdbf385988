"""A mistake in a user's own encoding is told with file and line before anything runs: in list, laws and compare."""

import json
import re
import signal
import textwrap
from pathlib import Path

import pytest
import torch

from gnomon.encoding import Encoding, Shape
from gnomon.encodings import ENCODINGS, build, create, named, user, user_hooks
from gnomon.errors import OptionError, UserError
from gnomon.laws import Law, judge, variants
from gnomon.user_code import guarded, told

HEAD = """\
import sys
from abc import ABC, abstractmethod

import torch

from gnomon import Encoding
from gnomon.encoding import Domain


class Mine(Encoding):
"""

# What the class says, the first line that is wrong in it, and what has to be told.
MISTAKES = {
    "super forgotten": ("def __init__(self):\n    self.size = 3", 1, r"super\(\).__init__"),
    "super forgotten, with a parameter": (
        "def __init__(self):\n    self.table = torch.nn.Parameter(torch.zeros(3))",
        2,
        "before Module",
    ),
    "properties": ("x = 1\nproperties = 5", 2, "properties of Mine"),
    "properties of an object": (
        "def __init__(self):\n    super().__init__()\n    self.properties = 5",
        0,
        "properties",
    ),
    "domain": ("domain = (0, 10)", 1, "domain of Mine"),
    "no range": ("domain = Domain(5, 1)", 1, "no range"),
    "no axes": ("domain = Domain(axes=0)", 1, "no range"),
    "a domain that raises": ("@property\ndef domain(self):\n    return 1 / 0", 3, "ZeroDivisionError"),
    "variants": ("variants = {'size': 3}", 1, "variants of Mine"),
    "variants by a property": ("@property\ndef variants(self):\n    return ()", 2, "variants of Mine"),
    "an unknown option in variants": (
        "variants = ({'sise': 3},)\ndef __init__(self, size=1):\n    super().__init__()",
        1,
        "did you mean 'size'",
    ),
    "a title": ("__doc__ = 5", 1, "__doc__ of Mine"),
    "bibtex": ("bibtex = None", 1, "bibtex of Mine"),
    "memory": ("memory = 'long'", 1, "memory of Mine"),
    "a hook that is none": ("bias = 5", 1, "bias of Mine is a method"),
    "an annotation": ("def __init__(self, size: Sise = 1):\n    super().__init__()", 1, "Sise"),
    "an annotation as text": ("def __init__(self, size: 'Sise' = 1):\n    super().__init__()", 1, "Sise"),
    "any number of options": ("def __init__(self, **options):\n    super().__init__()", 1, r"\*\*options"),
    "any number of sizes": ("def __init__(self, *sizes):\n    super().__init__()", 1, r"\*sizes"),
    "the constructor exits": ("def __init__(self):\n    super().__init__()\n    sys.exit(3)", 3, "ends the program"),
    "another object": ("def __new__(cls):\n    return 5", 1, "object of the class"),
    "a wide query": ("def query(self, q, prepared):\n    return torch.cat([q, q], -1)", 1, "query of Mine returns"),
    "a key of another width than the query": (
        "def key(self, k, prepared):\n    return k[..., 1:]",
        1,
        "key of Mine returns",
    ),
    "a query without heads": ("def query(self, q, prepared):\n    return q[:, 0]", 1, "query of Mine"),
    "a hook with fewer arguments": ("def query(self, q):\n    return q", 1, "TypeError"),
    "a bias of two indices": (
        "def bias(self, q, k, q_pos, k_pos):\n    return lambda b, h: 0.0",
        1,
        "bias of Mine takes 4",
    ),
    "a bias of one number": (
        "def bias(self, q, k, q_pos, k_pos):\n    return lambda b, h, i, j: 0.5",
        1,
        "bias of Mine returns something else",
    ),
    "a bias that is a tensor": (
        "def bias(self, q, k, q_pos, k_pos):\n    return torch.zeros(q.shape[2], k.shape[2])",
        1,
        "bias of Mine returns something else",
    ),
    "a bias of another shape": (
        "def bias(self, q, k, q_pos, k_pos):\n    return lambda b, h, i, j: torch.zeros(5, 7)",
        1,
        "bias of Mine returns something else",
    ),
    "a transposed definition": (
        "def score(self, q, k, q_pos, k_pos):\n    return (q @ k.mT).mT",
        1,
        "score of Mine returns something else",
    ),
    "what is added is no tensor": ("def absolute(self, pos):\n    return 'much'", 1, "absolute of Mine"),
    "a hook that raises midway": (
        "def bias(self, q, k, q_pos, k_pos):\n    size = 0\n    return 1 / size",
        3,
        "ZeroDivisionError",
    ),
    "a pair function that raises": (
        "def bias(self, q, k, q_pos, k_pos):\n    return lambda b, h, i, j:\\\n        1 / 0",
        3,
        "ZeroDivisionError",
    ),
    "a hook of training that exits": ("def auxiliary(self, pos, generator):\n    sys.exit()", 2, "ends the program"),
    "one that is abstract": ("@abstractmethod\ndef bias(self): ...", 0, "abstract"),
}

COMMANDS = ("list none --encoding", "laws", "compare --encodings none --text book.txt --steps 1 --length 8 --encoding")


def write(folder: Path, body: str, head: str = HEAD) -> None:
    (folder / "mine.py").write_text(head + textwrap.indent(body, "    ") + "\n")
    (folder / "book.txt").write_bytes(bytes(65 + i % 23 for i in range(20_000)))


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.split()[0])
@pytest.mark.parametrize("mistake", MISTAKES)
def test_it_is_told_with_the_line(mistake: str, command: str, gnomon, tmp_path: Path, monkeypatch):
    body, line, told = MISTAKES[mistake]
    monkeypatch.chdir(tmp_path)
    write(tmp_path, body, HEAD.replace("(Encoding)", "(Encoding, ABC)") if "abstract" in mistake else HEAD)
    done = gnomon(*command.split(), "mine.py:Mine")
    assert done.code == 2 and "Traceback" not in done.err
    assert f"mine.py, line {HEAD.count(chr(10)) + line}: " in done.err and re.search(told, done.err), done.err


def test_a_user_s_error_keeps_its_kind_and_gets_the_line(tmp_path: Path):
    path = tmp_path / "mine.py"
    path.write_text("from gnomon.errors import DataError\nraise DataError('none of it', do='more')\n")
    with pytest.raises(UserError) as error:
        create(str(path), Shape(64, 4, 16))
    assert type(error.value).__name__ == "DataError" and error.value.do == "more"
    assert error.value.asked == f"{path}, line 2: none of it"


def test_what_no_check_looks_at_is_told_as_well(gnomon, tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "def __init__(self, size=Size()):\n    super().__init__()")
    size = "class Size:\n    def __repr__(self):\n        return 1 / 0\n\n\n"
    (tmp_path / "mine.py").write_text(size + (tmp_path / "mine.py").read_text())
    for form in ([], ["--json"]):
        done = gnomon("list", "mine.py", *form)
        assert done.code == 2 and "mine.py, line 3: ZeroDivisionError" in done.err


def test_one_that_takes_few_tokens_is_listed(gnomon, tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "domain = Domain(0, 99)")
    done = gnomon("list", "none", "mine.py", "--json")
    assert done.code == 0, done.err
    assert [row["cost"] for row in json.loads(done.out)["encodings"]] == [1.0, None]
    assert "-: it takes fewer" in gnomon("list", "mine.py").out and "fewer" not in gnomon("list", "none").out


def test_an_interrupt_is_none_of_the_file_s(tmp_path: Path):
    write(tmp_path, "def __init__(self):\n    super().__init__()\n    raise KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt):
        create(f"{tmp_path / 'mine.py'}:Mine", Shape(64, 4, 16))
    path = tmp_path / "mine.py"
    path.write_text(f"import os\nos.kill(os.getpid(), {int(signal.SIGINT)})\nfor _ in range(10**6):\n    pass\n")
    # Workers of pytest-xdist are deaf to it.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            create(str(path), Shape(64, 4, 16))
    finally:
        signal.signal(signal.SIGINT, before)


def test_an_error_of_somebody_else_comes_through(tmp_path: Path):
    with pytest.raises(ZeroDivisionError), told(tmp_path / "mine.py"):
        1 / 0  # noqa: B018
    write(tmp_path, "pass")
    mine = named(f"{tmp_path / 'mine.py'}:Mine")
    with pytest.raises(ZeroDivisionError), guarded(mine):
        1 / 0  # noqa: B018


def test_a_bug_of_ours_is_no_mistake_of_a_user_s(tmp_path: Path, monkeypatch):
    """Where no line of the file runs, nothing of it is blamed: neither when it is looked at nor under a law."""
    write(tmp_path, "pass")
    name = f"{tmp_path / 'mine.py'}:Mine"
    law = Law("broken", lambda case: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        judge(law, variants("Mine", named(name))[0])
    monkeypatch.setattr(Encoding, "scale", lambda self, head_dim: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        create(name, Shape(80, 5, 16))


def test_a_traceback_is_shown_where_it_is_asked_for(gnomon, tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "def bias(self, q, k, q_pos, k_pos):\n    return 1 / 0")
    for value, shown in ((None, False), ("0", False), ("1", True)):
        if value is not None:
            monkeypatch.setenv("GNOMON_TRACEBACK", value)
        done = gnomon("list", "mine.py:Mine")
        assert done.code == 2 and ("Traceback" in done.err and "in bias" in done.err) == shown
        assert re.search(r"(?m)^gnomon: mine\.py, line 12: ZeroDivisionError", done.err)
    assert "GNOMON_TRACEBACK=1" in gnomon("--help").out


@pytest.mark.parametrize("name", ENCODINGS)
def test_nothing_that_is_right_is_refused(name: str):
    """Every encoding of ours is what a user's has to be, and looking at it changes no random number and no mode."""
    kind = ENCODINGS[name]
    user.check(kind)
    for options in ({}, *kind.variants):
        shape = Shape(48, 6, 8, 2)
        encoding = build(kind, shape, **options)
        user.made(encoding, kind)
        before = torch.get_rng_state()
        user_hooks.look(encoding, shape, options)
        assert torch.equal(torch.get_rng_state(), before)
        assert all(module.training for module in encoding.modules())


def test_an_option_s_value_of_another_kind(tmp_path: Path):
    write(tmp_path, "def __init__(self, size: int = 1):\n    super().__init__()")
    with pytest.raises(OptionError, match=r"size of Mine"):
        create(f"{tmp_path / 'mine.py'}:Mine", Shape(64, 4, 16), size="three")
