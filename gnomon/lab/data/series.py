"""Series with labels: sets of the UCR and UEA archives that aeon carries, or a file of the user's own."""

import hashlib
from dataclasses import dataclass
from typing import Literal

import numpy as np

from gnomon.errors import DataError, unknown
from gnomon.lab.data import table
from gnomon.lab.data.packaged import Packaged, own

DIGESTS = {
    "ArrowHead": (
        "a83c470aaf611a5f5284377cce27a5fc9f6292bc3d110257b0fd4905ced5ee72",
        "5417dab42626d41df5e435bb22458c2df40dfad4bcd3b59559bbe72e20e84904",
    ),
    "BasicMotions": (
        "8dc43cc6306cb679c888c01e26f91772ac4441a916da43bac8b79734a538b9d6",
        "79213102bc6fca1a398ad98ce1185dff0208fa3d1465e687f48288946b0ff8dc",
    ),
    "GunPoint": (
        "f842401779fd9800d247d8b33121a1a4643710a19b24917dbdd9a060ca8630d5",
        "79332750788a6227b325b96bd0d70130c8eb707b9731f8d7dec62b7a7d36017e",
    ),
    "ItalyPowerDemand": (
        "341269cb7e6cef96846b30e774580beec79addb93848ba360145219115a74b7c",
        "26122451f87dd0387ef90b18bc8a86c041371b8a1c068004922b939971247144",
    ),
    "OSULeaf": (
        "86b9d6e860414ffd26cebc62fff84ffb37fa588ef3e5bf79e4094a437c36ddfc",
        "6c549dd354f9e42d5985fa5fab75321ca9acefc7873457e71467fc8a31f107ce",
    ),
}
"""Name -> sha256 of its TRAIN and of its TEST file. BSD-3 package; Dau et al. 2019, "The UCR Time Series Archive"."""


@dataclass(frozen=True)
class Series:
    """values: `[m, n, c]` float64, n samples of c channels. labels: `[m]`, one for each."""

    digest: str
    """sha256 of the file."""
    values: np.ndarray
    labels: list[str]


def archive(name: str) -> tuple[Series, Series]:
    """The TRAIN and the TEST part of a set. OptionError for an unknown one, DataError where it is not installed."""
    if name not in DIGESTS:
        raise unknown("set of series", name, DIGESTS)
    train, test = (packaged(name, part) for part in ("TRAIN", "TEST"))
    return read_ts(train.read(), train.file), read_ts(test.read(), test.file)


def packaged(name: str, part: Literal["TRAIN", "TEST"]) -> Packaged:
    """The file of a part of a set that is in DIGESTS."""
    digest = DIGESTS[name][part == "TEST"]
    return Packaged("aeon==1.6.0", f"datasets/data/{name}/{name}_{part}.ts", digest)


def load(path: str) -> Series:
    """A file: `.ts`, or CSV with a series a line, its samples and then its label. DataError for anything else."""
    content = own(path)
    if path.endswith(".ts"):
        return read_ts(content, path)
    values, labels = table.labelled(content, path)
    return Series(hashlib.sha256(content).hexdigest(), values[..., None], labels)


def read_ts(content: bytes, where: str) -> Series:
    """The `.ts` form of aeon and sktime: after `@data` a series a line, `1.2,3.4,5.6:7,8,9:label`, channel by channel.

    Series of one length, without moments of their own and without gaps; anything else is a DataError with its line.
    """
    allowed = "1.2,3.4,5.6:label, as many samples in every channel of every series"
    values, labels, begun = [], [], False
    for number, line in enumerate(content.decode(errors="replace").splitlines(), 1):
        if not begun or not line.strip() or line.startswith("#"):
            begun = begun or line.strip().lower() == "@data"
            continue
        *channels, label = line.strip().split(":")
        try:
            read = [[float(value) for value in channel.split(",")] for channel in channels]
        except ValueError as error:
            raise DataError(f"{where}, line {number}: {error}", allowed=allowed) from error
        shape = (len(read), *map(len, read))
        first = shape if not values else (len(values[0]), *map(len, values[0]))
        if not read or len(set(shape[1:])) > 1 or shape != first or not np.isfinite(read).all():
            given = f"channels of {', '.join(map(str, shape[1:])) or 'no'} samples"
            raise DataError(f"{where}, line {number}: not a series like the others", given=given, allowed=allowed)
        values.append(read)
        labels.append(label.strip())
    if not values:
        raise DataError(f"{where}: no series", given="nothing after @data", allowed=allowed)
    return Series(hashlib.sha256(content).hexdigest(), np.array(values).transpose(0, 2, 1), labels)
