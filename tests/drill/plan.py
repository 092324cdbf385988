"""What a drill runs: a sweep of toy runs, plain or tuned, as a user gives it to `gnomon compare`."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.drill import counted
from tests.lab.toys import write_text

PLAN = """
from gnomon.lab.experiment import Measure, Model, Text, Training
from gnomon.lab.presets import sweep
from gnomon.lab.tuning import Tuning

EXPERIMENTS = sweep(
    {encodings},
    seeds={seeds},
    task=Text({text!r}),
    model=Model(width=16, depth=1, heads=2, dropout=0.1),
    training=Training(steps={steps}, batch=4, length=16),
    measure=Measure(lengths=(8, 16, 32), bytes=512, pairs=8, targets=4),
)
TUNING = {tuning}
"""

PLANS = {
    "plain": {"encodings": ["Learned", "Rope", "T5"], "seeds": (0, 1), "tuning": None},
    "tuned": {"encodings": ["Rope", "Alibi"], "seeds": (0,), "tuning": "Tuning(rates=(1e-3, 3e-3))"},
}
"""Six runs; two runs, and four trials before them, in the store within the store."""

SMALL = {"small": {"encodings": ["Learned"], "seeds": (0,), "tuning": "Tuning(rates=(1e-3, 3e-3))"}}
"""Two trials and one run."""


def write(folder: Path, plans: Mapping[str, Mapping[str, Any]], steps: int) -> dict[str, Path]:
    """Plans as files of a folder, with the text that they read, and the encodings, which count the steps there."""
    text, file = str(write_text(folder)), shutil.copy(counted.__file__, folder)
    (folder / counted.STEPS).mkdir()
    for name, plan in plans.items():
        encodings = [f"{file}:{encoding}" for encoding in plan["encodings"]]
        (folder / f"{name}.py").write_text(PLAN.format(**plan | {"encodings": encodings}, text=text, steps=steps))
    return {name: folder / f"{name}.py" for name in plans}
