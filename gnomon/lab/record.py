"""A record in the making: what one run has shown so far, ready to be written at any moment."""

import math
import statistics
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow
from pyarrow import parquet

from gnomon.lab.checkpoint import History
from gnomon.lab.columns import CURVE, POSITIONS, schema
from gnomon.lab.evaluate import Measured
from gnomon.lab.events import Event, Phase
from gnomon.lab.experiment import Experiment
from gnomon.lab.processes import reason
from gnomon.lab.store import FORMAT, Store
from gnomon.lab.train import learning_rate


class Draft:
    """A record in the making. It can be written at any moment."""

    def __init__(self, experiment: Experiment, command: str):
        self.experiment = experiment
        self.files: dict[str, Callable[[Path], None]] = {}
        self.record: dict[str, Any] = {
            "format": FORMAT,
            "hash": experiment.hash,
            "experiment": experiment.to_json(),
            "label": experiment.label,
            "status": "failed",
            "reason": None,
            "data": None,
            "parameters": {"total": None, "encoding": None},
            "buffers": None,
            "lengths": [],
            "cost": dict.fromkeys(
                (
                    "ms_per_step",
                    "tokens_per_second",
                    "train_seconds",
                    "measure_seconds",
                    "peak_memory_bytes",
                    "peak_device_memory_bytes",
                )
            ),
            "environment": {},
            "command": command,
            "started": _now(),
            "finished": None,
        }

    def fail(self, error: BaseException) -> None:
        self.record |= {"status": "failed", "reason": reason(error)}

    def trained(self, history: History) -> None:
        """Put the curve and the cost of training into the record."""
        training = self.experiment.training
        rows = [
            {
                "step": step,
                "loss": loss,
                "learning_rate": learning_rate(training, step),
                "tokens_per_second": tokens / seconds if seconds else None,
            }
            for step, (loss, seconds, tokens) in enumerate(
                zip(history.losses, history.seconds, history.tokens, strict=True)
            )
        ]
        self.files["curve.parquet"] = _table(rows, CURVE)
        if len(history.environments) > 1:
            self.record["environments"] = history.environments
        median = statistics.median(history.seconds)
        self.record["cost"] |= {
            "ms_per_step": 1000 * median,
            "tokens_per_second": statistics.fmean(history.tokens) / median if median else None,
            "train_seconds": math.fsum(history.seconds),
        }

    def measured(self, found: Measured, asked: Mapping[str, Any], seconds: float) -> None:
        """Put into the record what was measured; of what else was `asked`, that of which there is something."""
        self.record["lengths"] = found.lengths
        self.record |= {name: told for name, told in asked.items() if told}
        self.record["cost"]["measure_seconds"] = seconds
        self.files["positions.parquet"] = _table(found.positions, POSITIONS)

    def write(self, store: Store) -> None:
        self.record["finished"] = _now()
        store.write(self.record, self.files)

    def event(self, phase: Phase, **values: Any) -> Event:
        return Event(self.experiment.hash, self.experiment.title, self.experiment.seed, phase, **values)


def _table(rows: list[dict[str, Any]], columns: Mapping[str, str]) -> Callable[[Path], None]:
    return lambda file: parquet.write_table(pyarrow.Table.from_pylist(rows, schema=schema(columns)), file)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
