"""The commands of `gnomon`: one dataclass a file, its fields the options, its `run` the work.

These modules are read for every `--help`, so none of them imports torch before `run`.
"""

from typing import Protocol

from gnomon.commands.analyze import Analyze
from gnomon.commands.cite import Cite
from gnomon.commands.claims import Claims
from gnomon.commands.compare import Compare
from gnomon.commands.doctor import Doctor
from gnomon.commands.laws import Laws
from gnomon.commands.list import List
from gnomon.commands.probe import Probe
from gnomon.commands.report import Report
from gnomon.commands.results import Results


class Command(Protocol):
    """A parsed command line."""

    def run(self) -> int:
        """Do the work; the exit code."""


COMMANDS: dict[str, type[Command]] = {
    "list": List,
    "laws": Laws,
    "analyze": Analyze,
    "claims": Claims,
    "compare": Compare,
    "probe": Probe,
    "report": Report,
    "results": Results,
    "doctor": Doctor,
    "cite": Cite,
}
