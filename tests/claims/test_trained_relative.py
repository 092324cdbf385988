"""C06, C08, C09, C11, C17, C31, C32, C35, and of C18 what trained models say: other numbers, another verdict."""

import ast
import inspect
import json
from copy import deepcopy
from pathlib import Path

import pytest

from gnomon import laws
from gnomon.claims import CLAIMS, c06, c08, c09, c11, c17, c18, c31, c32, c35, costs, experiments, runs
from gnomon.claims.claim import WORDS
from gnomon.errors import DataError
from gnomon.lab import corpus
from gnomon.lab.experiment import Experiment, Measure, Model, Problem, Training, hash_of
from gnomon.lab.run import Settings, run
from gnomon.lab.store import Store
from gnomon.laws import LAWS, judge
from tests.claims.made_up import keep
from tests.claims.relative import C18, CASES, EXAMPLES, UNKNOWN


@pytest.mark.parametrize(
    ("id", "change", "word", "said"), CASES, ids=[f"{c[0]}-{at}-{c[2]}" for at, c in enumerate(CASES)]
)
def test_other_numbers_another_verdict(id, change, word, said):
    verdict = CLAIMS[id].judge(EXAMPLES[id] | change)
    assert verdict.word == word, verdict.because
    assert said in verdict.because


@pytest.mark.parametrize("id", EXAMPLES)
def test_a_rule_comes_out_every_way_that_it_names(id):
    tree = ast.parse(inspect.getsource(inspect.getmodule(CLAIMS[id].rule)))
    named = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and node.value in WORDS}
    assert {word for each, _, word, _ in CASES if each == id} == named


@pytest.mark.parametrize("id", EXAMPLES)
def test_the_examples_have_the_shape_that_is_stated(id):
    CLAIMS[id].check(json.loads(json.dumps(EXAMPLES[id])))
    for name, columns in CLAIMS[id].columns.items():
        rows = EXAMPLES[id][name]
        assert {len(row) for row in (rows if isinstance(rows[0], list) else [rows])} == {len(columns)}


