"""Weights and checkpoints are safetensors; nothing that is read is code, but what the user has named as code."""

import ast
import os
import pickle
from pathlib import Path

import pytest
import torch

import gnomon
from gnomon.cli import main
from gnomon.lab.run import Settings
from gnomon.lab.store import WEIGHTS, Store
from tests.fuzz.watched import Finding, guarding, inside
from tests.lab.toys import STEPS, make, toy, vouch

MODULES = sorted(Path(gnomon.__file__).parent.rglob("*.py"))
UNPICKLE = {"pickle", "cPickle", "_pickle", "dill", "cloudpickle", "joblib", "shelve", "marshal", "jsonpickle", "yaml"}
CALLS = {"torch.load", "torch.save", "torch.jit.load", "torch.package", "pandas.read_pickle"}
ARRAYS = {"np.load", "numpy.load"}
"""They unpickle where they are allowed to."""
CODE = {"eval", "exec", "compile", "__import__"}
RUNS_CODE = {"user_code.py"}
"""Files that run what a user has named as code."""


def calls(tree: ast.AST) -> set[str]:
    return {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}


def imported(tree: ast.AST) -> set[str]:
    """The packages that a file imports anywhere in it."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add((node.module or "").split(".")[0])
    return found


def test_no_module_unpickles_or_runs_text():
    for path in MODULES:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        assert not imported(tree) & UNPICKLE, path
        assert not calls(tree) & CALLS, path
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ARRAYS:
                assert "allow_pickle=False" in ast.unparse(node), path
        assert path.name in RUNS_CODE or not calls(tree) & CODE, path


class Bomb:
    """What runs when it is unpickled."""

    def __init__(self, mark: Path):
        self.mark = mark

    def __reduce__(self):
        return os.mkdir, (str(self.mark),)


def test_a_pickle_in_the_place_of_weights_is_not_opened(text: Path, tmp_path: Path, capsys):
    experiment, runs, mark = toy(text), tmp_path / "runs", tmp_path / "exploded"
    make(experiment, runs)
    store = Store(runs)
    for write in (
        lambda file: torch.save({"weight": Bomb(mark)}, file),
        lambda file: file.write_bytes(pickle.dumps(Bomb(mark))),
    ):
        write(store.folder(experiment.hash) / WEIGHTS)
        vouch(store.folder(experiment.hash))
        for line in (["probe", "--store", "runs"], ["results", "runs", "--verify"], ["report", "runs"]):
            with inside(tmp_path), guarding(tmp_path):
                assert main(line) == {"probe": 2, "results": 1, "report": 2}[line[0]]
            assert not mark.exists()
    told = capsys.readouterr()
    assert "cannot be read" in told.out and told.err.count("the weights of a run are damaged") == 4


def test_a_pickle_in_the_place_of_a_checkpoint_is_not_opened(text: Path, tmp_path: Path):
    """Training begins anew, and a run from its start to its record unpickles nothing."""
    experiment, runs, mark = toy(text, steps=STEPS), tmp_path / "runs", tmp_path / "exploded"
    store = Store(runs, create=True)
    store.make()
    torch.save({"state": Bomb(mark)}, store.checkpoint(experiment.hash))
    with guarding(tmp_path):
        assert make(experiment, runs, Settings(checkpoint_seconds=0.0)) == "written"
    assert not mark.exists() and store.record(experiment.hash)["status"] == "finished"


def test_the_guard_would_see_it(tmp_path: Path):
    with pytest.raises(Finding, match="unpickled"), guarding(tmp_path):
        pickle.loads(pickle.dumps(Bomb(tmp_path / "exploded")))
    assert not (tmp_path / "exploded").exists()
