"""Results of experiments with numbers that are made up, as `gnomon results --export` writes real ones."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gnomon.claims import experiments
from gnomon.lab.experiment import Experiment, Measure, Model, Problem, Text, Training, hash_of
from gnomon.lab.parts import canonical
from gnomon.lab.store import FORMAT

TRAINED = 32
GUESS = 3.3
"""Loss of byte frequencies."""
HERE = {"processor": "made up", "cores": 2, "threads": 1, "device": "cpu", "torch": "2"}


def record(
    encoding: str,
    seed: int,
    lengths: Mapping[int, Mapping[str, Any]],
    task: Text | Problem = Text(digest="0" * 64),
    *,
    options: Mapping[str, Any] | None = None,
    model: Model = Model(),
    steps: int = 100,
    trained: int = TRAINED,
    status: str = "finished",
    environment: Mapping[str, Any] = HERE,
    ms: float = 1.0,
    parameters: int = 0,
    **more: Any,
) -> dict[str, Any]:
    """The record of one run; `lengths`: numbers by length, or a word that says why there are none."""
    experiment = Experiment(
        encoding, options or {}, task, model, Training(steps=steps, length=trained), Measure(tuple(lengths)), seed
    )
    told = experiment.to_json()
    return {
        "format": FORMAT,
        "hash": hash_of(told),
        "experiment": told,
        "label": experiment.label,
        "status": status,
        "reason": None,
        "data": {"name": "made up", "unigram_loss": {"test": GUESS}},
        "parameters": {"total": 1000, "encoding": parameters},
        "lengths": [
            {"length": length, **({"status": each} if isinstance(each, str) else {"status": "measured", **each})}
            for length, each in lengths.items()
        ],
        "cost": {"ms_per_step": ms},
        "environment": dict(environment),
        **more,
    }


def whole(record: Mapping[str, Any]) -> dict[str, Any]:
    """The record with what every record has to say, where a test leaves it out since nothing reads it."""
    variants = [each | {"lengths": [_row(row) for row in each["lengths"]]} for each in record.get("variants", ())]
    cost = {"ms_per_step": None, "peak_memory_bytes": None} | record["cost"]
    lengths = [_row(row) for row in record["lengths"]]
    return {**record, "format": FORMAT, "cost": cost, "lengths": lengths, "variants": variants}


def _row(row: Mapping[str, Any]) -> dict[str, Any]:
    measured = {"loss": 1.0, "exact": 1.0} if row["status"] == "measured" else {}
    groups = [{"trained": False, "examples": 1, "token_accuracy": 1.0} | each for each in row.get("groups") or ()]
    return measured | row | {"groups": groups}


def text(
    encoding: str, seed: int, rise: float, far: float | None = None, loss: float = 2.0, **more: Any
) -> dict[str, Any]:
    """A run on text whose loss rises at twice and at eight times the training length."""
    rises = {1: 0.0, 2: rise, 8: 2 * rise if far is None else far}
    lengths = {n * TRAINED: {"paired_loss": loss + each, "paired_excess": each} for n, each in rises.items()}
    return record(encoding, seed, lengths, **more)


def texts(rises: Mapping[str, Sequence[float]], **more: Any) -> list[dict[str, Any]]:
    """Such runs of several encodings, a rise for each seed."""
    return [text(name, seed, rise, **more) for name, each in rises.items() for seed, rise in enumerate(each)]


def right(
    task: Problem,
    encoding: str,
    seed: int,
    shares: Mapping[int, float],
    groups: Sequence[tuple[int, str, float]] = (),
    **more: Any,
) -> dict[str, Any]:
    """A run on a task with answers: the share that is right by length; in `groups`, by length and group."""
    rows = {
        length: {
            "exact": share,
            "groups": [{"name": name, "trained": True, "exact": each} for at, name, each in groups if at == length],
        }
        for length, share in shares.items()
    }
    return record(encoding, seed, rows, task, **more)


def keep(folder: Path, **found: Sequence[Mapping[str, Any]]) -> None:
    """Write the records of each experiment where `experiments.FOLDER` is to be."""
    for name, records in found.items():
        (folder / name).mkdir(parents=True, exist_ok=True)
        ordered = sorted(map(whole, records), key=lambda each: (each["label"], experiments.seed(each)))
        (folder / name / "records.jsonl").write_text("".join(f"{canonical(each)}\n" for each in ordered))
