"""One run by two processes: the curve of one process within rounding, one record, and both end."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from gnomon.lab.store import Store
from tests.lab.toys import make, toy

ROOT = Path(__file__).resolve().parents[2]
RANK = """
import json, sys
from gnomon.lab import engine
from gnomon.lab.experiment import Experiment
records = engine.run([Experiment.from_json(e) for e in json.loads(sys.argv[2])], sys.argv[1])
print(*[record["status"] for record in records])
"""


def launch(path: Path, experiments: list) -> list[subprocess.CompletedProcess]:
    """What `torchrun --nproc_per_node 2` does, without its own start."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    common = {"WORLD_SIZE": "2", "MASTER_ADDR": "localhost", "MASTER_PORT": str(port), "PYTHONPATH": str(ROOT)}
    common["OMP_NUM_THREADS"] = "1"
    task = [str(path), json.dumps([experiment.to_json() for experiment in experiments])]
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", RANK, *task],
            env={**os.environ, **common, "RANK": str(rank), "LOCAL_RANK": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    return [
        subprocess.CompletedProcess(process.args, process.wait(), *process.communicate(timeout=120))
        for process in processes
    ]


def test_two_processes_train_as_one(text: Path, tmp_path: Path):
    experiments = [toy(text, "t5", seed=seed) for seed in range(2)]
    make(experiments[0], tmp_path / "two")
    done = launch(tmp_path / "two", experiments)
    assert [process.returncode for process in done] == [0, 0], done[0].stderr + done[1].stderr
    assert [process.stdout.split() for process in done] == [["finished", "finished"]] * 2
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
