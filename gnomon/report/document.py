"""What every page of gnomon is made of: a template, a policy that fetches nothing, scripts inside, figures as SVG too.

The page forbids itself the network and foreign code: its policy allows the scripts and the style sheet whose hashes it
lists, nothing else, and no `eval`. Vega compiles its expressions with `Function`, which that policy blocks, so the
figures run on Vega's expression interpreter (vega-interpreter, which vl-convert's bundle carries inside vega-embed:
option `ast`). Style attributes are blocked as well; Vega sets styles through the DOM, which is allowed, and the
templates have none. Each figure is also in the page as plain SVG, for readers whose mail program runs no scripts.
"""

import base64
import hashlib
import re
from collections.abc import Iterable, Mapping
from functools import cache

import jinja2
import vl_convert
from markupsafe import Markup

from gnomon.report.palette import DARK, LIGHT
from gnomon.report.spec import Spec


def framed(template: str, charts: Mapping[str, Spec], widths: Mapping[str, int], **context: object) -> bytes:
    """The page of a template: `charts` by name, each drawn in `widths` pixels where no script runs."""
    scripts = {"start": asset("start.js"), "vega": _bundle(), "report": asset("report.js")}
    style = _template("report.css.j2").render(light=LIGHT.variables(), dark=DARK.variables())
    page = _template(template).render(
        policy=_policy(scripts.values(), style),
        style=Markup(style),
        scripts={name: Markup(text) for name, text in scripts.items()},
        specs=charts,
        stills={name: Markup(_still(chart, widths[name], name)) for name, chart in charts.items()},
        **context,
    )
    return page.encode(errors="backslashreplace")


def _still(spec: Spec, width: int, name: str) -> str:
    """The figure as SVG, without the invisible marks that only carry tooltips, which would be most of it.

    Its colour gradients have names of their own: Vega numbers them, those of live figures from 0 as well.
    """
    drawn = vl_convert.vegalite_to_svg(spec | {"width": width})
    gradients = dict.fromkeys(re.findall(r"\bgradient_\d+", drawn))
    for at, gradient in enumerate(gradients):
        drawn = re.sub(rf"\b{gradient}\b", f"{name}-colours-{at}", drawn)
    return re.sub(r'<(?:path|line)\b[^>]*\sopacity="0"[^>]*/>', "", drawn)


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


def _template(name: str) -> jinja2.Template:
    return _environment().get_template(name)


def asset(name: str) -> str:
    environment = _environment()
    return environment.loader.get_source(environment, name)[0]
