"""Is addition right past the digits it was learned on, and after a shift? Data format crossed with encoding.

Question: two numbers of up to 4 digits are added, digits written from the least significant on. Are sums of 5 to 10
digits right, by encoding? Are they when digits are written plainly, or with marks of their places? And trained after
2 blanks, is a sum right after fewer or more?

Command:  gnomon compare experiments/addition.py --store runs/addition
          gnomon compare experiments/addition.py --form plain --store runs/addition
          gnomon compare experiments/addition.py --form hints --store runs/addition
          gnomon results runs/addition --export results/addition

Answer:   (reversed sums, with and without blanks; plain digits and marks have not been run) No. Nobody adds
          one digit more. Shares are sums wholly right, by seed or means of the seeds that learned.
          At 4 digits deberta and sinusoidal learned with all three seeds (0.99 or more), transformer_xl and
          the learned table with two, alibi, fire, rope and shaw with one; none, seqpe and t5 with none. At 5
          digits fire has 0.13 in its seed, alibi 0.05, all others none; at 6 nobody has more than 0.01.
          Trained after 2 blanks, at 1, 3 and 4 and at none: deberta falls from 1.00 to 0.03, shaw from 0.95
          to 0.05, sinusoidal (two seeds) from 0.98 to 0.06, the table (two) from 1.00 to 0.00, fire (two)
          from 0.98 to 0.14, rope (one) from 1.00 to 0.08. transformer_xl (two seeds) holds where blanks were
          added, 0.97 at 3 and 0.72 at 4, and at one less, 0.94, but not without any: 0.03. So encodings of
          distances are not safe from a shift where what is shifted in can be seen: the blanks are tokens as
          others are.
          One budget for all leaves many untold: 14 of 33 runs learned the sums without blanks, 15 of 33 those
          with. Every run chose the larger rate of two, 0.003.

Numbers are in base 5: its 25 sums of two digits are learned soon, the 100 of base 10 were not within this budget, and
carrying is the same. Lengths count the digits of an operand, and are up to 2.5 times the longest of training, rounded:
4 to 10 digits reversed, 3 to 8 in the other formats, which are learned later. A sum is right where all of its digits
and its end are; a guess is right in one of 5^n. A run that has fewer than nine sums in ten right at the training length
has not learned addition, and says nothing of lengths.

Groups of the shifted sums: `shift 2` is trained, `shift 0`, `1`, `3` and `4` are measured besides.

`fire` is there because sums of 2.5 times the digits are published of it (Zhou et al. 2024, "Transformers Can Achieve
Length Generalization But Not Robustly"). So they are of positions drawn at random; these are in `standard`, as
multiplication is.

Sizing: 66 runs and 44 trials, each trial a quarter as long; a step of 64 rows takes 25 to 60 milliseconds of one core,
100 under DeBERTa: an hour of one core in all. The forms `plain` and `hints` have half as many, and take as long. Single
runs had learned reversed sums after 600 to 1000 steps; of plain sums of 3 digits half were right after 1200, of those
with hints 3 in 100 after 800.
"""

from dataclasses import replace

from gnomon.lab.experiment import Experiment, Measure, Model, Problem, Training
from gnomon.lab.presets import COMPARED, sweep
from gnomon.lab.tuning import Tuning

ENCODINGS = (*COMPARED, "fire")

FACTORS = (1, 1.25, 1.5, 2, 2.5)
"""The measured lengths over that of training."""

PLACES = 256
"""Among so many positions those of a sum are drawn at random; the longest has 125 tokens."""

TUNING = Tuning(rates=(1.5e-3, 3e-3), share=0.25)

SMALL, LARGE = Model(width=64, depth=2), Model(width=128, depth=4)


def runs(
    task: Problem, model: Model, training: Training, seeds: int, factors: tuple[float, ...] = FACTORS
) -> list[Experiment]:
    """Every encoding on one format, measured at these multiples of its training length."""
    measure = Measure(lengths=tuple(round(factor * training.length) for factor in factors))
    return sweep(ENCODINGS, seeds=tuple(range(seeds)), task=task, model=model, training=training, measure=measure)


def written(name: str = "addition", **options: object) -> Problem:
    return Problem(name, options)


def small(task: Problem, digits: int, steps: int, factors: tuple[float, ...] = FACTORS) -> list[Experiment]:
    """For minutes on two cores."""
    return runs(task, SMALL, Training(steps=steps, batch=64, length=digits), 3, factors)


def large(task: Problem, digits: int = 8, factors: tuple[float, ...] = FACTORS) -> list[Experiment]:
    """For a GPU, or for nights."""
    return runs(task, LARGE, Training(steps=20000, batch=256, length=digits, learning_rate=1e-3), 5, factors)


def drawn(experiments: list[Experiment]) -> list[Experiment]:
    """Those of positions that are published so, at places that are drawn at random."""
    chosen = [each for each in experiments if each.encoding in ("fire", "learned")]
    return [replace(each, training=replace(each.training, randomised=PLACES)) for each in chosen]


SHIFTED = {"order": "reversed", "shift": 2, "measured_shifts": [0, 1, 3, 4]}

FORMS = {
    "quick": [
        *small(written(order="reversed", base=5), 4, 1050),
        *small(written(**SHIFTED, base=5), 3, 750, factors=(1,)),
    ],
    "plain": small(written(base=5), 3, 2200),
    "hints": small(written(order="reversed", hints=10, base=5), 3, 1550),
    "standard": [
        *large(written()),
        *large(written(order="reversed")),
        *large(written(order="reversed", hints=24)),
        *drawn(large(written(order="reversed", hints=24))),
        *large(written(**SHIFTED), factors=(1,)),
        *large(written("multiplication", order="reversed"), 4),
    ],
}
