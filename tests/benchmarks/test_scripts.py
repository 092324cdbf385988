"""Every script runs at tiny sizes and prints all its rows; no timing decides anything here."""

import json
import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch

import benchmarks.__main__ as everything
from benchmarks import compile, decode, forward, gpu, growth, rotation, training, training_step, ways, workers
from benchmarks.rows import Row
from benchmarks.script import Options, main
from benchmarks.subjects import KINDS, SUBJECTS, Given, Setting, Subject, places, subjects
from gnomon.encodings import ENCODINGS
from gnomon.transformer import Transformer

Rows = list[dict[str, Any]]
Run = Callable[..., Rows]


@pytest.fixture
def run(capsys: pytest.CaptureFixture) -> Run:
    """`run(script, *arguments)`: its rows, one round of small sizes."""

    def call(script: type[Options], *arguments: str) -> Rows:
        given = [*arguments, "--quick", "--repeats", "1", "--threads", "1", "--json"]
        assert main(script, given) == 0
        printed = json.loads(capsys.readouterr().out)
        assert printed["about"]["threads"] == 1 and printed["about"]["packages"]["transformers"]
        return printed["rows"]

    return call


def whats(rows: Rows, section: str) -> list[str]:
    return [row["what"] for row in rows if row["section"] == section]


def measured(rows: Rows) -> bool:
    """Whether each row has a number, its limit's and a ratio."""
    return all(row["value"] is not None and row["of_limit"] is not None and row["ratio"] > 0 for row in rows)


def test_every_encoding_is_a_subject():
    """One without a line of its own too, as it comes and without bounds."""
    assert {subject.name for subject in SUBJECTS.values()} == set(ENCODINGS)
    known = {"shaw keys": Subject("shaw", options={"values": False})}
    assert subjects(known, ["shaw", "alibi"]) == known | {"alibi": Subject("alibi")}


@pytest.mark.parametrize("label", SUBJECTS)
def test_positions_lie_in_the_domain(label: str):
    encoding = SUBJECTS[label].build(48, causal=True)
    for even in (True, False):
        pos = places(encoding, 48, even)()
        encoding.check_positions(pos)
        assert pos.length == 48 and (pos.step is not None) == even
        assert (pos.coords.diff(dim=1) > 0).all()


def test_forward(run: Run):
    rows = run(forward.Forward, "t5", "--n", "32")
    assert measured(rows)
    for mask in ("bidirectional", "causal"):
        assert whats(rows, f"kernel, {mask}") == whats(rows, f"kernel, {mask}, memory") == ["t5 even", "t5 sorted"]
        assert whats(rows, f"layer, {mask}") == ["t5 even", "T5Attention, eager", "T5Attention, sdpa"]
        assert whats(rows, f"layer, {mask}, memory") == ["t5 even"]
    assert {row["peer"].split()[0] for row in rows if row["what"].startswith("T5Att")} == {"transformers"}
    bounds = {row["what"]: row["bound"] for row in rows if row["section"] == "kernel, causal"}
    assert bounds == {"t5 even": 1.15, "t5 sorted": 1.4}


@pytest.mark.parametrize("n", ["0", "-5"])
def test_so_few_tokens_are_refused(n: str, capsys: pytest.CaptureFixture):
    assert main(forward.Forward, ["rope", "--n", n]) == 2
    assert "--n counts from one" in capsys.readouterr().err


