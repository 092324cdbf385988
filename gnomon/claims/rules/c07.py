"""The rule of C07: RoPE's products follow distance, and it copes well with long contexts."""

from typing import Literal

from gnomon.claims.claim import Numbers, Verdict
from gnomon.claims.intervals import Interval, by_seed, difference, interval

SAME = 1e-9
"""How much outputs may change, in float64 and as a share of them, when all positions move alike: rounding of an angle
of 10^4 is 10^-12, and layers may enlarge it a hundredfold; what is no rounding changes a thousandth at least."""
COPES = 0.1
"""Nats a byte by which the loss may rise over that at the training length, on the same bytes, where a model copes well:
the rise up to which the lab lets it count as holding (`gnomon.lab.measures.TOLERANCE`). Who cuts the text to the
training length has no rise."""

Standing = Literal["copes", "fails", "open"]


def rule(numbers: Numbers) -> Verdict:
    """Products follow distance where a shift of all positions changes outputs of trained models by SAME at most; where
    it changes them by more, the claim does not hold. Long contexts are texts twice and eight times as long as those of
    training. Plain RoPE, and each scheme stretched to the length at hand, copes with a length where the interval over
    all seeds of the rise of the loss lies up to COPES, and fails where above.

    Holds where plain RoPE copes with both lengths; else holds if frequencies are scaled, by which schemes, where some
    cope with both; else holds if texts are twice as long at most, plain or scaled, where some cope with that; else
    holds of the product alone, with whether the lengths fail or are open. Inconclusive where a run of RoPE has not
    learned the text within the training length. How RoPE stands beside other encodings is told and decides nothing."""
    runs, lengths = numbers["runs"], numbers["lengths"]
    moved = max((change for _, _, _, change in numbers["shifts"]), default=0.0)
    own = {name: [row for row in runs if row[0] == name] for name in dict.fromkeys(row[0] for row in runs)}
    schemes = [name for name, rows in own.items() if name.split()[0] == "rope" and not any(None in row for row in rows)]
    product = (
        f"Shifts up to {max(row[2] for row in numbers['shifts']):,.0f} change outputs of trained models by "
        f"{moved:.1e} at most."
    )
    if moved > SAME:
        return Verdict("does not hold", f"Outputs do not follow distance alone. {product}")
    lost = [f"seed {row[1]}" for row in own["rope"] if not row[2] or None in row]
    if lost:
        return Verdict("inconclusive", f"{product} Of long texts nothing is known: not learned by {', '.join(lost)}.")
    rises = {name: [interval([row[4 + at] for row in own[name]]) for at in range(2)] for name in schemes}
    stands = {name: [_standing(each) for each in found] for name, found in rises.items()}
    told = (
        f"{product} Rise of the loss over that at {numbers['trained_at']} bytes, at {lengths[0]} and {lengths[1]}: "
        f"{'; '.join(f'{_plain(name)} {found[0].text}, {found[1].text}' for name, found in rises.items())}. "
        f"{_beside(own, lengths)}"
    )
    if stands["rope"] == ["copes", "copes"]:
        return Verdict("holds", told)
    if both := [name for name, each in stands.items() if each == ["copes", "copes"]]:
        return Verdict("holds if", f"It holds if frequencies are scaled by {_either(both)}: {told}")
    if twice := [name for name, each in stands.items() if each[0] == "copes"]:
        scaled = "" if "rope" in twice else f" and frequencies are scaled by {_either(twice)}"
        return Verdict("holds if", f"It holds if texts are at most twice as long as those of training{scaled}: {told}")
    open_ = [name for name, each in stands.items() if "open" in each and "fails" not in each]
    rest = "; intervals leave long contexts open" if open_ else ", not of long contexts, plain or scaled"
    return Verdict("holds if", f"It holds of products that follow distance{rest}. {told}")


def _standing(rise: Interval) -> Standing:
    return "copes" if rise.high <= COPES else "fails" if rise.low > COPES else "open"


def _plain(name: str) -> str:
    return name.partition(" ")[2] or "plain"


def _either(names: list[str]) -> str:
    return " or ".join(map(_plain, names))


def _beside(own: dict[str, list], lengths: list[int]) -> str:
    """How the rise of plain RoPE stands to that of other encodings at the longer length, seed by seed."""
    others: dict[str, list[str]] = {"less": [], "more": [], "even": []}
    mine = by_seed(own["rope"], "rope", 5)
    for name, rows in own.items():
        theirs = by_seed(rows, name, 5)
        if name.split()[0] == "rope" or not theirs.keys() & mine.keys():
            continue
        gap = difference(mine, theirs)
        others["less" if gap.high < 0 else "more" if gap.low > 0 else "even"].append(name)
    told = [
        f"{said} {', '.join(others[word])}"
        for word, said in (("less", "less than under"), ("more", "more than under"), ("even", "not to be told from"))
        if others[word]
    ]
    return f"Plain, the loss at {lengths[1]} rises {'; '.join(told)}." if told else ""
