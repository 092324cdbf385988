"""One run by two processes of `accelerate launch`: the curve of one process within rounding, one record, both end."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gnomon.errors import OptionError
from gnomon.lab import engine
from gnomon.lab.store import Store
from tests.lab.toys import make, toy

ROOT = Path(__file__).resolve().parents[2]
RANK = r"""
import json, sys
from gnomon.lab import engine
from gnomon.lab.experiment import Experiment
records = engine.run([Experiment.from_json(e) for e in json.loads(sys.argv[2])], sys.argv[1], cpu=True)
sys.stdout.write(" ".join(record["status"] for record in records) + "\n")  # whole: two processes share the pipe
"""


def launch(folder: Path, experiments: list) -> list[str]:
    """The lines that two processes print, on CPUs, where gloo joins them."""
    (folder / "rank.py").write_text(RANK)
    # Under --cpu accelerate's launcher starts one process only; with this it starts two with or without GPUs.
    options = ["--multi_gpu", "--num_processes", 2, "--num_machines", 1, "--main_process_port", 0]
    words = [*options, "--mixed_precision", "no", "--dynamo_backend", "no", folder / "rank.py", folder / "two"]
    task = json.dumps([experiment.to_json() for experiment in experiments])
    done = subprocess.run(
        [Path(sys.executable).with_name("accelerate"), "launch", *map(str, words), task],
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_two_processes_train_as_one(text: Path, tmp_path: Path):
    experiments = [toy(text, "t5", seed=seed) for seed in range(2)]
    make(experiments[0], tmp_path / "two")
    assert launch(tmp_path, experiments) == ["finished finished"] * 2
    make(experiments[1], tmp_path / "one")
    one, two = Store(tmp_path / "one"), Store(tmp_path / "two")
    assert sorted(two.hashes()) == sorted(e.hash for e in experiments)
    hash = experiments[1].hash
    assert two.record(hash)["environment"]["processes"] == 2
    assert two.record(experiments[0].hash)["environment"]["processes"] == 1
    losses = [[row["loss"] for row in store.curve(hash)] for store in (one, two)]
    assert losses[1] == pytest.approx(losses[0], rel=1e-4)
    assert [row["loss"] for row in two.record(hash)["lengths"]] == pytest.approx(
        [row["loss"] for row in one.record(hash)["lengths"]], rel=1e-3
    )


def test_a_batch_that_the_processes_cannot_share_is_refused(text: Path, tmp_path: Path, monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "3")
    with pytest.raises(OptionError, match="share a batch equally"):
        engine.run([toy(text, batch=6), toy(text, batch=4)], tmp_path / "runs", cpu=True)
    assert not (tmp_path / "runs").exists()
