import pytest


@pytest.fixture(scope="session")
def graphs_folder(data_folder):
    folder = data_folder / "explagraphs"
    if not folder.is_dir():
        pytest.skip("GRICE_DATA holds no explagraphs")
    return folder
