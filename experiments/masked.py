"""Does attention that keeps content and position apart fill in masked text better than their sum?

Question: bytes of Shakespeare are hidden, 15 in 100 as in BERT, and guessed from both sides at equal steps. Sums beside
DeBERTa with both terms of position, with that of content to position alone (c2p), with that of position to content
alone (p2c), and beside the other relative encodings. What does each term bring?

Command:  gnomon compare experiments/masked.py --store runs/masked
          gnomon results runs/masked --export results/masked

Answer:   Yes. DeBERTa with both terms has 1.39 nats on the hidden bytes, the sums 1.82 (learned) and 1.85
          (sinusoidal): 0.43 [0.35, 0.51] and 0.47 [0.31, 0.62] more, byte frequencies 3.30.
          The second term brings nothing here. That of position to content alone (p2c) has 1.38, by 0.005
          [0.002, 0.007] less than both; that of content to position alone (c2p) 1.43, 0.04 [-0.03, 0.11] more
          than both, which three seeds do not settle.
          Most of it is not DeBERTa's own: Transformer-XL's has 1.39 as well, Shaw's 1.44, RoPE 1.47, T5 1.67;
          ALiBi, which only fades with distance, 2.07. At twice the length both sums rise by 0.9 nats or more,
          T5 by 0.29, RoPE by 0.09, Transformer-XL, Shaw, ALiBi and DeBERTa by 0.02 or less.
          SeqPE did not learn to tell positions: 2.83 nats, as without any. On text it needed rates above
          those tried here, 0.001 and 0.003, of which every encoding took the larger. So the grid was too low
          for the best of each, and SeqPE's number is one of the budget.

Means over three seeds, with 95% intervals, paired by seed where two are compared. It is judged by the loss on the
scored bytes, in nats; few windows are right in every byte. A run whose loss is not below that of byte frequencies has
learned nothing. Lengths past the training length are told beside, and judge nothing.
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
