"""The main figure as a file, without a browser."""

from collections.abc import Sequence
from pathlib import Path

import vl_convert

from gnomon.checked import checked
from gnomon.errors import DataError, OptionError, unknown
from gnomon.lab.files import replace_file, writing
from gnomon.report.figures import by_length
from gnomon.report.letters import readable
from gnomon.report.palette import LIGHT
from gnomon.report.summary import Record, by_task

WIDTH, HEIGHT = 760, 420


@checked
def figure(records: Sequence[Record], path: Path | str, *, quantity: str | None = None) -> Path:
    """The main figure, loss or right answers against length, as SVG or PNG, by the suffix of `path`; returns the path.

    quantity: paired_loss (the default), paired_excess, loss or sliding_loss of text; exact (the default),
    token_accuracy or loss of a task with answers. Folders are made. Raises OptionError for another suffix or quantity,
    or for runs of several tasks, DataError when no run measured anything.
    """
    summaries, path = by_task(readable(records)), Path(path)
    if len(summaries) > 1:
        named = ", ".join(summary.task for summary in summaries)
        raise OptionError("a figure is of one task", given=named, do="keep the runs of each task in a store of its own")
    [summary] = summaries
    quantity = summary.yardstick.main if quantity is None else quantity
    if quantity not in summary.yardstick.quantities:
        raise unknown("quantity", quantity, summary.yardstick.quantities)
    if path.suffix not in (".svg", ".png"):
        raise OptionError(
            f"cannot export a figure to {path.name!r}", given=path.suffix or "no suffix", allowed=".svg, .png"
        )
    spec = by_length(summary, LIGHT, WIDTH, HEIGHT, quantity)
    if spec is None:
        raise DataError(
            "a figure of runs that measured nothing",
            given="no finished run with a loss",
            do="train again: gnomon compare",
        )
    spec |= {"background": LIGHT.paper}
    if path.suffix == ".svg":
        put(path, vl_convert.vegalite_to_svg(spec).encode(), "the figure")
    else:
        put(path, vl_convert.vegalite_to_png(spec, scale=2), "the figure")
    return path


def put(path: Path, content: bytes, what: str = "the page") -> None:
    """Write a file whole or not at all, with its folders. StoreError where it cannot, with `what` it is."""
    with writing(path, what):
        path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, lambda file: file.write_bytes(content), what)
