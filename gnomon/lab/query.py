"""The stored numbers as tables: DuckDB over the records and the Parquet files of a store."""

import csv
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow

from gnomon.errors import OptionError, StoreError, UserError
from gnomon.lab.columns import CURVE, GROUPS, LENGTHS, POSITIONS, RUNS, schema
from gnomon.lab.exported import Exported
from gnomon.lab.measures import has_answers, judged_by_loss, learned, reach, unigram_loss
from gnomon.lab.naming import task_label
from gnomon.lab.store import Store

VIEWS = ("runs", "lengths", "positions", "curves", "groups")
ALLOWED = f"SQL over the views {', '.join(VIEWS)}"
AT_TRAINING = (
    *("loss", "loss_se", "bits_per_byte", "exact", "exact_se", "token_accuracy", "token_accuracy_se"),
    *("chance_exact", "chance_token"),
)
"""What the row of a run has of its training length."""

EXAMPLE = 'write one like "select label, length, loss from lengths"'


@dataclass(frozen=True)
class Table:
    """Named columns and rows of plain values."""

    columns: tuple[str, ...]
    rows: list[tuple]

    def dicts(self) -> list[dict[str, Any]]:
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]

    def csv(self) -> str:
        """Comma-separated values with a header; an empty field is no value."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows(self.rows)
        return out.getvalue()


def summary(store: Store | Exported) -> Table:
    """A row a run: loss or right answers in range, reach, and what it cost. The label names a task other than text.

    Where a task with answers was not learned, the reason says how many were right.
    """
    return ask(
        store,
        """select case when task = 'text' then label else label || ' on ' || task end as label, seed, status, task,
                  training_length, loss, loss_se, bits_per_byte, unigram_loss, exact, token_accuracy, chance_exact,
                  learned, reach, reach_censored, parameters, ms_per_step, peak_memory_bytes, hash,
                  case when exact is not null and not learned then printf(
                      'did not learn: %.3f of the answers right at length %d, guessing %.2g',
                      exact, training_length, chance_exact) else reason end as reason
           from runs order by task = 'text' desc, task, runs.label, seed, hash""",
    )


def ask(store: Store | Exported, query: str) -> Table:
    """The answer to one SQL query over the views runs, lengths, positions, curves and groups of a store.

    The query reads the store and nothing else of the machine. A mistake in it is a UserError with DuckDB's message.
    """
    with connect(store) as connection:
        try:
            connection.execute(_one(connection.extract_statements(query), query))
            columns = _distinct([column[0] for column in connection.description or ()])
            return Table(columns, connection.fetchall() if columns else [])
        except duckdb.Error as error:
            raise UserError("the query has no answer", given=_indented(str(error)), allowed=ALLOWED) from error


def _one(statements: list[duckdb.Statement], query: str) -> duckdb.Statement:
    """The one statement of a query, which reads: what it wrote would be gone with the answer."""
    if len(statements) != 1:
        given = f"{len(statements)} statements" if statements else f"{query!r}, which asks nothing"
        raise OptionError("a query is one statement", given=given, allowed=ALLOWED, do=EXAMPLE)
    [statement] = statements
    # PIVOT is several statements to DuckDB.
    reads = statement.expected_result_type == [duckdb.ExpectedResultType.QUERY_RESULT]
    if not reads and statement.type != duckdb.StatementType.MULTI:
        kind = statement.type.name.lower()
        raise OptionError("a query reads the store and changes nothing", given=kind, allowed=ALLOWED, do=EXAMPLE)
    return statement


def _distinct(names: list[str]) -> tuple[str, ...]:
    """The names, those that occur again with a number, as DuckDB counts them: a, a_1."""
    found: list[str] = []
    for name in names:
        numbered = (f"{name}_{count}" for count in range(1, len(names) + 1))
        taken = {*found, *names}
        found.append(next(new for new in numbered if new not in taken) if name in found else name)
    return tuple(found)


def _indented(message: str) -> str:
    """DuckDB's message, its mark under the place still under it."""
    return message.replace("\n\n", "\n").replace("\n", "\n           ")


