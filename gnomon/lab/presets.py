"""The comparisons that come with gnomon, and what a command line may change about any comparison."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from gnomon.errors import OptionError
from gnomon.lab import written
from gnomon.lab.experiment import Experiment, Measure, Model, Problem, Text, Training
from gnomon.lab.parts import OF_ANSWERS, OF_TEXT

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


ANSWERED = Training(steps=2000, batch=64, length=20, learning_rate=1e-3)
"""How a task with answers is trained in place of text, unless it is said otherwise."""

BEYOND = (0.5, 1, 1.25, 1.5, 2, 3)
"""At which multiples of the training length it is measured then."""

PRESETS: dict[str, Callable[[], list[Experiment]]] = {"quick": quick, "standard": standard}


def sweep(
    encodings: Sequence[str | tuple[str, dict]],
    *,
    seeds: Sequence[int] = (0,),
    task: Text | Problem | None = None,
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
    task: Problem | None = None,
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
    `seeds` replaces all seeds. Equal experiments are listed once. A `task` with answers in place of text brings its
    training and lengths (ANSWERED, BEYOND) with it, and text in place of such a task the defaults.
    """
    if text is not None and task is not None:
        raise OptionError("a comparison has one task", given=f"text {text}, task {task.label}", do="leave one out")
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
    chosen = task if text is None else Text(path=text)
    changed = [_changed(e, chosen, steps, length, tuple(lengths)) for e in experiments]
    return list(dict.fromkeys(changed))


def problem(words: Sequence[str]) -> Problem:
    """A task with answers from a command line: its name, then options as `name=value`, `path` among them."""
    options = {}
    for word in words[1:]:
        name, is_option, value = word.partition("=")
        if not is_option or not name:
            do = f"write {words[0]} {word}=VALUE" if name.isidentifier() else None
            raise OptionError("a task's options are name=value", given=word, allowed="NAME OPTION=VALUE ...", do=do)
        options[name] = _read(value)
    path = options.pop("path", None)
    return Problem(words[0], options, None if path is None else str(path))


def _read(value: str) -> object:
    """A number, true, false, null, a list as JSON has them; text otherwise."""
    try:
        return written.loads(value)
    except ValueError:
        return value


def _changed(
    e: Experiment, task: Text | Problem | None, steps: int | None, length: int | None, lengths: tuple
) -> Experiment:
    training, measure = e.training, e.measure
    if task is not None and isinstance(task, Text) != isinstance(e.task, Text):
        kept = {"precision": training.precision, "randomised": training.randomised}
        training = replace(ANSWERED if isinstance(task, Problem) else Training(), **kept)
        at = training.length if length is None else length
        foreign = OF_TEXT if isinstance(task, Problem) else OF_ANSWERS
        own = dict.fromkeys(max(1, round(factor * at)) for factor in BEYOND)
        measure = replace(
            measure,
            lengths=tuple(own) if isinstance(task, Problem) else Measure().lengths,
            **{name: getattr(Measure, name) for name in foreign},
        )
    training = replace(
        training,
        steps=training.steps if steps is None else steps,
        length=training.length if length is None else length,
    )
    return replace(
        e,
        task=e.task if task is None else task,
        training=training,
        measure=replace(measure, lengths=lengths) if lengths else measure,
    )


def _seeds(experiments: Sequence[Experiment]) -> list[int]:
    return list(dict.fromkeys(e.seed for e in experiments))
