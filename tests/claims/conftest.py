"""The command line as a function, as the tests of the other commands have it."""

from tests.cli.conftest import gnomon  # noqa: F401 - a fixture
