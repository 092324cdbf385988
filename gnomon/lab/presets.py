"""The comparisons that come with gnomon, and what a command line may change about any comparison."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from gnomon.errors import OptionError
from gnomon.lab.experiment import Experiment, Measure, Model, Text, Training

COMPARED = ("deberta", "shaw", "transformer_xl", "seqpe", "t5", "rope", "alibi", "sinusoidal", "learned", "none")
"""The encodings of the documents, the dearest first, so that several workers end together."""


def quick() -> list[Experiment]:
    """Ten encodings, one seed, ten minutes on two cores."""
    return sweep(COMPARED, seeds=(0,))


def standard() -> list[Experiment]:
    """Ten encodings, three seeds, twice as wide and deep, five times the text: hours on two cores."""
    return sweep(
        COMPARED,
        seeds=(0, 1, 2),
        model=Model(width=128, depth=4),
        training=Training(steps=3000, batch=32, learning_rate=2e-3),
        measure=Measure(bytes=262144, pairs=512),
    )


PRESETS: dict[str, Callable[[], list[Experiment]]] = {"quick": quick, "standard": standard}


def sweep(
    encodings: Sequence[str | tuple[str, dict]],
    *,
    seeds: Sequence[int] = (0,),
    task: Text | None = None,
    model: Model | None = None,
    training: Training | None = None,
    measure: Measure | None = None,
) -> list[Experiment]:
    """Every encoding with every seed, all else equal; an encoding is a name, or a name with its options.

    Seeds turn slowest, so that an interrupted sweep has compared all encodings before it repeats any.
    """
    named = [(encoding, {}) if isinstance(encoding, str) else encoding for encoding in encodings]
    given = {"task": task, "model": model, "training": training, "measure": measure}
    parts = {name: part for name, part in given.items() if part is not None}
    return [Experiment(name, options, **parts, seed=seed) for seed in seeds for name, options in named]


def adjusted(
    experiments: Sequence[Experiment],
    *,
    text: str | None = None,
    encodings: Sequence[str] = (),
    added: Sequence[str] = (),
    seeds: Sequence[int] = (),
    steps: int | None = None,
    length: int | None = None,
    lengths: Sequence[int] = (),
) -> list[Experiment]:
    """The same comparison with what a command line asks for; what is None or empty stays as it is.

    `encodings` keeps the experiments with those encodings and adds the ones that are missing, in the given order;
    `added` come after them.
    `seeds` replaces all seeds. Equal experiments are listed once.
    """
    experiments = list(experiments)
    if not experiments:
        raise OptionError("there is nothing to compare", given="no experiments", do="list at least one in EXPERIMENTS")
    first = experiments[0]
    more = [replace(first, encoding=name, options={}, seed=seed) for name in added for seed in _seeds(experiments)]
    if encodings:
        experiments = [
            experiment
            for name in dict.fromkeys(encodings)
            for experiment in [e for e in experiments if e.encoding == name]
            or [replace(first, encoding=name, options={}, seed=seed) for seed in _seeds(experiments)]
        ]
    experiments += more
    if seeds:
        experiments = [replace(e, seed=seed) for seed in dict.fromkeys(seeds) for e in experiments]
    changed = [_changed(e, text, steps, length, tuple(lengths)) for e in experiments]
    return list(dict.fromkeys(changed))


def _changed(e: Experiment, text: str | None, steps: int | None, length: int | None, lengths: tuple) -> Experiment:
    training = replace(
        e.training,
        steps=e.training.steps if steps is None else steps,
        length=e.training.length if length is None else length,
    )
    return replace(
        e,
        task=e.task if text is None else Text(path=text),
        training=training,
        measure=replace(e.measure, lengths=lengths) if lengths else e.measure,
    )


def _seeds(experiments: Sequence[Experiment]) -> list[int]:
    return list(dict.fromkeys(e.seed for e in experiments))
