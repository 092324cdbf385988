"""Records -> one HTML file, everything in it, nothing fetched.

The page forbids itself the network and foreign code: its policy allows the scripts and the style sheet whose hashes it
lists, nothing else, and no `eval`. Vega compiles its expressions with `Function`, which that policy blocks, so the
figures run on Vega's expression interpreter (vega-interpreter, which vl-convert's bundle carries inside vega-embed:
option `ast`). Style attributes are blocked as well; Vega sets styles through the DOM, which is allowed, and the
template has none. Each figure is also in the page as plain SVG, for readers whose mail program runs no scripts.
"""

import base64
import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path

import jinja2
import vl_convert
from markupsafe import Markup

from gnomon.checked import checked
from gnomon.errors import OptionError
from gnomon.lab.measures import TOLERANCE
from gnomon.report import figures, frames, tables
from gnomon.report.frames import Stored
from gnomon.report.headline import headline
from gnomon.report.palette import DARK, LIGHT, VARIABLES, Look
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
    page = _template().render(_context(summary, records, positions or {}, curves or {}, portraits or {}, command))
    put(out, page.encode(errors="backslashreplace"))
    return out


def _context(
    summary: Summary,
    records: Sequence[Record],
    positions: Mapping[str, Stored],
    curves: Mapping[str, Stored],
    portraits: Mapping[str, Portrait],
    command: str | None,
) -> dict[str, object]:
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
    scripts = {"start": _asset("start.js"), "vega": _bundle(), "report": _asset("report.js")}
    style = _template("report.css.j2").render(light=LIGHT.variables(), dark=DARK.variables())
    return {
        "policy": _policy(scripts.values(), style),
        "style": Markup(style),
        "scripts": {name: Markup(text) for name, text in scripts.items()},
        "specs": charts,
        "stills": {
            name: Markup(_still(chart, PORTRAIT_WIDTH if "portrait" in name else STILL_WIDTH))
            for name, chart in charts.items()
        },
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


def _still(spec: Spec, width: int) -> str:
    """The figure as SVG, without the invisible marks that only carry tooltips, which would be most of it."""
    return re.sub(r'<(?:path|line)\b[^>]*\sopacity="0"[^>]*/>', "", vl_convert.vegalite_to_svg(spec | {"width": width}))


def _policy(scripts: Iterable[str], style: str) -> str:
    allowed = " ".join(map(_source, scripts))
    return f"default-src 'none'; script-src {allowed}; style-src {_source(style)}; base-uri 'none'; form-action 'none'"


def _source(text: str) -> str:
    """The policy's name for an inline block: the hash of its text."""
    if "</script" in text.lower() or "</style" in text.lower():
        raise ValueError("an inline block would end early")
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


@cache
def _bundle() -> str:
    """Vega, Vega-Lite and vega-embed with its interpreter, from vl-convert's own files."""
    return vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")


def _environment() -> jinja2.Environment:
    loader = jinja2.PackageLoader("gnomon.report")
    made = jinja2.Environment(
        loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    made.policies["json.dumps_kwargs"] = {"allow_nan": False, "separators": (",", ":")}
    return made


def _template(name: str = "report.html.j2") -> jinja2.Template:
    return _environment().get_template(name)


def _asset(name: str) -> str:
    environment = _environment()
    return environment.loader.get_source(environment, name)[0]
