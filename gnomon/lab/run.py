"""One run in this process: claim it, train it from its checkpoint, measure it, and put its record into the store."""

import logging
import math
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import torch
from accelerate import Accelerator
from accelerate.utils import InitProcessGroupKwargs
from safetensors.torch import save_model

from gnomon import user_code
from gnomon.errors import StoreError, UserError
from gnomon.lab import build, environment, further
from gnomon.lab.checkpoint import History, buffers, threads_of
from gnomon.lab.events import Event, Outcome
from gnomon.lab.experiment import Experiment
from gnomon.lab.machine import forget_peak, peak_memory
from gnomon.lab.processes import PATIENCE, Processes, Torn
from gnomon.lab.record import Draft
from gnomon.lab.store import Store, missing
from gnomon.lab.tasks.text import TextTask
from gnomon.lab.train import Stopped, Watch, train

SMOOTH = 20
"""Training steps over which the loss and the speed are averaged for display."""


@dataclass(frozen=True)
class Settings:
    """How a run is made, where that is no part of what it is."""

    command: str = ""
    """What a reader types to make this run again."""
    cpu: bool = False
    """Leave an accelerator alone."""
    trackers: tuple[str, ...] = ()
    """Names of accelerate's trackers: tensorboard, wandb, ..."""
    checkpoint_seconds: float = 20.0
    retry: bool = False
    """Train again what has failed or diverged."""
    report: Callable[[Event], None] = field(default=lambda event: None)
    stop: Callable[[], bool] = field(default=lambda: False)


def run(experiment: Experiment, store: Store, settings: Settings = Settings()) -> Outcome:
    """Make one run and write its record, whatever becomes of it.

    written: the record is new. present: it was there. busy: another process is making this run. stopped: `stop` said
    so; a checkpoint lies in the store. StoreError when the store cannot be written; every other error is a record.
    """
    with store.claim(experiment.hash) as ours:
        if not ours:
            return "busy"
        if not missing(store.record(experiment.hash), settings.retry):
            return "present"
        return make(experiment, store, accelerator_for(experiment, settings, store), settings)


def accelerator_for(experiment: Experiment, settings: Settings, store: Store) -> Accelerator:
    return Accelerator(
        # Without a GPU, accelerate joins the processes of a launch only when told that CPUs are meant.
        cpu=settings.cpu or not torch.accelerator.is_available(),
        mixed_precision="bf16" if experiment.training.precision == "bf16" else "no",
        log_with=list(settings.trackers) or None,
        kwargs_handlers=[InitProcessGroupKwargs(timeout=PATIENCE)],
        project_dir=store.path / "trackers" / experiment.hash if settings.trackers else None,
    )


def make(experiment: Experiment, store: Store, accelerator: Accelerator, settings: Settings) -> Outcome:
    """`run`, once the run has been claimed. Of several processes the main one measures and writes.

    Where one fails, the run has failed; `Torn` where that cannot be told to the others.
    """
    draft, processes = Draft(experiment, settings.command), Processes(accelerator)
    peak = _Peak(accelerator.device)
    try:
        with user_code.told_of_all(), _threads(threads_of(store.checkpoint(experiment.hash), experiment.hash)):
            _make(draft, store, accelerator, settings, peak, processes)
    except Stopped:
        return "stopped"
    except StoreError:
        raise
    except Exception as error:
        if processes.main:
            draft.fail(error)
            _finish(draft, store, peak)
            settings.report(draft.event("failed", reason=draft.record["reason"]))
        if isinstance(error, Torn):
            raise
        if not isinstance(error, UserError):
            logging.getLogger(__name__).exception("the run has failed")
    return "written"


