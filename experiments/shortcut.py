"""Is a cue that always stands at the start learned by its place, and missed elsewhere?

Question: of four letters one is said twice, within places 0 to 5 of 24 in all training: which? Asked at the start, and
with the cue in the middle and at the end. By encoding; with fewer different sequences; in smaller and larger models;
and, as a control, trained with the cue anywhere.

Command:  gnomon compare experiments/shortcut.py --store runs/shortcut
          gnomon results runs/shortcut --export results/shortcut

Answer:   Yes, and not by tables alone. All ten are right at the start. With the cue in the middle and at the end,
          ALiBi, T5 and no positions are still right in every answer, Shaw in 0.97 and 0.91; DeBERTa in 0.71 and 0.44;
          sinusoidal (0.10, 0.16) and learned (0.20, 0.11) positions are below a guess, and so are RoPE (0.15, 0.02) and
          Transformer-XL (0.13, 0.03): an encoding of distances can learn a place by its distance from the end. SeqPE
          learned the rule in two of three runs and the place in the third.
          Trained with the cue anywhere, all three that were asked are right everywhere: it is the data.
          Less data or more parameters do not make it worse here: these models are below a guess from the start. Of RoPE
          the gap is smaller with 256 sequences than with all (by 0.15).

Means over three seeds; the intervals of the means are in `gnomon claims C24 -v`. All 84 runs finished; learned and RoPE
did not learn 64 sequences (right in 0.36 to 0.98 at the start).

Groups: `start` is what training has, and what a rate is chosen by; `middle` (places 9 to 14) and `end` (18 to 23) are
never trained. A guess is right in 0.25. A letter is found by content (which is said twice), by place or by order; only
the first rule is right elsewhere.

Parts:
  encodings  ten, the sequences of training drawn anew
  control    SWEPT, the same with the cue anywhere
  data       SWEPT, with so many different sequences
  size       SWEPT, a smaller and a larger model, at the middle amount of data, where there is something to over-fit

Sizing: 84 runs and 56 trials; about 25 ms a step, 100 of the large model. All that was tried had learned it at the
start within 300 steps, of 256 sequences within 400, and with the cue anywhere within 600.
"""

from gnomon.lab.experiment import Experiment, Measure, Model, Problem, Training
from gnomon.lab.presets import COMPARED, sweep
from gnomon.lab.tuning import Tuning

SWEPT = ("learned", "sinusoidal", "rope")
"""Two encodings of places and one of distances: the sweeps are dear."""

TUNING = Tuning(rates=(1e-3, 3e-3), share=0.5)


def form(
    seeds: tuple[int, ...], sizes: tuple[Model, Model, Model], amounts: tuple[int, ...], training: Training
) -> list[Experiment]:
    """The four parts; of `sizes` the middle one is that of the others, and so it is of `amounts`."""
    measure = Measure(lengths=(training.length,))

    def runs(encodings: tuple[str, ...], model: Model, **options: object) -> list[Experiment]:
        task = Problem("shortcut", options)
        return sweep(encodings, seeds=seeds, task=task, model=model, training=training, measure=measure)

    small, middle, large = sizes
    data = [runs(SWEPT, middle, cue="start", sequences=amount) for amount in amounts]
    size = [runs(SWEPT, model, cue="start", sequences=amounts[len(amounts) // 2]) for model in (large, small)]
    parts = [runs(COMPARED, middle, cue="start"), runs(SWEPT, middle, cue="anywhere"), *data, *size]
    return [experiment for part in parts for experiment in part]


FORMS = {
    "quick": form(
        (0, 1, 2),
        (Model(width=32, depth=1, heads=2), Model(width=64, depth=2), Model(width=128, depth=4)),
        (64, 256, 1024),
        Training(steps=400, batch=32, length=24),
    ),
    "standard": form(
        (0, 1, 2, 3, 4),
        (Model(width=64, depth=2), Model(width=128, depth=4), Model(width=256, depth=6)),
        (64, 256, 1024, 4096, 16384),
        Training(steps=3000, batch=64, length=24),
    ),
}
