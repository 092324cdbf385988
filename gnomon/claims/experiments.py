"""The results of the experiments that claims are judged by, as they are committed, by encoding and seed.

An experiment is named as its file in `experiments/` is. Its results get there by

    gnomon compare experiments/NAME.py --store runs/NAME
    gnomon results runs/NAME --export results/NAME
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from gnomon.claims.claim import Numbers
from gnomon.claims.shapes import Row, Rows, Text, Whole
from gnomon.errors import DataError

FOLDER = Path("results")

Record = Mapping[str, Any]
"""What one run has found, as `gnomon.lab.record` writes it."""

SOURCES = Rows(Row((Text(), Text(), Whole(1))))
"""The shape of `sources`: experiment, sha256 of its records, runs."""
SOURCE_COLUMNS = ("experiment", "sha256 of its records", "runs")


def there(name: str) -> bool:
    """Whether this folder has the results of an experiment."""
    return (FOLDER / name / "records.jsonl").is_file()


def commands(*names: str) -> list[str]:
    """What makes the results of experiments, in a checkout: runs, then their numbers without the weights."""
    return [
        command
        for name in names
        for command in (
            f"gnomon compare experiments/{name}.py --store runs/{name}",
            f"gnomon results runs/{name} --export {(FOLDER / name).as_posix()}",
        )
    ]


def records(name: str) -> list[Record]:
    """All records of an experiment, by label and seed. DataError where its results are not there."""
    from gnomon.lab.exported import Exported

    return Exported(_file(name).parent).records()


def sources(*names: str) -> list[list]:
    """Which results the numbers of a claim are of, for the record: rows of SOURCE_COLUMNS."""
    return [[name, _digest(_file(name)), len(records(name))] for name in names]


def doubts(numbers: Numbers) -> Iterator[str]:
    """What in the results that are there now is not what the numbers were found from."""
    for name, digest, _ in numbers.get("sources") or ():
        file = FOLDER / name / "records.jsonl"
        if FOLDER.is_dir() and not file.is_file():
            yield f"the results it was found from are not there: {file.as_posix()}"
        elif file.is_file() and _digest(file) != digest:
            yield f"{file.as_posix()} has changed since the record was made"


def by_label(found: Sequence[Record], **task: Any) -> dict[str, list[Record]]:
    """Finished runs of each label, by seed; only those of a task whose name and options are these, where any is given.

    `by_label(found, name="addition", order="reversed")`.
    """
    runs: dict[str, list[Record]] = {}
    for record in found:
        if record["status"] == "finished" and _is_of(record["experiment"]["task"], task):
            runs.setdefault(record["label"], []).append(record)
    return {label: sorted(each, key=seed) for label, each in runs.items()}


def seed(record: Record) -> int:
    return record["experiment"]["seed"]


def trained_at(record: Record) -> int:
    """The training length."""
    return record["experiment"]["training"]["length"]


def at(record: Record, length: int, key: str) -> float | None:
    """A number of one length; None where the encoding refused it, or it was not measured."""
    return _at(record["lengths"], length, key)


def group(record: Record, length: int, name: str, key: str = "exact") -> float | None:
    """A number of one group of examples at a length."""
    rows = next((row.get("groups") or () for row in record["lengths"] if row["length"] == length), ())
    return next((row[key] for row in rows if row["name"] == name), None)


def variant(record: Record, options: Mapping[str, Any], length: int, key: str) -> float | None:
    """A number of one length, of the trained weights under other options of the encoding."""
    lengths = next((each["lengths"] for each in record.get("variants") or () if each["options"] == dict(options)), ())
    return _at(lengths, length, key)


def probe(record: Record, name: str) -> Mapping[str, Any] | None:
    """What a probe found; None where it was not asked, or does not apply."""
    found = (record.get("probes") or {}).get(name)
    return None if found is None or "not_asked" in found else found


def rows(runs: Mapping[str, Sequence[Record]], *values: Callable[[Record], Any]) -> list[list]:
    """A row of each run: label, seed and what each function makes of its record."""
    return [[label, seed(run), *(value(run) for value in values)] for label, each in runs.items() for run in each]


def _at(lengths: Sequence[Mapping[str, Any]], length: int, key: str) -> float | None:
    return next((row.get(key) for row in lengths if row["length"] == length), None)


def _is_of(task: Mapping[str, Any], asked: Mapping[str, Any]) -> bool:
    have = {"name": task.get("name", "text"), **(task.get("options") or {})}
    return all(have.get(name) == value for name, value in asked.items())


def _file(name: str) -> Path:
    file = FOLDER / name / "records.jsonl"
    if not there(name):
        raise DataError(
            f"the results of the experiment {name} are not there",
            given=f"{file.as_posix()}, which is not in this folder",
            do=f"in a checkout of gnomon: {', then '.join(commands(name))}",
        )
    return file


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()
