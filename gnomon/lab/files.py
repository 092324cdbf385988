"""Files that are there whole or not at all, whenever the machine stops."""

import errno
import os
import secrets
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from safetensors import SafetensorError

from gnomon.errors import StoreError

STORE = "the store"

REMOVED = "its folder was removed meanwhile: run the same command again, and what was in it is made anew"
"""What to do where a store has gone."""

TRIES = 3
"""How often something is written whose unfinished form is cleared away meanwhile."""


def replace_file(path: Path, write: Callable[[Path], object], what: str = STORE) -> None:
    """Have `write` fill a new file beside `path`, bring it to disk, and give it the name in one step.

    Where `path` is a link, the file that it leads to is replaced. Who may read it, the umask says. StoreError for what
    is no regular file, and where it cannot be written; `what` it is of is said then.
    """
    path = path.resolve()
    if path.exists() and not path.is_file():
        raise StoreError("only a file can be written anew", given=str(path), do="name another file")

    def begin() -> Path:
        temporary = path.with_name(f"{path.name}.{secrets.token_hex(4)}.tmp")
        temporary.touch(exist_ok=False)
        return temporary

    def end(temporary: Path) -> None:
        fill(temporary, write)
        os.replace(temporary, path)

    with writing(path, what):
        whole(begin, end)
        sync(path.parent)


def fill(path: Path, write: Callable[[Path], object]) -> None:
    """Have `write` fill a file and bring it to disk. Others may read it where the umask lets them.

    What writes safetensors puts a file of its own in the place, which nobody else may read.
    """
    path.touch()
    mode = stat.S_IMODE(path.stat().st_mode)
    write(path)
    if stat.S_IMODE(path.stat().st_mode) != mode:
        path.chmod(mode)
    sync(path)


def whole(begin: Callable[[], Path], end: Callable[[Path], None]) -> None:
    """Have `begin` make something unfinished, and `end` fill it and give it its name; nothing stays of what fails.

    Both are asked again where the unfinished thing has been cleared away: where locks cannot be relied on, two
    processes make one run, and each takes what the other is writing for something that a dead one has left.
    """
    for left in reversed(range(TRIES)):
        temporary = begin()
        try:
            end(temporary)
            return
        except BaseException as error:
            cleared = not temporary.exists() and temporary.parent.is_dir()
            _drop(temporary)
            if not (left and cleared and isinstance(error, OSError | SafetensorError)):
                raise


def clear(path: Path) -> None:
    """Remove what was left unfinished. It first loses its name: who writes it still can then not give it another."""
    aside = beside(path)
    with suppress(FileNotFoundError):  # it has its name by now, or somebody else has cleared it
        os.rename(path, aside)
        _drop(aside)


def _drop(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()


def beside(path: Path) -> Path:
    """A new name for something unfinished of the run that `path` is of, in the same folder."""
    return path.with_name(f"{path.name.partition('.')[0]}.{secrets.token_hex(4)}.tmp")


def renamed(path: Path, name: Path) -> bool:
    """Give a folder another name; False where a folder has that name."""
    try:
        os.rename(path, name)
    except OSError as error:
        if error.errno not in (errno.EEXIST, errno.ENOTEMPTY):
            raise
        return False
    return True


def identity(path: Path) -> tuple[int, int, int, int] | None:
    """What tells a file or folder from one that takes its place or its name later; None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    # A file system gives numbers again; the time is not read as one, it is to be the same.
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


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
def writing(path: Path, what: str = STORE) -> Iterator[None]:
    """A disk that is full or read-only, or a folder that was removed, is a StoreError that says so, and of `what`."""
    try:
        yield
    except (OSError, SafetensorError) as error:
        where, why = (error.filename, error.strerror) if isinstance(error, OSError) else (None, None)
        where = where if isinstance(where, str) else str(path)
        do = "make room, or choose a folder that can be written"
        if isinstance(error, PermissionError):
            do = "choose a folder that you may write, or have its owner let you"
        elif what == STORE and not Path(where).parent.exists():
            do = REMOVED
        raise StoreError(f"{what} cannot be written", given=f"{where}: {why or error}", do=do) from error
