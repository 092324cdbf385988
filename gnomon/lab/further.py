"""What else is asked of a trained model: its weights under other options of the encoding, and probes."""

import copy
import math
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch import nn

from gnomon.errors import UserError
from gnomon.lab import answers, build, evaluate, probes
from gnomon.lab.experiment import Experiment, Text
from gnomon.lab.probes.probe import NotAsked
from gnomon.lab.probes.reading import Reader
from gnomon.lab.probes.subject import Subject
from gnomon.lab.task import Task
from gnomon.lab.tasks.text import TextTask

EXAMPLES = 32
"""Examples of each length that a probe takes."""


def measured(
    model: nn.Module,
    task: TextTask | Task,
    experiment: Experiment,
    device: torch.device,
    report: Callable[[int, int], None] = lambda done, total: None,
) -> evaluate.Measured:
    """What is measured of every model: see `evaluate.evaluate` of text, `answers.evaluate` of tasks with answers."""
    measure = evaluate.evaluate if isinstance(experiment.task, Text) else answers.evaluate
    return measure(model, task, experiment, device, report)


def variants(
    model: nn.Module,
    task: TextTask | Task,
    experiment: Experiment,
    device: torch.device,
    precision: Callable[[], AbstractContextManager],
    report: Callable[[int, int], None] = lambda done, total: None,
) -> list[dict[str, Any]]:
    """The lengths of a record, measured with the trained weights under each of `Measure.variants`.

    precision: a context in which a model computes as it was trained. OptionError where the options give the model other
    parameters than it was trained with.
    """
    found = []
    for options in experiment.measure.variants:
        other = experiment.under(options)
        made = build.model(other, task)
        build.check_same(made, model, options)
        made.load_state_dict(model.state_dict())
        with precision():
            rows = measured(made.to(device), task, other, device, report).lengths
        found.append({"options": dict(options), "lengths": rows})
    return found


def probed(model: nn.Module, task: TextTask | Task, experiment: Experiment) -> dict[str, dict[str, Any]]:
    """What each of `Measure.probes` finds of a trained model, in float64 on the CPU; of one that does not apply, why.

    Numbers that JSON lacks are None.
    """
    if not experiment.measure.probes:
        return {}
    exact = copy.deepcopy(model).to("cpu", torch.float64).eval()
    subject = Subject(Reader(exact, experiment.training.length), task, experiment, EXAMPLES)
    found = {}
    for name in experiment.measure.probes:
        try:
            [(probe, result)] = probes.asked(subject, [name])
        except UserError as error:
            # What a model has learned is not lost because a question cannot be asked of it.
            found[name] = {"not_asked": str(error).partition("\n")[0]}
            continue
        told = {"not_asked": result.why} if isinstance(result, NotAsked) else result.numbers()
        found[probe.KEY] = _finite(told)
    return found


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
