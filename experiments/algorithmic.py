"""Are rows of symbols copied past the lengths that copying was learned on, whether symbols repeat or not?

Question: rows of up to 8 letters are said again, with letters that repeat (what comes next takes a place) and with
letters that are all different (it follows from the last letter). Are rows of 9 to 20 letters right, by encoding?

Command:  gnomon compare experiments/algorithmic.py --store runs/algorithmic
          gnomon results runs/algorithmic --export results/algorithmic

Answer:   open: it has not been run yet

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
