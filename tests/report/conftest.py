import pytest

from gnomon import report
from tests.report import fakes

STORES = {
    "one seed": fakes.one_seed,
    "three seeds": fakes.three_seeds,
    "troubled": fakes.troubled,
    "analysed": fakes.troubled,
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
                positions=fakes.positions(records),
                curves=fakes.curves(records),
                portraits=fakes.portraits(records),
                analyses=fakes.analyses() if name == "analysed" else None,
            )
        return made[name]

    return write
