"""Progress for people and programs: a live table on a terminal, plain lines elsewhere, JSON lines, or nothing."""

import json
import time
from collections import Counter
from collections.abc import Sequence
from typing import TextIO

from rich import box
from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from gnomon.lab.events import ASIDE, DONE, ENDED, LOST, WORKING, Event, Progress, Quiet
from gnomon.lab.lossy import Lossy

MARGIN = 4
"""Columns left free at the right: a terminal writes ^C for Ctrl-C at the cursor, which must not start a new line there,
or the next drawing begins a line too low and the header stays behind."""

TRAINING_SHARE = 0.8
"""Share of a run that training takes, for the estimate of the time left; the rest is measuring."""

NODE = 12
"""Columns for the name of a node of a cluster."""

STYLES = {"finished": "green", "stored": "green", "failed": "bold red", "diverged": "bold red", "queued": "dim"}


def listener(stream: TextIO, *, quiet: bool = False, as_json: bool = False) -> Progress:
    """The listener for a stream: JSON lines or silence if asked for, a live table on a terminal, else plain lines.

    Where the stream takes no more, nothing more is shown; the runs go on.
    """
    if quiet:
        return Quiet()
    stream = Lossy(stream)
    if as_json:
        return JsonLines(stream)
    console = Console(file=stream, highlight=False)
    return LiveTable(console) if console.is_terminal else PlainLines(stream)


class JsonLines:
    """Every event as one JSON object a line."""

    def __init__(self, stream: TextIO):
        self.stream = stream

    def begin(self, plan: Sequence[Event]) -> None:
        for event in plan:
            self.update(event)

    def update(self, event: Event) -> None:
        print(json.dumps(event.to_json(), allow_nan=False), file=self.stream, flush=True)

    def end(self) -> None:
        pass


class PlainLines:
    """A line when a run begins, every `every` seconds of it, and when it ends."""

    def __init__(self, stream: TextIO, every: float = 15.0):
        self.stream, self.every = stream, every
        self._last: dict[str, tuple[str, float]] = {}

    def begin(self, plan: Sequence[Event]) -> None:
        stored = sum(event.phase != "queued" for event in plan)
        print(f"{len(plan)} runs, {stored} of them already in the store", file=self.stream, flush=True)

    def update(self, event: Event) -> None:
        if event.phase in ASIDE:
            return
        now = time.monotonic()
        phase, before = self._last.get(event.hash, ("", 0.0))
        if event.phase == phase and (now - before < self.every or phase == "waiting"):
            return
        self._last[event.hash] = (event.phase, now)
        print(sentence(event), file=self.stream, flush=True)

    def end(self) -> None:
        pass


class LiveTable:
    """A row a run. Runs that do not fit the terminal are counted below; why one fails or is lost is told above."""

    def __init__(self, console: Console):
        self.console = console
        self.events: dict[str, Event] = {}
        self._stored = 0
        self._nodes = False
        self.begun = time.monotonic()
        self._live = Live(console=console, get_renderable=self.render, refresh_per_second=4)

    def begin(self, plan: Sequence[Event]) -> None:
        self.begun = time.monotonic()
        self.events = {event.hash: event for event in plan}
        self._stored = sum(event.phase != "queued" for event in plan)
        self._live.start()

    def update(self, event: Event) -> None:
        if event.phase in ASIDE:
            return
        self.events[event.hash] = event
        self._nodes = self._nodes or event.node is not None
        if event.phase in ("failed", "diverged", "lost"):
            self._live.console.print(Text(sentence(event), style="red"))

    def end(self) -> None:
        self._live.stop()

    def render(self) -> Table:
        """The table as it stands now."""
        seeds = len({event.seed for event in self.events.values()}) > 1
        across = max(1, self.console.width - MARGIN)
        table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=0, caption_justify="left", width=across)
        table.add_column("encoding", no_wrap=True, overflow="ellipsis", ratio=1)
        if seeds:
            table.add_column("seed", justify="right", no_wrap=True)
        if self._nodes:
            table.add_column("node", no_wrap=True, overflow="ellipsis", width=NODE)
        table.add_column("", width=10)
        for name, width in (("step", 9), ("loss", 5), ("tokens/s", 8), ("left", 5)):
            table.add_column(name, justify="right", no_wrap=True, width=width)
        table.add_column("", no_wrap=True, width=8)
        for event in self._visible():
            table.add_row(*_cells(event, seeds, self._nodes), style=STYLES.get(event.phase))
        table.caption = Text(self._summary(across), style="dim")
        return table

    def _visible(self) -> list[Event]:
        events = list(self.events.values())
        room = max(1, self.console.height - 5)
        if len(events) <= room:
            return events
        order = sorted(events, key=lambda event: (event.phase not in WORKING, event.phase in ENDED))
        shown = {event.hash for event in order[:room]}
        return [event for event in events if event.hash in shown]

    def _summary(self, width: int) -> str:
        """How many runs are done, lost, at work and to come, and the time: on one line where they fit."""
        events = list(self.events.values())
        phases = Counter(event.phase for event in events)
        done, working = (sum(phases[phase] for phase in among) for among in (DONE, WORKING))
        lost = {phase: phases[phase] for phase in LOST if phases[phase]}
        to_come = len(events) - done - working - sum(lost.values())
        parts = [f"{done} done", *(f"{count} {phase}" for phase, count in lost.items())]
        counts = f"{len(events)} runs: {', '.join([*parts, f'{working} at work', f'{to_come} to come'])}"
        hidden = len(events) - len(self._visible())
        elapsed = time.monotonic() - self.begun
        made = sum(map(_share, events)) - self._stored
        todo = len(events) - self._stored
        left = elapsed * (todo - made) / made if made > 0.05 and "stopped" not in lost else None
        took = (
            clock(elapsed)
            + (f", about {clock(left)} left" if left else "")
            + (f" ({hidden} not shown)" if hidden else "")
        )
        return f"{counts} · {took}" if len(counts) + len(took) + 3 <= width else f"{counts}\n{took}"


