"""What this machine gives to this process. No torch here."""

import ctypes
import gc
import os
import sys
from pathlib import Path

import psutil

from gnomon.errors import OptionError, shown

DIGITS = 10
"""Of a number in the environment, less than these: Python refuses thousands of them."""

MEMORY = 2**30
"""Free memory that a worker of its own must find, in bytes: torch alone takes a quarter of it."""


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def most_threads() -> int:
    """The user's OMP_NUM_THREADS is a bound: where others compute too, waiting threads cost more than they bring."""
    given = os.environ.get("OMP_NUM_THREADS", "")
    return max(1, int(given)) if given.isdecimal() and len(given) < DIGITS else sys.maxsize


def launched() -> tuple[int, int]:
    """Which of how many processes of a launch this is, 0 of 1 without one. OptionError where that is no number."""
    found = []
    for name, least, otherwise in (("RANK", 0, "0"), ("WORLD_SIZE", 1, "1")):
        given = os.environ.get(name, "") or otherwise
        if not given.isdecimal() or len(given) >= DIGITS or int(given) < least:
            asked = f"{name} in the environment is that of a launch: accelerate or torchrun set it"
            raise OptionError(asked, given=shown(given), allowed=f"a number from {least}", do=f"unset {name}")
        found.append(int(given))
    return found[0], found[1]


def forget_peak() -> bool:
    """Let `peak_memory` begin at what the process uses now. False where that cannot be: but on Linux with glibc."""
    gc.collect()  # what a cycle holds, as an error does of the run that it ended, is not in use
    try:
        ctypes.CDLL(None).malloc_trim(0)  # nor is what was freed and has not been given back
        Path("/proc/self/clear_refs").write_text("5")
    except (AttributeError, OSError, TypeError):
        return False
    return True


def peak_memory() -> int:
    """The most memory this process has held, in bytes, since `forget_peak` or its start.

    On Linux the kernel's own peak of this program: `getrusage` begins at what the process that started it held.
    """
    if sys.platform == "win32":
        return psutil.Process().memory_info().peak_wset
    if sys.platform == "linux":
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    import resource  # Windows has none

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
