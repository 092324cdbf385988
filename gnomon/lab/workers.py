"""What a sweep asks of those who make its runs, on one machine or many, and what it hears of them. No torch here."""

import queue
import threading
from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from gnomon.errors import UserError
from gnomon.lab.events import Event
from gnomon.lab.experiment import Experiment
from gnomon.lab.wire import End


@dataclass(frozen=True)
class Exit:
    """How a worker has ended, in the words of those who started it, whether or not it has said so itself."""

    reason: str
    """In words."""
    lost: bool = False
    """It was killed, or its machine was, which need not be the fault of the run."""
    stopped: bool = False
    """It was killed by SIGTERM, which whoever ends a whole job sends to the sweep as well."""
    begun: bool = True
    """Whether it had begun. What is lost before that says nothing of the run."""
    error: UserError | None = None
    """Its machine cannot make any run, and why."""


class Message(NamedTuple):
    """What is heard of the worker of one run; the last is an `Exit`, and nothing else is one."""

    hash: str
    said: Event | End | Exit


class Mailbox(queue.SimpleQueue):
    """What threads that listen to workers have heard."""

    def listen(self, hash: str, said: Iterable[Event | End | Exit]) -> None:
        """Hear, in a thread, what is said of a worker: at last an Exit, whatever befalls those who are to say it."""
        threading.Thread(target=self._listen, args=(hash, said), daemon=True).start()

    def next(self, timeout: float) -> Message | None:
        """The next message, or None after `timeout` seconds without one."""
        try:
            return self.get(timeout=timeout)
        except queue.Empty:
            return None

    def _listen(self, hash: str, said: Iterable[Event | End | Exit]) -> None:
        exit = Exit("nothing is known of its end", lost=True)
        try:
            for each in said:
                if isinstance(each, Exit):
                    exit = each
                    break
                self.put(Message(hash, each))
        except Exception as error:
            exit = Exit(f"it is no longer heard: {type(error).__name__}: {error}", lost=True)
        finally:
            self.put(Message(hash, exit))


class Workers(AbstractContextManager, Protocol):
    """Makes runs, each in a process of its own. Leaving the `with` block ends every worker that is left."""

    count: int
    """Runs at once."""
    gpus: bool
    """Whether a run has a GPU."""
    retries: int
    """How often a run is begun again from its checkpoint, where its worker was lost."""
    delay: float
    """Seconds until all that a worker has written is seen here; 0 where it is on this machine."""

    def start(self, experiment: Experiment) -> None:
        """Begin one run."""

    def next(self, timeout: float) -> Message | None:
        """The next message of any worker, or None after `timeout` seconds without one. Nothing follows an Exit."""

    def stop(self) -> None:
        """Ask every worker to stop after a checkpoint."""
