"""A stream whose words may be lost: what is said on it is for people, and no work ends because nobody hears it."""

from collections.abc import Callable, Iterable
from typing import Any, TextIO


class Lossy:
    """Writes to a stream until it takes no more, as a pipe without a reader or a full disk does; then to nothing.

    What the stream has besides is its own.
    """

    def __init__(self, stream: TextIO):
        self.stream = stream
        self.lost = False
        """Whether the stream takes no more."""

    def write(self, text: str) -> int:
        self._try(lambda: self.stream.write(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        self._try(self.stream.flush)

    def _try(self, say: Callable[[], Any]) -> None:
        if self.lost:
            return
        try:
            say()
        except UnicodeError:  # a letter that it lacks: what comes next may be said
            pass
        except (OSError, ValueError):  # a stream that was closed raises the latter
            self.lost = True

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)
