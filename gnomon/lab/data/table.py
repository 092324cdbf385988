"""Tables of numbers in CSV, without a line of names; the last word of a line may be its label."""

import io

import numpy as np

from gnomon.errors import DataError

FORM = "lines of equally many words, separated by commas: numbers, and no line of names"


def labelled(content: bytes, where: str) -> tuple[np.ndarray, list[str]]:
    """Numbers `[m, k]` float64, and a label for each line, which is its last word. DataError for anything else."""
    columns = _columns(content, where, labels=1)
    if len(columns) < 2:
        raise DataError(f"{where}: a line has a number, and a label at its end", given=content[:60], allowed=FORM)
    return _numbers(columns[:-1], where), columns[-1].to_pylist()


def numbers(content: bytes, where: str) -> np.ndarray:
    """Numbers `[m, k]` float64. DataError for anything else."""
    return _numbers(_columns(content, where, labels=0), where)


def _columns(content: bytes, where: str, labels: int) -> list:
    import pyarrow as pa
    from pyarrow import csv

    names = [str(at) for at in range(content.partition(b"\n")[0].count(b",") + 1)]
    kinds = {name: pa.float64() for name in names} | {name: pa.string() for name in names[len(names) - labels :]}
    try:
        table = csv.read_csv(
            io.BytesIO(content),
            csv.ReadOptions(column_names=names, use_threads=False),
            convert_options=csv.ConvertOptions(column_types=kinds, null_values=[], strings_can_be_null=False),
        )
    except pa.ArrowInvalid as error:
        raise DataError(f"{where}: not a table of numbers", given=str(error)[:300], allowed=FORM) from error
    return [column.combine_chunks() for column in table.columns]


def _numbers(columns: list, where: str) -> np.ndarray:
    found = np.stack([column.to_numpy(zero_copy_only=False) for column in columns], axis=1)
    wrong = ~np.isfinite(found).all(axis=1)
    if wrong.any():
        raise DataError(
            f"{where}: a number is not finite", given=f"line {wrong.argmax() + 1}", allowed="finite numbers"
        )
    return found
