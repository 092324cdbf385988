"""The process of one run: reads what to do from stdin, tells what happens on stdout, one JSON object a line.

    {"folder": null, "experiment": {...}, "store": "runs", "threads": 1, "settings": {...}}
    -> {"event": {...}} ... {"end": "written"}

It stops after a checkpoint on SIGTERM, and when whoever started it is gone.
"""

import json
import logging
import os
import sys
import time
from dataclasses import replace
from typing import Any, TextIO

import torch

from gnomon.errors import StoreError
from gnomon.lab.events import ASIDE, Event
from gnomon.lab.experiment import Experiment
from gnomon.lab.interrupt import flagged
from gnomon.lab.log import warned
from gnomon.lab.run import Settings, run
from gnomon.lab.store import Store

EVERY = 0.25
"""Seconds between two reports of the same phase."""


class Wire:
    """The line to the parent. When it breaks, the parent has died, and the run is to stop."""

    def __init__(self, out: TextIO):
        self.out = out
        self.broken = False
        self._last: tuple[str, float] = ("", 0.0)

    def send(self, message: dict[str, Any]) -> None:
        try:
            self.out.write(json.dumps(message, allow_nan=False) + "\n")
            self.out.flush()
        except BrokenPipeError:
            self.broken = True

    def report(self, event: Event) -> None:
        if event.phase in ASIDE:
            self.send({"event": event.to_json()})
            return
        now = time.monotonic()
        phase, before = self._last
        if event.phase != phase or now - before >= EVERY:
            self._last = (event.phase, now)
            self.send({"event": event.to_json()})


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
            outcome = run(experiment, Store(task["store"]), settings)
        except KeyboardInterrupt:
            outcome = "stopped"
        except StoreError as error:
            wire.send({"end": "store", "error": [error.asked, error.given, error.allowed, error.do]})
            return 1
    wire.send({"end": outcome})
    return 0
