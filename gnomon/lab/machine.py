"""What this machine gives to this process. No torch here."""

import os
import sys
from pathlib import Path

import psutil


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def peak_memory() -> int:
    """The most memory this process has held, in bytes.

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
