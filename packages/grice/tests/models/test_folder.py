import shutil

import pytest

from grice.errors import ModelFolderError
from grice.models.folder import open_folder, shipped_models


@pytest.fixture
def copy(tmp_path):
    folder = tmp_path / "encoder"
    shutil.copytree(shipped_models()["encoder"], folder)
    return folder


@pytest.mark.parametrize("name", shipped_models())
def test_every_shipped_model_is_whole_and_documented(name):
    folder = open_folder(name)
    card = folder.card
    assert card.name == name
    assert all((card.licence, card.summary, card.inputs, card.outputs))
    assert all((card.training.data, card.training.command))
    assert {path.name for path in folder.path.iterdir()} == {"card.toml", *card.files}


def test_all_models_together_stay_small():
    files = [file for folder in shipped_models().values() for file in folder.iterdir()]
    # The wheel is compressed, and the weights of the reader to under five bits each there.
    assert sum(file.stat().st_size for file in files) < 122e6


def test_other_settings_are_another_model_and_a_changed_file_is_refused_by_name(copy):
    assert open_folder(copy).digest == open_folder("encoder").digest
    card = copy / "card.toml"
    card.write_text(card.read_text().replace("max_tokens = 256", "max_tokens = 128"))
    assert open_folder(copy).digest != open_folder("encoder").digest
    with (copy / "config.json").open("a") as file:
        file.write(" ")
    with pytest.raises(ModelFolderError, match=r"config\.json is not the file its card describes"):
        open_folder(copy)
    (copy / "config.json").unlink()
    with pytest.raises(ModelFolderError, match=r"config\.json is missing"):
        open_folder(copy)


@pytest.mark.parametrize("content", [b"name = ", b"\xff\xfe", b'name = "x"', b""])
def test_a_broken_card_is_refused(copy, content):
    (copy / "card.toml").write_bytes(content)
    with pytest.raises(ModelFolderError, match="cannot be read"):
        open_folder(copy)


def test_a_folder_without_a_card_and_a_wrong_name_are_refused(tmp_path):
    with pytest.raises(ModelFolderError, match=r"no card\.toml"):
        open_folder(tmp_path)
    with pytest.raises(ModelFolderError, match="did you mean 'encoder'"):
        open_folder("encodr")
