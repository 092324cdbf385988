"""The main figure as a file, without a browser."""

from collections.abc import Sequence
from pathlib import Path

import vl_convert

from gnomon.checked import checked
from gnomon.errors import DataError, OptionError, unknown
from gnomon.lab.files import replace_file, writing
from gnomon.report.figures import loss_by_length
from gnomon.report.frames import QUANTITIES
from gnomon.report.palette import LIGHT
from gnomon.report.summary import Record, summarise

WIDTH, HEIGHT = 760, 420


@checked
def figure(records: Sequence[Record], path: Path | str, *, quantity: str = "paired_loss") -> Path:
    """Loss against length as SVG or PNG, by the suffix of `path`; folders are made. Returns the path.

    quantity: paired_loss, paired_excess, loss or sliding_loss. Raises OptionError for another suffix or quantity,
    DataError when no run measured anything.
    """
    if quantity not in QUANTITIES:
        raise unknown("quantity", quantity, QUANTITIES)
    path = Path(path)
    if path.suffix not in (".svg", ".png"):
        raise OptionError(
            f"cannot export a figure to {path.name!r}", given=path.suffix or "no suffix", allowed=".svg, .png"
        )
    spec = loss_by_length(summarise(records), LIGHT, WIDTH, HEIGHT, quantity)
    if spec is None:
        raise DataError(
            "a figure of runs that measured nothing",
            given="no finished run with a loss",
            do="train again: gnomon compare",
        )
    spec |= {"background": LIGHT.paper}
    if path.suffix == ".svg":
        put(path, vl_convert.vegalite_to_svg(spec).encode())
    else:
        put(path, vl_convert.vegalite_to_png(spec, scale=2))
    return path


def put(path: Path, content: bytes) -> None:
    """Write a file whole or not at all, with its folders, to be read by others as well. StoreError where it cannot."""
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, lambda file: (file.write_bytes(content), file.chmod(0o644)))
