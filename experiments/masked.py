"""Does attention that keeps content and position apart fill in masked text better than their sum?

Question: bytes of Shakespeare are hidden, 15 in 100 as in BERT, and guessed from both sides at equal steps. Sums beside
DeBERTa with both terms of position, with that of content to position alone (c2p), with that of position to content
alone (p2c), and beside the other relative encodings. What does each term bring?

Command:  gnomon compare experiments/masked.py --store runs/masked
          gnomon results runs/masked --export results/masked

Answer:   open: it has not been run yet

It is judged by the loss on the scored bytes, in nats; few windows are right in every byte. A run whose loss is not
below that of byte frequencies has learned nothing. Lengths past the training length are told beside, and judge nothing.
`standard` asks the same of whole words too, which their own letters do not give away.

`learned` is the sum to beat: its table begins as large as the content, as in BERT, which draws both alike. What the
norm alone costs is asked by `entanglement.py`.

Sizing: `quick` is 36 runs and 24 trials of half the steps, at 32 (learned) to 68 (SeqPE) milliseconds of one core a
step and some seconds a start: an hour of one core. At 3e-3, with seed 1000 on the validation part, the sinusoidal sum
had 2.05 nats after 1000 steps and the learned one 1.89, where byte frequencies have 3.29. `standard` is sized for a
GPU.
"""

from gnomon.lab.experiment import Experiment, Measure, Model, Problem, Training
from gnomon.lab.presets import COMPARED, sweep
from gnomon.lab.tuning import Tuning

ENCODINGS = (
    ("deberta", {"terms": "c2p"}),
    ("deberta", {"terms": "p2c"}),
    *COMPARED,
)

TUNING = Tuning(rates=(1e-3, 3e-3), share=0.5)


def form(seeds: tuple[int, ...], model: Model, training: Training, examples: int, *tasks: Problem) -> list[Experiment]:
    """Every encoding on every task, measured at the training length and at twice that."""
    measure = Measure(lengths=(training.length, 2 * training.length), examples=examples)
    return [
        experiment
        for task in tasks
        for experiment in sweep(ENCODINGS, seeds=seeds, task=task, model=model, training=training, measure=measure)
    ]


FORMS = {
    "quick": form(
        (0, 1, 2),
        Model(width=64, depth=2),
        Training(steps=1400, batch=32, length=32),
        1024,
        Problem("masked"),
    ),
    "standard": form(
        (0, 1, 2, 3, 4),
        Model(width=256, depth=4, heads=8),
        Training(steps=20000, batch=64, length=128),
        4096,
        Problem("masked"),
        Problem("masked", {"whole_words": True}),
    ),
}
