"""Records -> one HTML file, everything in it, nothing fetched."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from gnomon.checked import checked
from gnomon.errors import OptionError
from gnomon.lab.measures import HOLDS, LEARNED, TOLERANCE
from gnomon.report import analyses as analysed
from gnomon.report import figures, frames, tables, tables_answers, tables_further
from gnomon.report.analyses import Analyses
from gnomon.report.document import framed
from gnomon.report.drawings import errors_told
from gnomon.report.frames import Stored
from gnomon.report.headline import headline
from gnomon.report.letters import readable
from gnomon.report.palette import VARIABLES, Look
from gnomon.report.portraits import Portrait, portrait
from gnomon.report.still import put
from gnomon.report.study import cell
from gnomon.report.summary import COLLAPSE, Record, Series, Summary, by_task, summarise
from gnomon.report.wording import listing, span
from gnomon.report.yardstick import ANSWERS, MASKED, TEXT

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
    trials: Sequence[Record] = (),
    analyses: Analyses | None = None,
    command: str | None = None,
) -> Path:
    """Write the report to the file `out` (folders are made; a file there is replaced whole) and return its path.

    records: as stored (record.json). positions, curves: tables by record hash, each a list of rows or a pyarrow table;
    those that are absent are left out. portraits: by label or record hash, see `gnomon.report.portraits.Portrait`.
    trials: the records that learning rates were chosen by. analyses: what is known of each encoding without training.
    command: how to reproduce; by default the commands that the records name.
    Raises DataError without records, StoreError on a record of another format or where the file cannot be written,
    OptionError when `out` is a folder.
    """
    out = Path(out)
    if out.is_dir():
        raise OptionError("a report is one file", given=f"the folder {out}", do=f"name a file: {out / 'report.html'}")
    records, portraits, trials, analyses, command = readable((records, portraits, trials, analyses, command))
    parts = [
        _part(summary, f"-{at}" * (at > 0), positions or {}, curves or {}, portraits or {})
        for at, summary in enumerate(by_task(records))
    ]
    charts = {name: chart for part in parts for name, chart in part["charts"].items()}
    context = _context(parts, records, command)
    context["tuned"] = tables_further.tuned(records, trials)
    charts |= analysed.charts(analyses)
    context |= {"analyses": analysed.parts(analyses), "unanalysed": analyses.others if analyses else {}}
    widths = {name: PORTRAIT_WIDTH if "portrait" in name else STILL_WIDTH for name in charts}
    put(out, framed("report.html.j2", charts, widths, **context))
    return out


def _part(
    summary: Summary,
    suffix: str,
    positions: Mapping[str, Stored],
    curves: Mapping[str, Stored],
    portraits: Mapping[str, Portrait],
) -> dict[str, object]:
    """What the page says of one task; `suffix` tells its figures from those of other tasks."""
    drawn = [(series, found) for series in summary.ranked() if (found := _portrait_of(series, portraits)) is not None]
    charts = {
        f"length{suffix}": figures.by_length(summary, VARIABLES),
        f"position{suffix}": figures.loss_by_position(summary, positions, VARIABLES),
        f"training{suffix}": figures.training_curves(summary, curves, VARIABLES),
    } | {
        f"portrait-{series.order}{suffix}": portrait(shape, series.order, series.training, VARIABLES)
        for series, shape in drawn
    }
    answers = summary.yardstick.answers
    return {
        "summary": summary,
        "suffix": suffix,
        "answers": answers,
        "charts": {name: chart for name, chart in charts.items() if chart is not None},
        "headline": headline(summary),
        "quantities": frames.quantities(summary),
        "results": (tables_answers if answers else tables).results(summary),
        "every_length": (tables_answers if answers else tables).every_length(summary),
        "by_group": tables_answers.by_group(summary) if answers else None,
        "varied": tables_further.varied(summary),
        "by_position": tables.by_position(frames.position_rows(summary, positions)),
        "portraits": drawn,
        "gaps": frames.gaps(summary),
        "samples": tables.samples(summary),
    }


def _context(parts: list[dict], records: Sequence[Record], command: str | None) -> dict[str, object]:
    summaries = [part["summary"] for part in parts]
    # Of all tasks: what the runs share, which of them did not finish.
    whole = summaries[0] if len(parts) == 1 else summarise(records)
    shared, own = tables.settings(whole)
    texts = [summary for summary in summaries if summary.yardstick is TEXT]
    legend = {look["series"].label: look for summary in reversed(summaries) for look in _looks(summary)}
    order = {series.label: series.order for summary in summaries for series in summary.series}
    looks = {look["series"].order: look for look in legend.values()}
    listed = _looks(summaries[0]) if len(parts) == 1 else [looks[at] for at in sorted(order.values())]
    return {
        "parts": parts,
        "title": parts[0]["headline"].title if len(parts) == 1 else _title(summaries),
        "facts": _facts(whole, records, summaries),
        "legend": list({look["series"].label: look for look in listed}.values()),
        "looks": looks,
        "unfinished": [run for summary in summaries for run in tables.unfinished(summary)],
        "shared": shared,
        "own": own,
        "environment": tables.merged(tables.environments(records), "environment"),
        "data": tables.merged(records, "data"),
        "seeds": tables.seeds(whole),
        "tolerance": TOLERANCE,
        "unigram": [loss for summary in texts for loss in tables.unigram(summary)],
        "collapse": COLLAPSE,
        "text": texts[0] if texts else None,
        "answered": any(summary.yardstick is ANSWERS for summary in summaries),
        "hidden": any(summary.yardstick is MASKED for summary in summaries),
        "learned": LEARNED,
        "holds": HOLDS,
        "measure": texts[0].series[0].records[0]["experiment"].get("measure") or {} if texts else {},
        "commands": [command] if command else list(dict.fromkeys(filter(None, (r.get("command") for r in records)))),
        "hashes": [record["hash"] for record in records],
        "cell": cell,
        "errors_told": errors_told,
    }


def _title(summaries: Sequence[Summary]) -> str:
    return f"Position encodings on {len(summaries)} tasks: {listing([summary.task for summary in summaries])}."


def _portrait_of(series: Series, portraits: Mapping[str, Portrait]) -> Portrait | None:
    keys = [series.label, *(run["hash"] for run in series.runs)]
    return next((portraits[key] for key in keys if key in portraits), None)


def _facts(summary: Summary, records: Sequence[Record], tasks: Sequence[Summary]) -> list[tuple[str, str]]:
    lost = sum(record["status"] != "finished" for record in records)
    runs = str(len(records)) + (f", {lost} not finished" if lost else "")
    facts = [("task" if len(tasks) == 1 else "tasks", listing([task.task for task in tasks]))]
    facts = [] if [task.task for task in tasks] == ["text"] else facts
    facts += [
        ("trained at length", listing([str(length) for length in summary.trained])),
        ("measured at", ", ".join(map(str, summary.lengths)) or "no length"),
        ("encodings", str(len({series.label for task in tasks for series in task.series}))),
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
