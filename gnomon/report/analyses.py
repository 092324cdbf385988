"""What is known of each compared encoding without training, as a part of the report."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from gnomon.report.drawings import drawn
from gnomon.report.palette import VARIABLES
from gnomon.report.spec import Spec
from gnomon.section import Section

CELLS = 48
"""Rows and columns of a matrix: many encodings make a page that is to be mailed."""


@dataclass(frozen=True)
class Analysis:
    """What was found of one encoding."""

    label: str
    sizes: str
    """Those that it was asked at, in words."""
    sections: tuple[Section, ...]
    left_out: Mapping[str, str]
    """Questions that were not asked, by key, with the reason."""
    command: str
    """The command line that asks them again."""


@dataclass(frozen=True)
class Analyses:
    """What was found of each encoding of a comparison; `others` have none, by label, with the reason."""

    found: tuple[Analysis, ...]
    others: Mapping[str, str] = field(default_factory=dict)


def parts(analyses: Analyses | None) -> list[dict[str, object]]:
    """Each analysis as the template shows it: its name on the page, what applies, and what does not by its reason."""
    return [
        {
            "name": _name(at),
            "analysis": one,
            "sections": [section for section in one.sections if section.applies],
            "not_applying": _by_reason({s.title: s.answer for s in one.sections if not s.applies}),
            "left_out": _by_reason(one.left_out),
        }
        for at, one in enumerate(analyses.found if analyses else ())
    ]


def charts(analyses: Analyses | None) -> dict[str, Spec]:
    """The figures of all, by their names on the page."""
    named: dict[str, Spec] = {}
    for at, one in enumerate(analyses.found if analyses else ()):
        named |= drawn([section for section in one.sections if section.applies], VARIABLES, f"{_name(at)}-", CELLS)
    return named


def _name(at: int) -> str:
    return f"analysis-{at}"


def _by_reason(told: Mapping[str, str]) -> dict[str, list[str]]:
    reasons: dict[str, list[str]] = {}
    for name, why in told.items():
        reasons.setdefault(why, []).append(name)
    return reasons
