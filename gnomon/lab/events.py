"""What a run tells of itself while it goes on, and who listens. No torch here."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, Protocol

Phase = Literal[
    "queued",
    "waiting",
    "lost",
    "start",
    "train",
    "checkpoint",
    "measure",
    "stored",
    "finished",
    "diverged",
    "failed",
    "stopped",
    "warning",
]
Outcome = Literal["written", "present", "busy", "stopped"]
"""What has become of a run in the process that was to make it, as `gnomon.lab.run` says."""
DONE = ("stored", "finished")
LOST = ("failed", "diverged", "stopped")
ENDED = (*DONE, *LOST)
WORKING = ("start", "train", "measure")
ASIDE = ("checkpoint", "warning")
"""What is told of a run while it does something else: for logs."""


@dataclass(frozen=True)
class Event:
    """One report of one run.

    queued: not begun. waiting: another process has it. lost: its worker or node has gone, and it will go on elsewhere
    from its checkpoint. start: the process is loading. train, measure: at work.
    checkpoint: the step that it can go on from is on disk. warning: something was said in its process.
    stored: was already there. finished, diverged, failed: its record has been written. stopped: interrupted; it can
    go on.
    """

    hash: str
    label: str
    seed: int
    phase: Phase
    step: int = 0
    """Training steps done; while measuring, thousands of tokens."""
    steps: int = 0
    """Of how many."""
    loss: float | None = None
    """Nats: of the last training steps, or once finished, of what is measured at the training length."""
    tokens_per_second: float | None = None
    seconds_left: float | None = None
    """Of this phase."""
    reason: str | None = None
    exact: float | None = None
    """Once finished: the share of answers that are right at the training length, on a task with answers."""
    node: str | None = None
    """Where it is at work, on a cluster."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


class Progress(Protocol):
    """A listener. `begin` gets one event a run, in the order of the experiments."""

    def begin(self, plan: Sequence[Event]) -> None: ...

    def update(self, event: Event) -> None: ...

    def end(self) -> None: ...


class Quiet:
    """Says nothing."""

    def begin(self, plan: Sequence[Event]) -> None:
        pass

    def update(self, event: Event) -> None:
        pass

    def end(self) -> None:
        pass
