"""Whether what is stored of a run agrees with its experiment and with itself: record, curve, positions, weights."""

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from gnomon.errors import OptionError, StoreError
from gnomon.lab.experiment import Experiment, Text
from gnomon.lab.store import WEIGHTS, Store

ENDS = ("finished", "diverged", "failed")
"""How a run can end."""

CLOSE = 1e-5
"""Relative difference of a loss that is averaged in two ways, in float32."""


def of_record(record: Mapping[str, Any], experiment: Experiment) -> Iterator[str]:
    """Where a record contradicts itself or its experiment."""
    status, rows = record["status"], record["lengths"]
    if status not in ENDS:
        yield f"its status is {status!r}, none of {', '.join(ENDS)}"
        return
    if record["label"] != experiment.label:
        yield f"its label is {record['label']!r}, that of its experiment {experiment.label!r}"
    if (record["reason"] is None) != (status == "finished"):
        yield f"it {status}, with reason {record['reason']!r}"
    have, asked = [row["length"] for row in rows], [*experiment.measure.lengths] if status == "finished" else []
    if have != asked:
        yield f"it has lengths {have}, its experiment {asked}"
    of_text = status == "finished" and isinstance(experiment.task, Text)
    if of_text and record["data"]["digest"] != experiment.task.digest:
        yield "the text it was made with is not that of its experiment"
    if status == "finished" and not record["parameters"]["total"]:
        yield "it does not say how many parameters it has"
    reference = next((row for row in rows if row["length"] == experiment.training.length), {})
    for row in rows:
        for what in _row(row, reference, isinstance(experiment.task, Text)):
            yield f"length {row['length']}: {what}"


def _row(row: Mapping[str, Any], reference: Mapping[str, Any], text: bool) -> Iterator[str]:
    """Where the numbers of a length are none, or contradict each other."""
    if row["status"] not in ("measured", "refused", "diverged"):
        yield f"its status is {row['status']!r}"
        return
    if row["status"] != "measured":
        if not row.get("reason"):
            yield f"it was {row['status']}, and no reason is told"
        return
    lost = [name for name, value in row.items() if isinstance(value, float) and not math.isfinite(value)]
    if lost:
        yield f"no finite number: {', '.join(lost)}"
    if lost or not text:
        return
    excess, perplexity = row["paired_excess"], row["sliding_perplexity"]
    agree = {
        "bits_per_byte": _close(row["bits_per_byte"], row["loss"] / math.log(2)),
        "tokens": row["tokens"] == row["windows"] * row["length"],
        "paired_excess": excess is None or _close(excess, row["paired_loss"] - reference["paired_loss"]),
        "sliding_perplexity": perplexity is None or _close(math.log(perplexity), row["sliding_loss"]),
    }
    if wrong := [name for name, agrees in agree.items() if not agrees]:
        yield f"it contradicts the other numbers: {', '.join(wrong)}"


def of_curve(store: Store, record: Mapping[str, Any], experiment: Experiment) -> Iterator[str]:
    """Where the training curve contradicts its experiment or its record."""
    from gnomon.lab.columns import CURVE
    from gnomon.lab.train import learning_rate

    other = [*_columns(store.folder(record["hash"]) / "curve.parquet", CURVE)]
    yield from other
    if other:
        return
    rows, training = store.curve(record["hash"]), experiment.training
    if not rows or [row["step"] for row in rows] != [*range(len(rows))] or len(rows) > training.steps:
        yield f"its {len(rows)} steps are not 0, 1, 2, ... below {training.steps}"
        return
    if record["status"] == "finished" and len(rows) != training.steps:
        yield f"it has {len(rows)} steps of {training.steps}"
    finite = [row["loss"] is not None and math.isfinite(row["loss"]) for row in rows]
    if not all(finite[:-1]) or finite[-1] != (record["status"] != "diverged"):
        yield f"its losses are not those of a run that {record['status']}"
    if not all(_close(row["learning_rate"], learning_rate(training, row["step"])) for row in rows):
        yield "its learning rates are not those of its experiment"
    speeds, milliseconds = [row["tokens_per_second"] for row in rows], record["cost"]["ms_per_step"]
    if not isinstance(experiment.task, Text) or not all(speeds) or not milliseconds:
        return
    tokens = training.batch * training.length
    if not _close(1000 * statistics.median(tokens / speed for speed in speeds), milliseconds):
        yield "its speed is not that of its record"


