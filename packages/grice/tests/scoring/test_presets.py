"""Presets: models and weights of all metrics by one name, which every run says."""

import json
from unittest.mock import Mock

import pytest

import grice
from grice.cli import main
from grice.errors import InputError, ModelError
from grice.models.folder import shipped_models

OWN = 'summary = "Short histories."\n[options.relevance]\nhistory = 1\n'


@pytest.fixture
def config(tmp_path, monkeypatch):
    """A folder of settings with a preset ``short``."""
    folder = tmp_path / "config"
    (folder / "presets").mkdir(parents=True)
    (folder / "presets" / "short.toml").write_text(OWN)
    monkeypatch.setenv("GRICE_CONFIG", str(folder))
    monkeypatch.setenv("GRICE_MODELS", str(tmp_path / "models"))
    return folder


@pytest.fixture
def chat(tmp_path):
    path = tmp_path / "chat.txt"
    path.write_text("Ann: Where were you?\nBob: At home, all day.\nAnn: And your dog?\n")
    return path


def score(chat, *words, metric="relevance"):
    return main(["score", str(chat), "-m", metric, "--no-cache", *map(str, words)])


def signature(capsys):
    return json.loads(capsys.readouterr().out.splitlines()[0])["signature"]


@pytest.mark.parametrize(("words", "history"), [
    ((), 4), (("--models", "small"), 4), (("--models", "short"), 1), (("--models", "team.toml"), 1),
    (("--models", "short", "--relevance-history", "2"), 2),
])  # fmt: skip
def test_options_count_more(config, chat, tmp_path, capsys, monkeypatch, words, history):
    (tmp_path / "team.toml").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    assert score(chat, *words) == 0
    assert f"history:{history}" in signature(capsys)


def test_a_chosen_preset_serves_every_run_and_says_so(config, chat, capsys):
    assert main(["models", "use", "short"]) == 0
    capsys.readouterr()
    assert score(chat) == 0
    shown = capsys.readouterr()
    assert "models: short (chosen by grice models use)" in shown.err
    assert "history:1" in json.loads(shown.out.splitlines()[0])["signature"]
    assert main(["explain", "Where are you?", "At home.", "-m", "relevance", "--no-cache"]) == 0
    assert "models: short" in capsys.readouterr().err
    assert score(chat, "--models", "small") == 0
    assert "history:4" in signature(capsys)


def test_the_choice_of_a_user_does_not_reach_python(config, chat):
    assert main(["models", "use", "short"]) == 0
    with grice.load("relevance") as small, grice.load("relevance", models="short") as short:
        assert "history:4" in small.signatures["relevance"]
        assert "history:1" in short.signatures["relevance"]
    assert grice.score_files(chat, metrics=["log_length"]).models == "small"
    assert grice.score_files(chat, metrics=["log_length"], models="short").models == "short"


def test_another_preset_finishes_no_run(config, chat, tmp_path, capsys, monkeypatch):
    out = tmp_path / "out.jsonl"
    # The metric has no option of the preset, and so the same signature with it and without.
    with monkeypatch.context() as patch:
        patch.setattr("grice.scoring.run.ScoreFile.finish", Mock(side_effect=KeyboardInterrupt))
        assert score(chat, "-o", out, metric="log_length") == 130
    assert score(chat, "-o", out, "--models", "short", metric="log_length") == 2
    assert "other metrics, models, options or inputs" in capsys.readouterr().err
    assert score(chat, "-o", out, metric="log_length") == 0


@pytest.mark.parametrize("preset", ["medium", "large"])
def test_a_preset_names_the_command_for_its_models(config, chat, tmp_path, capsys, preset):
    command = f"; run: grice models get {preset}\n"
    assert score(chat, "--models", preset) == 2
    assert command in capsys.readouterr().err
    assert main(["models", "use", preset]) == 2
    assert command in capsys.readouterr().err
    with pytest.raises(ModelError, match="not fetched yet"):
        grice.load("log_length", models=preset)
    own = tmp_path / "own.toml"
    own.write_text('summary = "one"\nmodels = ["medium"]\n', "utf-8")
    assert score(chat, "--models", own) == 2
    assert "not fetched yet: medium; run: grice models get model:medium" in capsys.readouterr().err


def test_the_model_of_the_chosen_preset_is_not_removed(config, tmp_path, capsys):
    (config / "presets" / "mine.toml").write_text('summary = "Mine."\nmodels = ["mine"]\n')
    assert main(["models", "add", str(shipped_models()["engagement"]), "--name", "mine"]) == 0
    assert (main(["models", "use", "mine"]), main(["models", "rm", "mine"])) == (0, 2)
    assert "grice models use small" in capsys.readouterr().err
    assert (main(["models", "use", "small"]), main(["models", "rm", "mine"])) == (0, 0)


@pytest.mark.parametrize(("text", "message"), [
    ("summary = 3", "Expected `str`"), ("summary", "team.toml"),
    ('summary = "x"\nextra = 1', "unknown field"),
    ('summary = "x"\n[options.relevnce]\nhistory = 1', "did you mean 'relevance'"),
    ('summary = "x"\n[options.relevance]\nhistroy = 1', "did you mean 'history'"),
])  # fmt: skip
def test_a_preset_that_is_none_says_why(config, chat, tmp_path, capsys, text, message):
    (tmp_path / "team.toml").write_text(text)
    assert score(chat, "--models", tmp_path / "team.toml") == 2
    assert message in capsys.readouterr().err


def test_settings_that_cannot_be_read_are_named(config, chat, capsys):
    assert score(chat, "--models", "smal") == 2
    assert "did you mean 'small'" in capsys.readouterr().err
    with pytest.raises(InputError, match=r"missing\.toml"):
        grice.load("log_length", models="missing.toml")
    (config / "config.toml").write_text("models = 3")
    assert score(chat) == 2
    assert str(config / "config.toml") in capsys.readouterr().err


def test_a_metric_without_its_model_leaves_the_others_and_the_status_says_so(config, chat, capsys):
    assert score(chat, metric="likelihood,log_length") == 4
    out, err = capsys.readouterr()
    assert {json.loads(line)["metric"] for line in out.splitlines()} == {"log_length"}
    assert "likelihood is left out: not fetched yet: medium; run: grice models get" in err
    assert score(chat, metric="likelihood") == 2
    assert main(["list", "likelihood"]) == 0
    assert "Cannot run yet: not fetched yet: medium" in " ".join(capsys.readouterr().out.split())
    with pytest.raises(ModelError, match="not fetched yet"):
        grice.load("likelihood", "log_length")
