"""Under `accelerate launch` or `torchrun`: one run after another, each by all processes together.

`accelerate launch --multi_gpu --num_processes 2 -m gnomon compare FILE`, with GPUs or without; `--cpu` in place of
`--multi_gpu` would start one process only. The main process measures and writes.
"""

import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from accelerate import Accelerator

from gnomon.errors import OptionError
from gnomon.lab.events import Progress
from gnomon.lab.experiment import Experiment
from gnomon.lab.interrupt import Interrupted, flagged
from gnomon.lab.machine import launched
from gnomon.lab.processes import Processes
from gnomon.lab.run import Outcome, Settings, accelerator_for, make
from gnomon.lab.store import Store, missing
from gnomon.lab.sweep import event, planned

AGAIN = 1.0
"""Seconds until we look again at a run that a process outside this launch is making."""


def run_together(
    experiments: Sequence[Experiment],
    store: Store,
    settings: Mapping[str, Any],
    progress: Progress,
    todo: Collection[str],
) -> None:
    """Make the runs in order. One precision for all of them: accelerate fixes it for the life of a process.

    todo: the hashes of those that were to be made when `progress` began.

    OptionError, before the first, where they have several, or a batch that the processes cannot share. Interrupted
    after Ctrl-C or SIGTERM. Torn where a process is lost.
    """
    if len({e.training.precision for e in experiments}) > 1:
        raise OptionError("one launch has one precision", given="fp32 and bf16", do="launch once for each")
    _, processes = launched()
    for batch in {e.training.batch for e in experiments}:
        if batch % processes:
            given = f"batch {batch}, {processes} processes"
            raise OptionError("the processes share a batch equally", given=given, do="launch as many as divide it")
    with flagged() as stop:
        for experiment in experiments:
            silent = Settings(**settings, stop=stop)
            accelerator = accelerator_for(experiment, silent, store)
            told = replace(silent, report=progress.update) if accelerator.is_main_process else silent
            if _made(experiment, store, accelerator, told, experiment.hash in todo) == "stopped":
                break
        # Also where all are made: who has stopped the trials does not want the runs that come after them.
        [stopped] = Processes(accelerator).any(stop())
    if stopped:
        raise Interrupted(len({e.hash for e in experiments}.intersection(store.hashes())), len(experiments))


def _made(experiment: Experiment, store: Store, accelerator: Accelerator, settings: Settings, queued: bool) -> Outcome:
    """One run, which the main process claims for all of them; all return what it knows of it."""
    processes, waits = Processes(accelerator), False
    with ExitStack() as claim:
        while True:
            ours = todo = False
            with processes.apart():
                if processes.main:
                    ours = claim.enter_context(store.claim(experiment.hash))
                    record = store.record(experiment.hash) if ours else None
                    todo = ours and missing(record, settings.retry)
                    if ours and not todo and queued:
                        settings.report(planned(experiment, record))
                    if not ours and not waits:
                        settings.report(event(experiment, "waiting", "another process is making this run"))
                stop = settings.stop()
            ours, todo, [stop] = processes.told(ours), processes.told(todo), processes.any(stop)
            if stop:
                return "stopped"
            if ours:
                break
            waits = True
            claim.close()
            time.sleep(AGAIN)
        outcome: Outcome = "present"
        with processes.apart():
            if todo:
                outcome = make(experiment, store, accelerator, settings)
        return processes.told(outcome)
