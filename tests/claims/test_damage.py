"""A record that is damaged costs its own claim the record, and nothing else; it says why, and what to do."""

import json
import os

import pytest

from gnomon.claims import CLAIMS, records
from gnomon.claims.ledger import entry

WHOLE = {
    "id": "C99", "numbers": {"size": 3}, "recorded_at": "2026-01-01T00:00:00+00:00", "command": "gnomon",
    "commit": "a" * 40, "rule_file": "rule.py", "rule_commit": "a" * 40, "rule_sha256": "a" * 64,
    "versions": {"torch": "2"},
}  # fmt: skip


def told(**changes) -> bytes:
    return json.dumps(WHOLE | changes).encode()


DAMAGED = {
    "nothing": b"",
    "no json": b"{",
    "no text": b"\xff\xfe",
    "a list": b"[]",
    "no names": b"{}",
    "another claim": told(id="C98"),
    "one name more": told(more=1),
    "lists without end": b"[" * 100_000,
    "numbers without end": told(numbers={"size": 0}).replace(b"0}", b"[" * 400 + b"]" * 400 + b"}"),
    "objects in numbers": told(numbers={"size": {"of": 3}}),
    "a digit too many": told().replace(b": 3", b": " + b"9" * 5000),
    "nan": told(numbers={"size": float("nan")}),
    "inf": told(numbers={"size": [float("-inf")]}),
    "inf by its digits": told().replace(b": 3", b": 1e999"),
    "numbers twice": told().replace(b'"numbers"', b'"numbers": {"size": 1}, "numbers"'),
    "a number twice": told().replace(b'"size"', b'"size": 1, "size"'),
    "numbers are a list": told(numbers=[3]),
    "versions are numbers": told(versions={"torch": 2}),
    "a time that is none": told(recorded_at="yesterday"),
    "a time of no zone": told(recorded_at="2026-01-01T00:00:00"),
    "a time that is a number": told(recorded_at=3),
    "an escape in the time": told(recorded_at="\x1b[31m"),
    "an escape in a number": told(numbers={"size": "\x1b[31m"}),
    "an escape in a name": told(numbers={"size": 3, "\x1b[31m": 3}),
    "an escape in a version": told(versions={"torch": "\x1b[31m"}),
    "half of a character": told(command="\ud800"),
    "a commit that is none": told(commit="--help"),
    "a digest that is none": told(sha256="abc"),
    "a rule without a file": told(rule_file=""),
}


def test_what_all_of_them_are_made_from_is_a_record():
    assert records.loaded("C99", told()).numbers == {"size": 3}


@pytest.mark.parametrize("held", DAMAGED.values(), ids=DAMAGED)
def test_what_is_no_record_is_told_and_judged_by_nobody(repository, held):
    claim = repository.claim(5)
    repository.records.mkdir()
    (repository.records / "C99.json").write_bytes(held)
    found = entry(claim, repository.records)
    assert (found.verdict.word, found.basis, found.numbers) == ("not measured yet", "none", None)
    assert found.damaged in found.warnings and found.verdict.because == f"{found.damaged}."
    assert found.damaged.startswith("the record cannot be read: ") and "`gnomon claims C99 --record`" in found.damaged
    assert found.damaged.isprintable()


def put_folder(path):
    path.mkdir()


def put_pipe(path):
    os.mkfifo(path)


def put_loop(path):
    path.symlink_to(path.name)


def put_dead_link(path):
    path.symlink_to("nowhere")


def put_too_much(path):
    with path.open("wb") as file:
        file.truncate(records.LARGEST + 1)


PLACES = [put_folder, put_pipe, put_loop, put_dead_link, put_too_much]


@pytest.mark.parametrize("put", PLACES, ids=lambda put: put.__name__)
def test_what_is_no_file_of_a_record_is_told(repository, put):
    claim = repository.claim(5)
    repository.records.mkdir()
    put(repository.records / "C99.json")
    assert entry(claim, repository.records).damaged.startswith("the record cannot be read: ")


@pytest.mark.parametrize("put", PLACES[:4], ids=lambda put: put.__name__)
def test_it_is_told_before_anything_is_found_for_a_record(gnomon, tmp_path, monkeypatch, put):
    def find():
        raise AssertionError("found for nothing")

    monkeypatch.setitem(CLAIMS, "C29", CLAIMS["C29"].__class__(**vars(CLAIMS["C29"]) | {"evidence": find}))
    monkeypatch.setattr(records, "check_recordable", lambda claim: None)
    put(tmp_path / "C29.json")
    told = gnomon("claims", "C29", "--record", "--records", str(tmp_path))
    assert told.code == 2 and "the record of C29 cannot be written" in told.err


def test_a_damaged_record_costs_its_claim_alone(gnomon, repository, monkeypatch):
    """The others are told: one that is found anew has its verdict, one without a record is not measured yet. And the
    exit code says that something is wrong."""
    claim = repository.claim(5)
    monkeypatch.setitem(CLAIMS, "C99", claim)
    repository.records.mkdir()
    (repository.records / "C99.json").write_text("{")
    (repository.records / "C10.json").mkdir()
    asked = ("claims", "C99", "C10", "C13", "--records", str(repository.records))
    told = gnomon(*asked)
    said = " ".join(told.out.split())
    assert told.code == 1 and not told.err and "3 claims." in said and "does not hold" in said
    assert said.count("the record cannot be read") == 2 and ": a folder; restore it" in said
    assert gnomon(*asked, "-v").code == 1
    shown = gnomon(*asked, "--json")
    first, second, third = json.loads(shown.out)
    assert shown.code == 1 and first["damaged"] and second["damaged"] and third["damaged"] is None
    assert [each["verdict"] for each in (first, second, third)] == [
        "not measured yet", "does not hold", "not measured yet",
    ]  # fmt: skip
    assert [each["basis"] for each in (first, second, third)] == ["none", "computed", "none"]
    assert gnomon("claims", "C13", "--records", str(repository.records)).code == 0


def test_without_a_folder_of_records_it_says_so_and_where_it_looked(gnomon, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for more in ((), ("-v",), ("--json",)):
        told = gnomon("claims", "C14", *more)
        assert told.code == 0 and "results/claims is not in this folder" in " ".join(told.err.split())
    (shown,) = json.loads(told.out)
    assert "results/claims is not in this folder" in shown["because"] and "--record`" not in shown["because"]
    monkeypatch.setattr(records, "check_recordable", lambda claim: None)
    told = gnomon("claims", "C29", "--record")
    assert told.code == 2 and "no folder of records" in told.err and not list(tmp_path.iterdir())


def test_mistakes_are_told_in_80_columns(gnomon, tmp_path, monkeypatch):
    from gnomon.claims.history import Past

    known = Past("gnomon/claims/rules/c10.py", changed=True)
    monkeypatch.setattr(records, "past", lambda path: known)
    monkeypatch.chdir(tmp_path)
    for asked in (("C99",), ("C10", "--record"), ("C13", "--record"), ("C06", "--record"), ("C14",)):
        told = gnomon("claims", *asked)
        assert told.err and max(map(len, told.err.splitlines())) <= 80
