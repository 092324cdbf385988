"""Small and read-only file systems that one process sees, and nobody besides; Linux only, where it lets us."""

import ctypes
import os
import sys
from pathlib import Path

NEW_MOUNTS, NEW_USER = 0x00020000, 0x10000000
READ_ONLY, REMOUNT, BIND, RECURSIVE, PRIVATE = 1, 32, 4096, 16384, 1 << 18


def alone() -> bool:
    """Give this process a view of the mounts of its own; False where it may not have one."""
    if sys.platform != "linux":
        return False
    user, group = os.getuid(), os.getgid()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(NEW_MOUNTS):
        if libc.unshare(NEW_MOUNTS | NEW_USER):
            return False
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"0 {user} 1")
        Path("/proc/self/gid_map").write_text(f"0 {group} 1")
    return not libc.mount(None, b"/", None, RECURSIVE | PRIVATE, None)


def tmpfs(folder: Path, kilobytes: int, *, again: bool = False) -> None:
    """A disk of that size in a folder; `again` gives the one that is there another size."""
    flags = REMOUNT if again else 0
    _mount("tmpfs", folder, "tmpfs", flags, f"size={kilobytes}k")


def read_only(folder: Path) -> None:
    """What is in the folder stays as it is."""
    _mount(str(folder), folder, None, BIND, None)
    _mount(None, folder, None, BIND | REMOUNT | READ_ONLY, None)


def _mount(source: str | None, folder: Path, kind: str | None, flags: int, options: str | None) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    words = [None if word is None else word.encode() for word in (source, str(folder), kind)]
    if libc.mount(*words, flags, None if options is None else options.encode()):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(folder))
