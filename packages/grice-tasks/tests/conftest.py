import pytest

from grice_tasks.situatedgen.records import Sample


def part(data_folder, name):
    if not (data_folder / name).is_dir():
        pytest.skip(f"GRICE_DATA holds no {name}")
    return data_folder / name


@pytest.fixture(scope="session")
def graphs_folder(data_folder):
    return part(data_folder, "explagraphs")


@pytest.fixture(scope="session")
def released(data_folder):
    return part(data_folder, "situatedgen")


@pytest.fixture
def july():
    keywords = "July", "China", "winter", "Australia", "summer", "July"
    said = "July is summer in China.", "July is winter in Australia."
    return Sample("july", keywords, (0, 0, 1, 1, 0, 1), said, " ".join(said), ("a", "b"))
