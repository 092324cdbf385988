"""Under `accelerate launch` or `torchrun`: one run after another, each by all processes together.

`accelerate launch --multi_gpu --num_processes 2 -m gnomon compare FILE`, with GPUs or without; `--cpu` in place of
`--multi_gpu` would start one process only. The main process measures and writes.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from accelerate import Accelerator
from accelerate.utils import broadcast_object_list

from gnomon.errors import OptionError
from gnomon.lab.events import Event, Progress
from gnomon.lab.experiment import Experiment
from gnomon.lab.interrupt import Interrupted, flagged
from gnomon.lab.machine import launched
from gnomon.lab.run import Outcome, Settings, accelerator_for, make
from gnomon.lab.store import Store, missing

AGAIN = 1.0
"""Seconds until we look again at a run that a process outside this launch is making."""


def run_together(
    experiments: Sequence[Experiment], store: Store, settings: Mapping[str, Any], progress: Progress
) -> None:
    """Make the runs in order. One precision for all of them: accelerate fixes it for the life of a process.

    OptionError, before the first, where they have several, or a batch that the processes cannot share.
    """
    if len({e.training.precision for e in experiments}) > 1:
        raise OptionError("one launch has one precision", given="fp32 and bf16", do="launch once for each")
    _, processes = launched()
    for batch in {e.training.batch for e in experiments}:
        if batch % processes:
            given = f"batch {batch}, {processes} processes"
            raise OptionError("the processes share a batch equally", given=given, do="launch as many as divide it")
    with flagged() as stop:
        for done, experiment in enumerate(experiments):
            silent = Settings(**settings, stop=stop)
            accelerator = accelerator_for(experiment, silent, store)
            if accelerator.is_main_process:
                outcome = _lead(experiment, store, accelerator, replace(silent, report=progress.update))
            else:
                outcome = make(experiment, store, accelerator, silent) if _agree(None) else "present"
            accelerator.wait_for_everyone()
            if outcome == "stopped":
                raise Interrupted(done, len(experiments))
        accelerator.end_training()


def _lead(experiment: Experiment, store: Store, accelerator: Accelerator, settings: Settings) -> Outcome:
    while True:
        with store.claim(experiment.hash) as ours:
            if ours:
                if _agree(missing(store.record(experiment.hash), settings.retry)):
                    return make(experiment, store, accelerator, settings)
                settings.report(Event(experiment.hash, experiment.title, experiment.seed, "stored"))
                return "present"
        time.sleep(AGAIN)


def _agree(todo: bool | None) -> bool:
    """What the main process decides, known to all of them."""
    return broadcast_object_list([todo])[0]
