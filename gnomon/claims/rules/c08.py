"""The rule of C08: what the encodings cost."""

from gnomon.claims.claim import Numbers, Verdict

SLIGHT = 1.25
"""How many times as much is still slightly more, of time and of code. A user does not leave a method over a quarter, as
over twice as much; and on one machine the quartiles of a single measurement lie up to that far apart, so that less is
not told from nothing."""
SETTINGS = 6
"""How many a time is taken in: attention, a whole layer and training, each bidirectional and causal."""

RIVALS = ("sinusoidal", "rope", "alibi")
"""What the document says that SeqPE costs slightly more than."""
SIMPLE = ("sinusoidal", "alibi")
"""What it calls simple."""


def rule(numbers: Numbers) -> Verdict:
    """A time is a ratio to the same without positions, between its quartiles. RoPE computes slightly more, and ALiBi is
    fast, where the ratio is up to SLIGHT in all SETTINGS; not so where in one it is above. SeqPE, and the chain as
    which the document tells of it, cost slightly more than each of RIVALS where their ratio to its ratio is up to
    SLIGHT in all; not so where in one it is above, or below 1. Shaw and Transformer-XL are complicated where their
    code, with what it shares with others, has more than SLIGHT times the lines of each of SIMPLE.

    Holds where all of it is so; holds of the parts that are so; does not hold where none is. Code is counted, so that
    one part at least is always known."""
    code = {name: whole for name, _, whole in numbers["statements"]}
    simple = max(code[name] for name in SIMPLE)
    found = {
        "RoPE's overhead": _slight(_times(numbers, "rope")),
        "the speed of ALiBi": _slight(_times(numbers, "alibi")),
        "SeqPE's overhead": _slight(_beside(numbers, "seqpe"), more=True),
        "the overhead of the document's chain": _slight(_beside(numbers, "chain"), more=True),
        "the code of Shaw's": code["shaw"] > SLIGHT * simple,
        "the code of Transformer-XL's": code["transformer_xl"] > SLIGHT * simple,
    }
    told = _told(numbers, code)
    so, no, rest = ([part for part, answer in found.items() if answer is wanted] for wanted in (True, False, None))
    if len(so) == len(found):
        return Verdict("holds", told)
    others = [f"Not of {', '.join(no)}." * bool(no), f"Open: {', '.join(rest)}." * bool(rest)]
    told = " ".join(filter(None, [*others, told]))
    if so:
        return Verdict("holds if", f"It holds of {', '.join(so)}. {told}")
    return Verdict("does not hold", told)


def _times(numbers: Numbers, name: str) -> list:
    """The quartiles of each of its ratios, in the order of settings; None of one without a spread."""
    return [_quartiles(ratio, spread) for label, _, ratio, spread, _ in numbers["times"] if label == name]


def _quartiles(ratio: float, spread: float | None) -> tuple | None:
    return None if spread is None else (ratio * (1 - spread / 2), ratio * (1 + spread / 2))


def _beside(numbers: Numbers, name: str) -> list:
    """Bounds of its ratio to that of each rival, from the quartiles of both."""
    return [
        None if own is None or other is None else (own[0] / other[1], own[1] / max(other[0], 1e-9))
        for rival in RIVALS
        for own, other in zip(_times(numbers, name), _times(numbers, rival), strict=True)
    ]


def _slight(bounds: list, more: bool = False) -> bool | None:
    """Whether all are up to SLIGHT, and with `more` none is below 1 for certain."""
    known = [each for each in bounds if each is not None]
    if any(low > SLIGHT or (more and high < 1) for low, high in known):
        return False
    whole = len(known) == len(bounds) >= SETTINGS
    return True if whole and all(high <= SLIGHT for _, high in known) else None


def _told(numbers: Numbers, code: dict) -> str:
    processor, threads, commit, date = numbers["about"]
    labels = [*dict.fromkeys(row[0] for row in numbers["times"])]
    ratios = {label: [row[2] for row in numbers["times"] if row[0] == label] for label in labels}
    each = ", ".join(f"{label} {min(found):.2f} to {max(found):.2f}" for label, found in ratios.items())
    memory = {(label, what): size for label, what, size in numbers["memory"]}
    peaks = ", ".join(f"{label} {memory[label, 'a causal layer'] / 2**20:.0f}" for label in labels)
    return (
        f"Times over the same without positions, least and most of {SETTINGS} settings: {each}. Peak of memory of a "
        f"causal layer, MiB: {peaks}. Lines of code, with what is shared: "
        f"{', '.join(f'{label} {lines}' for label, lines in code.items())}. "
        f"Measured on {processor}, {threads} threads, {date[:10]}, at {commit[:12]}."
    )