def of_positions(store: Store, record: Mapping[str, Any], experiment: Experiment) -> Iterator[str]:
    """Where the loss by position contradicts the loss of the record."""
    from gnomon.lab.columns import POSITIONS

    other = [*_columns(store.folder(record["hash"]) / "positions.parquet", POSITIONS)]
    yield from other
    if not isinstance(experiment.task, Text) or other:
        return
    rows = store.positions(record["hash"])
    measured = {row["length"]: row for row in record["lengths"] if row["status"] == "measured"}
    if {row["length"] for row in rows} != {*measured}:
        yield f"it has lengths {sorted({row['length'] for row in rows})}, its record {sorted(measured)}"
        return
    for length, told in measured.items():
        bins = [row for row in rows if row["length"] == length]
        if what := _bins(bins, told):
            yield f"length {length}: {what}"


def _bins(bins: Sequence[Mapping[str, Any]], told: Mapping[str, Any]) -> str:
    """Where bins of positions are no partition of a window, or their mean is not the loss told of it."""
    if [each["first"] for each in bins] != [0, *(each["last"] + 1 for each in bins[:-1])]:
        return "its bins do not follow one another"
    if bins[-1]["last"] + 1 != told["length"]:
        return f"its bins end at {bins[-1]['last'] + 1}"
    if any(not _close(2 * each["position"], each["first"] + each["last"]) for each in bins):
        return "a bin is not where it begins and ends"
    if any(each["windows"] != told["windows"] for each in bins):
        return f"its bins are not over the {told['windows']} windows of the record"
    if not all(math.isfinite(each["loss"]) and math.isfinite(each["se"] or 0.0) for each in bins):
        return "a loss is no finite number"
    mean = math.fsum(each["loss"] * (each["last"] + 1 - each["first"]) for each in bins) / told["length"]
    return "" if _close(mean, told["loss"]) else f"its mean loss is {mean:.6g}, that of the record {told['loss']:.6g}"


def _columns(file: Path, columns: Mapping[str, str]) -> Iterator[str]:
    import pyarrow
    from pyarrow import parquet

    from gnomon.lab.columns import schema

    try:
        with file.open("rb") as opened:
            have, asked = parquet.read_schema(opened), schema(columns)
    except (OSError, pyarrow.ArrowException) as error:
        raise StoreError("a file of the store is damaged", given=f"{file}: {error}") from error
    if not have.equals(asked):
        wrong = sorted({*map(str, have)} ^ {*map(str, asked)})
        yield f"its columns are not those of this gnomon: {', '.join(wrong) or 'another order'}"


def of_weights(store: Store, record: Mapping[str, Any], experiment: Experiment) -> Iterator[str]:
    """Where weights are not those of the run's model."""
    import torch
    from safetensors import SafetensorError, safe_open
    from safetensors.torch import load_file

    from gnomon.lab import build
    from gnomon.lab.tasks.text import TextTask

    file = store.folder(record["hash"]) / WEIGHTS
    try:
        with safe_open(file, "pt") as opened:
            owner = (opened.metadata() or {}).get("experiment")
        tensors = load_file(file)
    except (OSError, SafetensorError) as error:
        yield f"it cannot be read: {error}"
        return
    if owner != record["hash"]:
        yield f"they are those of the run {owner}"
    # A buffer is kept with the weights and is none: it is not counted, and may hold the infinities of a mask.
    buffers = record.get("buffers")
    known = buffers is not None or experiment.code is None
    weights = [tensor for name, tensor in tensors.items() if name not in (buffers or ())]
    if known and not all(tensor.isfinite().all() for tensor in weights):
        yield "a weight is no finite number"
    count, told = sum(tensor.numel() for tensor in weights), record["parameters"]["total"]
    # Earlier records do not say which tensors are buffers; none was, but in an encoding of the user's own.
    if count < told or (known and count > told):
        yield f"they are {count:,} numbers, its record says {told:,}"
    # A user's own code is not run for this; of the other tasks a model takes more than a vocabulary.
    if experiment.code is not None or not isinstance(experiment.task, Text):
        return
    try:
        with torch.random.fork_rng(devices=[]):
            build.restore(experiment, TextTask, file)
    except StoreError as error:
        yield f"they do not fit the model: {str(error.given).partition(': ')[2]}"
    except OptionError as error:
        yield f"this gnomon cannot build its model: {error.asked}"


def _close(a: float, b: float) -> bool:
    return math.isclose(a, b, rel_tol=CLOSE, abs_tol=CLOSE)
