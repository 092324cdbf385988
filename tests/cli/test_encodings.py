"""`gnomon list` and `gnomon cite`."""

import json

import pytest

from gnomon.encodings import ENCODINGS


def test_list_names_every_encoding_and_where_it_acts(gnomon):
    shown = gnomon("list", "--json")
    assert shown.code == 0
    rows = {row["name"]: row for row in json.loads(shown.out)["encodings"]}
    assert list(rows) == list(ENCODINGS)
    assert rows["none"]["acts_on"] == []
    assert rows["learned"]["acts_on"] == rows["sinusoidal"]["acts_on"] == ["embeddings"]
    assert rows["rope"]["acts_on"] == ["queries and keys"]
    assert rows["alibi"]["acts_on"] == ["logits"]
    assert rows["t5"]["acts_on"] == ["logits", "scale"]
    assert rows["learned"]["positions"]["highest"] == 1023
    assert rows["learned"]["parameters"] == 1024 * 128
    assert rows["rope"]["options"]["theta"] == 10000
    assert all(row["cost"] > 0 for row in rows.values())


def test_list_fits_80_columns(gnomon):
    lines = gnomon("list").out.splitlines()
    assert max(map(len, lines)) <= 80
    assert sum(line.startswith("sinusoidal") for line in lines) == 3


def test_list_says_what_computes_each_encoding(gnomon):
    shown = gnomon("list", "--backend")
    assert max(map(len, shown.out.splitlines())) <= 80
    rows = {row["name"]: row for row in json.loads(gnomon("list", "--backend", "--json").out)["encodings"]}
    assert list(rows) == list(ENCODINGS)
    assert [name for name, row in rows.items() if row["backend"] != "sdpa"] == ["cope"]
    assert "one table" in rows["alibi"]["evenly_spaced"] and "looked up" in rows["alibi"]["anywhere"]
    assert "alone" in rows["rope"]["evenly_spaced"] and "pair by pair" in rows["fire"]["anywhere"]
    assert "values" in rows["shaw"]["anywhere"] and "content" in rows["deberta"]["evenly_spaced"]


@pytest.mark.parametrize("name", [*ENCODINGS, "gnomon"])
def test_cite_prints_an_entry(gnomon, name):
    shown = gnomon("cite", name)
    assert shown.code == 0
    assert shown.out.startswith("@")
    assert shown.out.count("{") == shown.out.count("}")


def test_cite_without_names_prints_all(gnomon):
    assert list(json.loads(gnomon("cite", "--json").out)) == [*ENCODINGS, "gnomon"]


def test_cite_of_something_unknown_suggests_the_nearest(gnomon):
    shown = gnomon("cite", "alibbi")
    assert shown.code == 2
    assert "did you mean 'alibi'?" in shown.err