def sentence(event: Event) -> str:
    """One event in words."""
    where = "" if event.node is None else f" on {event.node}"
    who = f"{event.label} seed {event.seed}{where}: "
    if event.phase == "train":
        speed = f"{_speed(event)} tokens/s, {_left(event)} left"
        return who + f"step {event.step}/{event.steps}, loss {event.loss:.3f}, {speed}"
    if event.phase == "measure":
        return who + f"measuring, {event.step}k of {event.steps}k tokens, {_left(event)} left"
    if event.phase == "finished":
        if event.exact is not None:
            return who + f"finished, {event.exact:.3f} of the answers right at the training length"
        return who + "finished" + ("" if event.loss is None else f", {event.loss:.3f} nats over all test windows")
    said = {
        "start": "starting",
        "stored": "already in the store",
        "stopped": "stopped after a checkpoint",
        "waiting": "waiting for another process that is making this run",
    }
    if event.phase in ("failed", "diverged"):
        return who + f"{event.phase}: {event.reason}"
    if event.phase == "lost":
        return who + f"{event.reason}; it goes on elsewhere from its checkpoint"
    return who + said.get(event.phase, event.phase)


def clock(seconds: float) -> str:
    """`1:05`, or `2:03:04` from an hour on."""
    hours, rest = divmod(round(seconds), 3600)
    minutes, seconds = divmod(rest, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


def _cells(event: Event, seeds: bool, nodes: bool) -> list:
    who = [event.label, *([str(event.seed)] if seeds else []), *([event.node or ""] if nodes else [])]
    if event.phase not in ("train", "measure"):
        done = event.phase in ("finished", "stored")
        loss = "" if event.loss is None else f"{event.loss:.3f}"
        return [*who, ProgressBar(1, int(done)), "", loss, "", "", event.phase]
    step = f"{event.step}/{event.steps}" if event.phase == "train" else f"{event.step / max(1, event.steps):.0%}"
    bar = ProgressBar(max(1, event.steps), event.step)
    loss = "" if event.loss is None else f"{event.loss:.3f}"
    return [*who, bar, step, loss, _speed(event), _left(event), event.phase]


def _share(event: Event) -> float:
    """How much of a run is done, 0 to 1."""
    part = event.step / event.steps if event.steps else 0.0
    if event.phase == "train":
        return TRAINING_SHARE * part
    if event.phase == "measure":
        return TRAINING_SHARE + (1 - TRAINING_SHARE) * part
    return float(event.phase in ENDED)


def _speed(event: Event) -> str:
    rate = event.tokens_per_second
    if rate is None:
        return ""
    return f"{rate:.0f}" if rate < 1000 else f"{rate / 1000:.1f}k" if rate < 10_000 else f"{rate / 1000:.0f}k"


def _left(event: Event) -> str:
    return "" if event.seconds_left is None else clock(event.seconds_left)
