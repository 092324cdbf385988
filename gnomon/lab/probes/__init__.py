"""The probes: one measurement of a trained model a file, each with its numbers, their uncertainty and a figure."""

from collections.abc import Iterator, Sequence
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from gnomon.errors import PositionError, unknown
from gnomon.section import Section, does_not_apply

if TYPE_CHECKING:
    from gnomon.lab.probes.probe import NotAsked, Result
    from gnomon.lab.probes.subject import Subject

PROBES = (
    "lengths",
    "translation",
    "perturbed",
    "attended",
    "beyond",
    "bands",
    "dilution",
    "terms",
    "distance",
    "entanglement",
    "needle",
)
"""The probes by name: each is the file of that name in this folder, which says what it asks and `ask`s it of a run."""


def named(names: Sequence[str] = ()) -> list[ModuleType]:
    """The probes of these names, or all. OptionError for a name that none has."""
    for name in names:
        if name not in PROBES:
            raise unknown("probe", name, PROBES)
    return [import_module(f"gnomon.lab.probes.{name}") for name in PROBES if not names or name in names]


def asked(subject: "Subject", names: Sequence[str] = ()) -> "Iterator[tuple[ModuleType, Result | NotAsked]]":
    """Each probe and what it finds of a run, one after another as they are done.

    What the encoding has no position for is not asked.
    """
    from gnomon.lab.probes.probe import NotAsked

    for probe in named(names):
        try:
            found = probe.ask(subject)
        except PositionError as error:
            found = NotAsked(f"The encoding refuses what this would ask: {error.asked}, {error.given}.")
        yield probe, found


def section(probe: ModuleType, found: "Result | NotAsked") -> Section:
    """What a probe has found, as a reader meets it."""
    from gnomon.lab.probes.probe import NotAsked

    told = probe.KEY, probe.TITLE, probe.QUESTION
    if isinstance(found, NotAsked):
        return does_not_apply(*told, found.why)
    return Section(*told, "", found.tables(), found.figures(), numbers=found.numbers())