def test_what_biases_cost_that_are_there(run: Run, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(forward, "SUBJECTS", {})
    monkeypatch.setattr(forward, "chosen", lambda names: {})
    rows = run(forward.Forward, "--n", "24")
    assert measured(rows) and all(row["bound"] is None for row in rows)
    for mask in ("bidirectional", "causal"):
        assert whats(rows, f"kernel, {mask}") == [*Given]


def test_what_misses_a_bound_says_what_the_least_of_its_kind_took(run: Run, monkeypatch: pytest.MonkeyPatch):
    """Of each kind its own, measured under the same mask; only of the kernel, whose limit it is measured over."""
    hard = {"t5": Given.TABLE, "rope": Given.COPIED, "sinusoidal": Given.ADDED, "fire": Given.BIASES}
    for label in hard:
        of = replace(SUBJECTS[label].even, bidirectional=1e-6, causal=1e-6)
        monkeypatch.setitem(SUBJECTS, label, replace(SUBJECTS[label], even=of))
    monkeypatch.setattr(forward, "chosen", lambda names: {label: SUBJECTS[label] for label in hard})
    rows = run(forward.Forward, "--n", "24", "--no-memory", "--no-peers")
    ratios = {(row["section"], row["what"]): row["ratio"] for row in rows}
    for label, least in hard.items():
        for section in ("kernel, bidirectional", "kernel, causal"):
            [row] = [row for row in rows if (row["section"], row["what"]) == (section, f"{label} even")]
            assert row["note"] == f"reference {ratios[section, least]:.3g}x: {least}"
    assert not any(row["note"] for row in rows if row["section"].startswith("layer"))


def test_what_misses_a_bound_says_how_far_it_can_go(run: Run, monkeypatch: pytest.MonkeyPatch):
    """Operations as they are; of memory what has to be there, over what the limit takes."""
    hard = replace(SUBJECTS["seqpe"].even, bidirectional=1e-6, causal=1e-6, memory=1e-6)
    monkeypatch.setitem(SUBJECTS, "seqpe", replace(SUBJECTS["seqpe"], even=hard, sorted=None))
    monkeypatch.setattr(forward, "memory", lambda *given: Row(*given[:2], given[5], 3e6, "B", 1e6, 3.0, given[6]))
    rows = {(row["section"], row["what"]): row for row in run(forward.Forward, "seqpe", "--n", "24", "--no-peers")}
    assert rows["kernel, causal", "seqpe even"]["note"].startswith("floor 1.5x: operations")
    least = 5 * 8 * 24 * 64 * 4 / 1e6
    assert rows["kernel, causal, memory", "seqpe even"]["note"].startswith(f"floor {least:.3g}x: q and k of all heads")
    assert not rows["kernel, causal", "seqpe sorted"]["note"]


@pytest.mark.parametrize("label", SUBJECTS)
def test_forward_of_every_encoding(run: Run, label: str):
    rows = run(forward.Forward, label, "--n", "24", "--no-memory", "--no-peers")
    assert measured(rows)
    subject = SUBJECTS[label]
    spots = ["even"] + ["sorted"] * subject.places
    read = [f"{label} {spot}, plan made before" for spot in spots if subject.reads]
    for causal in subject.masks():
        found = whats(rows, f"kernel, {'causal' if causal else 'bidirectional'}")
        assert sorted(found) == sorted([f"{label} {spot}" for spot in spots] + read)


def test_what_would_take_minutes_is_measured_at_fewer_tokens_and_says_so(run: Run, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(SUBJECTS, "cope", replace(SUBJECTS["cope"], most=16))
    rows = run(forward.Forward, "cope", "--n", "24", "--no-memory")
    assert {row["what"] for row in rows} == {"cope even, n=16"}


@pytest.mark.parametrize(("label", "peers"), [("alibi", 5), ("deberta", 1)])
def test_layers_of_others(run: Run, label: str, peers: int):
    rows = run(forward.Forward, label, "--n", "24", "--no-memory")
    assert measured(rows) and sum(bool(row["peer"]) for row in rows) == peers


def test_growth(run: Run):
    rows = run(growth.Growth, "rope")
    assert measured(rows)
    assert whats(rows, "time") == [
        f"{who}, {step}" for who in ("SDPA", "rope") for step in ("128 to 256", "256 to 512")
    ]
    assert whats(rows, "memory") == ["SDPA, 256 to 512", "rope, 256 to 512"]


def test_training(run: Run):
    rows = run(training.Trained, "alibi", "chain")
    assert whats(rows, "forward and backward, causal") == ["alibi", "chain"]
    assert whats(rows, "memory of training, causal") == ["alibi 256", "chain 256"]
    [share] = [row for row in rows if row["unit"] == "share"]
    assert share["what"] == "chain" and share["value"] < 1
    assert measured([row for row in rows if row["unit"] != "share"])


def test_training_step(run: Run):
    rows = run(training_step.TrainingStep)
    assert measured(rows) and len(rows) == 6
    assert {row["bound"] for row in rows} == {1.1, 1.0}


def test_workers(run: Run, monkeypatch: pytest.MonkeyPatch):
    """The runs that are asked of the lab: one thread each, never the same run twice."""
    asked: list[tuple] = []

    def runs(experiments, store, count, **options):
        assert os.environ["OMP_NUM_THREADS"] == "1"
        asked.extend((count, experiment.seed) for experiment in experiments)
        return [{"status": "finished", "environment": {"threads": 1}} for _ in experiments]

    monkeypatch.setattr(workers.engine, "run", runs)
    monkeypatch.setattr(workers, "cores", lambda: 2)
    before = os.environ.get("OMP_NUM_THREADS")
    [row] = run(workers.Workers)
    assert row["at_least"] and row["unit"] == "per hour" and measured([row])
    assert len(set(asked)) == len(asked) == 8 and {count for count, _ in asked} == {1, 2}
    assert os.environ.get("OMP_NUM_THREADS") == before


def test_rotation(run: Run):
    rows = run(rotation.Rotation)
    assert measured(rows)
    for dtype in ("float32", "bfloat16"):
        for pairing in ("half", "interleaved"):
            of = [row for row in rows if row["section"] == f"{dtype}, {pairing}"]
            assert len([row for row in of if row["peer"]]) == 3 and of[0]["what"] == f"rope, {pairing}"
            assert of[0]["note"].startswith(f"floor {1.02 if dtype == 'float32' else 1.03}x: bytes")


def test_decode(run: Run):
    rows = run(decode.Decode, "rope")
    for layers in ("1 layer", "2 layers"):
        assert whats(rows, f"one token, {layers}") == ["rope"]
    assert whats(rows, "400 steps") == ["rope, the first 100", "rope, after 400"]
    assert whats(rows, "400 steps, memory") == ["rope"]
    assert rows[0]["bound"] == 1.2


def test_what_decodes_too_slowly_says_what_is_slow_without_positions(run: Run, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(decode, "BOUND", 1e-6)
    monkeypatch.setattr(decode, "_long", lambda *given: iter(()))
    none, rope, *_ = run(decode.Decode, "none", "rope")
    assert not none["note"] and rope["note"].startswith(f"reference {none['ratio']:.3g}x: none")


def test_late_steps_are_taken_in_turns_with_those_of_a_cache_filled_at_once():
    """After as many tokens each, as often as is asked, so that there is a spread."""
    first, late, at_once, grown = decode.decoded("none", steps=120, repeats=3)
    assert first > 0 and late.runs == at_once.runs == 3 and late.low <= late.ratio <= late.high and grown > 0


@pytest.mark.parametrize(("label", "plans"), [("rope", 1), ("t5", 1), ("fire", 3), ("shaw", 3), ("transformer_xl", 3)])
def test_layers_decode_by_as_many_plans_as_those_of_a_model(label: str, plans: int, monkeypatch: pytest.MonkeyPatch):
    made = []
    real = decode.plan
    monkeypatch.setattr(decode, "plan", lambda *given, **more: made.append(given[0]) or real(*given, **more))
    decoding = decode.Decoding(SUBJECTS[label], 3, 5, layers=3)
    made.clear()
    decoding.step()
    encoding = SUBJECTS[label].build(8, causal=True)
    assert len(made) == plans == len(Transformer(8, 512, 3, 8, encoding)._makers)
    assert decoding.cache.length == 4 and len(decoding.cache._layers) == 3


def test_ways(run: Run, monkeypatch: pytest.MonkeyPatch):
    """Every way once, of one encoding each; a bound and a reason in each row."""
    some = [replace(way, labels=way.labels[:1]) for way in ways.WAYS]
    monkeypatch.setattr(ways, "WAYS", some)
    rows = run(ways.Ways)
    assert measured(rows) and len(rows) == len({row["section"] for row in rows}) == len(ways.WAYS) >= 12
    assert all(row["bound"] and row["note"] for row in rows)


@pytest.mark.parametrize("way", [way for way in ways.WAYS if isinstance(way, ways.Whole)], ids=lambda way: way.name)
def test_a_way_and_its_limit_do_the_same(way: ways.Whole):
    """Without positions the two give the same numbers, wherever a token is seen at all."""
    if way.axes != 1:
        way = replace(way, axes=1)
    limit, ours = way.calls(SUBJECTS["none"], 256, 1)
    expected, found = limit(), ours()
    seen = ~expected.isnan()
    assert seen.any() and found.shape == expected.shape
    assert (found - expected)[seen].abs().max() < (2e-2 if way.dtype == torch.bfloat16 else 1e-5)
    assert found.requires_grad is False and (found[~seen] == 0).all()


def test_ways_by_name_and_what_one_refuses(run: Run):
    rows = run(ways.Ways, "sinusoidal", "alibi", "--only", "grid", "a token, SinkCache")
    assert [(row["section"], row["what"]) for row in rows] == [
        (section, what) for section in ("grid", "a token, SinkCache") for what in ("sinusoidal", "alibi")
    ]
    assert [bool(row["value"]) for row in rows] == [True, False, False, True]
    assert all(row["note"].startswith("refused: ") for row in rows if row["value"] is None)


@pytest.mark.parametrize("kind", ["kernel", "layer"])
def test_encodings_are_in_training_where_gradients_are_asked_for(kind: str, monkeypatch: pytest.MonkeyPatch):
    """And nowhere else: a module is born in training, where some compute otherwise."""
    made = []
    build = Subject.build
    monkeypatch.setattr(Subject, "build", lambda self, *given: made.append(build(self, *given)) or made[-1])
    for grad in (False, True):
        KINDS[kind](SUBJECTS["seqpe"], Setting(8, True, grad=grad))
        assert all(module.training == grad for module in made[-1].modules())


def test_compile(run: Run, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(compile, "LENGTHS", (11, 17))
    [row] = run(compile.Compile, "xpos", "--no-flex")
    assert row["what"] == "xpos, causal" and row["value"] <= 1 and row["verdict"] == "met"


def test_what_does_not_compile_is_a_row_that_says_so(run: Run, monkeypatch: pytest.MonkeyPatch):
    def broken(self, tokens, pos=None):
        torch._dynamo.graph_break()
        return tokens

    monkeypatch.setattr(compile.Transformer, "forward", broken)
    [row] = run(compile.Compile, "xpos", "--no-flex")
    assert row["value"] is None and row["note"].startswith("does not compile")


def test_without_a_gpu_it_says_so(run: Run, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    [row] = run(gpu.Gpu)
    assert "no CUDA GPU" in row["what"]


def test_the_rows_of_a_gpu(run: Run, monkeypatch: pytest.MonkeyPatch):
    """On the CPU in its place: SDPA is measured, and what flex refuses is a row that says so."""
    monkeypatch.setattr(gpu, "DEVICE", "cpu")
    for name, value in {"is_available": True, "get_device_name": "a GPU", "memory_allocated": 0}.items():
        monkeypatch.setattr(torch.cuda, name, lambda value=value: value)
    monkeypatch.setattr(torch.cuda, "max_memory_allocated", lambda: 8)
    for name in ("synchronize", "reset_peak_memory_stats"):
        monkeypatch.setattr(torch.cuda, name, lambda: None)
    rows = run(gpu.Gpu, "shaw")
    forward = [row for row in rows if row["section"] == "a GPU, forward, causal"]
    assert [row["what"] for row in forward] == ["shaw, auto", "shaw, flex"]
    assert forward[0]["ratio"] > 0 and "flex" in forward[1]["note"]
    assert whats(rows, "a GPU, forward, causal, memory") == ["shaw, auto"]
    assert whats(rows, "a GPU, bfloat16, half")[0] == "rope, half"


def test_all_together(capfd: pytest.CaptureFixture, tmp_path):
    """One table on stdout and in two files; a script that fails is named, and the others go on."""
    given = ["gpu", "--quick", "--repeats", "1", "--threads", "1", "--folder", str(tmp_path)]
    assert main(everything.All, given) == 0
    assert "gpu: " in capfd.readouterr().out
    stored = json.loads((tmp_path / "results.json").read_text())
    assert stored["quick"] and list(stored["scripts"]) == ["gpu"] and stored["about"]["commit"] is not None
    page = (tmp_path / "RESULTS.md").read_text()
    assert "## gpu: " in page and "--quick" in page and stored["about"]["processor"][:40] in page


def test_a_script_that_fails_is_named(capfd: pytest.CaptureFixture, tmp_path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(everything.sys, "executable", "false")
    assert main(everything.All, ["gpu", "--folder", str(tmp_path)]) == 1
    assert "benchmarks.gpu failed" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("script", "arguments"),
    [
        (forward.Forward, ["rop"]),
        (forward.Forward, ["--repeats", "0"]),
        (everything.All, ["forwar"]),
        (ways.Ways, ["--only", "shufled"]),
    ],
)
def test_mistakes_end_with_2(capsys: pytest.CaptureFixture, script: type[Options], arguments: list[str]):
    assert main(script, arguments) == 2
    assert "Traceback" not in capsys.readouterr().err
