"""Do positions that are added once, at the input, fade with depth, and do those that enter every layer stay?

Question: deep narrow models fill in masked bytes of Shakespeare, seen both ways. How well can a token's place be read
off the residual stream after each layer, what share of the stream does it set, and what share of each layer's logits?

Command:  gnomon compare experiments/dilution.py --store runs/dilution
          gnomon results runs/dilution --export results/dilution

Answer:   Yes, as a share; they can still be read. Of sinusoidal positions 0.144 of the stream is left at the
          input and 0.012 after six layers; a linear guess of the place explains 0.96 of its spread at the
          input and 0.80 at the end (0.83 in what the last layer reads). The learned table goes from 0.45 to
          0.04, and from 0.94 to 0.73.
          Attention asks for them in the first layer alone: there places set 0.70 of the spread of the logits
          under sinusoidal positions and 0.73 under the table, in every later layer 0.04 or less. Where
          positions enter every layer they set as much in the deeper half as in the shallower or more: RoPE
          0.87 after 0.48, Transformer-XL 0.64 after 0.48, DeBERTa 0.40 after 0.27, Shaw 0.35 after 0.26;
          ALiBi and T5 keep 0.87 and 0.90 of it.
          On the loss: sinusoidal 2.33, learned 2.42 (2.27 to 2.61), where Transformer-XL has 1.44, DeBERTa
          1.47, Shaw 1.48, RoPE 1.55, T5 1.84, ALiBi 2.06, and none 2.87. Behind DeBERTa both sums are by 0.86
          nats or more, at two layers (`masked.py`) by 0.43 to 0.47: consistent with it, and no proof.
          SeqPE has learned nothing of positions in this budget, at the input or in every layer (2.87), so of
          it there is no answer. That the table fades is told and not judged: it is 0.1 nats better than none
          in each seed, but not for certain by the interval over three.

Seen both ways, since under a causal mask a model without positions counts the tokens it sees from the second layer on:
what a layer knows of places there need not have come from the input. Here `none` knows nothing in any layer, and is the
floor. Added once are `sinusoidal`, `learned` and `seqpe form=input`; the last has a twin, `seqpe`, whose same reader of
digits enters every layer. A relative encoding need not put a place into the stream at all (what it puts there is
how near the ends of the window are), so what persists under it is asked of attention: the probe `distance`.

Means over three seeds. One length, that of training: nothing here is about longer ones. The loss is that of the masked
bytes; a model has learned to use positions if it is better than `none`.

Sizing: `quick` is 33 runs and 22 trials of half the steps, at 45 (ALiBi) to 100 (DeBERTa) milliseconds of one core a
step and some seconds a start: 48 minutes of one core. The loss rests near 3 nats for 300 steps or more before positions
are found. At 1e-2, with another seed on the validation part, the learned table had 2.26 nats after 800 steps, and
`seqpe form=input` still 2.88 after 700: whether it fades may be for `standard` to tell, which is sized for a GPU.
"""

from gnomon.lab.experiment import Experiment, Measure, Model, Problem, Training
from gnomon.lab.presets import COMPARED, sweep
from gnomon.lab.tuning import Tuning

ENCODINGS = (("seqpe", {"form": "input"}), *COMPARED)

TUNING = Tuning(rates=(5e-3, 1e-2), share=0.5)


def form(seeds: tuple[int, ...], model: Model, training: Training) -> list[Experiment]:
    """Every encoding, asked by the two probes at the training length."""
    measure = Measure(lengths=(training.length,), probes=("dilution", "distance"))
    return sweep(ENCODINGS, seeds=seeds, task=Problem("masked"), model=model, training=training, measure=measure)


FORMS = {
    "quick": form((0, 1, 2), Model(width=48, depth=6), Training(steps=700, batch=32, length=32)),
    "standard": form((0, 1, 2, 3, 4), Model(width=128, depth=12, heads=8), Training(steps=20000, batch=64, length=128)),
}
