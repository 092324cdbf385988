"""Is what was learned on one stretch of the time axis still known on a later one?

Question: samples lie on the time axis, and in training all begin at moments 0 to 16. What is lost where they begin 64
or 512 intervals later, and nothing else is changed? By encoding, of places or of distances; and with samples at
irregular moments, read at their real-valued moments or counted one after another.

Command:  gnomon compare experiments/time.py --store runs/time
          gnomon results runs/time --export results/time

Answer:   Not under positions that are added: yes under every encoding of distances, to the last answer.
          Shares right are means of three seeds, as trained, 64 and 512 intervals later.
          Heartbeats at regular moments: the learned table 0.96, 0.27, 0.27 and sinusoidal positions 0.98,
          0.21, 0.27 fall to a guess or below it; shaw 1.00, rope, deberta and transformer_xl 0.99, alibi 0.98
          and t5 0.74 lose no answer. At irregular moments the table that is read between its rows 0.93, 0.24,
          0.26, sinusoidal 0.94, 0.20, 0.22; transformer_xl and rope 0.98, alibi 0.94 lose none.
          A day's power demand: table 0.97, 0.54, 0.53, sinusoidal 0.91, 0.55, 0.52; shaw and deberta 0.97,
          transformer_xl 0.96, rope 0.95, alibi 0.82, t5 0.68 lose none.
          Read at its moments, an irregular beat is found in 0.98 under rope, 0.94 under alibi and sinusoidal;
          counted one after another, in 0.73 to 0.75: that knowledge is worth 0.18 to 0.25.
          Not learned with every seed: seqpe and none (both sets), t5 (irregular beats and power), and the net
          beside on irregular beats. t5 and seqpe chose the lower rate, 0.001, for the regular beats, nearly
          all others 0.003, the larger of two.

Tasks: in `ecg` the highest of 16 samples (22.5 a second) of an electrocardiogram is mostly the R wave of a heartbeat:
in which quarter of them was it? A guess is right in about 0.3. `ItalyPowerDemand` is a day's power demand by the hour,
of winter or of summer: a guess is right in about 0.5. Length: samples that are read. Groups: `as trained`, and
`64 later` and `512 later`, the same samples with every moment later; the question, one interval after the last, moves
with them.

At irregular moments stand encodings that are defined between whole numbers, a learned table read between its rows among
them. A model that counts does not know when its samples were taken.

Sizing: `quick` is 96 runs and 64 trials of two fifths of the steps, at 7 (the net) to 35 milliseconds of one core a
step, SeqPE 68 and DeBERTa 120: 43 minutes of one core in all, of which starting 160 processes takes 7. Held-in samples
of `ecg` were right in 0.91 after 600 steps of the table that is read between its rows, and in 0.56 of T5 that began at
moments 0 to 64; those of `ItalyPowerDemand`, in 1.00 after 200 of T5; all at a rate of 3e-3. They
count as learned from 0.64 and 0.76 on.
"""

from dataclasses import replace

from gnomon.lab.experiment import Experiment, Measure, Model, Problem, Training
from gnomon.lab.presets import COMPARED, sweep
from gnomon.lab.tuning import Tuning

BETWEEN = ("learned", {"beyond": "interpolate", "max_positions": 1024, "longest": 1024})
"""A table as long as it is stretched: each whole number has its row, and what lies between two is read between them."""

STAMPED = ("transformer_xl", "t5", "rope", "alibi", "sinusoidal", BETWEEN)
COUNTED = ("rope", "alibi", "sinusoidal")

STRETCH, SHIFTS = 16, [64, 512]

TUNING = Tuning(rates=(1e-3, 3e-3), share=0.4)


def form(
    seeds: tuple[int, ...], model: Model, heart: Training, options: dict, sets: dict[str, Training]
) -> list[Experiment]:
    """The heartbeats at regular and at irregular moments, and the labelled sets; seeds turn slowest."""
    runs = []

    def add(encodings: tuple, training: Training, task: Problem, kind: str = "transformer") -> None:
        measure, own = Measure(lengths=(training.length,)), replace(model, kind=kind)
        runs.extend(sweep(encodings, seeds=seeds, task=task, model=own, training=training, measure=measure))

    for encodings, positions, sampling in (
        (COMPARED, "time", "regular"),
        (STAMPED, "time", "irregular"),
        (COUNTED, "count", "irregular"),
    ):
        how = {"positions": positions, "sampling": sampling, "stretch": STRETCH, "shifts": SHIFTS}
        task = Problem("ecg", options | how)
        add(encodings, heart, task)
        if positions == "time":
            add(("none",), heart, task, "convolution")
    for name, training in sets.items():
        how = {"positions": "time", "sampling": "regular", "stretch": STRETCH, "shifts": SHIFTS}
        task = Problem("series", {"set": name} | how)
        add(COMPARED, training, task)
        add(("none",), training, task, "convolution")
    return sorted(runs, key=lambda experiment: experiment.seed)


FORMS = {
    "quick": form(
        (0, 1, 2),
        Model(width=64, depth=2),
        Training(steps=800, batch=32, length=16),
        {"every": 16, "reach": 16},
        {"ItalyPowerDemand": Training(steps=200, batch=32, length=24)},
    ),
    "standard": form(
        (0, 1, 2, 3, 4),
        Model(width=128, depth=4),
        Training(steps=8000, batch=64, length=48),
        {"every": 8, "reach": 32},
        {
            "ItalyPowerDemand": Training(steps=1000, batch=32, length=24),
            "GunPoint": Training(steps=2000, batch=32, length=150),
        },
    ),
}
