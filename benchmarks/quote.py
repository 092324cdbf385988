"""The table that the README quotes, from results.json: `python -m benchmarks.quote` writes it there again."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
README = HERE.parent / "README.md"
BEGIN, END = "<!-- measured -->", "<!-- /measured -->"
COLUMNS = (
    ("even", "kernel, bidirectional", "{} even"),
    ("causal", "kernel, causal", "{} even"),
    ("anywhere", "kernel, bidirectional", "{} anywhere"),
    ("causal", "kernel, causal", "{} anywhere"),
    ("memory", "kernel, bidirectional, memory", "{} even"),
    ("decode", "one token, 12 layers by one plan", "{}"),
)
"""Head, section of results.json, and what its row is called."""


def quoted(results: Mapping[str, Any]) -> str:
    """The table of ratios over plain SDPA, a dash where nothing was measured, and under which circumstances."""
    rows = {(row["section"], row["what"]): row for script in results["scripts"].values() for row in script}
    causal = [what for section, what in rows if section == "kernel, causal" and what.endswith(" even")]
    names = [what.removesuffix(" even") for what in causal]
    lines = ["| over SDPA | " + " | ".join(head for head, _, _ in COLUMNS) + " |", "| --- |" + " --: |" * len(COLUMNS)]
    for name in names:
        found = [rows.get((section, what.format(name))) for _, section, what in COLUMNS]
        lines.append(f"| {name} | " + " | ".join(_cell(row) for row in found) + " |")
    about = results["about"]
    lines += ["", f"{about['processor']}, {about['threads']} threads, torch {about['torch']}, {about['date'][:10]}, "
              f"commit {about['commit'][:12]}. A star: the bound is missed."]  # fmt: skip
    return "\n".join(lines)


def _cell(row: Mapping[str, Any] | None) -> str:
    if row is None or row["ratio"] is None:
        return "-"
    return f"{row['ratio']:.2f}{'*' if row['verdict'].startswith('missed') else ''}"


def put(readme: str, table: str) -> str:
    """The README with the table between its marks."""
    before, _, rest = readme.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{table}\n{END}{after}"


def main() -> int:
    """Write the table into the README."""
    results = json.loads((HERE / "results.json").read_text(encoding="utf-8"))
    README.write_text(put(README.read_text(encoding="utf-8"), quoted(results)), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
