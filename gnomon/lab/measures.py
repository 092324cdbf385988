"""The arithmetic of the measurements: from the loss of single tokens to means, standard errors and reach. No torch."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from gnomon.errors import OptionError

TOLERANCE = 0.1
"""Nats that a loss may lie above that at the training length and still count as holding."""

LEARNED = 0.9
"""Share of answers that are right at the training length, from which on a task counts as learned."""

HOLDS = 0.9
"""Share of answers that are right at a length, from which on a model counts as holding there."""

PIECE = 2**24
"""Bytes counted at once: NumPy widens each of them to eight."""

SINGLE = 16
"""Positions at the start of a window that are never averaged: there the loss falls steeply."""


class Mean(NamedTuple):
    """A mean over windows, its standard error (None for one window), and how many windows there were."""

    mean: float
    se: float | None
    count: int


class Reach(NamedTuple):
    """The largest length that holds; `censored` when every measured one does, so that it may hold further still."""

    length: int
    censored: bool


class Bin(NamedTuple):
    """Mean loss of the positions `first .. last` of a window; `position` is their mean."""

    position: float
    first: int
    last: int
    loss: float
    se: float | None
    windows: int


def mean(values: np.ndarray) -> Mean:
    """Mean and standard error, `sd / sqrt(count)`, of one number a window, `[windows]`.

    Windows of one text are taken as independent. Those of one play are alike, so the error is a lower bound for
    what another set of plays would give.
    """
    values = np.asarray(values, dtype=np.float64)
    se = float(values.std(ddof=1) / math.sqrt(len(values))) if len(values) > 1 else None
    return Mean(float(values.mean()), se, len(values))


def unigram(train: Sequence[bytes], scored: Sequence[bytes]) -> float | None:
    """The loss on `scored`, in nats per byte, of a model that knows only how often each byte occurs in `train`.

    Every byte counts once more than it occurs, so that one which `train` lacks has a loss. None without a byte to
    score.
    """
    known, asked = _occurrences(train), _occurrences(scored)
    if not asked.sum():
        return None
    known += 1
    return float(asked @ (np.log(known.sum()) - np.log(known)) / asked.sum())


def unigram_loss(record: Mapping[str, Any]) -> float | None:
    """That loss on the text that the run was measured on; None where its record does not say, as older ones do not."""
    losses = (record.get("data") or {}).get("unigram_loss") or {}
    return losses.get((record["experiment"].get("measure") or {}).get("part"))


def has_answers(record: Mapping[str, Any]) -> bool:
    """Whether a record is of a task with answers, and not of text."""
    return record["experiment"]["task"].get("kind") == "problem"


def judged_by_loss(record: Mapping[str, Any]) -> bool:
    """Whether a record is of a task with answers of which few are right as a whole, as masked text has them."""
    return has_answers(record) and (record.get("data") or {}).get("learned", LEARNED) is None


def learned(record: Mapping[str, Any], tolerance: float = TOLERANCE) -> bool | None:
    """Whether a run knows, at the training length, what it was trained for. One that does not has no reach.

    On text, and on tasks that are judged by their loss: whether that is more than `tolerance` below that of byte
    frequencies; a run of which that is not so could forget all it knows and still count as holding. On other tasks with
    answers: whether at least as many of them are right as the task asks for, LEARNED where it does not say. None where
    that is not known.
    """
    here = [row for row in record["lengths"] if row["length"] == record["experiment"]["training"]["length"]]
    if has_answers(record) and not judged_by_loss(record):
        exact = here[0].get("exact") if here else None
        return None if exact is None else exact >= (record.get("data") or {}).get("learned", LEARNED)
    baseline = unigram_loss(record)
    loss = here[0].get("loss" if has_answers(record) else "paired_loss") if here else None
    return None if baseline is None or loss is None else loss < baseline - tolerance


def bits(nats: float) -> float:
    return nats / math.log(2)


def wilson(right: int, count: int) -> float:
    """The standard error of a share `right / count`: half the width of its Wilson interval of one standard error.

    Unlike that of the binomial it is not zero where all or none are right.
    """
    share = right / count
    return math.sqrt(share * (1 - share) / count + 1 / (4 * count * count)) / (1 + 1 / count)


def perplexity(nats: float) -> float | None:
    """exp of a loss; None where a float cannot hold it."""
    return math.exp(nats) if nats < 700 else None


def edges(length: int, training_length: int, bins: int = 64) -> list[int]:
    """Where the bins of a window begin, and its end: single positions first, then about `bins` equal bins.

    The training length is always an edge, so that no bin mixes positions that were trained with some that were not.
    """
    width = -(-length // bins)
    found = {*range(min(SINGLE, length)), *range(-(-SINGLE // width) * width, length, width), length}
    return sorted(found | ({training_length} if training_length < length else set()))


def by_position(losses: np.ndarray, training_length: int) -> list[Bin]:
    """Loss by position from the loss of every token of every window, `[windows, n]`.

    Position p, from 0, is the place of the last token that the prediction has seen: it has seen p + 1 of them.
    """
    found = []
    bounds = edges(losses.shape[1], training_length)
    for first, end in zip(bounds, bounds[1:], strict=False):
        loss, se, windows = mean(losses[:, first:end].mean(axis=1))
        found.append(Bin((first + end - 1) / 2, first, end - 1, loss, se, windows))
    return found


def paired(losses: np.ndarray, reference: np.ndarray) -> Mean:
    """Mean difference of the same targets' losses, both `[windows]`: its error is that of the differences."""
    return mean(np.asarray(losses, dtype=np.float64) - np.asarray(reference, dtype=np.float64))


def reach(
    lengths: Sequence[Mapping[str, Any]], training_length: int, tolerance: float = TOLERANCE, by_loss: bool = False
) -> Reach:
    """How far a model holds: the largest measured length L such that the paired loss of every measured length from
    the training length to L is at most `tolerance` nats above that at the training length.

    On a task with answers: the largest up to which at least HOLDS of the answers are right, at every measured length
    from the training length on; `by_loss`: up to which the loss is at most `tolerance` above that there.

    `lengths` are those of a record. One that was refused, or has no finite loss, ends the reach. Without a measurement
    at the training length there is no reach: OptionError.
    """
    past = sorted((entry for entry in lengths if entry["length"] >= training_length), key=lambda entry: entry["length"])
    if not past or past[0]["length"] != training_length or past[0]["status"] != "measured":
        raise OptionError(
            "reach needs the loss at the training length",
            given=", ".join(f"{e['length']} {e['status']}" for e in lengths) or "no lengths",
            allowed=f"a measurement at {training_length}",
        )
    holds, start = training_length, past[0]["loss"] if by_loss else None
    for entry in past:
        if entry["status"] != "measured" or not _holds(entry, tolerance, start):
            return Reach(holds, censored=False)
        holds = entry["length"]
    return Reach(holds, censored=True)


def _holds(entry: Mapping[str, Any], tolerance: float, start: float | None) -> bool:
    if start is not None:
        return entry["loss"] <= start + tolerance
    return entry["exact"] >= HOLDS if "exact" in entry else entry["paired_excess"] <= tolerance


def _occurrences(documents: Sequence[bytes]) -> np.ndarray:
    """How often each byte occurs, `[256]`."""
    counts = np.zeros(256, dtype=np.int64)
    for document in documents:
        for first in range(0, len(document), PIECE):
            counts += np.bincount(np.frombuffer(document[first : first + PIECE], dtype=np.uint8), minlength=256)
    return counts
