"""Attacks on what is stored: records, exported results, markers, tables, weights and checkpoints that are damaged."""

import json
from pathlib import Path

from hypothesis import strategies as st

from gnomon.lab.experiment import hash_of
from tests.fuzz.damage import TORN, damaged, damages, places, to_text, torn
from tests.fuzz.sandbox import Sandbox
from tests.fuzz.watched import Finding, call, inside
from tests.lab.toys import vouch

READERS = (
    ["results", "toys"],
    ["results", "toys", "--json"],
    ["results", "toys", "--csv"],
    ["results", "toys", "--sql", "select * from runs join lengths using (hash) join positions using (hash)"],
    ["results", "toys", "--sql", "select * from curves", "--csv"],
    ["results", "toys", "--verify"],
    ["results", "toys", "--export", "new"],
    ["report", "toys", "--out", "new.html"],
    ["report", "toys", "--figure", "new.svg", "--json"],
    ["report", "toys", "--analysis", "--out", "new.html"],
    ["probe", "--store", "toys", "--only", "lengths", "--examples", "2"],
    ["compare", "plan.py", "--cpu", "--workers", "1", "--store", "toys"],
    ["compare", "plan.py", "--cpu", "--workers", "1", "--store", "toys", "--tune", "1e-3", "1e-2"],
    ["compare", "plan.py", "--cpu", "--workers", "1", "--store", "toys", "--retry"],
    ["doctor", "--store", "toys"],
)
DEAR = [line for line in READERS if line[0] == "report"]
READ = st.one_of(*[st.sampled_from([line for line in READERS if line not in DEAR])] * 3, st.sampled_from(DEAR))
ANSWERS = [line for line in READERS if line[0] in ("results", "report", "probe") and "--verify" not in line]
"""What says the same whenever it is asked of the same store."""

_answers: dict[tuple, tuple[str, dict[str, bytes]]] = {}

TOLD = [line for line in READERS if line[0] in ("results", "report") and "--verify" not in line]
"""They read exported results too."""

records = st.tuples(READ, st.integers(0, 2), damages(), st.booleans())
exported = st.tuples(st.sampled_from(TOLD), st.integers(0, 2), damages(), st.booleans())
files = st.tuples(READ, places, st.sampled_from(TORN), places)


def record(sandbox: Sandbox, made: tuple) -> None:
    """A value of a record is another; where it `agrees`, its hash is that of what it says now."""
    line, which, changes, agrees = made
    with sandbox.unchanged([*line, "new", "new.html", "new.svg"]), inside(sandbox.work):
        folder = Path("toys") / sandbox.runs[which]
        found = damaged(json.loads((folder / "record.json").read_text()), changes)
        found = _agreeing(found) if agrees else found
        (folder / "record.json").write_bytes(to_text(found))
        vouch(folder)  # or nobody would look at what it says
        name = found.get("hash") if isinstance(found, dict) else None
        if agrees and isinstance(name, str) and name != folder.name and name.isalnum():
            folder.rename(folder.with_name(name))
        call(line, sandbox.home)


def told(sandbox: Sandbox, made: tuple) -> None:
    """The same in a line of exported results."""
    line, which, changes, agrees = made
    with sandbox.unchanged([*line, "told", "new", "new.html", "new.svg"]), inside(sandbox.work):
        file = Path("told") / "records.jsonl"
        lines = file.read_bytes().splitlines()
        found = damaged(json.loads(lines[which]), changes)
        lines[which] = to_text(_agreeing(found) if agrees else found)
        file.write_bytes(b"\n".join(lines))
        call(["told" if word == "toys" else word for word in line], sandbox.home)


def file(sandbox: Sandbox, made: tuple) -> None:
    """A file of a store, whichever, is torn: what a command then says is what it said before, or no answer."""
    line, which, how, place = made
    with sandbox.unchanged([*line, "new", "new.html", "new.svg"]), inside(sandbox.work):
        whole = _answer(sandbox, line)
    with sandbox.unchanged([*line, "new", "new.html", "new.svg"]), inside(sandbox.work):
        known = sorted(path for path in Path("toys").rglob("*") if path.is_file() and path.suffix != ".lock")
        path = known[int(which * len(known))]
        path.write_bytes(torn(path.read_bytes(), how, place))
        found = call(line, sandbox.home)
        if line in ANSWERS and found.code == 0 and (found.out, _written()) != whole:
            raise Finding(f"{path} is torn ({how}), and gnomon {line} gives another answer:\n{found.out}")


def _answer(sandbox: Sandbox, line: list[str]) -> tuple[str, dict[str, bytes]] | None:
    """What a command says and writes while the store is whole."""
    key = (sandbox.home, *line)
    if line in ANSWERS and key not in _answers:
        _answers[key] = (call(line, sandbox.home).out, _written())
    return _answers.get(key)


def _written() -> dict[str, bytes]:
    """The files that a command was told to write."""
    named = (Path("new"), Path("new.html"), Path("new.svg"))
    files = [file for path in named for file in (path.iterdir() if path.is_dir() else [path]) if file.is_file()]
    return {str(file): file.read_bytes() for file in files}


def _agreeing(record: object) -> object:
    """A record under the hash of its experiment, where that has one."""
    try:
        return record | {"hash": hash_of(record["experiment"])}
    except (TypeError, KeyError, ValueError, AttributeError, RecursionError):
        return record
