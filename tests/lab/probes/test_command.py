"""`gnomon probe`: what it prints and writes, and the mistakes that it tells."""

import json

import pytest

from gnomon.cli import main
from tests.lab.probes.conftest import experiments


@pytest.fixture
def words(store, text) -> list[str]:
    """The command line of one run."""
    return ["probe", experiments(text)["sinusoidal"].hash[:10], "--store", str(store.path), "--examples", "8"]


def test_a_page_and_what_does_not_apply(words, tmp_path, capsys):
    assert main([*words, "--only", "attended", "needle", "--out", str(tmp_path / "page.html")]) == 0
    printed = capsys.readouterr()
    assert "attended: distance" in printed.out and "needle: The task hides nothing" in printed.out
    page = (tmp_path / "page.html").read_text()
    assert "Attended distance in tokens" in page and "vega" in page
    assert "gnomon probe" in page and "--only attended needle" in page


def test_json_has_the_numbers_with_their_errors(words, text, capsys):
    assert main([*words, "--only", "perturbed", "needle", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["run"] == experiments(text)["sinusoidal"].hash and found["not_asked"].keys() == {"needle"}
    earlier = found["probes"]["perturbed"]["earlier"]
    assert earlier["changed"] == {"mean": 0, "se": 0, "count": 8} and earlier["tokens"] == 8


def test_mistakes_are_told(words, store, capsys):
    wrong = {
        "sinusoidal, seed 0": ["probe", "--store", str(store.path)],
        "given:   zz": ["probe", "zz", "--store", str(store.path)],
        "did you mean 'attended'": [*words, "--only", "atended"],
        "2 or more": [*words, "--examples", "1"],
        "no store here": ["probe", "--store", str(store.path / "nothing")],
    }
    for told, line in wrong.items():
        assert main(line) == 2
        assert told in capsys.readouterr().err
