"""What a sweep asks of those who make its runs, on this machine or on many. No torch here."""

import queue
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

from gnomon.errors import UserError
from gnomon.lab.experiment import Experiment

Engine = Literal["local", "ray"]
"""Where the runs are made: by processes of this machine, or on the nodes of a Ray cluster."""


class Message(NamedTuple):
    """One line of a worker; `content` is None when the worker has ended."""

    hash: str
    content: dict[str, Any] | None


class Mailbox(queue.SimpleQueue):
    """What threads that listen to workers have heard."""

    def next(self, timeout: float) -> Message | None:
        """The next message, or None after `timeout` seconds without one."""
        try:
            return self.get(timeout=timeout)
        except queue.Empty:
            return None


@dataclass(frozen=True)
class End:
    """How a worker has ended, for a sweep to which it did not say so itself."""

    reason: str
    """In words."""
    stopped: bool = False
    """It was asked to stop before it could listen; it has lost nothing."""
    lost: bool = False
    """It was killed, or its machine was, which need not be the fault of the run."""
    begun: bool = True
    """Whether it had begun. What is lost before that says nothing of the run."""
    error: UserError | None = None
    """Its machine cannot make any run, and why."""


class Workers(AbstractContextManager, Protocol):
    """Makes runs, each in a process of its own. Leaving the `with` block ends every worker that is left."""

    count: int
    """Runs at once."""
    gpus: bool
    """Whether a run has a GPU."""
    retries: int
    """How often a run is begun again from its checkpoint, where its worker was lost."""

    def start(self, experiment: Experiment) -> None:
        """Begin one run."""

    def next(self, timeout: float) -> Message | None:
        """The next message of any worker, or None after `timeout` seconds without one."""

    def end(self, hash: str) -> End:
        """How a worker has ended, once it has."""

    def stop(self) -> None:
        """Ask every worker to stop after a checkpoint."""
