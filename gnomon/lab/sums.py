"""Sums of the files of a run, in the form that `sha256sum -c` checks: a byte that changes on disk is found by them."""

import hashlib
from pathlib import Path

NAME = "SHA256SUMS"


def write(file: Path) -> None:
    """Write to `file` a line for every other file of its folder."""
    others = sorted(other for other in file.parent.iterdir() if other.name != file.name)
    file.write_text("".join(f"{_sum(other)}  {other.name}\n" for other in others))


def wrong(folder: Path) -> dict[str, str]:
    """The files that are not as they were when their sums were written, and why; none where there are no sums."""
    if not (folder / NAME).is_file():
        return {}
    found: dict[str, str] = {}
    for line in (folder / NAME).read_bytes().splitlines():
        told, _, name = line.decode(errors="replace").partition("  ")
        if not name or Path(name).name != name:
            found[NAME] = f"a line of it is none of sha256sum: {line[:80]!r}"
        elif not (folder / name).is_file():
            found[name] = f"it is missing, and {NAME} has it"
        elif _sum(folder / name) != told:
            found[name] = f"its bytes are not those that the run wrote: sha256 is not that of {NAME}"
    return found


def _sum(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
