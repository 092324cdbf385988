"""What each trained encoding of a comparison looks like, for its report."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gnomon.lab.store import Store


def portraits(store: "Store", records: Sequence[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Hash of the first finished seed of a series -> the portrait of its encoding, of the first layer."""
    from gnomon.report.summary import summarise

    drawn = {(run := series.runs[0])["hash"]: _drawn(store, run) for series in summarise(records).done}
    return {hash: portrait for hash, portrait in drawn.items() if portrait is not None}


def _drawn(store: "Store", record: dict[str, Any]) -> dict[str, Any] | None:
    from gnomon.encoding import Encoding, Shape
    from gnomon.errors import DataError, OptionError
    from gnomon.lab import build
    from gnomon.lab.experiment import Experiment
    from gnomon.lab.portrait import portrait

    weights = store.weights(record["hash"])
    if not weights.is_file():
        return None
    try:
        experiment = Experiment.from_json(record["experiment"])
        model = build.restore(experiment, build.read_by(experiment), weights)
    except (DataError, OptionError):  # what the run was made of is gone or has changed, or it is of an older gnomon
        return None
    encoding = next((module for module in model.modules() if isinstance(module, Encoding)), None)
    if encoding is None:
        return None
    sizes = experiment.model
    shape = Shape(sizes.width, sizes.heads, sizes.width // sizes.heads, sizes.depth)
    return portrait(encoding, shape, experiment.longest)
