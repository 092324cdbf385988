"""The README's table of measurements is that of results.json."""

import copy
import json

import pytest

from benchmarks.quote import BEGIN, END, HERE, README, put, quoted

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
