"""Command lines: every command with its options, some misspelt, and values that people and shells make of them."""

from dataclasses import fields

from hypothesis import strategies as st

from gnomon.commands import COMMANDS
from gnomon.encodings import ENCODINGS
from gnomon.lab.probes import PROBES
from gnomon.lab.tasks import TASKS

NUMBERS = (
    *("0", "1", "2", "3", "7", "8", "16", "-1", "-0", "+2", "007", "1.5", "1e3", "1e-3", "1e309", "nan", "inf", "-inf"),
    *("NaN", "0x10", "1_0", "٣", "²", "1e", "--1", "1,5", "9223372036854775807", "9223372036854775808"),
    *("-9223372036854775809", "4294967296", "9" * 400, "9" * 5000, "1" + "0" * 5000, "True", "None", "1j", " 1"),
)
PATHS = (
    *("toys", "toys/", "./toys/../toys", "told", "empty", "locked", "locked/in", "new/deep/er.html", "text.txt"),
    *("nothing.txt", "pipe", "loop", "loop/in", "dangling", "plan.py", "mine.py", "mine.py:Mine", "mine.py:Other"),
    *("broken.py", "broken.py:Mine", "pairs.jsonl", "deep.json", "toys/gnomon-store.json", "toys/.work", ".", ".."),
    *("x" * 300, "a/" * 300 + "b", "\udcff.txt", "new\nline", "a.svg", "a.png", "a.SVG", "a.html/", "toys.py:"),
    *("text.txt/in", "/dev/null", "/dev/full", "/dev/null/in", "~", "*", "gone.py", "gone.py:Mine", ".py", ":", "a:b"),
)
"""Nothing that lies outside the sandbox and could be written. What /dev/full is given is refused by the system."""

TEXTS = (
    *("", " ", "-", "--", "-1", "=", "a=", "=3", "base=5", "base=1e400", "base=[1", "theta=500000", "size=16"),
    *("é", "日本語", "\u202eright", "\ufeff", "\udcff", "\x1b[31mred", "tab\there", "new\nline", "[red]x[/red]"),
    *("{x}", "%s", "'", '"', "<script>alert(1)</script>", "\\", "a" * 5000, "None", "null", "True", "@plan.py"),
    *("base=" + "9" * 5000, "base=" + "(" * 500, "base=" + "-" * 3000 + "1", "size=1e400", "base='\\ud800'"),
    *("order=reversed", "path=pairs.jsonl", "path=pipe", "within=0", "length=\udcff", "base={1: 2}", "base=b'x'"),
)
QUERIES = (
    *("select 1", "select * from runs", "select", "describe runs", "select 1; select 2", "drop table runs", ""),
    *("select * from read_csv('text.txt')", "copy runs to 'out.csv'", "attach 'a.db'", "install httpfs", "-- nothing"),
    *("select label, loss from runs order by loss", "select '\udcff'", "pivot runs on label", "select 1/0", "(" * 2000),
    *("select 'nan'::double, 'inf'::double, null", "select [1, 2], {'a': 1}, '1 day'::interval, 'x'::blob, uuid()"),
    *(
        "pragma database_list",
        "select getenv('HOME')",
        "export database 'there'",
        "set threads = 1",
        "explain select 1",
    ),
    *("select 1 as a, 2 as a", "select current_date, now(), 1::decimal(30, 3), 10::hugeint * 1e18::hugeint"),
)
NAMES = (
    *(
        "rope",
        "alibi",
        "learned",
        "none",
        "t5",
        "sinusoidal",
        "Rope",
        "rop",
        "quick",
        "standard",
        "fp32",
        "bf16",
        "fp64",
    ),
    *("copy", "addition", "parity", "jsonl", "masked", "wavelengths", "grids", "aliasing", "loss", "attended", "wandb"),
    *("C01", "c14", "C99", "gnomon", "tensorboard", "fast", "images", "user"),
)

values = st.one_of(
    st.sampled_from(NUMBERS),
    st.sampled_from(PATHS),
    st.sampled_from(TEXTS),
    st.sampled_from(NAMES),
    st.text(st.characters(exclude_characters="\0/"), max_size=12),  # a path of it stays within the folder
).filter(lambda word: "\0" not in word)

DEAR = {"doctor", "claims"}
"""They look at the whole installation, or find the numbers of claims: seconds."""


