"""What `make bench` has measured and committed, encoding by encoding; and how much code each encoding is."""

import ast
import inspect
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gnomon.claims.shapes import Real, Row, Rows, Text, Whole
from gnomon.errors import DataError

FILE = Path("benchmarks") / "results.json"

TIMES = {
    "attention": "kernel, bidirectional",
    "causal attention": "kernel, causal",
    "a layer": "layer, bidirectional",
    "a causal layer": "layer, causal",
    "training": "forward and backward, bidirectional",
    "causal training": "forward and backward, causal",
}
"""What is timed at evenly spaced positions over the same without positions, and its section in the file."""
MEMORY = {
    "attention": "kernel, bidirectional, memory",
    "causal attention": "kernel, causal, memory",
    "a layer": "layer, bidirectional, memory",
    "a causal layer": "layer, causal, memory",
    "causal training": "memory of training, causal",
}
"""Where the peak of memory is taken, and its section."""

ABOUT = Row((Text(), Whole(1), Text(), Text()))
ABOUT_COLUMNS = ("processor", "threads", "commit", "date")
TIME_COLUMNS = ("encoding", "what", "ratio", "between quartiles", "rounds")
TIME_ROWS = Rows(Row((Text(), Text(), Real(0), Real(0, none=True), Whole(1))))
MEMORY_COLUMNS = ("encoding", "what", "bytes")
MEMORY_ROWS = Rows(Row((Text(), Text(), Whole())))
STATEMENT_COLUMNS = ("encoding", "lines of its file", "with what it shares")
STATEMENT_ROWS = Rows(Row((Text(), Whole(1), Whole(1))))


def measured() -> Mapping[str, Any]:
    """All of the file. DataError where it is not there, is damaged, or was measured at small sizes."""
    do = "in a checkout of gnomon, on a machine that does nothing else: make bench"
    if not FILE.is_file():
        raise DataError("the costs have not been measured here", given=f"{FILE.as_posix()}, which is not there", do=do)
    try:
        found = json.loads(FILE.read_text(encoding="utf-8"))
        quick = found["quick"]
        _rows(found)
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise DataError("what the benchmarks wrote is damaged", given=f"{FILE.as_posix()}: {error}", do=do) from error
    if quick:
        raise DataError("these costs were measured at small sizes, to try", given=f"{FILE.as_posix()}: quick", do=do)
    return found


def about(found: Mapping[str, Any]) -> list:
    """On what, and of which commit, as ABOUT_COLUMNS."""
    told = found["about"]
    return [told["processor"], told["threads"], told["commit"], told["date"]]


def times(found: Mapping[str, Any], names: Sequence[str]) -> list[list]:
    """Rows of TIME_COLUMNS: the median ratio to the same without positions, and how far its quartiles are apart,
    relative to it. DataError where one was not measured."""
    rows = _rows(found)
    told = []
    for name in names:
        for what, section in TIMES.items():
            row = _row(rows, section, (f"{name} even", name), "ratio")
            told.append([name, what, row["ratio"], row["spread"], row["runs"]])
    return told


def memory(found: Mapping[str, Any], names: Sequence[str]) -> list[list]:
    """Rows of MEMORY_COLUMNS: by how much the memory of a process grows at its peak. DataError where one was not
    measured."""
    rows = _rows(found)
    return [
        [name, what, int(_row(rows, section, (f"{name} even", f"{name} 1024"), "value")["value"])]
        for name in names
        for what, section in MEMORY.items()
    ]


def statements(names: Sequence[str]) -> list[list]:
    """Rows of STATEMENT_COLUMNS: the lines of code of an encoding's file, and with those of the files beside it that
    it imports. A statement is a line, however it is laid out; imports, references and what is said of it are none."""
    from gnomon.encodings import ENCODINGS

    told = []
    for name in names:
        module = ENCODINGS[name].__module__
        told.append([name, lines(_source(module)), sum(lines(_source(each)) for each in _together(module))])
    return told


def lines(source: str) -> int:
    """Lines of code, each statement on one of its own, without imports, docstrings, comments and `bibtex`."""
    return sum(bool(line.strip()) for line in ast.unparse(_Bare().visit(ast.parse(source))).splitlines())


class _Bare(ast.NodeTransformer):
    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        return None if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str) else node

    def visit_Import(self, node: ast.Import) -> None:
        return None

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        return None

    def visit_Assign(self, node: ast.Assign) -> ast.AST | None:
        return None if any(isinstance(at, ast.Name) and at.id == "bibtex" for at in node.targets) else node


def _source(module: str) -> str:
    return inspect.getsource(sys.modules[module])


def _together(module: str, known: tuple[str, ...] = ()) -> tuple[str, ...]:
    """A module and those of the folder of encodings that it imports, and so on."""
    known = (*known, module)
    for node in ast.walk(ast.parse(_source(module))):
        other = node.module if isinstance(node, ast.ImportFrom) else None
        if other and other.startswith("gnomon.encodings.") and other not in known:
            known = _together(other, known)
    return known


def _rows(found: Mapping[str, Any]) -> dict[tuple[str, str], Mapping[str, Any]]:
    return {(row["section"], row["what"]): row for script in found["scripts"].values() for row in script}


def _row(rows: Mapping, section: str, whats: Sequence[str], key: str) -> Mapping[str, Any]:
    row = next((rows[section, what] for what in whats if (section, what) in rows), None)
    if row is None or row.get(key) is None:
        raise DataError(
            "a cost was not measured",
            given=f"{FILE.as_posix()}: {section}, {whats[0]}",
            do="measure all of it: make bench",
        )
    return row
