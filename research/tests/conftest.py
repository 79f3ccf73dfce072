"""Fixtures that several test modules share."""

from __future__ import annotations

import pytest

from grice.triplets.files import read_dialogues
from grice_research.triplets.task_files import read_items


@pytest.fixture(scope="session")
def dialogues(cider_folder):
    return read_dialogues(cider_folder / "dialogues.jsonl.gz").dialogues


@pytest.fixture(scope="session")
def items(cider_folder):
    return read_items(cider_folder / "experiment.jsonl.gz")