@contextmanager
def _threads(count: int | None) -> Iterator[None]:
    """Compute with as many threads as the run began with: another number of them adds in another order."""
    before = torch.get_num_threads()
    if count in (None, before):
        yield
        return
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _make(
    draft: Draft, store: Store, accelerator: Accelerator, settings: Settings, peak: "_Peak", processes: Processes
) -> None:
    experiment, training = draft.experiment, draft.experiment.training
    with processes.apart():
        draft.record["environment"] = environment.describe(accelerator)
        task = build.task_of(experiment)
        draft.record["data"] = task.describe()
        if not isinstance(task, TextTask):
            draft.record["data"] |= {"learned": task.learned(training.length)}
        model = build.model(experiment, task)
        draft.record |= {"parameters": build.parameters(model), "buffers": [*buffers(model)]}
        if settings.trackers:
            accelerator.init_trackers("gnomon", {"experiment": experiment.hash, "label": experiment.label})

    def report(history: History) -> None:
        settings.report(draft.event("train", **_training(history, experiment)))
        accelerator.log({"loss": history.losses[-1]}, step=history.step)

    def saved(step: int) -> None:
        settings.report(draft.event("checkpoint", step=step, steps=training.steps))

    watch = Watch(
        report,
        settings.stop,
        store.checkpoint(experiment.hash),
        settings.checkpoint_seconds,
        saved,
        draft.record["environment"],
    )
    with processes.together(Stopped):
        model, history = train(model, task, experiment, accelerator, watch, processes)
    if not processes.main:
        return
    draft.trained(history)
    if not math.isfinite(history.losses[-1]):
        reason = f"the loss is {history.losses[-1]} at step {history.step}"
        draft.record |= {"status": "diverged", "reason": reason}
        _finish(draft, store, peak)
        settings.report(draft.event("diverged", step=history.step, steps=training.steps, reason=reason))
        return
    begun = time.perf_counter()

    def measuring(done: int, total: int) -> None:
        if settings.stop():
            raise Stopped
        rate = done / (time.perf_counter() - begun)
        settings.report(
            draft.event(
                "measure",
                step=done // 1000,
                steps=total // 1000,
                loss=statistics.fmean(history.losses[-SMOOTH:]),
                tokens_per_second=rate,
                seconds_left=(total - done) / rate,
            )
        )

    # Without what joins the processes, which have left, but in the precision of training.
    found = further.measured(accelerator.unwrap_model(model), task, experiment, accelerator.device, measuring)
    plain = accelerator.unwrap_model(model, keep_fp32_wrapper=False)
    asked = {
        "variants": further.variants(plain, task, experiment, accelerator.device, accelerator.autocast, measuring),
        "probes": further.probed(plain, task, experiment),
    }
    draft.measured(found, asked, time.perf_counter() - begun)
    draft.files["weights.safetensors"] = lambda file: save_model(plain, str(file), {"experiment": experiment.hash})
    draft.record["status"] = "finished"
    _finish(draft, store, peak)
    for tracker in accelerator.trackers:
        try:
            tracker.finish()
        except Exception as error:  # the run has finished: its record is written
            told = logging.getLogger(f"tracker.{tracker.name}")
            told.warning("the tracker has not ended well: %s: %s", type(error).__name__, error)
    at = next(row for row in draft.record["lengths"] if row["length"] == training.length)
    shown = {key: at.get(key) for key in ("loss", "exact")}
    settings.report(draft.event("finished", step=training.steps, steps=training.steps, **shown))


class _Peak:
    """The most memory that this process holds from now on: its own, and on a GPU what torch has there.

    One process may make many runs, as those of a launch do. Where a system tells its peak since it began only, that is
    the first run's, and nothing is known of the others.
    """

    runs = count()

    def __init__(self, device: torch.device):
        self.known = forget_peak() | (next(self.runs) == 0)
        self.device = device if device.type == "cuda" else None
        if self.device is not None:
            torch.cuda.reset_peak_memory_stats(self.device)

    def told(self) -> dict[str, int | None]:
        """For the record, under `cost`."""
        return {
            "peak_memory_bytes": peak_memory() if self.known else None,
            "peak_device_memory_bytes": None if self.device is None else torch.cuda.max_memory_allocated(self.device),
        }


def _finish(draft: Draft, store: Store, peak: _Peak) -> None:
    draft.record["cost"] |= peak.told()
    draft.write(store)


def _training(history: History, experiment: Experiment) -> dict[str, Any]:
    training = experiment.training
    each = statistics.median(history.seconds[-SMOOTH:])
    return {
        "step": history.step,
        "steps": training.steps,
        "loss": statistics.fmean(history.losses[-SMOOTH:]),
        "tokens_per_second": statistics.fmean(history.tokens[-SMOOTH:]) / each if each else None,
        "seconds_left": (training.steps - history.step) * each,
    }
