"""`gnomon results`: the stored numbers as a table, CSV, JSON, or the answer to a query."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from gnomon.commands.output import Json, Screen, StorePath, items, print_json, table
from gnomon.commands.stdout import say

if TYPE_CHECKING:
    from gnomon.lab import query
    from gnomon.lab.store import Store
    from gnomon.lab.verify import Fault

SHORT = 8
"""Digits of a run's hash in the table; --csv and --json have all."""


@dataclass(frozen=True)
class Results:
    """The stored numbers, a row a run: table, CSV, JSON, or by SQL.

    SQL is that of DuckDB, over five views: runs (a row a run), lengths (run
    and measured length), positions (loss by position), curves (training),
    groups (a row a run, length and group of tokens).
    `describe runs` lists the columns of a view. The table says when a run
    failed and why; its numbers are rounded, those of --csv and --json are not.
    --verify reads every file of every run, and says what is damaged and what
    processes that were killed have left; the exit code is 1 if something is
    damaged. --export writes all numbers without the weights into a folder
    that results, report and claims read like a store.

    Examples:
      gnomon results
      gnomon results --csv > runs.csv
      gnomon results --sql "select label, length, loss from lengths"
      gnomon results --sql "select label, loss from runs order by loss" --json
      gnomon results --sql "describe lengths"
      gnomon results --verify
      gnomon results text --export results/text
    """

    store: StorePath = "runs"
    """The folder of runs."""
    sql: Annotated[str | None, tyro.conf.arg(metavar="QUERY", help_behavior_hint="")] = None
    """A query over the five views."""
    csv: Annotated[bool, tyro.conf.arg(help_behavior_hint="")] = False
    """Print comma-separated values."""
    verify: Annotated[bool, tyro.conf.arg(help_behavior_hint="")] = False
    """Say what is damaged, instead."""
    export: Annotated[str | None, tyro.conf.arg(metavar="FOLDER", help_behavior_hint="")] = None
    """Write the numbers there, instead."""
    json: Json = False

    def run(self) -> int:
        from gnomon.errors import OptionError
        from gnomon.lab.exported import opened
        from gnomon.lab.store import Store

        if self.csv and self.json:
            raise OptionError("results are printed in one form", given="--csv and --json", do="choose one")
        if self.verify and (self.csv or self.sql is not None):
            raise OptionError("--verify prints what is damaged", given="--csv or --sql too", do="choose one")
        if self.export is not None and (self.csv or self.verify or self.sql is not None):
            raise OptionError("--export writes all numbers", given="--csv, --sql or --verify too", do="choose one")
        if self.verify:
            return self._verify(Store(self.store))
        if self.export is not None:
            return self._export(Store(self.store))
        store = opened(self.store)
        found = store.sql(self.sql) if self.sql is not None else store.table()
        if self.json:
            print_json(found.dicts())
        elif self.csv:
            say(found.csv(), end="")
        elif self.sql is not None:
            _show(found)
        else:
            _show_runs(found)
        return 0

    def _export(self, store: "Store") -> int:
        from gnomon.lab.exported import export

        written = [str(file) for file in export(store, self.export)]
        if self.json:
            print_json({"files": written})
        else:
            say("\n".join(written))
        return 0

    def _verify(self, store: "Store") -> int:
        from gnomon.lab.verify import verify

        faults, runs = verify(store), len(store.hashes())
        if self.json:
            print_json({"runs": runs, "faults": [asdict(fault) for fault in faults]})
        else:
            _show_faults(faults, runs)
        return int(any(fault.kind == "wrong" for fault in faults))


def _show_faults(faults: "Sequence[Fault]", runs: int) -> None:
    out = Screen()
    if faults:
        made = table("", "file", "what", whole=("",))
        for fault in faults:
            made.add_row(fault.kind, fault.where, f"{fault.what}\ndo: {fault.do}")
        out.table(made)
        out.print()
    wrong = sum(fault.kind == "wrong" for fault in faults)
    out.print(f"{runs} {'run' if runs == 1 else 'runs'}: {wrong} wrong, {len(faults) - wrong} left over")


def _show(found: "query.Table") -> None:
    numbers = [
        name
        for at, name in enumerate(found.columns)
        if all(isinstance(row[at], int | float | None) for row in found.rows)
    ]
    made = table(*found.columns, right=numbers)
    for row in found.rows:
        made.add_row(*map(_cell, row))
    Screen().table(made)


def _show_runs(found: "query.Table") -> None:
    out, rows = Screen(), found.dicts()
    numbers = ("seed", "nats", "bits/byte", "reach", "ms/step")
    made = table("encoding", *numbers, "status", "run", right=numbers, whole=("status", "run"))
    for row in rows:
        made.add_row(
            row["label"],
            str(row["seed"]),
            _number(row["loss"], 3),
            _number(row["bits_per_byte"], 3),
            _reach(row),
            _number(row["ms_per_step"], 1),
            row["status"],
            row["hash"][:SHORT],
        )
    out.table(made)
    out.print(
        "\nnats and bits per byte over all test windows of the training length (the report's table has the loss "
        "on the same targets at every length); reach: how far that holds; run: how the name of its folder begins"
    )
    remarks = [remark for row in rows if (remark := _remark(row))]
    if remarks:
        out.print()
        out.print(items(remarks))


def _remark(row: dict[str, Any]) -> str:
    """Why a run has no loss, or a loss and no reach."""
    who = f"{row['label']}, seed {row['seed']}"
    if row["reason"]:
        return f"{who}, {row['status']}: {row['reason']}"
    if row["learned"] is False:
        return f"{who}, did not learn: byte frequencies alone give {row['unigram_loss']:.3f} nats"
    return ""


def _reach(row: dict[str, Any]) -> str:
    if row["reach"] is None:
        return "-"
    return f"≥{row['reach']}" if row["reach_censored"] else str(row["reach"])


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:,.{digits}f}"


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
