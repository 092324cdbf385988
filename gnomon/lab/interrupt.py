"""Ctrl-C and SIGTERM: a sweep that is stopped goes on later. No torch here."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Interrupted(KeyboardInterrupt):
    """The sweep was stopped after checkpoints, `ended` runs having a record; the same command goes on from there."""

    def __init__(self, ended: int, total: int):
        self.ended, self.total = ended, total
        super().__init__(f"stopped after {ended} of {total} runs; the same command goes on where it stopped")


@contextmanager
def handling(handler: Callable[[int, object], None], *signals: signal.Signals) -> Iterator[None]:
    """Let `handler` have the signals for a while; nothing outside the main thread, where Python hears none."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, handler) for number in signals}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)


@contextmanager
def flagged() -> Iterator[Callable[[], bool]]:
    """The first SIGTERM or Ctrl-C raises nothing: the function that is yielded says True from then on.

    So nothing is cut off half-way. A second one, from someone who will not wait, is a KeyboardInterrupt.
    """
    heard = threading.Event()

    def hear(number: int, frame: object) -> None:
        if heard.is_set():
            raise KeyboardInterrupt
        heard.set()

    with handling(hear, signal.SIGTERM, signal.SIGINT):
        yield heard.is_set
