"""On a node of a Ray cluster: starts the worker of one run there, and passes on what it says. No torch here."""

import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import gnomon
from gnomon.errors import OptionError, StoreError
from gnomon.lab import pool

SHARED = "give it a path that every node sees as the same folder, on a shared file system: --store FOLDER"


def versions() -> dict[str, str]:
    """What must be the same everywhere: runs by two versions of these are no comparison."""
    return {"gnomon": gnomon.__version__, "torch": version("torch").partition("+")[0]}


class Agent:
    """One run on this node. Ray calls the methods from threads of its own, `stop` while `messages` goes on.

    task: as the worker reads it, with a `folder`. log: the file of its stderr, which lies in the store already.
    wanted: the `versions` of the process that has the sweep.
    """

    def __init__(self, task: Mapping[str, Any], log: str, wanted: Mapping[str, str]):
        self.task, self.log, self.wanted = task, Path(log), wanted
        self.worker: subprocess.Popen | None = None

    def messages(self) -> Iterator[dict[str, Any]]:
        """Where this is, then what the worker says, then its exit code. UserError where no run can be made here."""
        node = _node()
        yield {"node": node, "host": socket.gethostname()}
        self._check(node)
        self.worker = pool.begin(self.task, self.log, _path())
        yield from pool.said(self.worker)
        yield {"code": self.worker.wait()}

    def stop(self) -> None:
        """Ask the worker to stop after a checkpoint."""
        if self.worker is not None:
            self.worker.terminate()

    def _check(self, node: str) -> None:
        here, who = versions(), f"{socket.gethostname()}, node {node}"
        for name, wanted in self.wanted.items():
            if here[name] != wanted:
                raise OptionError(
                    f"a node of the cluster has another version of {name}",
                    given=f"{here[name]} on {who}",
                    allowed=f"{wanted}, as where the command was given",
                    do="install the same on every node: pip install -c constraints.txt '.[ray]'",
                )
        if not self.log.is_file():
            raise StoreError(
                "a node of the cluster does not see the store", given=f"{self.task['store']} on {who}", do=SHARED
            )
        if not Path(self.task["folder"]).is_dir():
            raise OptionError(
                "a node of the cluster does not see the folder that the command was given in",
                given=f"{self.task['folder']} on {who}",
                do="give the command in a folder that every node sees: paths of texts and of code begin there",
            )


def _node() -> str:
    import ray

    return ray.get_runtime_context().get_node_id()


def _path() -> list[str]:
    """Where a worker finds modules: as this process does, but for copies of packages that Ray keeps for itself."""
    import ray

    own = Path(ray.__file__).parent
    return [entry for entry in sys.path if not Path(entry).is_relative_to(own)]
