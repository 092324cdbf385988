"""How many steps does a masked model need to learn that influence depends on distance?

Question: a masked token says how far before it its answer stands, 1 to 8 places. After how many steps of training are
nine answers in ten right, and at which distances first? By encoding.

Command:  gnomon compare experiments/distance.py --store runs/distance
          gnomon results runs/distance --export results/distance

Answer:   Encodings that let content meet a distance need a fifth to a third of the steps of BERT's sum
          (deberta's p2c term alone four fifths); those that add a number for a distance to the logit have not
          learned it by 1000. Share right (0.125 by guessing), the mean of three seeds, after 125, 250, 500
          and 1000 steps: deberta 1.00 from 125 on; rope 0.97 and deberta with its c2p term alone 0.96, then
          1.00; transformer_xl 0.82 (0.46 in one seed), shaw 0.43 (0.14, 0.22, 0.92), then 1.00; deberta's p2c
          term alone 0.27, 0.40, 0.98, 1.00; BERT's sum, learned, 0.36, 0.69, 0.90, 1.00; sinusoidal 0.20,
          0.32, 0.68, 0.96. Not learned: t5 0.13, 0.16, 0.21, 0.31; seqpe 0.12, 0.18, 0.24, 0.47 (0.26 to
          0.72); after 1000 steps alibi 0.54, the two tokens that it cannot tell apart, and none 0.20.
          In the sum far distances come first, not last: after 125 steps it is right in 0.29 at distance 1 and
          0.62 at distance 8, after 500 in 0.78 and 1.00; a far distance has fewer places, which may be why.
          Steps are known to a factor of two, from four budgets; the intervals of three seeds tell deberta,
          rope and shaw from BERT's sum, and not deberta's terms alone and transformer_xl. All runs finished.
          One size, one task of 12 places, two learning rates, of which each encoding had the better at each
          budget. The rule of C25 was changed after pilots within the training range and before these runs.
          1442 s on two cores, beside other work for about half of it.

Groups: `distance 1` to `distance 8`, all trained, each equally often. Every symbol of 8 occurs as often as any other,
so a guess is right in 0.125. Of 12 places 11 have a token before them and 4 have one 8 before them: by places, far
distances are less to learn than near ones; encodings of distances learn each once.

BERT's sum is `learned`, whose table begins as large as the words, as in BERT. DeBERTa's
table spans the sequence and no more: rows that are never read cost time.

Each budget of steps is a training of its own, with its own warm-up, decay and rate, so that none is judged in the
middle of a schedule that was made for another. "Steps to 0.9" is the smallest budget that reaches it. `none`, which
can find nothing, and `alibi`, which sees a distance and not its sign and so finds two tokens, are bounds: at the
largest budget only.

Sizing: 126 runs and 84 trials; about 25 ms a step. BERT's sum has learned it after 500 to 1000 steps.
"""

from dataclasses import replace

from gnomon.lab.experiment import Experiment, Measure, Model, Problem, Training
from gnomon.lab.presets import COMPARED, sweep
from gnomon.lab.tuning import Tuning

TASK = Problem("distance", {"alphabet": 8, "distances": 8})

BOUNDS = ("alibi", "none")

TUNING = Tuning(rates=(3e-3, 1e-2), share=0.5)


def form(seeds: tuple[int, ...], budgets: tuple[int, ...], model: Model, training: Training) -> list[Experiment]:
    """Every encoding at every budget; the largest first, so that several workers end together."""
    deberta = [("deberta", {"span": training.length, **terms}) for terms in ({}, {"terms": "c2p"}, {"terms": "p2c"})]
    others = [name for name in COMPARED if name not in ("deberta", *BOUNDS)]
    asked = [*deberta, *others]
    return [
        experiment
        for steps in sorted(budgets, reverse=True)
        for experiment in sweep(
            [*asked, *BOUNDS] if steps == max(budgets) else asked,
            seeds=seeds,
            task=TASK,
            model=model,
            training=replace(training, steps=steps),
            measure=Measure(lengths=(training.length,)),
        )
    ]


FORMS = {
    "quick": form((0, 1, 2), (125, 250, 500, 1000), Model(width=64, depth=2), Training(batch=64, length=12)),
    "standard": form(
        (0, 1, 2, 3, 4), (250, 500, 1000, 2000, 4000, 8000), Model(width=128, depth=4), Training(batch=64, length=32)
    ),
}
