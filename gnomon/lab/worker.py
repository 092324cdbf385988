"""The process of one run: reads what to do from stdin, tells what happens on stdout (`gnomon.lab.wire`).

    {"folder": null, "experiment": {...}, "store": "runs", "threads": 1, "settings": {...}}

It stops after a checkpoint on SIGTERM, and when whoever started it is gone.
"""

import json
import logging
import os
import sys
import time
from dataclasses import replace
from typing import TextIO

import torch

from gnomon.errors import StoreError
from gnomon.lab.events import ASIDE, Event
from gnomon.lab.experiment import Experiment
from gnomon.lab.interrupt import flagged
from gnomon.lab.log import warned
from gnomon.lab.run import Settings, run
from gnomon.lab.shared import refresh
from gnomon.lab.store import Store
from gnomon.lab.wire import End, encode

EVERY = 0.25
"""Seconds between two reports of the same phase."""


class Wire:
    """The line to the parent. When it breaks, the parent has died, and the run is to stop."""

    def __init__(self, out: TextIO):
        self.out = out
        self.broken = False
        self._last: tuple[str, float] = ("", 0.0)

    def send(self, said: Event | End) -> None:
        try:
            self.out.write(encode(said))
            self.out.flush()
        except BrokenPipeError:
            self.broken = True

    def report(self, event: Event) -> None:
        if event.phase in ASIDE:
            self.send(event)
            return
        now = time.monotonic()
        phase, before = self._last
        if event.phase != phase or now - before >= EVERY:
            self._last = (event.phase, now)
            self.send(event)


def main() -> int:
    # What libraries print must not come between our lines: stdout becomes stderr for everyone else.
    wire = Wire(os.fdopen(os.dup(1), "w"))
    os.dup2(2, 1)
    logging.basicConfig(stream=sys.stderr, format="%(message)s")
    task = json.loads(sys.stdin.readline())
    if task["folder"] is not None:
        os.chdir(task["folder"])
    torch.set_num_threads(task["threads"])
    experiment = Experiment.from_json(task["experiment"])
    wire.report(Event(experiment.hash, experiment.title, experiment.seed, "start", steps=experiment.training.steps))
    told = Event(experiment.hash, experiment.title, experiment.seed, "warning")
    with flagged() as signalled, warned(lambda text: wire.report(replace(told, reason=text))):
        given = {**task["settings"], "trackers": tuple(task["settings"]["trackers"])}
        settings = Settings(**given, report=wire.report, stop=lambda: wire.broken or signalled())
        try:
            store = Store(task["store"])
            # Another machine may have made the run, or a checkpoint of it, a moment ago.
            refresh(store.path, store.work)
            end = End(run(experiment, store, settings))
        except KeyboardInterrupt:
            end = End("stopped")
        except StoreError as error:
            end = End(None, error)
    wire.send(end)
    return int(end.error is not None)
