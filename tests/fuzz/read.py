"""Attacks on what runs read: texts and pairs. Runs are made here, so that what a worker meets is met too."""

import json
from pathlib import Path

from hypothesis import strategies as st

from gnomon.lab.store import Store
from tests.fuzz.damage import ODD, TORN, deep, places, torn
from tests.fuzz.sandbox import Sandbox
from tests.fuzz.watched import Finding, call, inside

letters = st.one_of(
    st.binary(max_size=400),
    st.text(max_size=200).map(lambda text: text.encode(errors="surrogatepass")),
    st.text(max_size=200).map(lambda text: text.encode("utf-16", errors="surrogatepass")),
    st.sampled_from(
        (b"", b"\0", b"\n", b"\xff\xfe", b"\xef\xbb\xbf", b"a", b"\r\n", b"word ", "é\u2028\U0001f600".encode())
    ),
)
amounts = st.sampled_from((1, 1, 7, 300, 5000))
files = st.dictionaries(
    st.sampled_from(("a.txt", "b.txt", "in/c.txt", ".hidden", "d.bin", "gnomon-store.json", "e\udcff.txt")),
    st.tuples(letters, amounts),
    max_size=4,
)
texts = st.tuples(st.one_of(files, st.tuples(letters, amounts)), st.sampled_from(("8", "1", "64", "100000")))
"""A folder, or one file; and the length at which a model is trained on it."""

sides = st.one_of(st.text(max_size=12), st.sampled_from(("", "2+2", "\0", "\ud800", "x" * 5000, "\u2028", "日本")))
values = st.one_of(sides, sides, st.sampled_from(ODD), st.just(None).map(lambda _: deep()))
pair = st.one_of(
    st.fixed_dictionaries({"input": sides, "target": sides}),
    st.dictionaries(st.sampled_from(("input", "target", "Input", "", "more")), values, max_size=3),
)
odd = st.one_of(
    pair.map(lambda made: json.dumps(made).encode()),
    st.sampled_from((b"", b"[]", b"null", b"[" * 100_000, b'{"input": 1' + b"0" * 5000 + b"}", b"\xff", b"{", b"{}{}")),
    st.binary(max_size=20),
)
usual = st.tuples(st.sampled_from(("1", "22", "+x", "é", "\u2028")), st.text(max_size=3)).map(
    lambda made: json.dumps({"input": made[0] * (1 + len(made[1])), "target": made[1]}, ensure_ascii=False)
)
lines = st.lists(usual.map(lambda text: text.encode(errors="surrogatepass")), min_size=1, max_size=25)
pairs = st.tuples(
    lines,
    st.one_of(st.none(), st.none(), st.tuples(odd, places)),
    st.sampled_from((1, 3, 30)),
    st.sampled_from(
        (["within=10"], ["within=10"], ["within=3"], [], ["within=0"], ["within=9223372036854775808"], ["width=3"])
    ),
    st.sampled_from(("3", "6", "1", "12")),
    st.one_of(*[st.none()] * 4, st.tuples(st.sampled_from(TORN), places)),
)
"""Lines, an odd one among them at a place, how often all are repeated, options, a length, what becomes of the file."""

SIZES = ["--cpu", "--workers", "1", "--store", "new"]


def text(sandbox: Sandbox, made: tuple) -> None:
    """What a text holds, and how long it is, is odd."""
    holds, length = made
    with sandbox.unchanged(["odd", "new"]), inside(sandbox.work):
        if isinstance(holds, dict):
            for name, (some, times) in holds.items():
                file = Path("odd") / name
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(some * times)
        else:
            Path("odd").write_bytes(holds[0] * holds[1])
        call(["compare", "plan.py", "--text", "odd", "--length", length, "--encodings", "rope", *SIZES], sandbox.home)
        _check("new")


def jsonl(sandbox: Sandbox, made: tuple) -> None:
    """The lines of a file of pairs are odd, or the file is."""
    lines, other, times, options, length, how = made
    if other is not None:
        lines = [*lines[: int(other[1] * len(lines))], other[0], *lines[int(other[1] * len(lines)) :]]
    words = ["path=odd", *options]
    with sandbox.unchanged(["odd", "new"]), inside(sandbox.work):
        held = b"\n".join(lines * times)
        Path("odd").write_bytes(held if how is None else torn(held, *how))
        sizes = ["--length", length, "--steps", "1", "--encodings", "rope", *SIZES]
        call(["compare", "plan.py", "--task", "jsonl", *words, *sizes], sandbox.home)
        _check("new")


def _check(path: str) -> None:
    """Finding where a run has failed by an error that is not told as a user's."""
    if not Path(path).is_dir() or not any(Path(path).iterdir()):
        return
    for record in Store(path).records():
        named = (record["reason"] or "").partition(":")[0]
        if record["status"] == "failed" and named.endswith("Error") and named.isidentifier():
            raise Finding(f"the run failed: {record['reason']}")
