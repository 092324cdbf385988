"""The command line as a function, where no process of its own is needed."""

from collections.abc import Callable

import pytest

from gnomon.cli import main
from tests.cli.processes import Outcome


@pytest.fixture
def gnomon(capsys) -> Callable[..., Outcome]:
    """`gnomon(*arguments)` in this process."""

    def call(*arguments: str) -> Outcome:
        code = main(arguments)
        printed = capsys.readouterr()
        return Outcome(code, printed.out, printed.err)

    return call
