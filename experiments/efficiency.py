"""With how much less data is a pattern learned, where what is learned at one place holds at others?

Question: how does the share of right answers grow with the amount of data, steps being equal, under encodings of
places, under encodings of distances, and in a convolutional net? On handwritten digits that lie up to a patch beside
the middle, and on a pattern in tokens that is nothing but a distance: which token stands 1 to 4 places back?

Command:  gnomon compare experiments/efficiency.py --store runs/efficiency
          gnomon results runs/efficiency --export results/efficiency

Answer:   Yes of the distance, by far; of the digits only beside the net. Shares right, means of three seeds.
          A token at a distance, after 256, 1,024 and 16,384 different sequences at equal steps: deberta,
          rope, shaw and transformer_xl 1.00 from 256 on; the learned table 0.21, 0.66, 0.96, the sinusoidal
          sum 0.20, 0.52, 0.72. t5, alibi, seqpe and none do not learn it with any amount, 0.16 to 0.23: alibi
          and none cannot, t5 and seqpe do not in these steps.
          Digits, after 201, 805 and 4,024 of them: the net 0.89, 0.92, 0.94; rope 0.70, 0.71, 0.74; tables,
          sinusoidal positions, alibi, relative_bias, seqpe and none 0.55 to 0.63 whatever the amount. So the
          net has more right with a twentieth of the digits than any Transformer with all of them, and more
          digits help none of those much: in 400 steps of so small models steps may be what is lacking.
          The runs were made in two parts, the second after the sweep had been stopped. Rates were chosen of
          0.001 and 0.003.

Amounts: of `images` a share of the 4000 digits, each moved anew along both axes by up to 7 pixels, a patch, whenever it
is seen; of `distance` so many different sequences. What is measured has not been trained on, and lies as in training: a
digit in the middle, or a patch farther to the right or down. A guess is right in 0.1 of the digits and in 0.125 of the
tokens. The token that asks about a digit has no place. At rows and columns `learned` has a vector for each of either;
with `positions=flat` one for each patch. Under `distance`, `alibi` and `none` are there as bounds: seen both ways, an
encoding that knows no sign finds two tokens, and one that knows nothing finds none.

Sizing: `quick` is 171 runs and 114 trials of three tenths of the steps, at 12 to 30 milliseconds of one core a step,
SeqPE and DeBERTa 36 to 51: 48 minutes of one core in all, of which starting 285 processes takes 13. Of held-in answers,
with all the data, at a rate of 3e-3, 0.96 of the tokens were right under `learned` after 400 steps and 1.00 under RoPE
after 600; of the digits 0.74 under RoPE after 500. They count as learned
from 0.55 (digits) and 0.9 (tokens) on.
"""

from dataclasses import replace

from gnomon.lab.experiment import Experiment, Measure, Model, Problem, Training
from gnomon.lab.presets import COMPARED, sweep
from gnomon.lab.tuning import Tuning

GRID = (
    ("seqpe", {"axes": 2}),
    ("relative_bias", {"axes": 2}),
    ("rope", {"axes": 2}),
    "alibi",
    ("sinusoidal", {"axes": 2}),
    ("learned", {"axes": 2}),
    "none",
)

TUNING = Tuning(rates=(1e-3, 3e-3), share=0.3)


def form(
    seeds: tuple[int, ...],
    model: Model,
    digits: Training,
    shares: tuple[float, ...],
    tokens: Training,
    amounts: tuple[int, ...],
) -> list[Experiment]:
    """Both tasks with every amount of data, the least first; seeds turn slowest."""
    runs = []

    def add(encodings: tuple, training: Training, task: Problem, kind: str = "transformer") -> None:
        measure, own = Measure(lengths=(training.length,)), replace(model, kind=kind)
        runs.extend(sweep(encodings, seeds=seeds, task=task, model=own, training=training, measure=measure))

    for share in shares:
        options = {"patch": 7, "question": "nowhere", "shifts": [7], "wider": 0, "jitter": 7, "share": share}
        grid, flat = (Problem("images", {"positions": positions} | options) for positions in ("grid", "flat"))
        add(GRID, digits, grid)
        add(("none",), digits, grid, "convolution")
        add(("learned",), digits, flat)
    for amount in amounts:
        add(COMPARED, tokens, Problem("distance", {"alphabet": 8, "distances": 4, "sequences": amount}))
    return sorted(runs, key=lambda experiment: experiment.seed)


FORMS = {
    "quick": form(
        (0, 1, 2),
        Model(width=64, depth=2),
        Training(steps=400, batch=32, length=5),
        (0.05, 0.2, 1.0),
        Training(steps=500, batch=32, length=12),
        (256, 1024, 16384),
    ),
    "standard": form(
        (0, 1, 2, 3, 4),
        Model(width=128, depth=4),
        Training(steps=10000, batch=64, length=5),
        (0.025, 0.05, 0.1, 0.2, 0.4, 1.0),
        Training(steps=10000, batch=64, length=24),
        (256, 512, 1024, 2048, 4096, 32768),
    ),
}
