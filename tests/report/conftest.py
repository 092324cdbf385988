from functools import partial

import pytest

from gnomon import report
from tests.report import fakes, hostile

STORES = {
    "one seed": fakes.one_seed,
    "three seeds": fakes.three_seeds,
    "troubled": fakes.troubled,
    "analysed": fakes.troubled,
    "hostile": lambda: hostile.records(hostile.WORDS),
}


@pytest.fixture(scope="session")
def written(tmp_path_factory):
    """Name of a made-up store -> its report, written once."""
    made = {}

    def write(name):
        if name not in made:
            records = STORES[name]()
            made[name] = report.write(
                records,
                tmp_path_factory.mktemp("report") / "report.html",
                positions={} if name == "hostile" else fakes.positions(records),
                curves={} if name == "hostile" else fakes.curves(records),
                portraits=hostile.portraits(records, hostile.WORDS) if name == "hostile" else fakes.portraits(records),
                analyses={"analysed": fakes.analyses, "hostile": partial(hostile.analyses, hostile.WORDS)}.get(
                    name, lambda: None
                )(),
            )
        return made[name]

    return write
