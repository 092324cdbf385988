"""Records -> one HTML file, everything in it, nothing fetched."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from gnomon.checked import checked
from gnomon.errors import OptionError
from gnomon.lab.measures import TOLERANCE
from gnomon.report import figures, frames, tables
from gnomon.report.document import framed
from gnomon.report.frames import Stored
from gnomon.report.headline import headline
from gnomon.report.palette import VARIABLES, Look
from gnomon.report.portraits import Portrait, portrait
from gnomon.report.spec import Spec
from gnomon.report.still import put
from gnomon.report.summary import COLLAPSE, Record, Series, Summary, summarise
from gnomon.report.wording import listing, span

STILL_WIDTH = 900
PORTRAIT_WIDTH = 290


@checked
def write(
    records: Sequence[Record],
    out: Path | str,
    *,
    positions: Mapping[str, Stored] | None = None,
    curves: Mapping[str, Stored] | None = None,
    portraits: Mapping[str, Portrait] | None = None,
    command: str | None = None,
) -> Path:
    """Write the report to the file `out` (folders are made; a file there is replaced whole) and return its path.

    records: as stored (record.json). positions, curves: tables by record hash, each a list of rows or a pyarrow table;
    those that are absent are left out. portraits: by label or record hash, see `gnomon.report.portraits.Portrait`.
    command: how to reproduce; by default the commands that the records name.
    Raises DataError without records, StoreError on a record of another format or where the file cannot be written,
    OptionError when `out` is a folder.
    """
    out = Path(out)
    if out.is_dir():
        raise OptionError("a report is one file", given=f"the folder {out}", do=f"name a file: {out / 'report.html'}")
    summary = summarise(records)
    charts, context = _context(summary, records, positions or {}, curves or {}, portraits or {}, command)
    widths = {name: PORTRAIT_WIDTH if "portrait" in name else STILL_WIDTH for name in charts}
    put(out, framed("report.html.j2", charts, widths, **context))
    return out


def _context(
    summary: Summary,
    records: Sequence[Record],
    positions: Mapping[str, Stored],
    curves: Mapping[str, Stored],
    portraits: Mapping[str, Portrait],
    command: str | None,
) -> tuple[dict[str, Spec], dict[str, object]]:
    shared, own = tables.settings(summary)
    charts = {
        "length": figures.loss_by_length(summary, VARIABLES),
        "position": figures.loss_by_position(summary, positions, VARIABLES),
        "training": figures.training_curves(summary, curves, VARIABLES),
    }
    drawn = [(series, found) for series in summary.ranked() if (found := _portrait_of(series, portraits)) is not None]
    charts |= {
        f"portrait-{series.order}": portrait(shape, series.order, series.training, VARIABLES) for series, shape in drawn
    }
    charts = {name: chart for name, chart in charts.items() if chart is not None}
    context = {
        "headline": headline(summary),
        "facts": _facts(summary, records),
        "summary": summary,
        "legend": (looks := _looks(summary)),
        "looks": {look["series"].order: look for look in looks},
        "quantities": frames.quantities(summary),
        "results": tables.results(summary),
        "every_length": tables.every_length(summary),
        "by_position": tables.by_position(frames.position_rows(summary, positions)),
        "portraits": drawn,
        "unfinished": tables.unfinished(summary),
        "shared": shared,
        "own": own,
        "environment": tables.merged(records, "environment"),
        "data": tables.merged(records, "data"),
        "samples": tables.samples(summary),
        "gaps": frames.gaps(summary),
        "seeds": tables.seeds(summary),
        "tolerance": TOLERANCE,
        "unigram": tables.unigram(summary),
        "collapse": COLLAPSE,
        "measure": records[0]["experiment"].get("measure") or {},
        "commands": [command] if command else list(dict.fromkeys(filter(None, (r.get("command") for r in records)))),
        "hashes": [record["hash"] for record in records],
    }
    return charts, context


def _portrait_of(series: Series, portraits: Mapping[str, Portrait]) -> Portrait | None:
    keys = [series.label, *(run["hash"] for run in series.runs)]
    return next((portraits[key] for key in keys if key in portraits), None)


def _facts(summary: Summary, records: Sequence[Record]) -> list[tuple[str, str]]:
    lost = sum(record["status"] != "finished" for record in records)
    runs = str(len(records)) + (f", {lost} not finished" if lost else "")
    facts = [
        ("trained at length", listing([str(length) for length in summary.trained])),
        ("measured at", ", ".join(map(str, summary.lengths)) or "no length"),
        ("encodings", str(len(summary.series))),
        ("runs", runs),
        ("seeds each", span(summary.seeds) if summary.seeds else "none finished"),
    ]
    ended = sorted(filter(None, (record.get("finished") for record in records)))
    return facts + ([("finished", str(ended[-1])[:10])] if ended else [])


def _looks(summary: Summary) -> list[dict[str, object]]:
    """Legend entries, farthest reach first."""
    return [
        {
            "series": series,
            "hue": (look := Look(series.order)).hue,
            "dash": " ".join(map(str, look.dash)) if look.dash != [1, 0] else "",
            "shape": look.shape,
        }
        for series in summary.ranked()
    ]
