"""From an experiment to its model, and back from stored weights."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_model
from torch import nn

from gnomon import user_code
from gnomon.encoding import Encoding, Shape
from gnomon.encodings import create
from gnomon.encodings.learned import Learned
from gnomon.errors import DataError, OptionError, StoreError, UserError, shown
from gnomon.lab import convolution, tasks
from gnomon.lab import corpus as data
from gnomon.lab.convolution import Convolution
from gnomon.lab.corpus import Corpus
from gnomon.lab.experiment import Experiment, Problem, Text
from gnomon.lab.places import laid
from gnomon.lab.seeds import generator, seed_of
from gnomon.lab.task import IGNORED, Batch, Chance, Task, Trained
from gnomon.lab.tasks.text import TextTask
from gnomon.lab.vectors import VectorTransformer
from gnomon.masks import BIDIRECTIONAL, CAUSAL
from gnomon.transformer import Transformer

FAULT = 300
"""Letters of what is wrong with weights."""


def encoding(experiment: Experiment, causal: bool = True) -> Encoding:
    """The encoding alone. OptionError for an unknown name, an unknown option or a value outside its range."""
    model = experiment.model
    if experiment.code is not None and user_code.digest(experiment.encoding) != experiment.code:
        raise OptionError(
            "this is not the code of the experiment: the file of its encoding, or one it imports, has changed",
            given=experiment.encoding,
            allowed=f"sha256 {experiment.code[:16]}...",
        )
    shape = Shape(model.width, model.heads, model.width // model.heads, model.depth, causal)
    return create(experiment.encoding, shape, **experiment.options)


def model(experiment: Experiment, task: Trained | type[Trained]) -> Transformer | Convolution:
    """The untrained model: its initial weights are a function of the seed. Of the task it takes what tokens are.

    OptionError where the task is of another kind than the experiment's.
    """
    of_text = task is TextTask or isinstance(task, TextTask)
    if of_text != isinstance(experiment.task, Text):
        raise OptionError("this is not the task of the experiment", given=type(task).__name__)
    torch.manual_seed(seed_of("weights", experiment.seed))
    sizes = experiment.model
    if sizes.kind == "convolution":
        return convolution.model(experiment, task)
    common = dict(
        kv_heads=sizes.kv_heads,
        feed_forward=sizes.feed_forward,
        mask=CAUSAL if task.causal else BIDIRECTIONAL,
        dropout=sizes.dropout,
        scale_embeddings=sizes.scale_embeddings,
        backend=sizes.backend,
    )
    shape = (task.vocabulary, sizes.width, sizes.depth, sizes.heads, encoding(experiment, task.causal))
    if task.features is not None:
        made = VectorTransformer(task.features, *shape, **common)
    else:
        made = Transformer(*shape, **common, tied=sizes.tied)
    for module in made.modules():
        if isinstance(module, Learned):
            nn.init.normal_(module.weight, std=sizes.table)
    return made


def restore(experiment: Experiment, task: Trained | type[Trained], weights: Path) -> Transformer:
    """The trained model of a finished run. StoreError where its weights cannot be read, or are another model's."""
    restored = model(experiment, task)
    try:
        load_model(restored, weights)
    except (OSError, SafetensorError, RuntimeError, ValueError, KeyError) as error:
        raise StoreError(
            "the weights of a run are damaged",
            given=f"{weights}: {' '.join(str(error).split())[:FAULT]}",
            do=f"remove {weights.parent} and run the same command again",
        ) from error
    return restored


def task(corpus: Corpus) -> TextTask:
    return TextTask(corpus)


def task_of(experiment: Experiment) -> TextTask | Task:
    """The task of an experiment, with its data. DataError where that is not what the experiment was pinned to."""
    if isinstance(experiment.task, Text):
        return TextTask(data.load(experiment.task))
    if experiment.task.digest not in (None, data.digest_of(experiment.task)):
        raise DataError(
            "this is not the task of the experiment: a file that it reads, or its code, has changed",
            given=experiment.task.label,
            allowed=f"sha256 {experiment.task.digest[:16]}...",
        )
    return tasks.create(experiment.task)


