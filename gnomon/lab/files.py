"""Files that are there whole or not at all, whenever the machine stops."""

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from safetensors import SafetensorError

from gnomon.errors import StoreError


def replace_file(path: Path, write: Callable[[Path], object]) -> None:
    """Have `write` fill a new file beside `path`, bring it to disk, and give it the name in one step.

    Where `path` is a link, the file that it leads to is replaced. StoreError for what is no regular file.
    """
    path = path.resolve()
    if path.exists() and not path.is_file():
        raise StoreError("only a file can be written anew", given=str(path), do="name another file")
    with writing(path):
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f"{path.name}.", suffix=".tmp")
        os.close(handle)
        temporary = Path(name)
        try:
            write(temporary)
            sync(temporary)
            os.replace(temporary, path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        sync(path.parent)


def sync(path: Path) -> None:
    """Bring a file, or the names in a folder, to disk."""
    if path.is_dir() and os.name == "nt":
        return
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """A disk that is full or read-only is a StoreError that says so."""
    try:
        yield
    except (OSError, SafetensorError) as error:
        where, why = (error.filename, error.strerror) if isinstance(error, OSError) else (None, None)
        raise StoreError(
            "the store cannot be written",
            given=f"{where or path}: {why or error}",
            do="make room, or choose a folder that can be written",
        ) from error
