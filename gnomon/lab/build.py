"""From an experiment to its model, and back from stored weights."""

from dataclasses import replace
from pathlib import Path

import torch
from safetensors.torch import load_model

from gnomon import user_code
from gnomon.encoding import Encoding, Shape
from gnomon.encodings import create
from gnomon.errors import OptionError
from gnomon.lab.corpus import Corpus
from gnomon.lab.experiment import Experiment
from gnomon.lab.seeds import seed_of
from gnomon.lab.task import Task
from gnomon.lab.tasks.text import TextTask
from gnomon.transformer import Transformer


def encoding(experiment: Experiment) -> Encoding:
    """The encoding alone. OptionError for an unknown name, an unknown option or a value outside its range."""
    model = experiment.model
    if experiment.code is not None and user_code.digest(experiment.encoding) != experiment.code:
        raise OptionError(
            "this is not the code of the experiment: the file of its encoding, or one it imports, has changed",
            given=experiment.encoding,
            allowed=f"sha256 {experiment.code[:16]}...",
        )
    shape = Shape(model.width, model.heads, model.width // model.heads, model.depth, causal=True)
    return create(experiment.encoding, shape, **experiment.options)


def model(experiment: Experiment, task: Task | type[Task]) -> Transformer:
    """The untrained model: its initial weights are a function of the seed. Of the task it takes the vocabulary only."""
    torch.manual_seed(seed_of("weights", experiment.seed))
    sizes = experiment.model
    return Transformer(
        task.vocabulary,
        sizes.width,
        sizes.depth,
        sizes.heads,
        encoding(experiment),
        kv_heads=sizes.kv_heads,
        feed_forward=sizes.feed_forward,
        dropout=sizes.dropout,
        tied=sizes.tied,
        scale_embeddings=sizes.scale_embeddings,
        backend=sizes.backend,
    )


def restore(experiment: Experiment, task: Task | type[Task], weights: Path) -> Transformer:
    """The trained model of a finished run."""
    restored = model(experiment, task)
    load_model(restored, weights)
    return restored


def task(corpus: Corpus) -> Task:
    return TextTask(corpus)


def check(experiment: Experiment, *, cpu: bool) -> None:
    """Raise now what would otherwise end the run, by one forward pass through one layer of the model.

    A wrong option, a training length that the encoding refuses; where training will be on the CPU, a backend that
    cannot do it.
    """
    backend = experiment.model.backend if cpu else "auto"
    probe = replace(experiment, model=replace(experiment.model, depth=1, backend=backend))
    with torch.random.fork_rng(devices=[]):
        made = model(probe, TextTask)
        if made.memory and experiment.training.randomised is not None:
            raise OptionError(
                "positions drawn anew for each segment do not follow those of the segment before",
                given=f"{experiment.label}, which remembers {made.memory} tokens, randomised",
                do="train without a memory (mem_len=0), or without randomised",
            )
        with user_code.guarded(type(made.encodings[0])):
            made(torch.zeros(1, experiment.training.length, dtype=torch.int64))


def parameters(model: Transformer) -> dict[str, int]:
    """Trained numbers: of the whole model, and of the encoding in all layers together."""
    return {
        "total": sum(p.numel() for p in model.parameters()),
        "encoding": sum(p.numel() for p in encoding_parameters(model)),
    }


def encoding_parameters(model: Transformer) -> list[torch.nn.Parameter]:
    """Parameters that belong to an encoding, each once, also where layers share it."""
    found = {id(p): p for module in model.modules() if isinstance(module, Encoding) for p in module.parameters()}
    return list(found.values())
