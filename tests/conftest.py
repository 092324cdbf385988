"""What every test shares: one thread of torch a worker, and hypothesis without deadlines."""

import os

import hypothesis
import pytest
import torch

torch.set_num_threads(1)

hypothesis.settings.register_profile("gnomon", deadline=None, print_blob=True)
hypothesis.settings.register_profile("ci", parent=hypothesis.settings.get_profile("gnomon"), derandomize=True)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "gnomon")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse a test whose name has an address in it: two workers would not know it for the same."""
    for item in items:
        if " at 0x" in item.nodeid:
            raise pytest.UsageError(f"{item.nodeid}: name its cases by `ids`")
