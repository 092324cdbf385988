"""Workers on a Ray cluster: each run on a node that has room for it, and elsewhere from its checkpoint if that is lost.

The store is a folder that every node sees under the same path. Ray finds the place; a worker is the same process as
on one machine, started by an agent (`gnomon.lab.agent`), so it gives the same numbers.
"""

import os
import socket
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from gnomon.errors import OptionError, UserError
from gnomon.lab import shared
from gnomon.lab.agent import Agent, Place, versions
from gnomon.lab.events import Event
from gnomon.lab.experiment import Experiment
from gnomon.lab.files import writing
from gnomon.lab.machine import MEMORY, most_threads
from gnomon.lab.spawn import task
from gnomon.lab.store import Store
from gnomon.lab.wire import End
from gnomon.lab.workers import Exit, Mailbox, Message

Node = Mapping[str, float]
"""What a node has of each of Ray's resources."""

LOOK = 5.0
"""Seconds until we look again at which nodes there are."""

JOIN = "ray start --head on one machine, ray start --address=HOST:6379 on the others, and this command on one of them"


class Cluster:
    """Workers on the nodes of the Ray cluster that this machine, or RAY_ADDRESS, belongs to.

    asked: runs at once; None: as many as have room. runs: how many there are to make. OptionError on entering where
    there is no Ray, no cluster or no room.
    """

    retries, delay = 3, shared.DELAY

    def __init__(self, store: Store, settings: Mapping[str, Any], asked: int | None, runs: int):
        self.store, self.settings = store, settings
        self.asked, self.runs = asked, runs
        self.threads, self.gpus = 1, False
        self.running: dict[str, Any] = {}
        self._where: dict[str, str] = {}
        self._messages = Mailbox()
        self._joined = False
        self._count, self._looked = 1, 0.0

    def __enter__(self) -> "Cluster":
        self._joined = _join()

        nodes = _nodes()
        self.gpus = not self.settings["cpu"] and any(node.get("GPU", 0) >= 1 for node in nodes)
        self.threads = share(nodes, min(self.asked or self.runs, self.runs), self.gpus, most_threads())
        return self

    @property
    def count(self) -> int:
        """As asked, or else as many as have room among the nodes that there are now: some come, and some go."""
        if self.asked is not None:
            return min(self.asked, self.runs)
        if time.monotonic() >= self._looked + LOOK:
            self._count = max(1, _room(_nodes(), self.threads, self.gpus))
            self._looked = time.monotonic()
        return min(self._count, self.runs)

    def __exit__(self, *error: object) -> None:
        import ray

        for agent in self.running.values():
            ray.kill(agent)  # and what it has started with it
        if self._joined:
            ray.shutdown()

    def start(self, experiment: Experiment) -> None:
        import ray

        self.store.make()
        hash, log = experiment.hash, self.store.log(experiment.hash).absolute()
        with writing(log):
            log.open("wb").close()  # by which an agent knows the store
        told = task(experiment, self.store, self.threads, self.settings, os.getcwd())
        room = {"num_cpus": self.threads, "num_gpus": int(self.gpus), "memory": MEMORY}
        # Two threads: one hears the worker, the other may stop it.
        remote = ray.remote(Agent).options(**room, max_concurrency=2, scheduling_strategy="SPREAD")
        agent = self.running[hash] = remote.remote(told, str(log), versions())
        said = agent.messages.options(num_returns="streaming").remote()
        self._messages.listen(hash, self._said(hash, said))

    def next(self, timeout: float) -> Message | None:
        import ray

        message = self._messages.next(timeout)
        if message is not None and isinstance(message.said, Exit):
            ray.kill(self.running.pop(message.hash))  # a node that only seems to be lost may still be at work
            self._where.pop(message.hash, None)
        return message

    def stop(self) -> None:
        import ray

        for hash, agent in self.running.items():
            if hash in self._where:
                agent.stop.remote()
            else:
                ray.kill(agent)  # it waits for room, and would for ever

    def _said(self, hash: str, agent: Iterable[Any]) -> Iterator[Event | End | Exit]:
        """What an agent says, with the node, or how the agent was lost; for a thread of its own."""
        import ray
        from ray.exceptions import RayError

        try:
            for each in agent:
                told = ray.get(each)
                if isinstance(told, Place):
                    self._where[hash] = _named(told)
                elif isinstance(told, Event):
                    yield replace(told, node=self._where[hash])
                elif isinstance(told, Exit):
                    yield replace(told, reason=f"{told.reason}, on {self._where[hash]}")
                else:
                    yield told
        except RayError as error:
            yield self._lost(hash, error)

    def _lost(self, hash: str, error: Exception) -> Exit:
        from ray.exceptions import RayActorError, RayTaskError

        where = self._where.get(hash)
        cause = error.cause if isinstance(error, RayTaskError) else None
        if isinstance(cause, UserError):
            return Exit(cause.asked, error=cause)
        if isinstance(error, RayActorError) and error.actor_init_failed:
            do = "install the same on every node: pip install -c constraints.txt '.[ray]'"
            given = str(error).strip().splitlines()[-1]
            return Exit(given, error=OptionError("a node of the cluster cannot load gnomon", given=given, do=do))
        named = "before it began" if where is None else f"on {where}"
        return Exit(f"its worker was lost {named}", lost=True, begun=where is not None)


