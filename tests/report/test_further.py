"""The report of what is asked besides: masked text by its loss, rates that were tried, weights under other options."""

import copy
import hashlib

from gnomon import report
from gnomon.commands.compare import show
from gnomon.report.headline import headline
from gnomon.report.summary import summarise
from gnomon.report.tables_answers import results
from gnomon.report.tables_further import tuned, varied
from gnomon.report.yardstick import MASKED, TEXT, of
from tests.report import fakes

LENGTHS = (64, 128, 256)
UNIGRAM = fakes.UNIGRAM


def masked(label: str, losses: tuple[float, ...], seed: int = 0) -> dict:
    """A record of masked text, trained at 128, with exactly these losses."""
    made = copy.deepcopy(fakes.record("rope", seed))
    experiment = made["experiment"]
    experiment["task"] = {"kind": "problem", "name": "masked", "options": {}, "path": None, "digest": "5eed" * 16}
    experiment["measure"] = {"lengths": list(LENGTHS), "examples": 100, "part": "test"}
    experiment["encoding"] = label
    made["lengths"] = [
        {
            "length": length,
            "status": "measured",
            "reason": None,
            "exact": 0.0,
            "exact_se": 0.01,
            "token_accuracy": 0.5,
            "token_accuracy_se": 0.002,
            "loss": loss,
            "examples": 100,
            "tokens": 1900,
            "chance_exact": 1e-9,
            "chance_token": 0.15,
        }
        for length, loss in zip(LENGTHS, losses, strict=True)
    ]
    made["data"] |= {"learned": None}
    return made | {"label": label, "hash": hashlib.sha256(f"{label} {seed}".encode()).hexdigest()[:16]}


GOOD, FAR, IDLE = (2.0, 1.6, 2.4), (1.9, 1.8, 1.85), (3.3, UNIGRAM - 0.05, 3.3)


def test_masked_text_is_judged_by_its_loss():
    assert of(masked("t5", GOOD)) is MASKED and of(fakes.record("t5")) is TEXT
    summary = summarise([masked("a", GOOD), masked("b", FAR), masked("c", IDLE)])
    a, b, c = summary.series
    assert (a.reach.length, a.holds, b.reach.length, b.holds, c.reach, c.did_not_learn) == (
        128,
        False,
        256,
        True,
        None,
        True,
    )
    found = headline(summary)
    assert found.title.startswith("Trained on masked at length 128, the lowest losses have a (1.600 nats, 50% of bytes")
    told = " ".join(map(str, found.findings))
    assert "a (1.600 nats, 50% of bytes right) does not hold within 0.1 nats: +0.80 nats at 256." in told
    assert "c (3.25 in range) did not learn: byte frequencies alone give 3.30." in told
    assert [cell.text for cell in results(summary).rows[0].cells][:3] == ["1.800", "0.500", "1.850"]


def test_who_knows_byte_frequencies_only_has_nothing_to_compare():
    assert "no encoding learned more" in headline(summarise([masked("c", IDLE)])).title


def test_the_page_and_the_terminal_of_masked_text(tmp_path, capsys):
    records = [masked("a", GOOD), masked("b", FAR)]
    page = report.write(records, tmp_path / "masked.html").read_text()
    assert "Loss on hidden tokens" in page and "Right answers" not in page
    show(records)
    out = capsys.readouterr().out
    assert "nats per hidden token" in out and "1.800" in out


def trial(label: str, rate: float, loss: float | None) -> dict:
    made = fakes.record(label, 1000)
    made["experiment"]["training"] |= {"learning_rate": rate, "steps": 200}
    made["lengths"] = [{"length": 128, "status": "measured", "loss": loss}] if loss is not None else []
    made["status"] = "finished" if loss is not None else "diverged"
    return made


def test_the_rates_that_were_tried_are_in_the_report(tmp_path):
    records = [fakes.record("rope", seed) for seed in (0, 1)] + [fakes.record("alibi")]
    trials = [
        trial("rope", 0.001, 1.9),
        trial("rope", 0.01, 2.5),
        trial("alibi", 0.001, 2.0),
        trial("alibi", 1.0, None),
    ]
    found = tuned(records, trials)
    assert (found.rates, found.seed, found.steps) == (("0.001", "0.01", "1"), 1000, (200,))
    rows = {label: [(cell.text, cell.note) for cell in cells] for label, cells in found.rows}
    assert rows == {
        "rope": [("1.900", "chosen"), ("2.500", ""), ("–", "")],
        "alibi": [("2.000", "chosen"), ("–", ""), ("no loss", "")],
    }
    assert tuned(records, []) is None
    page = report.write(records, tmp_path / "tuned.html", trials=trials).read_text()
    assert "Learning rates" in page and "no loss" in page
    assert "Learning rates" not in report.write(records, tmp_path / "plain.html").read_text()


def test_weights_under_other_options_are_in_the_report(tmp_path):
    records = [fakes.record("rope", seed) for seed in (0, 1, 2)]
    for record, rise in zip(records, (0.1, 0.3, 0.2), strict=True):
        lengths = [{"length": 512, "status": "measured", "paired_loss": 2.0 + rise}]
        record["variants"] = [{"options": {"scaling": "yarn", "factor": 8}, "lengths": lengths}]
    found = varied(summarise(records))
    [row] = found.rows
    assert row.cells[0].text == "scaling=yarn, factor=8"
    at = [name for name, _ in found.columns].index("at 512")
    assert (row.cells[at].text, row.cells[at].note) == ("2.200", "2.100 to 2.300")
    assert row.cells[at + 1].text == "–"
    assert varied(summarise([fakes.record("rope")])) is None
    assert "scaling=yarn, factor=8" in report.write(records, tmp_path / "varied.html").read_text()
