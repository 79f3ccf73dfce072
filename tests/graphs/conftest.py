from __future__ import annotations

import json

import pytest


@pytest.fixture(scope="session")
def golden(data_folder):
    """The recomputed figures, which lie beside the data."""

    def read(name):
        path = data_folder.parent / "golden" / f"explagraphs_{name}.json"
        if not path.is_file():
            pytest.skip(f"no {path.name} beside the data")
        return json.loads(path.read_text("utf-8"))

    return read


@pytest.fixture(scope="session")
def graphs_folder(data_folder):
    folder = data_folder / "explagraphs"
    if not folder.is_dir():
        pytest.skip("GRICE_DATA holds no explagraphs")
    return folder
