"""On a node of a Ray cluster: starts the worker of one run there, and passes on what it says. No torch here."""

import socket
import sys
import threading
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import gnomon
from gnomon.errors import OptionError, StoreError
from gnomon.lab import spawn
from gnomon.lab.events import Event
from gnomon.lab.wire import End
from gnomon.lab.workers import Exit

SHARED = "give it a path that every node sees as the same folder, on a shared file system: --store FOLDER"


def versions() -> dict[str, str]:
    """What must be the same everywhere: runs by two versions of these are no comparison."""
    return {"gnomon": gnomon.__version__, "torch": version("torch").partition("+")[0]}


class Place(NamedTuple):
    """Where an agent is: the number that Ray has given the node, and the name of the machine."""

    node: str
    host: str


class Agent:
    """One run on this node. Ray calls the methods from threads of its own, `stop` while `messages` goes on.

    task: as the worker reads it, with a `folder`. log: the file of its stderr, which lies in the store already.
    wanted: the `versions` of the process that has the sweep.
    """

    def __init__(self, task: Mapping[str, Any], log: str, wanted: Mapping[str, str]):
        self.task, self.log, self.wanted = task, Path(log), wanted
        self.worker: spawn.Process | None = None
        self._stopped, self._turn = False, threading.Lock()

    def messages(self) -> Iterator[Place | Event | End | Exit]:
        """Where this is, then what is heard of the worker. UserError where no run can be made here."""
        place = Place(_node(), socket.gethostname())
        yield place
        self._check(place)
        with self._turn:
            if not self._stopped:
                self.worker = spawn.begin(self.task, self.log, _path())
        if self.worker is None:
            yield Exit("it was stopped before it began", lost=True, stopped=True, begun=False)
        else:
            yield from spawn.said(self.worker, self.log)

    def stop(self) -> None:
        """Ask the worker to stop after a checkpoint; where there is none yet, there will be none."""
        with self._turn:
            self._stopped = True
            if self.worker is not None:
                self.worker.terminate()

    def _check(self, place: Place) -> None:
        here, who = versions(), f"{place.host}, node {place.node}"
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
