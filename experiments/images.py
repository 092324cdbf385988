"""What does it cost a model of pictures that their patches are numbered row by row?

Question: handwritten digits in 25 patches of 7 x 7 pixels, 5 to a row, are learned in the middle of the canvas: with
patches numbered row by row, and at their row and column. What is lost where the digit lies a patch farther to the right
or down, and where the canvas has three blank columns more at its right?

Command:  gnomon compare experiments/images.py --store runs/images
          gnomon results runs/images --export results/images

Answer:   It costs those that read the number of a patch as a place. With three blank columns more, tables lose 0.76 of
          the right answers, RoPE 0.79, sinusoidal positions 0.47, Transformer-XL 0.27, DeBERTa 0.19, counted row by
          row; with row and column 0.05, 0.01 and 0.01 (the two last have no such form). ALiBi, T5, Shaw, SeqPE and
          biases of distances lose at most 0.03 in either.
          A digit that lies a patch farther is lost by tables and RoPE in both forms: 0.70 and 0.63, 0.48 and 0.36 of
          the answers, mixed RoPE 0.40; sinusoidal positions lose 0.37 row by row and 0.01 with row and column. RoPE
          knows the place of a patch here from the token that asks. By a move down, one seed of three loses
          0.42 under Transformer-XL row by row and 0.38 under SeqPE with row and column, the others 0.07 or less.
          As trained, RoPE (0.95), tables (0.94) and sinusoidal positions (0.92) row by row are nearest to the net
          beside (0.97 on the grid, which loses 0.02 by a move); without any positions 0.85 are right, and of most
          encodings of distances 0.83 to 0.90: of these small pictures a bag of patches tells most.

Means over three seeds, shares of right answers; a move is the mean of right and down. All 60 runs learned the task.

Length: patches along a side of the canvas. Groups, of which only the first is trained: `as trained`; `7 right` and
`7 down`, every patch of the digit one farther; `3 wider`, rows of eight patches, where every patch keeps its row and
column, and all rows but the first have other numbers. A guess is right in 0.1.

The token that asks has no place, as in vision Transformers, so that the patches alone have distances. Rotated keys are
seen from it as from the origin, so RoPE knows more than distances here. The convolutional net beside runs over the line
or over the grid, and reads what is largest anywhere.

Sizing: `quick` is 60 runs and 40 trials of two fifths of the steps, at 13 (the net) to 45 milliseconds of one core a
step, SeqPE 67 and DeBERTa 135: 36 minutes of one core in all, of which starting 100 processes takes 6. Of held-in
digits, at a rate of 3e-3, 0.97 were right after 400 steps of the learned table, 0.91 of the sinusoidal sum, 0.79 after
500 of T5 and 0.84 of ALiBi; they count as learned from 0.55 on. In patches of 4 x 4 T5 had 0.56 after 400.
"""

from dataclasses import replace

from gnomon.lab.experiment import Experiment, Measure, Model, Problem, Training
from gnomon.lab.presets import COMPARED, sweep
from gnomon.lab.tuning import Tuning

FLAT = (*COMPARED, ("relative_bias", {"clip": 24}))
"""Of 25 patches in a row the farthest are 24 apart."""

GRID = (
    ("seqpe", {"axes": 2}),
    ("rope_mixed", {"axes": 2}),
    ("relative_bias", {"axes": 2}),
    ("rope", {"axes": 2}),
    "alibi",
    ("sinusoidal", {"axes": 2}),
    ("learned", {"axes": 2}),
)

TUNING = Tuning(rates=(1e-3, 3e-3), share=0.4)


def form(seeds: tuple[int, ...], model: Model, training: Training, shifts: list[int]) -> list[Experiment]:
    """Both ways to say where patches lie, with their encodings and the convolutional net; seeds turn slowest."""
    runs = []
    for positions, encodings in (("flat", FLAT), ("grid", GRID)):
        options = {"positions": positions, "patch": 7, "question": "nowhere", "shifts": shifts, "wider": 3}
        same = {"seeds": seeds, "task": Problem("images", options), "training": training}
        same["measure"] = Measure(lengths=(training.length,))
        runs += sweep(encodings, model=model, **same)
        runs += sweep(("none",), model=replace(model, kind="convolution"), **same)
    return sorted(runs, key=lambda experiment: experiment.seed)


FORMS = {
    "quick": form(
        (0, 1, 2),
        Model(width=64, depth=2),
        Training(steps=600, batch=32, length=5),
        [7],
    ),
    "standard": form(
        (0, 1, 2, 3, 4),
        Model(width=128, depth=6),
        Training(steps=10000, batch=64, length=7),
        [7, 14],
    ),
}
