"""`gnomon claims`, as it is used."""

import json

import pytest

from gnomon.claims import CLAIMS, MODULES
from gnomon.claims.claim import Claim
from gnomon.claims.ledger import digits
from gnomon.claims.published import orderings
from tests.claims.made_up import keep, text, texts
from tests.cli.processes import process


@pytest.fixture(scope="module")
def whole():
    return process("claims")


def test_the_table_stands_in_80_columns_and_has_every_claim_with_evidence(whole):
    assert whole.code == 0
    lines = whole.out.splitlines()
    assert max(map(len, lines)) <= 80
    table = lines[: lines.index("")]
    assert [line[:3] for line in table if line[:1] == "C"] == [module.CLAIM.id for module in MODULES]
    assert f"{len(CLAIMS)} claims." in whole.out


def test_a_verdict_that_holds_if_is_told_with_its_condition(whole):
    """Its column is the third, and lines of it go on below."""
    lines = whole.out.splitlines()
    begin = next(at for at, line in enumerate(lines) if line.startswith("C02"))
    end = next(at for at, line in enumerate(lines) if line.startswith("C03"))
    column = slice(lines[begin].index("holds if"), lines[begin].index("computed"))
    told = " ".join(line[column].strip() for line in lines[begin:end])
    assert told.strip() == "holds if angles are formed in float64 or float32"


@pytest.fixture
def waiting(monkeypatch) -> list[str]:
    """Two claims more, that nothing is measured for."""
    ids = ["C97", "C98"]
    for id in ids:
        claim = Claim(id, "later", "It is so.", "그렇다.", "D1", "1", "Is it?", awaits="Larger models.")
        monkeypatch.setitem(CLAIMS, id, claim)
    return ids


def test_what_waits_for_training_is_in_one_paragraph(gnomon, waiting):
    told = " ".join(gnomon("claims", "C10", *waiting).out.split())
    listed = told[told.index("Not measured yet, for want of") :].split(": ")[1].split(". ")[0]
    assert listed.split(", ") == waiting


def test_a_claim_that_waits_is_told_alone(gnomon, waiting):
    told = gnomon("claims", waiting[0])
    assert told.code == 0 and told.out.startswith("Not measured yet, for want of trained or timed models: C97.")


