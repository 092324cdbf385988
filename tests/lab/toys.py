"""Runs that are over in a second, for the tests of the lab."""

import random
from pathlib import Path
from typing import Any

from gnomon.lab import corpus, sums
from gnomon.lab.experiment import Experiment, Measure, Model, Text, Training
from gnomon.lab.run import Outcome, Settings, run
from gnomon.lab.store import Store

STEPS = 24


def write_text(folder: Path, bytes: int = 60_000) -> Path:
    """A text of words in random order, the same every time."""
    words = (
        "the",
        "sun",
        "casts",
        "a",
        "shadow",
        "and",
        "gnomon",
        "turns",
        "an",
        "angle",
        "into",
        "hours",
        "of",
        "day",
    )
    draw = random.Random(1)
    path = folder / "text.txt"
    path.write_text(" ".join(draw.choice(words) for _ in range(bytes // 4))[:bytes])
    return path


def toy(text: Path, encoding: str = "rope", **changes: Any) -> Experiment:
    """A pinned experiment of a few hundred parameters; `changes` are those of Training, of Measure, or `options`."""
    training = {"steps": STEPS, "batch": 4, "length": 16, "learning_rate": 3e-3}
    measure = {"lengths": (8, 16, 32), "bytes": 512, "pairs": 8, "targets": 4}
    model = {"width": 16, "depth": 1, "heads": 2}
    parts = {}
    for kind, values in ((Training, training), (Measure, measure), (Model, model)):
        taken = {name: changes.pop(name) for name in list(changes) if name in kind.__dataclass_fields__}
        parts[kind.__name__.lower()] = kind(**values | taken)
    [pinned] = corpus.pin([Experiment(encoding, task=Text(str(text)), **parts, **changes)])
    return pinned


def make(experiment: Experiment, path: Path, settings: Settings = Settings()) -> Outcome:
    """One run in this process."""
    return run(experiment, Store(path, create=True), settings)


def vouch(folder: Path) -> None:
    """Make the sums of a run anew: what its files say is then what the run wrote, and not damage."""
    sums.write(folder / sums.NAME)


def results(store: Store, hash: str) -> dict[str, Any]:
    """What a run must give again to the bit: all that it found, and nothing of when and where."""
    record = store.record(hash)
    assert record is not None
    return {
        "experiment": record["experiment"],
        "lengths": record["lengths"],
        "losses": [row["loss"] for row in store.curve(hash)],
        "positions": store.positions(hash),
        "weights": store.weights(hash).read_bytes(),
    }
