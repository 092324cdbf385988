"""What is found, as data: series with their errors, tables that are whole."""

import pytest

from gnomon.lab.measures import Mean
from gnomon.section import Line, Table


def test_a_series_of_means_keeps_their_errors():
    line = Line.of("loss", range(3), [Mean(2.0, 0.5, 8), None, Mean(1.0, None, 1)])
    assert line == Line("loss", [0, 1, 2], [2.0, None, 1.0], [0.5, None, None])


@pytest.mark.parametrize("y, se", [([1.0], ()), ([1.0, 2.0], [0.1])])
def test_every_x_has_a_value_and_all_have_an_error_or_none(y, se):
    with pytest.raises(ValueError, match="loss"):
        Line("loss", [1, 2], y, se)


def test_a_table_has_whole_rows():
    with pytest.raises(ValueError, match="lags"):
        Table("lags", ("lag", "value"), ((1, 2.0), (3,)))
