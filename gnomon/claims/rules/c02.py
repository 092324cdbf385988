"""The rule of C02: no two positions have the same vector."""

from gnomon.claims.claim import Numbers, Verdict

REPEATS = 0
"""How many rows equal to an earlier one are allowed."""

CORRECTED = (
    "a sentence alone: the condition now says up to which position it was looked at, past which float32 repeats too; "
    "no threshold and no verdict changed"
)


def rule(numbers: Numbers) -> Verdict:
    """Does not hold where it is not proved over the reals, or where rows repeat however angles are formed; holds if
    angles are formed in the precisions without repeats, where there are some of each; holds where none repeats."""
    if not numbers["proved_over_reals"]:
        return Verdict(
            "does not hold", f"Over the reals two whole positions have one vector at width {numbers['width']}."
        )
    rational, pairs = numbers["rational_pairs"], numbers["pairs"]
    real = (
        f"Over the reals the first wave alone proves it; the document's own step fails for {rational:,} of {pairs:,} "
        f"pairs of waves, whose ratio of frequencies is rational."
    )
    angles = list(dict.fromkeys(angle for _, angle, _, _ in numbers["repeats"]))
    bad = {a for _, a, repeats, _ in numbers["repeats"] if repeats > REPEATS}
    good = [angle for angle in angles if angle not in bad]
    if not bad:
        return Verdict("holds", f"{real} In none of {len(numbers['repeats'])} ways to compute it does a row repeat.")
    table, angle, repeats, rows = max(numbers["repeats"], key=lambda row: (row[2] / row[3], row[0] == row[1]))
    worst = f"in {table} with angles in {angle}, {repeats:,} of {rows:,} rows equal an earlier one"
    if not good:
        return Verdict("does not hold", f"{real} But {worst}, and every other way to form angles has repeats.")
    rows = max(rows for *_, rows in numbers["repeats"])
    formed = f"angles are formed in {' or '.join(good)}, up to position {rows - 1:,}"
    return Verdict("holds if", f"{real} Computed, it holds if {formed}: {worst}.")
