"""Fixtures that several test modules share."""

from __future__ import annotations

import pytest

from grice.triplets.files import read_items


@pytest.fixture(scope="session")
def cider_folder(data_folder):
    folder = data_folder / "cider"
    if not folder.is_dir():
        pytest.skip("GRICE_DATA holds no cider")
    return folder


@pytest.fixture(scope="session")
def items(cider_folder):
    return read_items(cider_folder / "experiment.jsonl.gz")
