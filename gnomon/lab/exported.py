"""Results without weights, to be committed or mailed: the records of a store in one file, and its loss by position.

results/text/
  records.jsonl               a record a line, by label, seed and hash
  positions.parquet           hash, length, position, loss, se, windows, first, last; of text only
  tuning.jsonl                the records of the trials that learning rates were chosen by, where there were any
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gnomon.errors import OptionError, StoreError
from gnomon.lab import written
from gnomon.lab.columns import POSITIONS as COLUMNS
from gnomon.lab.files import replace_file, writing
from gnomon.lab.parts import canonical
from gnomon.lab.store import EXPORTED, Store, check_record, read_table

if TYPE_CHECKING:
    from gnomon.lab.query import Table

DO = "export the store anew: gnomon results --export FOLDER"

WHAT = "the folder of exported results"

RECORDS, POSITIONS, TRIALS = EXPORTED, "positions.parquet", "tuning.jsonl"


class Exported:
    """What `export` has written, to be read as a store is. It has no weights and no training curves.

    StoreError where there is no such folder, and for a line that is no record.
    """

    def __init__(self, path: str | Path, name: str = RECORDS):
        self.path, self.name = Path(path), name
        if name == RECORDS and not (self.path / name).is_file():
            raise StoreError("there are no exported results here", given=str(path), do="gnomon results --export FOLDER")

    def records(self) -> list[dict[str, Any]]:
        """All records, by label, seed and hash."""
        file = self.path / self.name
        if not file.is_file():
            return []
        try:
            # What other letters end a line may stand in a text.
            held = file.read_text(encoding="utf-8").removesuffix("\n")
        except (OSError, ValueError) as error:
            raise StoreError("exported results cannot be read", given=f"{file}: {error}") from error
        found = {}
        for at, line in enumerate(held.split("\n") if held else (), 1):
            record = _record(line, f"{file}, line {at}")
            if found.setdefault(record["hash"], record) is not record:
                given = f"{file}, line {at}: {record['hash']} stands there already"
                raise StoreError("exported results are damaged", given=given, do=DO)
        return [*found.values()]

    def record(self, hash: str) -> dict[str, Any] | None:
        return next((record for record in self.records() if record["hash"] == hash), None)

    def hashes(self) -> list[str]:
        return sorted(record["hash"] for record in self.records())

    def trials(self) -> "Exported":
        return Exported(self.path, TRIALS)

    def weights(self, hash: str) -> Path:
        """Where they would lie: they are not exported."""
        return self.path / hash / "weights.safetensors"

    def tables(self, name: str) -> list[Path]:
        """The Parquet files that hold a table of the runs, with a column `hash`."""
        return [file] if (file := self.path / name).is_file() and self.name == RECORDS else []

    def positions(self, hash: str) -> list[dict[str, Any]]:
        """Loss by position of one run, a row a length and bin."""
        from pyarrow import compute

        for file in self.tables(POSITIONS):
            found = read_table(file, {"hash": "VARCHAR", **COLUMNS}, DO)
            return found.filter(compute.field("hash") == hash).drop_columns("hash").to_pylist()
        return []

    def curve(self, hash: str) -> list[dict[str, Any]]:
        """Nothing: training curves are not exported."""
        return []

    def table(self) -> "Table":
        """The numbers, a row a run."""
        from gnomon.lab.query import summary

        return summary(self)

    def sql(self, query: str) -> "Table":
        """The answer of DuckDB over the views runs, lengths, positions, curves, groups."""
        from gnomon.lab.query import ask

        return ask(self, query)


def opened(path: str | Path) -> Store | Exported:
    """The store of a folder, or what was exported into it."""
    return Exported(path) if (Path(path) / RECORDS).is_file() else Store(path)


def export(store: Store, folder: str | Path) -> list[Path]:
    """Write the numbers of all runs of a store, and of its trials, into a folder; the files, which replace others.

    OptionError for a folder that is a store. StoreError where it cannot be written.
    """
    folder = Path(folder)
    if folder.resolve() == store.path.resolve() or (folder / "gnomon-store.json").exists():
        raise OptionError("results are exported out of a store", given=str(folder), do="name another folder")
    records, trials = store.records(), store.trials().records()
    with writing(folder, WHAT):
        folder.mkdir(parents=True, exist_ok=True)
    written = [_write(folder / RECORDS, records)]
    if trials:
        written.append(_write(folder / TRIALS, trials))
    rows = [{"hash": record["hash"], **row} for record in records for row in store.positions(record["hash"])]
    if rows:
        import pyarrow
        from pyarrow import parquet

        table = pyarrow.Table.from_pylist(rows)
        replace_file(folder / POSITIONS, lambda file: parquet.write_table(table, file), WHAT)
        written.append(folder / POSITIONS)
    for name in (POSITIONS, TRIALS):
        if folder / name not in written:
            (folder / name).unlink(missing_ok=True)
    return written


def _write(path: Path, records: Iterable[Mapping[str, Any]]) -> Path:
    text = "".join(f"{canonical(record)}\n" for record in records)
    # Half a character, of which names of files may consist, as JSON escapes it.
    held = text.encode(errors="backslashreplace")
    replace_file(path, lambda file: file.write_bytes(held), WHAT)
    return path


def _record(line: str, where: str) -> dict[str, Any]:
    try:
        record = written.loads(line)
        return check_record(record, record["hash"], where, DO)
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError("exported results are damaged", given=f"{where}: {error}", do=DO) from error
