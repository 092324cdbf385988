"""The rule of C09: how far ALiBi reaches, what its slopes do, and what it takes."""

from gnomon.claims.claim import Numbers, Verdict

RISE = 0.1
"""Nats a byte by which the loss may rise and still hold: the lab's own tolerance."""
ORDERED = 0.8
"""The rank correlation of slope and distance, below 0, from which on slopes order the heads: of four heads one exchange
of neighbours leaves as much, and one in each layer is what contents may do."""
SLIGHT = 1.25
"""How many times the lines of sinusoidal positions are still simple: the document calls both simple, and within a
quarter neither is the simpler one (as in C08)."""
PAGES = 1.05
"""How many times another's memory is still no more: a peak is counted in pages, and two of one call differ by some."""

HEAVIER = ("sinusoidal", "rope", "shaw", "transformer_xl")
"""What the document compares it with: they have vectors of positions, or turn queries and keys."""


def rule(numbers: Numbers) -> Verdict:
    """Four parts. Reach: the 95 % interval over seeds of the rise of the loss at the longest measured length lies up to
    RISE; not so where it lies above. Slopes: that of the rank correlation between a head's slope and how far it looks,
    the mean over layers, lies below -ORDERED; not so where above. Memory: no more than PAGES times that of each of
    HEAVIER wherever it was measured. Code: up to SLIGHT times the lines of sinusoidal positions, with what is shared,
    and no parameters. Holds where all four are so; holds of those that are; does not hold where none is. Memory and
    code are known, so that not all is open."""
    _, least, most, _ = numbers["rise"]
    _, low, high, _ = numbers["order"]
    code = {name: whole for name, _, whole in numbers["statements"]}
    found = {
        "its reach": None if least is None or least <= RISE < most else most <= RISE,
        "its slopes": None if low is None or low < -ORDERED <= high else high < -ORDERED,
        "its memory": not _heavier(numbers),
        "its code": code["alibi"] <= SLIGHT * code["sinusoidal"] and numbers["parameters"] == 0,
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


def _heavier(numbers: Numbers) -> list:
    """Than which it takes more memory, and where."""
    memory = {(name, what): size for name, what, size in numbers["memory"]}
    whats = [what for name, what in memory if name == "alibi"]
    return [f"{n} in {w}" for w in whats for n in HEAVIER if memory["alibi", w] > PAGES * memory[n, w]]


def _told(numbers: Numbers, code: dict) -> str:
    rise, order = (_interval(numbers[name]) for name in ("rise", "order"))
    far = {}
    for _, _, _, slope, tokens in numbers["heads"]:
        far.setdefault(slope, []).append(tokens)
    heads = ", ".join(f"{slope:.3g}: {sum(tokens) / len(tokens):.1f}" for slope, tokens in sorted(far.items()))
    memory = {name: size for name, what, size in numbers["memory"] if what == "a causal layer"}
    more = _heavier(numbers)
    return (
        f"Trained on {numbers['trained']} bytes, the loss at {numbers['longest']} rises by {rise} nats (allowed: "
        f"{RISE:g}). Tokens that a head looks back, by its slope: {heads}; rank correlation {order}. Peak of memory of "
        f"a causal layer, MiB: {', '.join(f'{name} {size / 2**20:.0f}' for name, size in memory.items())}"
        f"{'; more than ' + ', '.join(more) if more else ''}. Lines of code: "
        f"{', '.join(f'{name} {lines}' for name, lines in code.items())}; parameters: {numbers['parameters']}."
    )


def _interval(row: list) -> str:
    mean, low, high, seeds = row
    if mean is None:
        return "unknown"
    return f"{mean:.3f}, one seed" if low is None else f"{mean:.3f} [{low:.3f}, {high:.3f}] over {seeds} seeds"
