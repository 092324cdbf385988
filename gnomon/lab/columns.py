"""The columns of the stored tables and of the views over them: names, in order, with their SQL types."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow

RUNS = {
    "hash": "VARCHAR",
    "label": "VARCHAR",
    "encoding": "VARCHAR",
    "options": "VARCHAR",
    "seed": "BIGINT",
    "status": "VARCHAR",
    "reason": "VARCHAR",
    "task": "VARCHAR",
    "text": "VARCHAR",
    "width": "BIGINT",
    "depth": "BIGINT",
    "heads": "BIGINT",
    "steps": "BIGINT",
    "batch": "BIGINT",
    "training_length": "BIGINT",
    "learning_rate": "DOUBLE",
    "loss": "DOUBLE",
    "loss_se": "DOUBLE",
    "bits_per_byte": "DOUBLE",
    "unigram_loss": "DOUBLE",
    **dict.fromkeys(("exact", "exact_se", "token_accuracy", "token_accuracy_se"), "DOUBLE"),
    **dict.fromkeys(("chance_exact", "chance_token"), "DOUBLE"),
    "learned": "BOOLEAN",
    "reach": "BIGINT",
    "reach_censored": "BOOLEAN",
    "parameters": "BIGINT",
    "encoding_parameters": "BIGINT",
    "ms_per_step": "DOUBLE",
    "tokens_per_second": "DOUBLE",
    "train_seconds": "DOUBLE",
    "measure_seconds": "DOUBLE",
    "peak_memory_bytes": "BIGINT",
    "peak_device_memory_bytes": "BIGINT",
    "started": "VARCHAR",
    "finished": "VARCHAR",
}
LENGTHS = {
    "hash": "VARCHAR",
    "label": "VARCHAR",
    "seed": "BIGINT",
    "length": "BIGINT",
    "status": "VARCHAR",
    "reason": "VARCHAR",
    **dict.fromkeys(("loss", "loss_se", "bits_per_byte"), "DOUBLE"),
    **dict.fromkeys(("windows", "tokens"), "BIGINT"),
    **dict.fromkeys(("paired_loss", "paired_se"), "DOUBLE"),
    **dict.fromkeys(("paired_windows", "paired_targets"), "BIGINT"),
    **dict.fromkeys(("paired_excess", "paired_excess_se", "sliding_loss", "sliding_perplexity"), "DOUBLE"),
    "sliding_stride": "BIGINT",
    **dict.fromkeys(("exact", "exact_se", "token_accuracy", "token_accuracy_se"), "DOUBLE"),
    **dict.fromkeys(("chance_exact", "chance_token"), "DOUBLE"),
    "examples": "BIGINT",
}
GROUPS = {
    "hash": "VARCHAR",
    "label": "VARCHAR",
    "seed": "BIGINT",
    "length": "BIGINT",
    "name": "VARCHAR",
    "trained": "BOOLEAN",
    **dict.fromkeys(("exact", "exact_se", "token_accuracy", "token_accuracy_se", "loss"), "DOUBLE"),
    "examples": "BIGINT",
}
POSITIONS = {
    "length": "BIGINT",
    "position": "DOUBLE",
    "loss": "DOUBLE",
    "se": "DOUBLE",
    "windows": "BIGINT",
    "first": "BIGINT",
    "last": "BIGINT",
}
CURVE = {"step": "BIGINT", "loss": "DOUBLE", "learning_rate": "DOUBLE", "tokens_per_second": "DOUBLE"}


def schema(columns: Mapping[str, str]) -> "pyarrow.Schema":
    """The same columns for a Parquet file."""
    import pyarrow

    kinds = {
        "VARCHAR": pyarrow.string(),
        "BIGINT": pyarrow.int64(),
        "DOUBLE": pyarrow.float64(),
        "BOOLEAN": pyarrow.bool_(),
    }
    return pyarrow.schema([(name, kinds[kind]) for name, kind in columns.items()])