def share(nodes: Sequence[Node], runs: int, gpus: bool, most: int) -> int:
    """The threads of each run, at most `most`: as many as leave the runs, or all that have room at once, their places.

    OptionError where no run has room.
    """
    room = _room(nodes, 1, gpus)
    if not room:
        given = "; ".join(
            f"{node.get('CPU', 0):g} CPUs, {node.get('memory', 0) / 2**30:.1f} GiB of memory" for node in nodes
        )
        raise OptionError(
            "no node of the cluster has room for a run",
            given=given,
            allowed=f"1 CPU and {MEMORY / 2**30:g} GiB for each" + (", and 1 GPU" if gpus else ""),
            do="add a node: ray start --address=HOST:6379, with --num-cpus or --memory where it says too little",
        )
    widest = min(most, int(max(node.get("CPU", 0) for node in nodes)))
    return max(threads for threads in range(1, widest + 1) if _room(nodes, threads, gpus) >= min(runs, room))


def _room(nodes: Sequence[Node], threads: int, gpus: bool) -> int:
    """How many runs of so many threads, and a GPU each where there are some, these nodes hold at once."""
    wanted = {"CPU": threads, "memory": MEMORY, **({"GPU": 1} if gpus else {})}
    return sum(int(min(node.get(name, 0) // amount for name, amount in wanted.items())) for node in nodes)


def _nodes() -> list[Node]:
    import ray

    return [node["Resources"] for node in ray.nodes() if node["Alive"]]


def _join() -> bool:
    """Become part of the cluster; False where this process is already."""
    try:
        import ray
    except ImportError as error:
        do = "pip install -c constraints.txt '.[ray]', here and on every node; `gnomon doctor` shows what is installed"
        raise OptionError("--engine ray needs the package ray", given=str(error), do=do) from error
    if ray.is_initialized():
        return False
    address = os.environ.get("RAY_ADDRESS")
    if address and address.startswith("ray://"):
        do = "give the command on a machine of the cluster, with RAY_ADDRESS=HOST:6379 or without"
        raise OptionError("a sweep is led from within the cluster", given=f"RAY_ADDRESS={address}", do=do)
    if address and not _answers(address):
        raise OptionError("there is no Ray cluster to join", given=f"nothing answers at RAY_ADDRESS={address}", do=JOIN)
    try:
        ray.init("auto", log_to_driver=False, logging_level="error")
    except ConnectionError as error:
        given = f"RAY_ADDRESS={address}" if address else "no cluster runs on this machine, and RAY_ADDRESS names none"
        raise OptionError("there is no Ray cluster to join", given=given, do=JOIN) from error
    except RuntimeError as error:
        given = " ".join(str(error).split())
        raise OptionError("the Ray cluster cannot be joined", given=given, do=JOIN) from error
    # What the daemon of a dying node says would come between our lines, and Ray has no option against it.
    ray._private.worker._worker_logs_enabled = False
    return True


def _answers(address: str) -> bool:
    """Whether something listens at HOST:PORT: Ray itself would try for minutes. True for what has another form."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit():
        return True
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=LOOK).close()
    except (OSError, OverflowError):
        return False
    return True


def _named(place: Place) -> str:
    """What people call a node: the name it was given, or that of its machine; with its number where two are alike."""
    import ray

    nodes = {each["NodeID"]: each for each in ray.nodes()}
    names = {id: _name(each) for id, each in nodes.items() if each["Alive"]}
    name = names.get(place.node, place.host)
    return name if sum(other == name for other in names.values()) < 2 else f"{name}/{place.node[:6]}"


def _name(node: Mapping[str, Any]) -> str:
    given = node["NodeName"]
    return given if given and given != node["NodeManagerAddress"] else node["NodeManagerHostname"]
