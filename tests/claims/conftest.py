"""The command line as a function, as other commands have it; evidence that is cheap; a repository with a rule."""

import pytest

from gnomon.claims import MODULES, records
from tests.claims.repositories import Repository
from tests.cli.conftest import gnomon  # noqa: F401 - a fixture


@pytest.fixture(scope="session")
def found():
    """The numbers of every claim that finds them in a few seconds."""
    return {module.CLAIM.id: module.CLAIM.evidence() for module in MODULES if module.CLAIM.cheap}


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """Records name its head as the commit of the code."""
    made = Repository(tmp_path)
    made.git("init", "-q")
    monkeypatch.setattr(records, "head", made.head)
    return made
