"""`gnomon report`: the report again, from what is stored; and its main figure as a picture."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from gnomon.commands.analyses import analyses
from gnomon.commands.analyze import watched
from gnomon.commands.output import Json, StorePath, print_json
from gnomon.commands.portraits import portraits
from gnomon.commands.stdout import say

if TYPE_CHECKING:
    from gnomon.lab.exported import Exported
    from gnomon.lab.store import Store
    from gnomon.report.analyses import Analyses


OPTIONS = {"report": "--out", "page": "--out", "figure": "--figure", "log": "--log-json"}
"""Which option says where each of them goes."""


@dataclass(frozen=True)
class Report:
    """Write the report of all stored runs again; nothing is trained.

    One HTML file that works offline and can be mailed. --analysis adds what
    `gnomon analyze` finds of each encoding without training, at the sizes of
    the runs: seconds for each. --figure writes the main figure, loss against
    length, as a picture besides. STORE may be a folder of exported results.

    Examples:
      gnomon report
      gnomon report runs --out rope_or_alibi.html
      gnomon report --analysis
      gnomon report results/text --analysis --out text.html
      gnomon report --figure loss.svg
    """

    store: StorePath = "runs"
    """The folder of runs."""
    out: Annotated[str | None, tyro.conf.arg(metavar="FILE", help_behavior_hint="(default: STORE/report.html)")] = None
    """Where the report goes."""
    figure: Annotated[str | None, tyro.conf.arg(metavar="FILE", help_behavior_hint="")] = None
    """Where the main figure goes, as .svg or .png by its name."""
    analysis: Annotated[bool, tyro.conf.arg(help_behavior_hint="")] = False
    """What is known of each encoding without training."""
    json: Json = False

    def run(self) -> int:
        from gnomon import report
        from gnomon.lab.exported import opened

        check(self.out)
        check(self.figure, "figure")
        store = opened(self.store)
        records = store.records()
        found = _analyses(records, quiet=self.json) if self.analysis else None
        written = {"report": str(write(store, records, self.out, analyses=found))}
        if self.figure is not None:
            written["figure"] = str(report.figure(records, self.figure))
        if self.json:
            print_json(written)
        else:
            for what, where in written.items():
                say(f"{what}: {where}")
        return 0


def check(out: str | None, what: str = "report") -> None:
    """Say now, before anything is trained, that no report can be written to this path."""
    if out is not None:
        from gnomon.errors import OptionError
        from gnomon.report.target import check as check_target

        try:
            check_target(out, what)
        except OptionError as error:
            raise OptionError(error.asked, given=error.given, do=f"{error.do}, with {OPTIONS[what]} FILE") from error


def _analyses(records: list[dict[str, Any]], quiet: bool) -> "Analyses":
    with watched(quiet) as progress:
        return analyses(records, progress)


def write(
    store: "Store | Exported",
    records: list[dict[str, Any]],
    out: str | None,
    command: str | None = None,
    analyses: "Analyses | None" = None,
) -> Path:
    """Write the report of these records, by default into their store; the path of the file."""
    from gnomon import report

    path = store.path / "report.html" if out is None else Path(out)
    check(str(path))
    hashes = [record["hash"] for record in records]
    return report.write(
        records,
        path,
        positions={hash: store.positions(hash) for hash in hashes},
        curves={hash: store.curve(hash) for hash in hashes},
        portraits=portraits(store, records),
        trials=store.trials().records(),
        analyses=analyses,
        command=command,
    )
