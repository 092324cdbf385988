"""A handful of worker processes, each making one run, and the messages they send."""

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from typing import Any, NamedTuple

from gnomon.lab.experiment import Experiment
from gnomon.lab.files import writing
from gnomon.lab.store import Store

WORKER = "import sys; sys.path[:] = {path!r}; from gnomon.lab.worker import main; sys.exit(main())"
"""A worker finds its modules where this process found them, wherever that is."""


class Message(NamedTuple):
    """One line of a worker; `content` is None when the worker has ended."""

    hash: str
    content: dict[str, Any] | None


class Pool:
    """Starts workers and collects their messages. Leaving the `with` block ends every worker that is left."""

    def __init__(self, store: Store, settings: Mapping[str, Any], threads: int):
        self.store, self.settings, self.threads = store, settings, threads
        self.running: dict[str, subprocess.Popen] = {}
        self._messages: queue.SimpleQueue[Message] = queue.SimpleQueue()

    def start(self, experiment: Experiment, device: str | None = None) -> None:
        """Begin one run, on one GPU where `device` names it as CUDA_VISIBLE_DEVICES does."""
        hash = experiment.hash
        # Not multiprocessing: a worker must not run the caller's script again, which may lack a main guard.
        with writing(self.store.log(hash)):
            log = self.store.log(hash).open("wb")
        with log:
            worker = subprocess.Popen(
                [sys.executable, "-P", "-c", WORKER.format(path=sys.path)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=self._environment(device),
                # Ctrl-C at a terminal reaches every process of the group; only we are to act on it.
                start_new_session=True,
            )
        self.running[hash] = worker
        task = {
            "experiment": experiment.to_json(),
            "store": str(self.store.path),
            "threads": self.threads,
            "settings": dict(self.settings),
        }
        # One that has died already cannot read; its end will be reported.
        with contextlib.suppress(BrokenPipeError):
            worker.stdin.write(json.dumps(task).encode() + b"\n")
            worker.stdin.flush()
        threading.Thread(target=self._listen, args=(hash, worker), daemon=True).start()

    def next(self, timeout: float) -> Message | None:
        """The next message of any worker, or None after `timeout` seconds without one."""
        try:
            return self._messages.get(timeout=timeout)
        except queue.Empty:
            return None

    def end(self, hash: str) -> tuple[int, str]:
        """Once a worker has ended: its exit code, negative for a signal, and the last line of its log."""
        code = self.running.pop(hash).wait()
        try:
            lines = self.store.log(hash).read_text(errors="replace").strip().splitlines()
        except OSError:
            lines = []
        return code, lines[-1] if lines else ""

    def stop(self) -> None:
        """Ask every worker to stop after a checkpoint."""
        for worker in self.running.values():
            worker.send_signal(signal.SIGTERM)

    def __enter__(self) -> "Pool":
        self.store.make()  # workers open it
        return self

    def __exit__(self, *error: object) -> None:
        for worker in self.running.values():
            worker.kill()
            worker.wait()

    def _listen(self, hash: str, worker: subprocess.Popen) -> None:
        with worker.stdout as lines:
            for line in lines:
                # The last line of a worker that was killed may be cut off.
                with contextlib.suppress(ValueError):
                    self._messages.put(Message(hash, json.loads(line)))
        self._messages.put(Message(hash, None))

    def _environment(self, device: str | None) -> dict[str, str]:
        threads = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), str(self.threads))
        made = {**os.environ, **threads}
        return made if device is None else {**made, "CUDA_VISIBLE_DEVICES": device}
