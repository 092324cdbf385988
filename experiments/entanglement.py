"""What does it cost that positions are added to the content: pairs that bind when adjacent, and a sweep of the norm.

Question: (a) two words mean something together only where the second follows the first; after how many steps of
training is that known, by encoding? (b) positions are added times a scale; between which norms, beside that of the
content, is masked text learned best, and what is lost where positions are smaller or larger?

Command:  gnomon compare experiments/entanglement.py --store runs/entanglement
          gnomon results runs/entanglement --export results/entanglement

Answer:   (a) Pairs are known sooner where places are read as relative ones, with two terms or one, than under
          the sums; t5 and alibi are the exceptions. Share right in the mean of three seeds, after 100, 200
          and 400 steps: deberta and shaw 1.00 from 100 on; rope 0.95, 0.99, 1.00; transformer_xl 0.93, 1.00,
          1.00; deberta's c2p alone 0.92, then 1.00, its p2c alone 0.68, then 1.00; the learned sum 0.53,
          0.97, 1.00, the sinusoidal one 0.51, 0.61, 0.94. t5 takes longer than the learned sum, 0.50, 0.69,
          1.00, and alibi stops: 0.65, 0.92, 0.92. seqpe and none guess at every budget.
          (b) Both ends lose under sinusoidal positions; under learned ones it is undecided. Masked text
          without positions costs 2.85 nats. Sinusoidal positions at 0.03, 0.1, 0.3, 1, 3 and 30 times cost
          2.85, 2.85, 2.83, 2.41, 2.20 and 3.28: of a tenth of the content's norm or less they are worth
          nothing, at 1.9 times it most, at 19 times the words are lost (byte frequencies cost 3.29). Learned
          ones at 0.02, 0.1, 0.3, 1, 3 and 20 times cost 2.85, 2.85, 2.86, 2.68, 2.86 and 3.31: the same
          shape, but at its best, 0.92 of the content's norm, they are worth 0.17 [-0.01, 0.35], which three
          seeds do not tell from nothing.
          Every run chose the larger rate of two, 0.003: the budgets of steps are those of that rate, and
          SeqPE's row is one of too small a budget.

Groups of (a): `adjacent` and `apart`, as many of each; a guess is right in 0.5. What lies apart may be in the other
order: an encoding that knows a distance and not its sign takes one in nine of those for adjacent. Each budget of
steps is a training of its own, with the same steps of warm-up.

In (b) the scale is there in training, so the model can answer it: contents grow, projections attend to the smaller
part, and rows of a learned table move as far as they are asked to. The ratio of norms is therefore measured after
training (probe `entanglement`), beside the share that positions have in the variance of a logit (`terms`). At first it
is 0.7 times the scale for sinusoidal positions, and the scale for learned ones, which begin as large as the content, as
in BERT. Every scale has a learning rate of its own, so that none is worse only because its steps were
too long. `none` is what a scale of 0 would be.

Sizing: `quick` is 147 runs and 98 trials of half the steps, an hour of one core, half of which is starting 245
processes. (a) takes 15 to 64 milliseconds a step: at 3e-3, with seed 1000, the sinusoidal sum was right in 0.98 after
500 steps. (b) takes 36 milliseconds a step: the sinusoidal sum had 2.23 nats after 750 steps, where byte frequencies
have 3.29. `standard` is sized for a GPU, (b) with more scales.
"""

from dataclasses import replace

from gnomon.lab.experiment import Experiment, Measure, Model, Problem, Training
from gnomon.lab.presets import COMPARED, sweep
from gnomon.lab.tuning import Tuning

ENCODINGS = (
    ("deberta", {"terms": "c2p"}),
    ("deberta", {"terms": "p2c"}),
    *COMPARED,
)
"""Of (a). The learned table, as large as the content, as in BERT, is the sum to beat, besides the sinusoid."""

WARM = 30
"""Steps of warm-up in (a), whatever the budget."""

SCALES = {
    "sinusoidal": (0.03, 0.1, 0.3, 1.0, 3.0, 30.0),
    "learned": (0.02, 0.1, 0.3, 1.0, 3.0, 20.0),
}
"""Of (b): at first the norm of positions is 0.02 to 20 times that of the content, under either."""
FINER = {
    "sinusoidal": (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0),
    "learned": (0.01, 0.02, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0),
}

TUNING = Tuning(rates=(1e-3, 3e-3), share=0.5)


def pairs(seeds: tuple[int, ...], budgets: tuple[int, ...], model: Model, training: Training) -> list[Experiment]:
    """(a): every encoding at every budget; the largest first, so that several workers end together."""
    return [
        experiment
        for steps in sorted(budgets, reverse=True)
        for experiment in sweep(
            ENCODINGS,
            seeds=seeds,
            task=Problem("adjacency"),
            model=model,
            training=replace(training, steps=steps, warmup=WARM / steps),
            measure=Measure(lengths=(training.length,)),
        )
    ]


def norms(
    seeds: tuple[int, ...], scales: dict[str, tuple[float, ...]], model: Model, training: Training
) -> list[Experiment]:
    """(b): every scale of what is added, and nothing added."""
    return sweep(
        [*((name, {"scale": scale}) for name, each in scales.items() for scale in each), "none"],
        seeds=seeds,
        task=Problem("masked"),
        model=model,
        training=training,
        measure=Measure(lengths=(training.length,), examples=1024, probes=("terms", "entanglement")),
    )


FORMS = {
    "quick": [
        *norms((0, 1, 2), SCALES, Model(width=64, depth=2), Training(steps=650, batch=32, length=32)),
        *pairs((0, 1, 2), (100, 200, 400), Model(width=32, depth=2), Training(batch=64, length=10)),
    ],
    "standard": [
        *norms(
            (0, 1, 2, 3, 4),
            FINER,
            Model(width=256, depth=4, heads=8),
            Training(steps=20000, batch=64, length=128),
        ),
        *pairs(
            (0, 1, 2, 3, 4),
            (100, 200, 400, 800, 1600, 3200),
            Model(width=128, depth=4),
            Training(batch=64, length=48),
        ),
    ],
}
