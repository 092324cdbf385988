"""What git knows of a file: the commit that made it, the commit that changed it last, and what is not committed."""

import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Order = Literal["before", "not before", "unknown"]


@dataclass(frozen=True)
class Commit:
    """One commit."""

    hash: str
    date: str
    """When it was committed, ISO 8601."""


@dataclass(frozen=True)
class Past:
    """The past of one file. Where git tells nothing, `silent` says why and all else is empty."""

    file: str
    """The path in its repository, or the file's name."""
    first: Commit | None = None
    last: Commit | None = None
    changed: bool = False
    """Whether the file differs from what is committed."""
    silent: str = ""


def past(path: Path) -> Past:
    """The past of a file, asked of the repository it lies in."""
    path = path.resolve()
    top = _git(path.parent, "rev-parse", "--show-toplevel")
    if top is None:
        return Past(path.name, silent="no git")
    # A package that is installed inside some other project's checkout has no past there.
    if _git(path.parent, "ls-files", "--error-unmatch", "--", path.name) is None:
        return Past(path.name, silent="not in git")
    name = Path(os.path.relpath(path, Path(top).resolve())).as_posix()
    changed = bool(_git(path.parent, "status", "--porcelain", "--", path.name))
    if _git(path.parent, "rev-parse", "--is-shallow-repository") == "true":
        return Past(name, changed=changed, silent="shallow clone")
    listed = _git(path.parent, "log", "--format=%H %cI", "--", path.name) or ""
    commits = [Commit(*line.split()) for line in listed.splitlines()]
    if not commits:
        return Past(name, changed=True, silent="never committed")
    return Past(name, commits[-1], commits[0], changed)


def versions(path: Path) -> Iterator[tuple[Commit, bytes]]:
    """What a file held at each commit that changed it, the oldest first; nothing where git does not tell."""
    path = path.resolve()
    listed = _git(path.parent, "log", "--reverse", "--format=%H %cI", "--", path.name) or ""
    for line in listed.splitlines():
        commit = Commit(*line.split())
        # A commit that removed it holds none.
        if (held := _run(path.parent, "cat-file", "blob", f"{commit.hash}:./{path.name}")) is not None:
            yield commit, held


def at(folder: Path, commit: str, file: str) -> tuple[str, bytes] | None:
    """The commit that had changed a file last, as of a commit, and what the file held; None where git does not tell.

    `file` is the path in the repository of `folder`.
    """
    held = _run(folder, "cat-file", "blob", f"{commit}:{file}")
    changed = _git(folder, "log", "-1", "--format=%H", commit, "--", f":(top,literal){file}")
    return (changed, held) if held is not None and changed else None


def head(folder: Path) -> str | None:
    """The commit that is checked out, `+changes` where files of the folder differ from it; None without git."""
    commit = _git(folder, "rev-parse", "HEAD")
    changed = _git(folder, "status", "--porcelain", "--", ".")
    return f"{commit}+changes" if commit and changed else commit


def order(folder: Path, first: str, second: str) -> Order:
    """Whether one commit is among the ancestors of another, in the repository of `folder`."""
    if first == second:
        return "not before"
    known = all(_git(folder, "cat-file", "-e", f"{commit}^{{commit}}") is not None for commit in (first, second))
    if not known:
        return "unknown"
    return "before" if _git(folder, "merge-base", "--is-ancestor", first, second) is not None else "not before"


def _git(folder: Path, *arguments: str) -> str | None:
    """What git prints, or None where it fails or is not there."""
    printed = _run(folder, *arguments)
    return None if printed is None else printed.decode(errors="replace").strip()


def _run(folder: Path, *arguments: str) -> bytes | None:
    here = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments], capture_output=True, timeout=30, check=False, env=here
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None
