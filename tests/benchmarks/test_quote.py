"""What is told of results.json: the README's table is that of what was measured, and one call writes all of it."""

import copy
import json

import pytest

from benchmarks.quote import BEGIN, COLUMNS, END, HERE, QUOTED, README, put, quoted, write
from benchmarks.rows import PEERS, Row

RESULTS = HERE / "results.json"


@pytest.fixture
def results():
    if not RESULTS.exists():
        pytest.skip("nothing has been measured: make bench")
    return json.loads(RESULTS.read_text(encoding="utf-8"))


def test_the_readme_quotes_what_was_measured(results):
    text = README.read_text(encoding="utf-8")
    assert put(text, quoted(results)) == text, "run `python -m benchmarks.quote`"
    assert not results["quick"]


def test_another_measurement_is_another_table(results):
    other = copy.deepcopy(results)
    row = next(row for row in other["scripts"]["forward"] if row["what"] == "rope even")
    row["ratio"], row["verdict"] = 7.77, "missed by 7x"
    assert "7.77*" not in quoted(results) and "7.77*" in quoted(other)


def test_the_table_lands_between_its_marks():
    assert put(f"a\n{BEGIN}\nold\n{END}\nb", "new") == f"a\n{BEGIN}\nnew\n{END}\nb"


def results_of(*scripts: str, ratio: float = 1.5, quick: bool = False) -> dict:
    """Of each script a row of each column."""
    about = dict(processor="a processor", cores=2, threads=2, platform="Linux-6", python="3", torch="2", gnomon="0")
    about |= dict(commit="0" * 40, date="2026-01-01T00:00:00", packages={name: "1" for name in PEERS})
    rows = [
        Row(section, what.format("rope"), "SDPA", 1.0, "s", 1.0, ratio, 1.1, low=ratio - 0.1, high=ratio + 0.1, runs=7)
        for _, section, what in COLUMNS
    ]
    return {"about": about, "quick": quick, "scripts": {name: [row.to_json() for row in rows] for name in scripts}}


def test_one_call_writes_the_page_and_the_table(tmp_path):
    readme = tmp_path / "README.md"
    readme.write_text(f"a\n{BEGIN}\nold\n{END}\nb", encoding="utf-8")
    write(results_of(*QUOTED), tmp_path, readme)
    assert "| rope | 1.50* | 1.50* | 1.50* | 1.50* | 1.50* | 1.50* |" in readme.read_text(encoding="utf-8")
    page = (tmp_path / "RESULTS.md").read_text(encoding="utf-8")
    assert "| rope even | gnomon | 1 s | 1 s | 1.50x | 13% | ≤ 1.1x | missed by 36% |" in page and "- Linux, " in page
    assert json.loads((tmp_path / "results.json").read_text(encoding="utf-8")) == results_of(*QUOTED)
    write(results_of(*QUOTED, ratio=1.15), tmp_path, readme)
    assert "| rope | 1.15 | " in readme.read_text(encoding="utf-8"), "undecided: no star"


@pytest.mark.parametrize("found", [results_of("forward"), results_of(*QUOTED, quick=True)], ids=["a part", "quick"])
def test_the_readme_quotes_no_part_of_a_measurement(found, tmp_path):
    readme = tmp_path / "README.md"
    readme.write_text("as it was", encoding="utf-8")
    write(found, tmp_path, readme)
    assert readme.read_text(encoding="utf-8") == "as it was" and (tmp_path / "RESULTS.md").exists()
