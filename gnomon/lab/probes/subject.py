"""A finished run as a probe asks for it: the trained model in float64, and examples of any length that it can read."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from gnomon.errors import DataError, StoreError
from gnomon.lab import build
from gnomon.lab.experiment import Experiment
from gnomon.lab.places import laid
from gnomon.lab.probes.reading import Reader
from gnomon.lab.seeds import generator
from gnomon.lab.store import Store
from gnomon.lab.task import Batch, Task
from gnomon.lab.tasks.text import TextTask
from gnomon.lab.windows import ending, ends


@dataclass(frozen=True)
class Subject:
    """A trained model, what it was trained for, and how many examples a probe is to take."""

    reader: Reader
    task: TextTask | Task
    experiment: Experiment
    examples: int = 16

    @property
    def length(self) -> int:
        """The training length."""
        return self.experiment.training.length

    @property
    def lengths(self) -> tuple[int, ...]:
        """Those that the run was measured at."""
        return self.experiment.measure.lengths

    @property
    def longer(self) -> int | None:
        """A length past that of training: the shortest measured one from twice it on, or the longest beyond it."""
        past = [length for length in self.lengths if length > self.length]
        return next((length for length in past if length >= 2 * self.length), past[-1] if past else None)

    def batch(self, length: int, task: Task | None = None) -> Batch:
        """Examples of a length, always the same ones, with their positions; those of another task where it is given.

        Of text, windows that end at the same places whatever their length. DataError where the text is too short. Of a
        task with answers, those of the groups that training has.
        """
        task = self.task if task is None else task
        made = self._text(length) if isinstance(task, TextTask) else self._examples(task, length)
        model = self.reader.model
        pos = laid(made, model, self.experiment.training, generator("probe", length), torch.device("cpu"))
        inputs = made.inputs.to(next(model.parameters()).dtype) if made.inputs.is_floating_point() else made.inputs
        return replace(made, inputs=inputs, pos=pos)

    def _text(self, length: int) -> Batch:
        documents = self.task.documents(self.experiment.measure.part)
        longest = max(length, self.experiment.longest)
        at = ends(documents, self.examples, longest)
        if not at:
            raise DataError(
                "the text has no room for a window of this length",
                given=f"{longest} tokens",
                allowed=f"at most {max(map(len, documents), default=1) - 1}",
            )
        window: Tensor = ending(documents, at, length).to(torch.int64)
        return Batch(window[:, :-1], window[:, 1:])

    def _examples(self, task: Task, length: int) -> Batch:
        made = task.examples(self.experiment.measure.part, length, self.examples)
        if made.group is None:
            return made
        trained = torch.tensor([group.trained for group in task.groups])[made.group]
        return made.rows(torch.nonzero(trained)[:, 0])


def restored(store: Store, hash: str, examples: int = 16) -> Subject:
    """The model of a finished run, its weights in float64. StoreError where it has none."""
    record = store.record(hash)
    weights = store.weights(hash)
    if record is None or record["status"] != "finished" or not weights.is_file():
        raise StoreError(
            "a probe needs the weights of a finished run",
            given=f"{hash}: " + ("no such run" if record is None else f"{record['status']}, {record['reason']}"),
            do="choose another run of `gnomon results`, or train it again: gnomon compare",
        )
    experiment = Experiment.from_json(record["experiment"])
    task = build.task_of(experiment)
    model = build.restore(experiment, task, weights).double().eval()
    return Subject(Reader(model, experiment.training.length), task, experiment, examples)