def read_by(experiment: Experiment) -> type[TextTask] | Task:
    """What says how a model reads its input: of text the class alone, so that the text itself may be gone."""
    return TextTask if isinstance(experiment.task, Text) else task_of(experiment)


def check(experiment: Experiment, *, cpu: bool) -> None:
    """Raise now what would otherwise end the run, by one forward pass through one layer of the model.

    A wrong option, a training length that the encoding refuses, a length that the task cannot hold; where training
    will be on the CPU, a backend that cannot do it.
    """
    backend = experiment.model.backend if cpu else "auto"
    probe = replace(experiment, model=replace(experiment.model, depth=1, backend=backend))
    made_task = read_by(experiment)
    with torch.random.fork_rng(devices=[]):
        made = model(probe, made_task)
        if made.memory and isinstance(experiment.task, Problem):
            raise OptionError(
                "a memory of earlier segments is for text that goes on; sequences with answers stand alone",
                given=f"{experiment.label}, which remembers {made.memory} tokens",
                do="train without a memory (mem_len=0)",
            )
        if made.memory and experiment.training.randomised is not None:
            raise OptionError(
                "positions drawn anew for each segment do not follow those of the segment before",
                given=f"{experiment.label}, which remembers {made.memory} tokens, randomised",
                do="train without a memory (mem_len=0), or without randomised",
            )
        for options in experiment.measure.variants:
            check_same(model(probe.under(options), made_task), made, options)
        with user_code.guarded(type(next(iter(made.encodings), made))):
            if isinstance(experiment.task, Text):
                made(torch.zeros(1, experiment.training.length, dtype=torch.int64))
            else:
                _check_task(made, made_task, experiment)


def check_same(made: nn.Module, trained: nn.Module, options: Mapping[str, object]) -> None:
    """OptionError unless a model with other options of its encoding has the parameters of the trained one."""
    have, known = ({name: tuple(t.shape) for name, t in each.state_dict().items()} for each in (made, trained))
    if have != known:
        differ = sorted(name for name in {**have, **known} if have.get(name) != known.get(name))
        raise OptionError(
            "a variant is another way to use the trained weights, so it has the same parameters",
            given=f"{dict(options)}, which changes {', '.join(differ[:3])}",
            do="train it as an encoding of its own",
        )


def _check_task(model: Transformer, task: Task, experiment: Experiment) -> None:
    """UserError unless the task has what the experiment asks for, and the model reads it."""
    training = experiment.training
    with user_code.guarded(type(task)):
        task.check_length(training.length)
        for length in experiment.measure.lengths:
            _check_measured(task, length, experiment.measure.lengths)
        trained = task.batch(experiment.seed, 0, 2, training.length)
        measured = {n: task.examples(experiment.measure.part, n, 2) for n in experiment.measure.lengths}
        longest = max(measured)
        again = (
            task.batch(experiment.seed, 0, 2, training.length),
            task.examples(experiment.measure.part, longest, 2),
        )
        chances = [task.chance(length) for length in measured]
    for batch in (trained, *measured.values()):
        _check_batch(batch, task)
    _check_again(task, (trained, measured[longest]), again)
    for chance in chances:
        _check_chance(chance, task)
    for batch in measured.values():
        if (batch.group is None) == bool(task.groups):
            given = f"{len(task.groups)} groups, and examples {'without' if batch.group is None else 'with'} any"
            raise UserError("the examples of a task belong to its groups", given=given)
        if training.randomised is not None and (batch.pos is not None or batch.targets.shape[1] > training.randomised):
            raise OptionError(
                "randomised positions need a place for every token, where the task has none of its own",
                given=f"{training.randomised} places, {batch.targets.shape[1]} tokens",
            )
    # At other lengths an encoding may refuse: that is for the record.
    for batch in (trained, measured[training.length]):
        model(batch.inputs, laid(batch, model, training, generator("check"), torch.device("cpu")))


