import pytest

from grice_tasks.situatedgen.records import Sample


@pytest.fixture(scope="session")
def released(data_folder):
    folder = data_folder / "situatedgen"
    if not folder.is_dir():
        pytest.skip("GRICE_DATA holds no situatedgen")
    return folder


@pytest.fixture
def july():
    return Sample(
        "july",
        ("July", "China", "winter", "Australia", "summer", "July"),
        (0, 0, 1, 1, 0, 1),
        ("July is summer in China.", "July is winter in Australia."),
        "July is summer in China. July is winter in Australia.",
        ("a", "b"),
    )
