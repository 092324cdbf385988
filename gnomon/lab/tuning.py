"""A learning rate for each encoding: the best of a small grid, by the loss on held-in data at the training length."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gnomon.errors import OptionError
from gnomon.lab import strict
from gnomon.lab.experiment import Experiment, Measure
from gnomon.lab.parts import canonical


@dataclass(frozen=True)
class Tuning:
    """How the learning rate of each encoding is found before its runs are made.

    Every configuration is tried at each rate with one seed that none of its runs has. A trial is measured on the
    validation part, at the training length alone. The lowest loss wins; of equal ones the lower rate. A trial that
    diverges loses to all others.
    """

    rates: tuple[float, ...]
    seed: int = 1000
    share: float = 1.0
    """Steps of a trial, of those of a run. A shorter one ends its warm-up and its decay earlier too."""

    def __post_init__(self) -> None:
        strict.check(self)
        if not self.rates or min(self.rates) <= 0 or len({*self.rates}) < len(self.rates):
            raise OptionError("rates to try", given=list(self.rates), allowed="different ones above 0")
        if not 0 < self.share <= 1:
            raise OptionError("the share of the steps of a trial", given=self.share, allowed="above 0 to 1")
        object.__setattr__(self, "rates", tuple(sorted(self.rates)))

    def trial(self, experiment: Experiment, rate: float) -> Experiment:
        """The trial of an experiment at a rate: the same for all its seeds."""
        training, measure = experiment.training, experiment.measure
        steps = max(1, round(self.share * training.steps))
        return replace(
            experiment,
            seed=self.seed,
            training=replace(training, learning_rate=rate, steps=steps),
            measure=replace(
                Measure(lengths=(training.length,), part="validation"),
                bytes=measure.bytes,
                pairs=measure.pairs,
                targets=measure.targets,
                examples=measure.examples,
            ),
        )

    def trials(self, experiments: Sequence[Experiment]) -> list[Experiment]:
        """All trials, each once. OptionError where a run has the seed of the trials."""
        for experiment in experiments:
            if experiment.seed == self.seed:
                raise OptionError(
                    "a rate is chosen by another seed than it is then measured with",
                    given=f"seed {self.seed} of {experiment.title}",
                    do="choose other seeds, or Tuning(seed=...)",
                )
        return list(dict.fromkeys(self.trial(e, rate) for e in experiments for rate in self.rates))

    def tuned(self, experiments: Sequence[Experiment], records: Mapping[str, Mapping[str, Any]]) -> list[Experiment]:
        """The experiments, each at its best rate by the `records` of the trials, by hash; all are pinned."""
        return [
            replace(e, training=replace(e.training, learning_rate=best(self._losses(e, records)))) for e in experiments
        ]

    def _losses(self, experiment: Experiment, records: Mapping[str, Mapping[str, Any]]) -> dict[float, float]:
        return {rate: loss_of(records[self.trial(experiment, rate).hash]) for rate in self.rates}


def loss_of(record: Mapping[str, Any]) -> float:
    """What a trial is judged by: its loss at the training length in nats a token; inf where it has none."""
    at = [row.get("loss") for row in record["lengths"] if row["status"] == "measured"]
    return at[0] if record["status"] == "finished" and at and at[0] is not None else math.inf


def best(losses: Mapping[float, float]) -> float:
    """The rate of the lowest loss; of equal ones, or where none is finite, the lowest rate."""
    return min(sorted(losses), key=lambda rate: losses[rate])


def key(experiment: Mapping[str, Any]) -> str:
    """What a trial and the runs that it is for have in common, of experiments given as JSON."""
    training = {name: value for name, value in experiment["training"].items() if name not in ("learning_rate", "steps")}
    kept = {name: experiment.get(name) for name in ("encoding", "options", "task", "model", "code")}
    return canonical({**kept, "training": training})


@dataclass(frozen=True)
class Choice:
    """What was tried for one configuration: the loss of each rate, inf where it diverged, and the rate of the runs."""

    label: str
    task: Mapping[str, Any]
    losses: Mapping[float, float]
    chosen: float
    steps: int
    seed: int


def choices(records: Sequence[Mapping[str, Any]], trials: Sequence[Mapping[str, Any]]) -> list[Choice]:
    """The choice behind each configuration of `records` that has trials, in their order; its seeds share it.

    Where configurations differ in their steps alone, the trials of fewer steps are those of the fewer.
    """
    tried: dict[str, dict[int, list[Mapping[str, Any]]]] = {}
    for trial in trials:
        tried.setdefault(key(trial["experiment"]), {}).setdefault(_steps(trial), []).append(trial)
    if not tried:
        return []
    budgets: dict[str, set[int]] = {}
    for record in records:
        budgets.setdefault(key(record["experiment"]), set()).add(_steps(record))
    found: dict[tuple[str, int], Choice] = {}
    for record in records:
        name, steps = key(record["experiment"]), _steps(record)
        own = _matched(sorted(budgets[name]), sorted(tried.get(name, {}))).get(steps)
        if own is not None and (name, steps) not in found:
            experiment, group = record["experiment"], tried[name][own]
            found[name, steps] = Choice(
                record["label"],
                experiment["task"],
                {t["experiment"]["training"]["learning_rate"]: loss_of(t) for t in group},
                experiment["training"]["learning_rate"],
                own,
                group[0]["experiment"]["seed"],
            )
    return list(found.values())


def _steps(record: Mapping[str, Any]) -> int:
    return record["experiment"]["training"]["steps"]


def _matched(budgets: Sequence[int], tried: Sequence[int]) -> dict[int, int]:
    """The steps of the trials of each budget: in order where there are as many, else the most that it has itself."""
    if len(budgets) == len(tried):
        return dict(zip(budgets, tried, strict=True))
    return {budget: max(fit) for budget in budgets if (fit := [steps for steps in tried if steps <= budget])}
