import json
import os
import shutil
from functools import partial

import pytest

from grice.errors import ModelFolderError
from grice.models.folder import MOST_BYTES, MOST_DOTS, is_inside, open_folder, shipped_models


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


@pytest.mark.usefixtures("time_limit")
@pytest.mark.parametrize("name", ["config.json", "card.toml"])
def test_a_pipe_or_a_device_in_the_place_of_a_file_is_refused_at_once(copy, name):
    for make in (os.mkfifo, partial(os.symlink, os.devnull), os.mkdir):
        (copy / name).unlink()
        make(copy / name)
        with pytest.raises(ModelFolderError, match=f"{name}: no regular file"):
            open_folder(copy)


@pytest.mark.parametrize("content", [
    *(b"name = ", b"\xff\xfe", b'name = "x"', b""),
    *(begin + b"a." * MOST_DOTS + b"a.a = 1}" for begin in (b"", b'"=".', b"x = {")),
    b"#" * (MOST_BYTES + 1),
])  # fmt: skip
def test_a_card_that_is_broken_or_long_is_refused(copy, content):
    (copy / "card.toml").write_bytes(content)
    with pytest.raises(ModelFolderError, match="cannot be read"):
        open_folder(copy)


def test_a_card_as_long_as_is_allowed_is_read(copy):
    key = b"\n[settings.x]\n" + b"a." * MOST_DOTS + b"a = 1\nb = [" + b"0.1," * 300 + b"]\n#"
    content = (copy / "card.toml").read_bytes() + key
    (copy / "card.toml").write_bytes(content.ljust(MOST_BYTES, b"."))
    assert open_folder(copy).card.settings["x"]["b"] == [0.1] * 300


@pytest.mark.parametrize(
    "name", ["", "../x", "/x", "a/../../x", r"a\x", "C:x", "a\0", "./x", "a//x"]
)
def test_a_card_names_each_file_once_and_inside_of_its_folder(copy, name):
    assert not is_inside(name)
    card = (copy / "card.toml").read_text().partition("[files]")[0]
    (copy / "card.toml").write_text(f"{card}[files]\n{json.dumps(name)} = 'x'\n")
    with pytest.raises(ModelFolderError, match="is not the name of a file in its folder"):
        open_folder(copy)


def test_a_folder_without_a_card_and_a_wrong_name_are_refused(tmp_path):
    with pytest.raises(ModelFolderError, match=r"no card\.toml"):
        open_folder(tmp_path)
    with pytest.raises(ModelFolderError, match="did you mean 'encoder'"):
        open_folder("encodr")
