"""Fixtures that several test modules share."""

from pathlib import Path

import pytest

from grice_research.triplets.cider import read_items


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark the tests of this distribution."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker("research")


@pytest.fixture(scope="session")
def items(cider_folder):
    return read_items(cider_folder / "experiment.jsonl.gz")
