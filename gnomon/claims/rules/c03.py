"""The rule of C03: in one dimension no two positions have the same value."""

from gnomon.claims.claim import Numbers, Verdict

COLLISIONS = 0
"""How many dimensions in which two places share a value are allowed."""


def rule(numbers: Numbers) -> Verdict:
    """Does not hold where it is not proved for whole positions from 0 on; holds if positions are not negative, or
    values not rounded, where that makes two places share a value; else holds."""
    if not numbers["proved_not_negative"]:
        return Verdict(
            "does not hold", f"Over the reals two of the places 0 to {numbers['positions'] - 1:,} share a value."
        )
    conditions, told = [], []
    if numbers["negative_witness"]:
        p, q, dimension = numbers["negative_witness"]
        conditions.append("positions are not negative")
        told.append(f"{p} and {q} share the value of dimension {dimension} exactly")
    shared = [row for row in numbers["collisions"] if row[1] > COLLISIONS]
    if shared:
        conditions.append(f"values are not rounded to {', '.join(dtype for dtype, *_ in shared)}")
        dimensions = ", ".join(f"{dimensions} of {of} dimensions in {dtype}" for dtype, dimensions, of in shared)
        told.append(f"of {numbers['positions']:,} places some share a value in {dimensions}")
    if not conditions:
        return Verdict("holds", f"Proved over the reals; no two of {numbers['positions']:,} places share a value.")
    return Verdict("holds if", f"It holds if {' and '.join(conditions)}: {'; '.join(told)}.")
