"""`gnomon claims`, as it is used."""

import json
from dataclasses import replace

import pytest

from gnomon.claims import CLAIMS, MODULES, ledger, needed, records
from gnomon.claims.history import Commit, Past
from gnomon.claims.ledger import digits
from gnomon.claims.published import orderings
from tests.claims.made_up import keep, text, texts
from tests.cli.processes import process


@pytest.fixture(scope="module")
def whole():
    return process("claims")


def test_the_table_stands_in_80_columns_and_has_every_claim(whole):
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
    assert told.strip() == "holds if angles are formed in float64 or float32, up to position 8,191"


def found_for_nothing():
    raise AssertionError("found for nothing")


@pytest.fixture
def waiting(tmp_path, monkeypatch) -> list[str]:
    """Two claims more, in a folder that has neither records nor results of them."""
    (tmp_path / "results" / "claims").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    for id, names in (("C97", ("text",)), ("C98", ("text", "needle"))):
        monkeypatch.setitem(CLAIMS, id, replace(CLAIMS["C13"], id=id, evidence=found_for_nothing))
        monkeypatch.setitem(needed.READS, id, names)
    return ["C97", "C98"]


def give_results(folder, *names):
    for name in names:
        (folder / "results" / name).mkdir()
        (folder / "results" / name / "records.jsonl").touch()


@pytest.fixture
def committed(monkeypatch):
    """Rules are taken for committed, wherever these tests run."""
    known = Past("gnomon/claims/rules/c10.py", Commit("a" * 40, "2026-01-01"), Commit("b" * 40, "2026-01-02"))
    monkeypatch.setattr(records, "past", lambda path: known)
    monkeypatch.setattr(ledger, "past", lambda path: known)


def test_what_is_not_measured_is_told_by_the_experiments_that_are_missing(gnomon, waiting, tmp_path):
    told = gnomon("claims", "C10", *waiting)
    assert told.code == 0 and not told.err and max(map(len, told.out.splitlines())) <= 80
    lines = [line.split() for line in told.out.splitlines()]
    assert ["-", "text", "C97", "C98"] in lines and ["-", "needle", "C98"] in lines
    words = " ".join(told.out.split())
    for name in ("compare experiments/NAME.py --store runs/NAME", "results runs/NAME --export results/NAME"):
        assert f"`gnomon {name}`" in words
    assert "then `gnomon claims ID --record`" in words and "Not recorded yet" not in words
    assert words.count("not measured yet") == 3 and "3 claims. not measured yet: 2, does not hold: 1" in words


def test_where_one_experiment_is_missing_the_commands_name_it(gnomon, waiting, tmp_path):
    words = " ".join(gnomon("claims", waiting[0]).out.split())
    assert "`gnomon compare experiments/text.py --store runs/text`" in words and "NAME" not in words


def test_what_has_results_and_no_record_is_told_with_what_makes_one(gnomon, waiting, tmp_path):
    give_results(tmp_path, "text")
    words = " ".join(gnomon("claims", *waiting).out.split())
    assert "- needle C98" in words and "Not recorded yet: C97. `gnomon claims C97 --record` makes a record." in words
    assert "- text" not in words


def test_what_is_measured_waits_for_nothing(gnomon, waiting):
    assert "ot measured yet" not in gnomon("claims", "C10").out and "ot recorded" not in gnomon("claims", "C10").out


def test_one_claim_without_results_is_explained(gnomon, waiting):
    told = gnomon("claims", waiting[1], "-v")
    words = " ".join(told.out.split())
    assert told.code == 0 and max(map(len, told.out.splitlines())) <= 80
    assert "NOT MEASURED YET" in words and CLAIMS["C98"].english in words and "record none" in words
    for name in ("text", "needle"):
        assert f"`gnomon compare experiments/{name}.py --store runs/{name}`" in words
    assert "then `gnomon claims C98 --record`" in words


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
    assert (second["verdict"], second["basis"], second["numbers"]) == ("not measured yet", "none", None)
    assert (first["missing"], second["missing"]) == ([], ["text"])


def test_an_unknown_claim_suggests_the_nearest(gnomon):
    for given, do in (("C1", "did you mean 'C01'?"), ("c014", "did you mean 'C14'?"), ("CO1", "did you mean")):
        told = gnomon("claims", given)
        assert told.code == 2 and do in told.err
    # A number that no claim has is no slip of the pen.
    told = gnomon("claims", "C99")
    assert told.code == 2 and "C01 to C35" in told.err and "did you mean" not in told.err


def test_without_results_nothing_is_recorded_nor_computed(gnomon, tmp_path, waiting, committed):
    """Also nothing of another claim, which has what it needs."""
    for asked in (waiting[:1], waiting, ["C10", *waiting]):
        told = gnomon("claims", *asked, "--record", "--records", str(tmp_path / "new"))
        assert told.code == 2 and "C97 cannot be recorded before there are results" in told.err and not told.out
        assert "gnomon compare experiments/text.py --store runs/text" in " ".join(told.err.split())
        assert not (tmp_path / "new").exists()


def test_of_all_claims_those_without_results_are_left_out_and_told(gnomon, tmp_path, waiting, committed, monkeypatch):
    monkeypatch.setattr("gnomon.claims.CLAIMS", {id: CLAIMS[id] for id in ("C97", "C10", "C98")})
    told = gnomon("claims", "--record")
    assert told.code == 0 and "Not recorded, for want of results: C97, C98." in " ".join(told.err.split())
    assert [path.name for path in (tmp_path / "results" / "claims").iterdir()] == ["C10.json"]


def test_a_folder_of_records_that_is_not_there_is_a_mistake(gnomon, tmp_path):
    told = gnomon("claims", "C10", "--records", str(tmp_path / "nowhere"))
    assert told.code == 2 and "no folder of records" in told.err


def test_records_are_written_and_read_again(gnomon, tmp_path, committed):
    told = gnomon("claims", "C10", "--record", "--records", str(tmp_path / "new"))
    assert told.code == 0 and "does not hold" in told.out
    held = json.loads((tmp_path / "new" / "C10.json").read_text(encoding="utf-8"))
    assert held["rule_commit"] == "b" * 40 and held["numbers"]["contradicted"]
    (shown,) = json.loads(gnomon("claims", "C10", "--json", "--records", str(tmp_path / "new")).out)
    assert shown["record"] == held
    table = gnomon("claims", "C10", "--records", str(tmp_path / "new")).out
    assert "b" * 7 in table and "a" * 7 in table


def test_a_page_of_the_ledger_is_written(gnomon, tmp_path, waiting):
    out = tmp_path / "claims.html"
    assert gnomon("claims", "C10", "C02", "C97", "--out", str(out)).code == 0
    text = out.read_text(encoding="utf-8")
    for part in ("C10: ", "C02: ", "DOES NOT HOLD", "NOT MEASURED YET", "Falcon", "gnomon claims C10 C02 C97 --out"):
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
    for row in (["alibi", "2", "0.025*", "0.05*"], ["rope", "2", "0.805", "1.61"], ["t5", "3.25", "(0/1)", "(0/1)"]):
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


def test_the_documents_are_named(gnomon):
    from gnomon.claims.claim import DOCUMENTS

    told = " ".join(gnomon("claims", "C01").out.split())
    assert all(f"{name}, {title}" in told for name, title in DOCUMENTS.items())
