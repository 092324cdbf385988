"""What the tables of the report say, worked out by hand."""

import math

from gnomon.report import tables
from gnomon.report.summary import summarise
from tests.report import fakes
from tests.report.fakes import record
from tests.report.test_summary import FLAT, exact


def cells(*records, table=tables.results):
    made = table(summarise(records))
    return [{"/".join(column): cell for column, cell in zip(made.columns, row.cells)} for row in made.rows]


def test_one_seed_gives_its_standard_error():
    (row,) = cells(exact("rope", loss=1.5, rises=(0.0, 0.0, -0.02, 1.25)))
    assert (row["in range/nats per byte"].text, row["in range/nats per byte"].note) == ("1.500", "± 0.021")
    bits = row["in range/bits per byte"]
    assert (bits.text, bits.note) == (f"{1.5 / math.log(2):.3f}", f"± {0.021 / math.log(2):.3f}")
    assert (row["at 4×/512"].text, row["at 4×/512"].note) == ("1.480", "−0.020 ± 0.001")
    assert (row["at 8×/1024"].text, row["at 8×/1024"].note) == ("2.750", "+1.250 ± 0.001")
    assert row["reach/length"].text == "512"


def test_several_seeds_give_their_range():
    (row,) = cells(*(exact("rope", seed, loss=loss, rises=FLAT[1]) for seed, loss in enumerate((1.5, 1.6, 1.8))))
    assert (row["in range/nats per byte"].text, row["in range/nats per byte"].note) == ("1.600", "1.500 to 1.800")
    assert row["reach/length"].text == "≥1024"


def test_of_several_seeds_a_rise_has_its_range_and_a_cost_its_median():
    runs = [exact("rope", seed, loss=1.5, rises=(0.0, 0.0, 0.0, rise)) for seed, rise in enumerate((1.2, 1.4))]
    for run, ms in zip(runs, (10.0, 20.0), strict=True):
        run["cost"] |= {"ms_per_step": ms}
    (row,) = cells(*runs)
    assert (row["at 8×/1024"].text, row["at 8×/1024"].note) == ("2.800", "+1.200 to +1.400")
    assert row["time/ms per step"].text == "15.0"


def test_a_seed_that_differs_in_reach_is_told():
    (row,) = cells(exact("rope", loss=1.5, rises=FLAT[1]), exact("rope", 1, loss=1.5, rises=(0.5, 0, 0, 0)))
    assert (row["reach/length"].text, row["reach/length"].note) == ("128", "seeds 128 to ≥1024")


def test_what_did_not_learn_has_no_reach():
    rows = cells(*(exact("a", seed, loss=loss, rises=FLAT[1]) for seed, loss in enumerate((1.7, 1.7, 3.32))))
    assert (rows[0]["reach/length"].text, rows[0]["reach/length"].note) == ("≥1024", "1 of 3 seeds did not learn")
    (row,) = cells(exact("a", loss=3.32, rises=FLAT[1]))
    assert row["reach/length"] == tables.Cell("did not learn")
    assert row["in range/nats per byte"].text == "3.320"


def test_a_censored_reach_sorts_above_the_same_length():
    rows = cells(exact("a", loss=1.5, rises=FLAT[1]), exact("b", loss=1.5, rises=(0, 0, 0, None)))
    assert rows[0]["reach/length"].sort > rows[1]["reach/length"].sort


def test_cost_and_parameters():
    made = record("learned")
    made["cost"] |= {"ms_per_step": 123.44, "peak_memory_bytes": 900_400_000}
    (row,) = cells(made)
    assert row["time/ms per step"].text == "123.4" and row["peak memory/MB"].text == "900"
    assert row["parameters/the encoding’s own"].text == "429\u202f312"
    assert row["parameters/the encoding’s own"].note == "131\u202f072"


def test_a_run_that_failed_early_has_dashes():
    lost = record("t5", status="failed", reason="boom")
    lost |= {"parameters": {"total": None, "encoding": None}, "cost": dict.fromkeys(lost["cost"]), "finished": None}
    (row,) = cells(lost)
    assert {cell.text for cell in row.values()} == {"–"}
    (told,) = tables.unfinished(summarise([lost]))
    assert (told["status"], told["reason"], told["seed"]) == ("failed", "boom", 0)


def test_columns_are_the_multiples_that_were_asked_for():
    made = exact("rope", loss=1.5, rises=FLAT[1])
    made["lengths"] = made["lengths"][:4]
    names = [name for name, _ in tables.results(summarise([made])).columns]
    assert "at 2×" in names and "at 4×" not in names


def test_every_length_has_a_row_with_every_measure():
    rows = cells(*fakes.one_seed(), table=tables.every_length)
    assert len(rows) == 6 * 6
    refused = [row for row in rows if row["paired loss/nats"].text == "refused"]
    assert len(refused) == 4 and all("table ends" in row["paired loss/nats"].note for row in refused)


def test_settings_are_split_in_shared_and_own():
    runs = [record("rope", options={"theta": 500}), record("alibi")]
    shared, own = tables.settings(summarise(runs))
    assert shared["training.steps"] == "600" and shared["model.kv_heads"] == "not set"
    assert shared["measure.lengths"] == "64, 128, 160, 256, 512, 1024"
    assert own == {"rope": {"options.theta": "500"}, "alibi": {}}


def test_environments_that_differ_are_all_listed():
    runs = [record("rope"), record("alibi")]
    runs[1]["environment"] = runs[1]["environment"] | {"cores": 8}
    merged = tables.merged(runs, "environment")
    assert merged["cores"] == "2; 8" and merged["packages.pyarrow"] == "21.0.0"
    runs[1]["data"] = None
    assert tables.merged(runs, "data")["name"] == "shakespeare"


def test_seeds_and_samples():
    summary = summarise([record("rope"), record("rope", 3), record("rope", 4, status="diverged")])
    assert tables.seeds(summary) == {"rope": "0, 3, 4 (diverged)"}
    assert ("128", "1\u202f024 windows, 256 paired") in tables.samples(summary)