def connect(store: Store | Exported) -> duckdb.DuckDBPyConnection:
    """DuckDB in memory with the five views, shut off from all files but the Parquet files of the store."""
    records = store.records()
    connection = duckdb.connect()
    for name, columns, rows in (
        ("runs", RUNS, [run_row(record) for record in records]),
        ("lengths", LENGTHS, [row for record in records for row in length_rows(record)]),
        ("groups", GROUPS, [row for record in records for row in group_rows(record)]),
    ):
        told = [{key: _told(value) for key, value in row.items()} for row in rows]
        connection.register(f"_{name}", pyarrow.Table.from_pylist(told, schema=schema(columns)))
        connection.execute(f"create table {name} as select * from _{name}")
        connection.unregister(f"_{name}")
    readable = []
    for view, file, columns in (("positions", "positions.parquet", POSITIONS), ("curves", "curve.parquet", CURVE)):
        files = store.tables(file)
        try:
            together = isinstance(store, Exported)
            connection.execute(f"create view {view} as {_source(files, columns, together)}")
        except duckdb.Error as error:
            do = "remove the folder of that run and run the same command again"
            raise StoreError("a file of the store is damaged", given=_indented(str(error)), do=do) from error
        readable += files
    connection.execute(f"set allowed_paths = [{_listed(readable)}]")
    connection.execute("set enable_external_access = false")
    connection.execute("set lock_configuration = true")
    return connection


def _told(value: Any) -> Any:
    """A value as a table holds it: half a character, of which the name of a file may consist, as an escape."""
    return value.encode(errors="backslashreplace").decode() if isinstance(value, str) else value


def _source(files: list[Path], columns: Mapping[str, str], together: bool) -> str:
    """The query behind a view over the Parquet file of every run, or of all `together`, with the run it belongs to."""
    if not files:
        empty = ", ".join(f"null::{kind} as {name}" for name, kind in columns.items())
        return f"select null::varchar as hash, null::varchar as label, null::bigint as seed, {empty} where false"
    hash = "" if together else ", parse_path(filename)[-2] as hash"
    return f"""select hash, label, seed, {", ".join(columns)}
        from (select *{hash} from read_parquet([{_listed(files)}], filename = true))
        join (select hash, label, seed from runs) using (hash)"""


def _listed(files: list[Path]) -> str:
    return ", ".join("'" + str(path).replace("'", "''") + "'" for path in files)


def run_row(record: Mapping[str, Any]) -> dict[str, Any]:
    """The row of the view `runs`: loss and reach are those at the training length; without learning, no reach."""
    experiment, cost = record["experiment"], record["cost"]
    training_length = experiment["training"]["length"]
    at = next((e for e in record["lengths"] if e["length"] == training_length), {})
    try:
        holds = reach(record["lengths"], training_length, by_loss=judged_by_loss(record))
    except OptionError:
        holds = None
    knows = learned(record)
    holds = None if knows is False else holds
    values = {
        **{key: record.get(key) for key in ("hash", "label", "status", "reason", "started", "finished")},
        **{key: experiment[key] for key in ("encoding", "seed")},
        "options": json.dumps(experiment["options"]),
        "task": task_label(experiment["task"]),
        "text": None if has_answers(record) else (record.get("data") or {}).get("name"),
        **{key: experiment["model"][key] for key in ("width", "depth", "heads")},
        **{key: experiment["training"][key] for key in ("steps", "batch", "learning_rate")},
        "training_length": training_length,
        **{key: at.get(key) for key in AT_TRAINING},
        "unigram_loss": unigram_loss(record),
        "learned": knows,
        "reach": holds.length if holds else None,
        "reach_censored": holds.censored if holds else None,
        "parameters": record["parameters"]["total"],
        "encoding_parameters": record["parameters"]["encoding"],
        **cost,
    }
    return {key: values.get(key) for key in RUNS}


def length_rows(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The rows of the view `lengths`."""
    common = {"hash": record["hash"], "label": record["label"], "seed": record["experiment"]["seed"]}
    return [{key: {**common, **entry}.get(key) for key in LENGTHS} for entry in record["lengths"]]


def group_rows(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The rows of the view `groups`."""
    common = {"hash": record["hash"], "label": record["label"], "seed": record["experiment"]["seed"]}
    return [
        {key: {**common, "length": entry["length"], **group}.get(key) for key in GROUPS}
        for entry in record["lengths"]
        for group in entry.get("groups") or ()
    ]