def _check_batch(batch: Batch, task: Task) -> None:
    """UserError, with the line of a user's class, unless a batch is what the protocol says."""
    where = _where(task)
    if not isinstance(batch, Batch):
        raise UserError(f"{where}a task makes batches", given=shown(batch), allowed="gnomon.lab.task.Batch")
    inputs, targets = batch.inputs, batch.targets
    shape = (*targets.shape, task.features) if task.features else tuple(targets.shape)
    dtype = torch.float32 if task.features else torch.int64
    scored = targets[targets != IGNORED]
    outside = not task.features and bool(((inputs < 0) | (inputs >= task.vocabulary)).any())
    wrong = [
        targets.dim() != 2 and f"targets {list(targets.shape)}, not [b, n]",
        tuple(inputs.shape) != shape and f"inputs {list(inputs.shape)}, not {list(shape)}",
        inputs.dtype != dtype and f"inputs {inputs.dtype}, not {dtype}",
        targets.dtype != torch.int64 and f"targets {targets.dtype}, not torch.int64",
        outside and f"a token outside 0 .. {task.vocabulary - 1}",
        bool(((scored < 0) | (scored >= task.vocabulary)).any()) and f"a target outside 0 .. {task.vocabulary - 1}",
        targets.dim() == 2 and not (targets != IGNORED).any(dim=1).all() and "a row without a scored token",
    ]
    if told := [word for word in wrong if word]:
        raise UserError(f"{where}a batch of {type(task).__name__} is not what the protocol says", given="; ".join(told))


def _check_measured(task: Task, length: int, lengths: Sequence[int]) -> None:
    """OptionError for a length that is measured and that the task cannot hold."""
    try:
        task.check_length(length)
    except OptionError as error:
        every = ", ".join(map(str, lengths))
        do = f"{error.do}, or" if error.do else ""
        raise OptionError(
            error.asked,
            given=f"{length}, one of the lengths that are measured: {every}",
            allowed=error.allowed,
            do=f"{do} name them: --lengths, or Measure(lengths=...)".strip(),
        ) from None


def _check_again(task: Task, first: Sequence[Batch], again: Sequence[Batch]) -> None:
    """UserError unless a task that is asked the same gives the same."""
    for name, one, other in zip(("batch", "examples"), first, again, strict=True):
        if not (torch.equal(one.inputs, other.inputs) and torch.equal(one.targets, other.targets)):
            raise UserError(
                f"{_where(task, name)}{name} of {type(task).__name__} gives the same where it is asked the same",
                given="other numbers at a second call",
                do="draw from gnomon.lab.seeds.generator(...), made of the arguments at every call",
            )


def _check_chance(chance: object, task: Task) -> None:
    """UserError unless what guessing gives is two shares."""
    if not isinstance(chance, Chance):
        given = shown(chance)
    else:
        given = "; ".join(f"{name} {share}" for name, share in chance._asdict().items() if not _is_share(share))
    if given:
        raise UserError(
            f"{_where(task, 'chance')}chance of {type(task).__name__} says what guessing gives",
            given=given,
            allowed="gnomon.lab.task.Chance(exact, token), each from 0 to 1",
        )


def _is_share(share: object) -> bool:
    return isinstance(share, int | float) and 0 <= share <= 1


def _where(task: Task, name: str | None = None) -> str:
    """The line of a user's class, or of what it calls `name`, before what is said of it; nothing of one of ours."""
    return f"{user_code.where(type(task), name)}: " if user_code.file_of(type(task)) else ""


def parameters(model: nn.Module) -> dict[str, int]:
    """Trained numbers: of the whole model, and of the encoding in all layers together."""
    return {
        "total": sum(p.numel() for p in model.parameters()),
        "encoding": sum(p.numel() for p in encoding_parameters(model)),
    }


def encoding_parameters(model: nn.Module) -> list[nn.Parameter]:
    """Parameters that belong to an encoding, each once, also where layers share it."""
    found = {id(p): p for module in model.modules() if isinstance(module, Encoding) for p in module.parameters()}
    return list(found.values())
