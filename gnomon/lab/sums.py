"""Sums of the files of a run, in the form that `sha256sum -c` checks. What is read of a run is first held to them.

A byte that changes on disk gives another number as easily as none at all, and nothing else tells.
"""

import hashlib
import re
from collections.abc import Collection
from pathlib import Path

NAME = "SHA256SUMS"

LINE = re.compile(rb"([0-9a-f]{64})  ([^/\0]+)")


def write(file: Path) -> None:
    """Write to `file` a line for every other file of its folder."""
    others = sorted(other for other in file.parent.iterdir() if other.name != file.name)
    file.write_text("".join(f"{_sum(other)}  {other.name}\n" for other in others))


def read(file: Path) -> bytes | None:
    """The bytes of a file of a run, None where the run wrote none. ValueError where they are not those that it wrote.

    OSError where it cannot be read.
    """
    told = _told(file)
    if told is None:
        return None
    held = file.read_bytes()
    _hold(hashlib.sha256(held).hexdigest(), told)
    return held


def check(file: Path) -> bool:
    """`read` without the bytes, for a file that is large: whether the run wrote one."""
    told = _told(file)
    if told is not None:
        _hold(_sum(file), told)
    return told is not None


def wrong(folder: Path, names: Collection[str] | None = None) -> dict[str, str]:
    """The files of a run that are not as they were when their sums were written, and why.

    names: the files that must have a sum where they are there; None: all others than that of the sums.
    """
    try:
        listed = _listed(folder)
    except ValueError as error:
        return {NAME: str(error)}
    found = {}
    names = sorted({file.name for file in folder.iterdir()} - {NAME}) if names is None else names
    for name in dict.fromkeys([*listed, *names]):
        try:
            check(folder / name)
        except ValueError as error:
            found[name] = str(error)
    return found


def _told(file: Path) -> str | None:
    """The sum that a file has to have; None where it is not there and has none."""
    told, there = _listed(file.parent).get(file.name), file.is_file()
    if told is None and there:
        raise ValueError(f"{NAME} does not list it")
    if told is not None and not there:
        raise ValueError(f"it is missing, and {NAME} lists it")
    return told


def _hold(found: str, told: str) -> None:
    if found != told:
        raise ValueError(f"its bytes are not those that the run wrote: sha256 is not that of {NAME}")


def _listed(folder: Path) -> dict[str, str]:
    """The sum of each file by its name. ValueError where they are missing, or a line is none."""
    try:
        held = (folder / NAME).read_bytes()
    except FileNotFoundError:
        raise ValueError(f"{NAME} is missing") from None
    found = {}
    for line in held.splitlines():
        if (match := LINE.fullmatch(line)) is None:
            raise ValueError(f"a line of {NAME} is none of sha256sum: {line[:80]!r}")
        found[match[2].decode(errors="surrogateescape")] = match[1].decode()
    if not held.endswith(b"\n"):
        raise ValueError(f"{NAME} is cut off")
    return found


def _sum(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