def test_one_claim_is_explained_in_both_languages(gnomon, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    told = gnomon("claims", "c10", "-v")
    assert told.code == 0
    for part in ("DOES NOT HOLD", "Falcon-7B", "GPT-4", "CONTRADICTED = 0", "c10.py", "arXiv 2303.08774"):
        assert part in " ".join(told.out.split())
    assert CLAIMS["C10"].korean.split()[0] in told.out
    assert "C13" not in told.out


def test_numbers_stand_in_tables_with_named_columns(gnomon, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    lines = gnomon("claims", "C15", "-v").out.splitlines()
    head = next(line.split("  ") for line in lines if line.startswith("width  first rise"))
    assert [name.strip() for name in head if name.strip()] == list(CLAIMS["C15"].columns["widths"])
    assert any(line.split()[:2] == ["512", "43"] for line in lines)


def test_a_number_that_is_nearly_1_is_not_printed_as_1(gnomon):
    """C18's threshold WHOLE is 1 - 1e-9."""
    assert "WHOLE = 1 - 1e-09" in " ".join(gnomon("claims", "C18", "-v").out.split())
    assert [digits(value) for value in (1.0, 0.5, 1 - 2e-12, 1 + 1e-6, 0.9998)] == [
        "1", "0.5", "1 - 2e-12", "1 + 1e-06", "0.9998",
    ]  # fmt: skip


def test_json_has_all_of_it(gnomon, waiting):
    told = gnomon("claims", "C10", waiting[0], "--json")
    first, second = json.loads(told.out)
    assert (first["id"], first["verdict"], first["basis"]) == ("C10", "does not hold", "computed")
    assert first["korean"] == CLAIMS["C10"].korean and first["numbers"]["undisclosed"]
    assert first["rule"]["file"].endswith("c10.py")
    assert first["columns"]["table"][0] == "model" and first["condition"] is None
    assert (second["verdict"], second["numbers"], second["rule"]) == ("not measured yet", None, None)


def test_an_unknown_claim_suggests_the_nearest(gnomon):
    told = gnomon("claims", "C99")
    assert told.code == 2 and "did you mean" in told.err


def test_what_waits_for_training_cannot_be_recorded(gnomon, tmp_path, waiting):
    told = gnomon("claims", waiting[0], "--record", "--records", str(tmp_path / "new"))
    assert told.code == 2 and "no evidence" in told.err
    assert not (tmp_path / "new").exists()


def test_a_folder_of_records_that_is_not_there_is_a_mistake(gnomon, tmp_path):
    told = gnomon("claims", "C10", "--records", str(tmp_path / "nowhere"))
    assert told.code == 2 and "no folder of records" in told.err


def test_records_are_written_and_read_again(gnomon, tmp_path, monkeypatch):
    """Under a rule that is taken for committed, wherever these tests run."""
    from gnomon.claims import ledger, records
    from gnomon.claims.history import Commit, Past

    known = Past("gnomon/claims/rules/c10.py", Commit("a" * 40, "2026-01-01"), Commit("b" * 40, "2026-01-02"))
    monkeypatch.setattr(records, "past", lambda path: known)
    monkeypatch.setattr(ledger, "past", lambda path: known)
    told = gnomon("claims", "C10", "--record", "--records", str(tmp_path / "new"))
    assert told.code == 0 and "does not hold" in told.out
    held = json.loads((tmp_path / "new" / "C10.json").read_text(encoding="utf-8"))
    assert held["rule_commit"] == "b" * 40 and held["numbers"]["contradicted"]
    (shown,) = json.loads(gnomon("claims", "C10", "--json", "--records", str(tmp_path / "new")).out)
    assert shown["record"] == held
    table = gnomon("claims", "C10", "--records", str(tmp_path / "new")).out
    assert "b" * 7 in table and "a" * 7 in table


def test_a_page_of_the_ledger_is_written(gnomon, tmp_path):
    out = tmp_path / "claims.html"
    assert gnomon("claims", "C10", "C02", "C31", "--out", str(out)).code == 0
    text = out.read_text(encoding="utf-8")
    for part in ("C10: ", "C02: ", "DOES NOT HOLD", "NOT MEASURED YET", "Falcon", "gnomon claims C10 C02 C31 --out"):
        assert part in text
    assert gnomon("claims", "C10", "--out", str(tmp_path)).code == 2


@pytest.fixture
def results(tmp_path, monkeypatch):
    """A folder with made-up results on text, where the command is given."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)
    runs = texts({"alibi": (0.02, 0.03), "rope": (0.8, 0.81)})
    runs += texts({"rope": (0.2, 0.21)}, options={"scaling": "yarn", "factor": 8.0})
    keep(tmp_path / "results", text=[*runs, text("t5", 0, 0.0, loss=3.25)])
    return tmp_path


def test_the_scorecard_stands_in_80_columns(gnomon, results):
    told = gnomon("claims", "--scorecard")
    assert told.code == 0 and max(map(len, told.out.splitlines())) <= 80
    lines = [line.split() for line in told.out.splitlines()]
    for row in (["alibi", "0.025*", "0.05*"], ["rope", "0.805", "1.61"], ["t5", "(0/1)", "(0/1)"]):
        assert row in lines
    words = " ".join(told.out.split())
    assert "nats a byte, lower is better." in words and "gnomon compare experiments/images.py" in words


def test_the_scorecard_has_ranges_and_reasons(gnomon, results):
    told = gnomon("claims", "--scorecard", "-v")
    assert max(map(len, told.out.splitlines())) <= 80
    lines = [" ".join(line.split()) for line in told.out.splitlines()]
    assert any(line.startswith("alibi 0.025* 0.02 to 0.03 2") for line in lines)
    assert any("seed 0: did not learn" in line for line in lines)


def test_the_scorecard_for_programs(gnomon, results):
    told = json.loads(gnomon("claims", "--scorecard", "--json").out)
    column = next(each for each in told["columns"] if each["key"] == "text_2x")
    assert column["cells"]["alibi"]["by_seed"] == {"0": 0.02, "1": 0.03}
    assert column["ranked"] == ["alibi", "rope factor=8 scaling=yarn", "rope"] and column["best"] == ["alibi"]
    assert column["cells"]["t5"]["state"] == "not learned"


@pytest.mark.parametrize("more", [(), ("-v",)])
def test_the_tables_stand_in_80_columns(gnomon, results, more):
    told = gnomon("claims", "--table", *more)
    assert told.code == 0 and max(map(len, told.out.splitlines())) <= 80
    words = " ".join(told.out.split())
    assert "not measured here: " in words and "RoPE" in words
    if more:
        assert "긴 문맥에 강하다" in words and "asked: at most 0.1; found: 0.805" in words


def test_the_tables_for_programs(gnomon, results):
    told = json.loads(gnomon("claims", "--table", "--json").out)
    row = next(each for each in told if each["method"] == "RoPE" and "long" in each["english"])
    assert row["word"] == "differs" and {part["column"] for part in row["parts"]} == {"text 2x", "text 8x"}


def test_advice_is_given_from_results(gnomon, results):
    told = gnomon("claims", "--advice")
    assert told.code == 0 and max(map(len, told.out.splitlines())) <= 80
    assert "Among the best in 2 of 2 questions: alibi." in " ".join(told.out.split())
    found = json.loads(gnomon("claims", "--advice", "--json").out)
    assert found[0]["choice"]["among"] == ["alibi"]
    assert "gnomon compare experiments/masked.py" in found[-1]["text"]


@pytest.mark.parametrize("more", [(), ("-v",)])
def test_published_orderings_stand_beside_our_numbers(gnomon, results, more):
    told = gnomon("claims", "--published", *more)
    assert told.code == 0 and max(map(len, told.out.splitlines())) <= 80
    assert f"{len(orderings())} orderings. " in told.out and "P01" in told.out
    found = json.loads(gnomon("claims", "--published", "--json").out)
    assert [each["id"] for each in found] == [each.id for each in orderings()]
    assert found[0]["rows"][0] == ["alibi at 2 times", 0, pytest.approx(0.02)]


@pytest.mark.parametrize("more", [("--table",), ("C10",), ("--record",), ("--out", "page.html")])
def test_one_view_is_asked_for_at_a_time(gnomon, more):
    told = gnomon("claims", "--scorecard", *more)
    assert told.code == 2 and "one view at a time" in told.err


def test_the_page_of_all_claims_has_what_a_reader_takes_away(gnomon, results, monkeypatch):
    monkeypatch.setattr("gnomon.claims.CLAIMS", {"C10": CLAIMS["C10"]})
    assert gnomon("claims", "--out", "claims.html").code == 0
    page = (results / "claims.html").read_text(encoding="utf-8")
    titles = ("Advice: Text", "The scorecard", "measured</h2>", "Published orderings")
    for part in (*titles, "0.025*", "긴 문맥에 강하다", "nats a byte"):
        assert part in page