PROBES = ("translation", "perturbed", "attended", "beyond", "terms")
TRAINED, NEAR, TWICE, LONGEST = 8, 9, 16, 64
LABELS = ("learned", "sinusoidal", "alibi", "rope", "shaw", "transformer_xl", "t5", "deberta", "seqpe", "chain")
SEEDS = (0, 1, 2)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Records of runs of one step: of text under two encodings, and of one task with answers."""
    store = Store(tmp_path_factory.mktemp("runs"), create=True)
    text = Measure(lengths=(TRAINED, NEAR, TWICE, LONGEST), bytes=256, pairs=4, targets=2, probes=PROBES)
    sizes = dict(model=Model(width=8, depth=1, heads=2), training=Training(steps=1, batch=2, length=TRAINED))
    toys = [Experiment(name, measure=text, **sizes) for name in ("learned", "alibi")]
    answers = Measure(lengths=(TRAINED, NEAR, TWICE), examples=5)
    toys.append(Experiment("none", task=Problem("repeated", {"pattern": 2}), measure=answers, **sizes))
    toys = corpus.pin(toys)
    for toy in toys:
        assert run(toy, store, Settings(cpu=True)) == "written"
    return [store.record(toy.hash) for toy in toys]


@pytest.fixture
def results(monkeypatch, tmp_path):
    """Writes records as the results of an experiment, which are then those that claims read."""
    monkeypatch.setattr(experiments, "FOLDER", tmp_path)

    def write(name, records):
        keep(tmp_path, **{name: records})

    return write


def copied(record, label, seed, **task):
    """The record of another run, made of one that is there."""
    record = deepcopy(record)
    record["experiment"] |= {"encoding": label, "seed": seed}
    record["experiment"]["task"] |= task
    return record | {"label": label, "hash": hash_of(record["experiment"])}


def of_text(made, label, seed, rises=(0.0, 0.0, 0.0), loss=1.5):
    """One that learned text, its loss rising by so much just past training, at twice and at the longest length."""
    record = copied(made[0] if label in ("learned", "sinusoidal") else made[1], label, seed)
    for row, rise in zip(record["lengths"], (0.0, *rises), strict=True):
        row |= {"paired_loss": loss + rise, "paired_excess": rise}
    return record


def of_task(made, label, seed, name, in_range, past, **options):
    record = copied(made[2], label, seed, name=name, options=options)
    for row in record["lengths"]:
        row["exact"] = in_range if row["length"] == TRAINED else past
    return record


def diverged(record):
    return record | {"status": "diverged", "reason": "the loss is nan", "lengths": [], "probes": {}}


@pytest.fixture
def text(made, results):
    """Text on which absolute positions rise by about 1 nat and SeqPE by 0.5, others by less than 0.03; one run of Shaw
    diverged."""
    rises = {"learned": 1.0, "sinusoidal": 1.0, "seqpe": 0.5}
    records = [
        of_text(made, label, seed, [rises.get(label, 0.01) + 0.01 * seed] * 3, loss=1.5 + 0.001 * seed)
        for label in LABELS
        for seed in SEEDS
    ]
    records.append(diverged(of_text(made, "shaw", 3)))
    results("text", records)
    return records


@pytest.fixture
def answers(made, results):
    """Patterns that all learn and those of distance alone know past training; copies that SeqPE did not learn once;
    counts."""
    far = dict.fromkeys(c06.RELATIVE, 0.9)
    patterns = [of_task(made, label, s, "repeated", 1.0, far.get(label, 0.1)) for label in LABELS for s in SEEDS]
    copies = [
        of_task(made, label, seed, "copy", 0.5 if (label, seed) == ("seqpe", 1) else 1.0, 0.6, unique=True)
        for label in LABELS
        for seed in SEEDS
    ]
    counts = [of_task(made, label, seed, "count", 1.0, 0.3) for label in LABELS for seed in SEEDS]
    results("algorithmic", patterns)
    results("algorithmic_more", [*copies, *counts])


def judged(claim):
    """The numbers as a record keeps them, in their shape, and the verdict."""
    numbers = json.loads(json.dumps(claim.evidence(), allow_nan=False))
    claim.check(numbers)
    return numbers, claim.judge(numbers)


def test_c06_compares_by_seed_and_keeps_the_run_that_diverged(text, answers):
    numbers, verdict = judged(c06.CLAIM)
    assert ["shaw", 3, False, None, None, None] in numbers["text"]
    assert ["t5", 2, True, 1.502, pytest.approx(0.03), pytest.approx(0.03)] in numbers["text"]
    assert ["shaw", "learned", TWICE, *[pytest.approx(-0.99)] * 3, 3] in numbers["rises"]
    assert ["deberta", "sinusoidal", *[pytest.approx(0.8)] * 3, 3] in numbers["longer"]
    assert verdict.word == "holds"


def test_c06_says_nothing_of_lengths_where_a_task_was_not_learned(made, results, text, answers):
    found = [of_task(made, label, s, "repeated", 0.2, 0.1) for label in LABELS for s in SEEDS]
    results("algorithmic", found)
    numbers, verdict = judged(c06.CLAIM)
    assert ["t5", "learned", *UNKNOWN] in numbers["longer"]
    assert verdict.condition == "of text past the training length (shaw, transformer_xl, t5, deberta)"


def test_results_without_the_encodings_or_the_lengths_are_refused(made, results, text, answers):
    results("text", [record for record in text if record["label"] != "chain"])
    with pytest.raises(DataError, match="chain too"):
        c11.evidence()
    near = of_text(made, "alibi", 0)
    near["experiment"]["measure"]["lengths"] = [TRAINED, NEAR]
    results("text", [near | {"hash": hash_of(near["experiment"])}])
    with pytest.raises(DataError, match="far past training"):
        c09.evidence()


def test_c11_judges_both_and_tells_where_positions_end(text):
    numbers, verdict = judged(c11.CLAIM)
    assert numbers["domains"] == [["seqpe", 10**5 - 1], ["chain", None]]
    assert verdict.condition == "of seqpe being limited, chain adapting"


def test_c17_reads_the_probe_and_the_law(text, monkeypatch):
    plain = [case for case in laws.cases(list(c17.KINDS)) if case.label in c17.KINDS]
    monkeypatch.setattr(laws, "table", lambda laws: [judge(LAWS[law], case) for law in laws for case in plain])
    numbers, verdict = judged(c17.CLAIM)
    probed = next(each for each in text[0]["probes"]["translation"]["shifts"] if each["by"] == 5)
    row = next(row for row in numbers["trained"] if row[:2] == ["learned", 0])
    assert row[3:5] == ["absolute", probed["inputs"]["mean"]]
    assert row[7:] == [probed["output"]["mean"], probed["loss"]["mean"]]
    assert ["shaw", 3, False, "relative", *[None] * 5] in numbers["trained"]
    assert {row[3] for row in numbers["untrained"] if row[2] == "absolute"} == {False}
    assert {row[3] for row in numbers["untrained"] if row[0] in c17.KINDS and row[2] == "relative"} == {True}
    # One step of training moves a table so little that attention changes by a hundredth.
    assert verdict.word in ("holds", "holds if") and "rope" in verdict.because


def test_c18_adds_what_trained_models_say_to_what_is_drawn(text, monkeypatch):
    own = ("trained", "trained_share", "sources")
    monkeypatch.setattr(c18, "drawn", lambda: {name: value for name, value in C18.items() if name not in own})
    numbers, verdict = judged(c18.CLAIM)
    heads = text[0]["probes"]["terms"]["heads"]
    mean = sum(head["toeplitz"]["mean"] for head in heads) / len(heads)
    assert numbers["trained"][0][:4] == ["sinusoidal", 0, True, pytest.approx(mean)]
    assert numbers["trained_share"][1] == ["learned", *[pytest.approx(mean)] * 3, 3]
    assert verdict.word == "holds if" and f"is {mean:.2f} of learned positions" in verdict.because


def test_c31_asks_trained_models_and_untrained_ones(text):
    numbers, verdict = judged(c31.CLAIM)
    assert (numbers["tokens"], numbers["at"], numbers["to"]) == (TRAINED, TRAINED // 2, TRAINED)
    assert {tuple(row[2:]) for row in numbers["untrained"] if row[0] == "bidirectional"} == {(1.0, 1.0, 1.0)}
    assert {tuple(row[2:]) for row in numbers["untrained"] if row[0] == "causal"} == {(0.0, 1.0, 1.0)}
    later = text[0]["probes"]["perturbed"]["later"]
    assert ["learned", 0, True, 0.0, 1.0, later["size"]["mean"], later["loss"]["mean"]] in numbers["trained"]
    assert verdict.condition == "if attention is bidirectional and a changed bit disturbs"


def test_c32_ranks_encodings_of_each_seed(made, results, text):
    for place, record in enumerate(text[:-1]):
        heads = [head for layer in record["probes"]["beyond"]["layers"] for head in layer]
        for head in heads:
            head["mean"] = 0.05 * (place // len(SEEDS))
        record["lengths"][2]["paired_excess"] = 1.0 - 0.1 * (place // len(SEEDS)) + 0.01 * record["experiment"]["seed"]
    results("text", text)
    numbers, verdict = judged(c32.CLAIM)
    assert numbers["order"] == [pytest.approx(-1.0)] * 3 + [3] and numbers["encodings"] == len(LABELS)
    uniform = text[0]["probes"]["beyond"]["uniform"]["mean"]
    assert numbers["excess"] == [
        ["sinusoidal", *[pytest.approx(0.05 - uniform)] * 3, 3], ["learned", *[pytest.approx(-uniform)] * 3, 3]
    ]  # fmt: skip
    assert verdict.word == "does not hold"


def test_c35_leaves_out_tasks_that_were_not_learned_and_those_without_order(text, answers):
    numbers, verdict = judged(c35.CLAIM)
    found = {tuple(row[:4]): row[4:] for row in numbers["differences"]}
    assert found["lengths", "loss", "seqpe", "rope"] == [pytest.approx(0.49)] * 3 + [3]
    # Of three tasks SeqPE has learned two; in range two ask for order, one of which it knows half of in one seed.
    assert found["lengths", "answers", "seqpe", "rope"][0] == pytest.approx(0.0)
    assert found["order", "answers", "seqpe", "alibi"][0] == pytest.approx(-0.25 / 3)
    assert ["copy unique=True", "seqpe", 1, False, 0.5, 0.6] in numbers["answers"]
    assert verdict.word == "does not hold"


def cost_rows(names, ratio=1.1):
    rows = [
        dict(
            section=section,
            what=name if section.startswith("forward") else f"{name} even",
            ratio=ratio,
            spread=0.1,
            runs=3,
        )
        for name in names
        for section in costs.TIMES.values()
    ]
    peaks = [(name, section) for name in names for section in costs.MEMORY.values()]
    return rows + [
        dict(
            section=section, what=f"{name} {1024 if 'training' in section else 'even'}", value=1000, spread=None, runs=1
        )
        for name, section in peaks
    ]


@pytest.fixture
def bench(monkeypatch, tmp_path):
    """Writes what benchmarks have measured, and says where."""
    monkeypatch.setattr(costs, "FILE", tmp_path / "results.json")
    about = dict(processor="a processor", threads=2, commit="0" * 40, date="2026-01-01T00:00:00+00:00")

    def write(rows, quick=False):
        costs.FILE.write_text(json.dumps({"about": about, "quick": quick, "scripts": {"forward": rows}}))

    return write


def test_c08_reads_what_was_measured(bench):
    bench(cost_rows(c08.NAMES))
    numbers, verdict = judged(c08.CLAIM)
    assert ["rope", "a causal layer", 1.1, 0.1, 3] in numbers["times"]
    assert ["seqpe", "causal training", 1000] in numbers["memory"]
    assert verdict.word in ("holds", "holds if") and "rope 1.10 to 1.10" in verdict.because


def test_the_committed_benchmarks_have_all_that_is_asked(monkeypatch):
    monkeypatch.setattr(costs, "FILE", Path(__file__).resolve().parents[2] / costs.FILE)
    numbers, _ = judged(c08.CLAIM)
    assert len(numbers["times"]) == len(c08.NAMES) * len(costs.TIMES)
    assert {row[0] for row in costs.memory(costs.measured(), c09.NAMES)} == {*c09.NAMES}


@pytest.mark.parametrize(
    ("write", "match"),
    [
        (lambda bench: None, "not been measured here"),
        (lambda bench: bench(cost_rows(c08.NAMES), quick=True), "small sizes"),
        (lambda bench: bench(cost_rows(c08.NAMES[1:])), "a cost was not measured"),
        (lambda bench: costs.FILE.write_text("{}"), "damaged"),
        (lambda bench: costs.FILE.write_text("["), "damaged"),
    ],
)
def test_costs_that_are_not_there_are_told(bench, write, match):
    write(bench)
    with pytest.raises(DataError, match=match):
        c08.evidence()


def test_a_statement_is_a_line_however_it_is_laid_out():
    source = '"""Said."""\nimport torch\nfrom a import b\n\n# why\nclass A:\n    """Said."""\n    bibtex = """@x"""\n'
    source += "    x: int = f(\n        1,\n        2,\n    )\n    '''Said.'''\n\n    def g(self):\n        return 1\n"
    assert costs.lines(source) == 4
    [(_, own, whole)] = costs.statements(["t5"])
    assert 0 < own < whole


def test_c09_ranks_slopes_and_distances_layer_by_layer(text, bench):
    bench(cost_rows(c09.NAMES))
    heads = [
        [0, layer, head, 2.0**-head, tokens]
        for layer, far in enumerate(([1, 2, 3], [3, 2, 1]))
        for head, tokens in enumerate(far)
    ]
    assert c09.orders(heads) == {0: 0.0}
    assert c09.orders(heads[:3]) == {0: pytest.approx(-1.0)}
    numbers, verdict = judged(c09.CLAIM)
    assert numbers["rise"][0] == pytest.approx(0.02) and numbers["parameters"] == 0
    assert {(row[1], row[2], row[3]) for row in numbers["heads"]} == {(0, 0, 2**-4), (0, 1, 2**-8)}
    far, near = [sum(row[4] for row in numbers["heads"] if row[2] == head) for head in (1, 0)]
    assert numbers["order"][0] == pytest.approx(-1.0 if far > near else 1.0)
    assert verdict.word == ("holds" if far > near else "holds if")


def test_intervals_are_of_the_seeds_that_both_have():
    rows = [["a", 0, True, 1.0], ["a", 1, True, 2.0], ["a", 2, False, 9.0], ["b", 0, True, 0.5], ["b", 1, True, 1.5]]
    assert runs.apart(runs.of(rows, "a", 3), runs.of(rows, "b", 3)) == [0.5, 0.5, 0.5, 2]
    assert runs.over_seeds(runs.of(rows, "a", 3, only_learned=True))[0] == 1.5
    assert runs.over_seeds({0: 1.0}) == [1.0, None, None, 1] and runs.over_seeds({}) == UNKNOWN
