"""Types of models and schemes of references: grice's own, and those of other people's packages."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import grice
from grice import distributions
from grice.cli import main
from grice.errors import ModelError, ModelFolderError
from grice.models.folder import Card, ModelFolder
from grice.models.loader import (
    TYPE_GROUP,
    ModelLoader,
    Settings,
    find_entries,
    find_model_type,
    plugin_problems,
    read_settings,
)
from grice.models.protocols import Encoder, PairClassifier

SOURCE = Path(grice.__file__).parent
PLUGIN = Path(__file__).parents[1] / "plugin_package"


@pytest.fixture
def installed(monkeypatch):
    monkeypatch.syspath_prepend(str(PLUGIN))
    yield
    for module in ("grice_shouting", "grice_shouting_models"):
        sys.modules.pop(module, None)


@pytest.fixture
def chat(tmp_path):
    path = tmp_path / "chat.jsonl"
    turns = [{"speaker": "A", "text": "Where were you?"}, {"speaker": "B", "text": "AT home"}]
    path.write_text(json.dumps({"id": "1", "turns": turns}))
    return path


PROJECT = tomllib.loads((SOURCE.parents[1] / "pyproject.toml").read_text("utf-8"))["project"]
OWN = PROJECT["entry-points"][TYPE_GROUP]


def test_the_entry_points_name_what_is_declared():
    assert [find_model_type(name, "-").name for name in OWN] == list(OWN)
    text = "".join(path.read_text("utf-8") for path in SOURCE.rglob("*.py"))
    declared = re.findall(r'^(?:@|\w+ = )model_type\(\s*"([\w-]+)"', text, re.MULTILINE)
    assert len(declared) > 15
    assert set(declared) <= OWN.keys()
    assert {name: find_entries(TYPE_GROUP)[name].value for name in OWN} == OWN


def test_a_checkout_works_whose_installation_is_older(monkeypatch):
    installed = distributions.entry_points("grice.model_folders")
    monkeypatch.setattr(
        distributions, "entry_points", lambda group: installed if "folders" in group else ()
    )
    assert isinstance(ModelLoader().load("builtin:encoder"), Encoder)


def test_only_the_module_of_the_kind_that_is_opened_is_imported():
    code = (
        "import sys; from grice.models.loader import ModelLoader\n"
        "ModelLoader(mode='exact', workers=1, cache=None).load('builtin:encoder')\n"
        "print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    places = {place.partition(":")[0] for place in OWN.values()}
    assert places & set(done.stdout.split()) == {OWN["encoder"].partition(":")[0]}


def test_a_model_is_opened_as_what_is_asked_for(exact_models):
    assert isinstance(exact_models.load("builtin:encoder", Encoder), Encoder)
    with pytest.raises(ModelError, match="builtin:encoder: a model of type 'encoder', where"):
        exact_models.load("builtin:encoder", PairClassifier)


class Tiny(Settings, frozen=True):
    size: int
    weights: tuple[float, ...] = ()


@pytest.mark.parametrize(("settings", "message"), [
    ({}, "settings: object missing required field `size`"),
    ({"size": "x"}, "settings.size: expected `int`, got `str`"),
    ({"size": 1, "weights": [1, "x"]}, "settings.weights[1]: expected `float`, got `str`"),
    ({"size": 1, "weights": [float("nan")]}, "settings: only finite numbers"),
])  # fmt: skip
def test_settings_are_checked_in_one_place_and_others_left_alone(settings, message):
    def folder(settings):
        return ModelFolder(Path("here"), Card("t", "t", "1", "-", "-", {}, settings=settings), "0")

    with pytest.raises(ModelFolderError, match=re.escape(message)):
        read_settings(folder(settings), Tiny)
    assert read_settings(folder({"size": 1, "note": ["x"]}), Tiny) == Tiny(1)


def score(chat, metric, reference):
    option = f"--{metric.replace('_', '-')}-model"
    return main(["score", str(chat), "-m", metric, option, reference, "--no-cache"])


def test_a_foreign_model_serves_a_foreign_metric_and_one_of_the_package(installed, chat, capsys):
    assert score(chat, "calm_model", "shout:0.5") == 0
    scores = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert scores[1]["value"] == pytest.approx(1 - 0.5 * 2 / 6)
    assert scores[1]["signature"].startswith("calm_model:1|model:shout@")
    assert score(chat, "relevance", "shout:0.5") == 0
    assert json.loads(capsys.readouterr().out.splitlines()[1])["status"] == "ok"


def test_a_model_of_another_type_or_scheme_is_refused(installed, chat, capsys):
    assert score(chat, "engagement", "shout:0.5") == 2
    error = " ".join(capsys.readouterr().err.split())
    assert "shout:0.5: a model of relevance, where one of engagement is needed" in error
    assert score(chat, "relevance", "shuot:0.5") == 2
    error = " ".join(capsys.readouterr().err.split())
    assert all(part in error for part in ("write builtin:NAME", "file:PATH", "shout:PLACE"))


def test_a_plugin_that_fails_is_reported_and_no_other(installed, exact_models, capsys):
    with pytest.raises(ModelFolderError, match="shout:loud: ValueError: could not convert"):
        exact_models.load("shout:loud")
    with pytest.raises(ModelError, match="scheme 'broken' of grice-shouting: ModuleNotFoundError"):
        exact_models.load("broken:thing")
    with pytest.raises(ModelError, match="type 'broken-head' of grice-shouting: ModuleNotFound"):
        find_model_type("broken-head", "-")
    assert exact_models.load("shout:0.5", PairClassifier)
    problems = "\n".join(plugin_problems())
    assert "model type 'broken-head' of grice-shouting: ModuleNotFoundError" in problems
    assert "model type 'pair-head' of grice-shouting is left out: grice has one" in problems
    assert "'whisper-head' of grice-shouting: grice_shouting_models:ShoutHead" in problems
    assert "reference scheme 'broken' of grice-shouting" in problems
    assert (len(plugin_problems()), main(["list"])) == (4, 0)
    assert "model type 'broken-head'" in " ".join(capsys.readouterr().err.split())
