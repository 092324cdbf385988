"""Attacks on files of code: experiments with odd options, forms and tunings, and files that are no Python."""

from hypothesis import strategies as st

from tests.fuzz.damage import TORN, places, torn
from tests.fuzz.sandbox import PLAN, Sandbox
from tests.fuzz.watched import call, inside

VALUES = (
    *(
        "None",
        "True",
        "0",
        "-1",
        "1",
        "2",
        "8",
        "16",
        "1.5",
        "1e308",
        "2**63",
        "2**64",
        "10**400",
        "10**5000",
        "-(10**5000)",
    ),
    *(
        "float('nan')",
        "float('inf')",
        "1j",
        "''",
        "'rope'",
        "'\\ud800'",
        "'\\0'",
        "'x' * 10**6",
        "b'bytes'",
        "()",
        "[]",
    ),
    *(
        "[8, 8]",
        "(8, 16)",
        "[10**12]",
        "{}",
        "{'a': 1}",
        "{1: 2}",
        "{'theta': 10**5000}",
        "{'size': 10**400}",
        "object()",
    ),
    *("{'theta': float('nan')}", "{'theta': 'x'}", "{'base': {'a': []}}", "int", "len", "lambda: 1", "range(3)", "..."),
    *("{'text'}", "set()", "'text.txt'", "'gone.txt'", "'pipe'", "'.'", "'fp32'", "'bf16'", "'flex'", "'reference'"),
    *("Text('gone.txt')", "Text('text.txt')", "Text('nothing.txt')", "Problem('copy')", "Problem('copy', {'x': 1})"),
    *("Problem('jsonl', {}, 'pairs.jsonl')", "Problem('jsonl', {}, 'text.txt')", "Problem('mine.py:Mine')", "Model()"),
    *(
        "Training(steps=1)",
        "Measure(lengths=(8,), bytes=64)",
        "Model(width=16, heads=2, depth=1)",
        "[{}]",
        "[{'x': 1}]",
    ),
    *("deep", "round_and_round", "Shows()", "numpy.int64(8)", "numpy.float32(0.5)", "numpy.zeros(3)", "torch.zeros(2)"),
)
HEAD = """import numpy
import torch
from gnomon.lab.experiment import Experiment, Measure, Model, Problem, Text, Training
from gnomon.lab.tuning import Tuning

deep = []
for _ in range(5000):
    deep = [deep]
round_and_round = []
round_and_round.append(round_and_round)


class Shows:
    def __repr__(self):
        return "\\ud800" * 1000


"""
OPTIONS = {
    "Experiment": ("encoding", "options", "task", "model", "training", "measure", "seed", "code"),
    "Model": ("width", "depth", "heads", "kv_heads", "feed_forward", "dropout", "tied", "table", "backend", "kind"),
    "Training": ("steps", "batch", "length", "learning_rate", "warmup", "floor", "clip", "precision", "randomised"),
    "Measure": ("lengths", "bytes", "pairs", "targets", "examples", "part", "variants", "probes"),
    "Text": ("path", "digest"),
    "Problem": ("name", "options", "path", "digest"),
    "Tuning": ("rates", "seed", "share"),
}
USUAL = {
    "Experiment": {"encoding": "'rope'"},
    "Model": {"width": "16", "depth": "1", "heads": "2"},
    "Training": {"steps": "1", "batch": "2", "length": "8"},
    "Measure": {"lengths": "(8,)", "bytes": "64", "pairs": "2", "targets": "2"},
    "Text": {"path": "'text.txt'"},
    "Problem": {"name": "'copy'"},
    "Tuning": {"rates": "(1e-3, 1e-2)"},
}

PLAUSIBLE = (
    "None",
    "True",
    "False",
    "0",
    "1",
    "2",
    "3",
    "7",
    "16",
    "0.5",
    "1.0",
    "1e-3",
    "'rope'",
    "'alibi'",
    "'t5'",
    "()",
)
"""What most options take, or may."""

value = st.one_of(st.sampled_from(VALUES), st.sampled_from(PLAUSIBLE))


@st.composite
def plans(draw: st.DrawFn) -> tuple[bytes, list[str]]:
    """A file of experiments as it should be but for an option or two, and the words that follow its name."""
    parts = {kind: dict(options) for kind, options in USUAL.items()}
    for kind in draw(st.lists(st.sampled_from([*OPTIONS]), min_size=1, max_size=2)):
        parts[kind][draw(st.sampled_from(OPTIONS[kind]))] = draw(value)
    if draw(_one_in(20)):
        parts[draw(st.sampled_from([*OPTIONS]))]["lenght"] = "8"
    if draw(_one_in(3)):
        parts["Experiment"]["task"] = _made("Problem", parts)
        parts["Measure"] = {"lengths": "(8,)"}
    for part in ("model", "training", "measure"):
        parts["Experiment"].setdefault(part, _made(part.title(), parts))
    parts["Experiment"].setdefault("task", _made("Text", parts))
    one = _made("Experiment", parts)
    listed = (
        draw(value)
        if draw(_one_in(20))
        else draw(st.sampled_from((f"[{one}]", f"[{one}]", f"({one},)", f"[{one}] * 3")))
    )
    listed = draw(st.sampled_from((one, "[]", f"[{one}, 3]"))) if draw(_one_in(20)) else listed
    forms = draw(
        st.sampled_from((None,) * 9 + ("{{'quick': {0}}}", "{{1: {0}}}", "{{'': {0}}}", "{0}", "{{}}", "{{'a': deep}}"))
    )
    lines = [f"EXPERIMENTS = {listed}" if forms is None else f"FORMS = {forms.format(listed)}"]
    if draw(_one_in(4)):
        lines.append(f"TUNING = {draw(value) if draw(_one_in(4)) else _made('Tuning', parts)}")
    words = draw(st.sampled_from(((),) * 9 + (("--form", "quick"), ("--form", "1"), ("--tune", "1e-3", "1e-2"))))
    return (HEAD + "\n".join(lines) + "\n").encode(), [*words]


def _made(kind: str, parts: dict[str, dict[str, str]]) -> str:
    """The call of a class."""
    return f"{kind}({', '.join(f'{name}={told}' for name, told in parts[kind].items())})"


def _one_in(count: int) -> st.SearchStrategy[bool]:
    return st.integers(1, count).map(lambda at: at == count)


odd = st.tuples(st.sampled_from(TORN), places).map(lambda made: (torn(PLAN.encode(), *made), []))
noise = st.binary(max_size=60).map(lambda made: (made, []))
files = st.one_of(*[plans()] * 8, odd, noise)


def plan(sandbox: Sandbox, made: tuple[bytes, list[str]]) -> None:
    """A file of experiments is odd."""
    text, words = made
    line = ["compare", "odd.py", "--cpu", "--workers", "1", *words]
    with sandbox.unchanged(["odd.py"]), inside(sandbox.work):
        (sandbox.work / "odd.py").write_bytes(text)
        call(line, sandbox.home)
