"""Are rows of symbols copied past the lengths that copying was learned on, whether symbols repeat or not?

Question: rows of up to 8 letters are said again, with letters that repeat (what comes next takes a place) and with
letters that are all different (it follows from the last letter). Are rows of 9 to 20 letters right, by encoding?

Command:  gnomon compare experiments/algorithmic.py --store runs/algorithmic
          gnomon results runs/algorithmic --export results/algorithmic

Answer:   No encoding holds twice the length; most fail at one letter more. Shares are answers wholly right,
          means of the three seeds, or of those that learned where it is said so.
          Letters that repeat: at 9 letters alibi has 0.965 right, chain 0.829, transformer_xl 0.731, seqpe
          0.309 (0.01 to 0.87 by seed), rope 0.203 (one seed of three), t5 0.062, and deberta, shaw,
          sinusoidal and learned none; at 10 alibi has 0.843, chain 0.137, the others less than 0.08; at 12
          alibi has 0.264, the others less than 0.02; at 16 none has more than 0.01.
          Letters that are all different, where the next follows from the last: at 9 letters chain has 0.913,
          rope 0.898 (it had 0.203), transformer_xl 0.98 in the two seeds that learned, alibi 0.84 in its two,
          shaw 0.22 in its two, the others less than 0.04; at 10 transformer_xl has 0.63 and alibi 0.41 in
          their two, chain 0.31, rope 0.29, shaw 0.13, the others less than 0.01; at 12 none has more than
          0.05; at 16 one seed of shaw has 0.44 right after 0.08 at 12, every other run less than 0.03.
          Not learned, and so no word on lengths: none (0.70 and 0.10 at the training length); one seed each
          of deberta and seqpe on letters that repeat; of different letters one seed each of alibi, seqpe,
          shaw, transformer_xl and two of t5. All chose the higher rate of two, 0.003, so the grid may end too
          low. Distances of DeBERTa's and Shaw's tables that training never showed are drawn at random and
          stay so.

Lengths count letters, and are 1.1, 1.25, 1.5, 2 and 2.5 times the longest of training, rounded. An answer is right
where all of its letters and its end are, the right answer so far being read; nobody guesses eight letters. A run that
has fewer than nine answers in ten right at the training length has not learned the task, and says nothing of lengths.
`chain` is there because it is asked how it stands beside SeqPE. Reversing, sorting, counting, recalling and going on
with a pattern are in algorithmic_more.py.

Sizing: 66 runs and 44 trials, each trial a quarter as long; a step of 64 rows takes 25 to 60 milliseconds of one core,
100 under DeBERTa: an hour of one core in all. Single runs had learned to copy after 500 (RoPE) to more than 800 steps
(T5's bias, 0.73 right), and letters that are all different after 600 (T5's bias, 0.94 right).
"""

from gnomon.lab.experiment import Experiment, Measure, Model, Problem, Training
from gnomon.lab.presets import COMPARED, sweep
from gnomon.lab.tuning import Tuning

ENCODINGS = (*COMPARED, "chain")

FACTORS = (1, 1.1, 1.25, 1.5, 2, 2.5)
"""The measured lengths over that of training."""

TUNING = Tuning(rates=(1.5e-3, 3e-3), share=0.25)

SMALL, LARGE = Model(width=64, depth=2), Model(width=128, depth=3)


def runs(task: Problem, model: Model, training: Training, seeds: int) -> list[Experiment]:
    """Every encoding on one task, measured at FACTORS of its training length."""
    measure = Measure(lengths=tuple(round(factor * training.length) for factor in FACTORS))
    return sweep(ENCODINGS, seeds=tuple(range(seeds)), task=task, model=model, training=training, measure=measure)


def small(task: Problem, steps: int, length: int = 8, batch: int = 64) -> list[Experiment]:
    """For minutes on two cores."""
    return runs(task, SMALL, Training(steps=steps, batch=batch, length=length), seeds=3)


def large(task: Problem, length: int = 20) -> list[Experiment]:
    """For a GPU, or for nights."""
    return runs(task, LARGE, Training(steps=10000, batch=128, length=length, learning_rate=1e-3), seeds=5)


FORMS = {
    "quick": [*small(Problem("copy"), 1200), *small(Problem("copy", {"unique": True}), 650)],
    "standard": [*large(Problem("copy")), *large(Problem("copy", {"unique": True, "alphabet": 64}))],
}
