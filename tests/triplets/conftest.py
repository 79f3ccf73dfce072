from __future__ import annotations

import json

import pytest

from grice.triplets.files import read_dialogues, read_items


@pytest.fixture(scope="session")
def cider_folder(data_folder):
    folder = data_folder / "cider"
    if not folder.is_dir():
        pytest.skip("GRICE_DATA holds no cider")
    return folder


@pytest.fixture(scope="session")
def golden(data_folder):
    """The recomputed figures, which lie beside the data."""

    def read(name):
        path = data_folder.parent / "golden" / f"cider_{name}.json"
        if not path.is_file():
            pytest.skip(f"no {path.name} beside the data")
        return json.loads(path.read_text("utf-8"))

    return read


@pytest.fixture(scope="session")
def dialogues(cider_folder):
    return read_dialogues(cider_folder / "dialogues.jsonl.gz").dialogues


@pytest.fixture(scope="session")
def items(cider_folder):
    return read_items(cider_folder / "experiment.jsonl.gz")
