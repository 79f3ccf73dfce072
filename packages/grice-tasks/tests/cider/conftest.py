import pytest

from grice_tasks.cider.files import read_dialogues


@pytest.fixture(scope="session")
def dialogues(cider_folder):
    return read_dialogues(cider_folder / "dialogues.jsonl.gz").dialogues
