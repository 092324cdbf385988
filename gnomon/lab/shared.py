"""A folder that several machines see, and that each sees a little later than it is. No torch here."""

import contextlib
import os
from pathlib import Path

DELAY = 90.0
"""Seconds until what one machine has written is seen on the others: Linux keeps what it knows of a folder on NFS for up
to 60, so long as nobody opens the folder."""


def refresh(*folders: Path) -> None:
    """Forget that something was not in these folders, or was another: NFS asks its server anew where one is opened."""
    for folder in folders:
        with contextlib.suppress(OSError):
            os.scandir(folder).close()
