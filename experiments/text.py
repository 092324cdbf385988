"""Which encodings hold past the length that they were trained on, and what do models of text make of positions?

Question: next byte of Shakespeare. How does the loss of the same bytes change with how much of the text before them is
read, up to eight times the training length? What can be done about it: RoPE's frequencies scaled, tables of learned
positions that clamp, wrap, interpolate or refuse? And of the trained models: what do a shift of all positions and one
wrong position change, where does attention go, which frequencies carry the loss, what are logits made of?

Command:  gnomon compare experiments/text.py --store runs/text
          gnomon results runs/text --export results/text

Answer:   Shaw, Transformer-XL and ALiBi hold to eight times the length: the loss rises by 0.024, 0.001 and 0.005 nats a
          byte. DeBERTa loses 0.04 at half as much again, 0.08 at twice (0.05 to 0.12 by seed), 0.30 at eight times.
          RoPE holds to half as much again (0.03), `chain` to a quarter (0.01; 0.11 at half as much again), and then
          they collapse: 2.2 and 1.4 nats at twice the length. T5 loses 0.60 there, and 1.6 at eight times; SeqPE
          1.0.
          Sinusoidal and learned positions have lost 1.2 and 1.6 nats at 72 bytes already, 8 past training, and are no
          better than byte frequencies (3.30 nats) at twice the length. No positions are worst in range (2.22).
          RoPE's weights read with NTK scaling, YaRN or dynamic NTK hold at twice the length (0.06, 0.05 and 0.04 nats);
          linear scaling loses 1.3 nats at every length, and at eight times only YaRN loses less than one (0.51).
          A table that refuses, clamps, wraps or interpolates is lost past its end: 0.6 (wrap) to 2.0 nats at twice.

Means over five seeds, in nats over the loss at 64 bytes on the paired bytes. Their 95 % intervals reach 0.01 to either
side of the numbers below 0.1, but 0.04 of DeBERTa's at twice the length and 0.02 of RoPE's at half as much again; 0.16
of most others, 0.1 of `chain` at half as much again, 0.3 of RoPE and 0.5 of SeqPE and `chain` at twice. Every run
learned the text.

Lengths: multiples of the training length (RATIOS). The paired loss is of the last bytes, an eighth of that length,
before each of 192 places (512 in `standard`) in plays that were not trained on: the same bytes at every length, and
from 9/8 of the training length on all of them past it.
Encodings: the documents' ten; `chain`, which is what one of them describes as SeqPE; and a second table of learned
positions, which ends with the training length. `learned` has rows for all lengths: those past training stay untrained.
Variants: the weights of rope and of the second table, under other options (SCHEMES, and `policies`).

Sizing: 60 runs and 36 trials, each trial a quarter as long, on one core each: 25 to 65 ms a step (36 in the mean), 7 to
45 s to measure a run (rope with its variants takes longest), 55 core minutes in all. Before they were made, single runs
had been looked at, at the training length and on validation text alone: rope came to 1.72 nats a byte in 900 steps at
the rate 1e-2, sinusoidal to 1.88 in 750; byte frequencies give 3.29. `standard` is for a GPU or a night.
"""

from dataclasses import replace
from typing import Any

from gnomon.lab.experiment import Experiment, Measure, Model, Training
from gnomon.lab.presets import COMPARED, sweep
from gnomon.lab.tuning import Tuning

RATIOS = (1 / 2, 1, 9 / 8, 5 / 4, 3 / 2, 2, 4, 8)
"""Lengths that are measured, as multiples of that of training, which is itself a multiple of 8."""

PROBES = ("translation", "attended", "beyond", "bands", "perturbed", "terms")

SCHEMES = ("linear", "ntk", "yarn")
"""Scalings of RoPE that are told how far to stretch: to twice the training length, and to eight times."""

TUNING = Tuning(rates=(3e-3, 1e-2, 3e-2), share=0.25)


def form(seeds: tuple[int, ...], model: Model, training: Training, size: int, pairs: int) -> list[Experiment]:
    """All encodings with all seeds. size: bytes that are measured at every length; pairs: places of the paired loss."""
    length = training.length
    measure = Measure(
        lengths=tuple(round(ratio * length) for ratio in RATIOS),
        bytes=size,
        pairs=pairs,
        targets=length // 8,
        probes=PROBES,
    )
    table = ("learned", {"max_positions": length, "beyond": "clamp"})
    every = (*COMPARED, "chain", table)
    made = sweep(every, seeds=seeds, model=model, training=training, measure=measure)
    return [replace(e, measure=replace(measure, variants=variants(e, length))) for e in made]


def variants(experiment: Experiment, length: int) -> tuple[dict[str, Any], ...]:
    """Other options for the trained weights of an encoding."""
    if experiment.encoding == "rope":
        return scalings(length)
    return policies(length) if experiment.options else ()


def scalings(length: int) -> tuple[dict[str, Any], ...]:
    """RoPE for texts twice and eight times as long; `dynamic` finds the length by itself, with the usual factor 2."""
    told = [{"scaling": scheme, "factor": factor} for scheme in SCHEMES for factor in (2, 8)]
    told.append({"scaling": "dynamic", "factor": 2})
    needs = ("yarn", "dynamic")
    return tuple(each | ({"original_length": length} if each["scaling"] in needs else {}) for each in told)


def policies(length: int) -> tuple[dict[str, Any], ...]:
    """What to do past a table, besides clamping."""
    stretched = [{"beyond": "interpolate", "longest": times * length} for times in (2, 8)]
    return ({"beyond": "raise"}, {"beyond": "wrap"}, *stretched)


FORMS = {
    "quick": form((0, 1, 2, 3, 4), Model(width=64, depth=2), Training(steps=850, batch=16, length=64), 8192, 192),
    "standard": form(
        (0, 1, 2, 3, 4), Model(width=128, depth=4), Training(steps=3000, batch=32, length=128), 65536, 512
    ),
}
