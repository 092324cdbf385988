"""What is told of results.json: RESULTS.md, and the table in the README; `python -m benchmarks.quote` writes both."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.rows import Row, markdown, sections
from gnomon.lab.files import replace_file

HERE = Path(__file__).resolve().parent
README = HERE.parent / "README.md"
BEGIN, END = "<!-- measured -->", "<!-- /measured -->"
COLUMNS = (
    ("even", "kernel, bidirectional", "{} even"),
    ("even, causal", "kernel, causal", "{} even"),
    ("sorted", "kernel, bidirectional", "{} sorted"),
    ("sorted, causal", "kernel, causal", "{} sorted"),
    ("memory", "kernel, bidirectional, memory", "{} even"),
    ("decode", "one token, 12 layers", "{}"),
)
"""Head, section of results.json, and what its row is called."""
STAR = "A star: the bound of its kind is missed, and not between the quartiles of the rounds; memory is taken once."
QUOTED = ("forward", "decode")
"""The scripts that the README quotes."""


def quoted(results: Mapping[str, Any]) -> str:
    """The table of ratios over plain SDPA, a dash where nothing was measured, and under which circumstances."""
    rows = {(row["section"], row["what"]): row for script in results["scripts"].values() for row in script}
    causal = [what for section, what in rows if section == "kernel, causal" and what.endswith(" even")]
    names = [what.removesuffix(" even") for what in causal]
    lines = ["| over SDPA | " + " | ".join(head for head, _, _ in COLUMNS) + " |", "| --- |" + " --: |" * len(COLUMNS)]
    lines += [f"| {name} | " + " | ".join(map(_cell, _of(rows, name))) + " |" for name in names]
    about = results["about"]
    machine = f"{about['processor']}, {about['threads']} threads, torch {about['torch']}"
    free = [name for name in names if rows["kernel, causal", f"{name} even"]["bound"] is None]
    lines += ["", f"{machine}, {about['date'][:10]}, commit {about['commit'][:12]}.", STAR]
    lines += [f"No bound was set for the attention of {', '.join(free)}."] * bool(free)
    return "\n".join(lines)


def _of(rows: Mapping[tuple[str, str], Mapping[str, Any]], name: str) -> list[Mapping[str, Any] | None]:
    """The rows of an encoding's columns, None where nothing was measured."""
    return [rows.get((section, what.format(name))) for _, section, what in COLUMNS]


def _cell(row: Mapping[str, Any] | None) -> str:
    if row is None or row["ratio"] is None:
        return "-"
    return f"{row['ratio']:.2f}{'*' if row['verdict'].startswith('missed') else ''}"


def put(readme: str, table: str) -> str:
    """The README with the table between its marks."""
    before, _, rest = readme.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{table}\n{END}{after}"


def titled(results: Mapping[str, Any]) -> dict[str, list[Row]]:
    """The rows of all scripts by section, each called by its script and itself."""
    rows = {name: [Row.from_json(row) for row in of] for name, of in results["scripts"].items()}
    return {f"{name}: {title}": part for name, of in rows.items() for title, part in sections(of).items()}


def write(results: Mapping[str, Any], folder: Path = HERE, readme: Path | None = None) -> None:
    """results.json and RESULTS.md in a folder; and the README's table, where all that it quotes was measured."""
    text = json.dumps(results, indent=2, ensure_ascii=False) + "\n"
    _replace(folder / "results.json", text)
    _replace(folder / "RESULTS.md", markdown(results["about"], titled(results), results["quick"]))
    if readme is not None and not results["quick"] and set(QUOTED) <= set(results["scripts"]):
        _replace(readme, put(readme.read_text(encoding="utf-8"), quoted(results)))


def _replace(path: Path, text: str) -> None:
    replace_file(path, lambda file: file.write_text(text, encoding="utf-8"))


def main() -> int:
    """Write anew what is told of results.json."""
    write(json.loads((HERE / "results.json").read_text(encoding="utf-8")), HERE, README)
    return 0


if __name__ == "__main__":
    sys.exit(main())