@st.composite
def lines(draw: st.DrawFn) -> list[str]:
    """The words of a command line."""
    names = [name for name in COMMANDS if name not in DEAR] * 4 + [*DEAR]
    name = draw(_mostly(st.sampled_from(names), values))
    kind = COMMANDS.get(name)
    options = {"help": bool, "version": bool} | ({} if kind is None else {f.name: f.type for f in fields(kind)})
    words = [name, *([] if kind is None else _cheap(name))]
    for option in draw(st.lists(st.sampled_from([*options]), max_size=4)):
        given = draw(_mostly(_given(option, options[option]), st.lists(values, max_size=3)))
        option = option.replace("_", "-")
        option = draw(_mostly(st.just(option), st.sampled_from((option[:-1], option.upper(), f"no-{option}"))))
        words += draw(_mostly(st.just([f"--{option}", *given]), st.sampled_from(([f"--{option}=", *given], given))))
    return [word for word in words if word != "--record"]  # it writes into this repository


def _mostly(usual: st.SearchStrategy, odd: st.SearchStrategy) -> st.SearchStrategy:
    return st.integers(0, 9).flatmap(lambda at: odd if at == 9 else usual)


def _given(option: str, kind: object) -> st.SearchStrategy[list[str]]:
    """What is given to an option of a kind: as many words as it takes, mostly such as it takes."""
    own = {
        "sql": QUERIES,
        "store": PATHS, "out": PATHS, "text": PATHS, "figure": PATHS, "export": PATHS, "records": PATHS,
        "log_json": PATHS, "encodings": [*ENCODINGS], "names": [*ENCODINGS], "encoding": PATHS, "plan": PATHS,
        "task": [*TASKS, *PATHS], "only": [*PROBES, *NAMES], "tune": NUMBERS, "ids": NAMES, "options": TEXTS,
        "trackers": NAMES, "form": NAMES, "engine": ("local", "rey", ""),
    }.get(option, NUMBERS)  # fmt: skip
    word = _mostly(st.sampled_from(own), values)
    told = str(kind)
    if "bool" in told or option == "json":
        return st.just([])
    return st.lists(word, max_size=3) if "tuple" in told or "Words" in told else word.map(lambda one: [one])


def _cheap(name: str) -> list[str]:
    """Sizes that are over in a moment, where the usual ones take long; what is given after them replaces them."""
    if name == "analyze":
        return ["rope", "--only", "wavelengths", "--positions", "32", "--width", "16", "--heads", "2"]
    if name == "compare":
        return ["plan.py", "--cpu", "--workers", "1"]
    return ["toys"] if name in ("report", "results") else []


VARIABLES = {
    "COLUMNS": ("0", "1", "2", "20", "100000", "-1", "x", ""),
    "RANK": ("0", "1", "-1", "x", "", "1.5", "9" * 5000),
    "WORLD_SIZE": ("0", "1", "-1", "x", "", "1.5"),
    "OMP_NUM_THREADS": ("0", "-1", "x", "", "9" * 5000, "4,2", "²"),
    "CUDA_VISIBLE_DEVICES": ("", "-1", "x", "0,1", "GPU-"),
    "GNOMON_TRACEBACK": ("0", ""),
    "CXX": ("", "gone", "\udcff", "/"),
    "TERM": ("", "dumb", "x"),
    "NO_COLOR": ("1",),
    "FORCE_COLOR": ("1", ""),
    "PYTHONHASHSEED": ("x",),
    "HOME": ("", "gone", "\udcff"),
    "TMPDIR": ("gone", ""),
    "LANG": ("C", "x"),
}
"""What commands read of their surroundings, with values that are none."""

surroundings = st.tuples(
    st.fixed_dictionaries({}, optional={name: st.sampled_from(known) for name, known in VARIABLES.items()}),
    st.sampled_from(
        (
            ["compare", "plan.py", "--cpu", "--store", "new"],
            ["results", "toys"],
            ["results", "toys", "--sql", "select * from runs"],
            ["report", "toys", "--out", "new"],
            ["probe", "--store", "toys", "--only", "lengths", "--examples", "2"],
            ["list", "rope"],
            ["laws", "none"],
            ["analyze", "rope", "--only", "wavelengths", "--positions", "32", "--width", "16", "--heads", "2"],
            ["doctor", "--store", "toys"],
            ["cite"],
            ["gone"],
            ["compare", "--help"],
            [],
        )
    ),
)
