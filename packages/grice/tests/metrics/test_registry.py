"""Metrics of other people: installed packages and single files."""

import json
import sys
from pathlib import Path

import pytest

from grice.cli import main
from grice.errors import MetricError
from grice.metrics.declaration import find_metrics

PLUGIN = Path(__file__).parents[1] / "plugin_package"


@pytest.fixture
def installed(monkeypatch):
    monkeypatch.syspath_prepend(str(PLUGIN))
    yield
    sys.modules.pop("grice_shouting", None)


def test_an_installed_package_adds_its_metric_and_a_broken_one_is_reported(installed):
    registry = find_metrics()
    assert registry.origins["calm"] == "grice-shouting"
    assert registry.named("calm").options[0].help == "How much a capital counts."
    [problem] = registry.problems
    assert "plugin 'broken' of grice-shouting: ModuleNotFoundError" in problem


def test_a_foreign_metric_is_listed_scored_and_configured(installed, capsys, tmp_path):
    chat = tmp_path / "chat.jsonl"
    turns = [{"speaker": "A", "text": "Where were you?"}, {"speaker": "B", "text": "AT home"}]
    chat.write_text(json.dumps({"id": "1", "turns": turns}))
    assert main(["list"]) == 0
    assert "grice-shouting" in capsys.readouterr().out
    assert main(["score", str(chat), "-m", "calm", "--calm-weight", "0.5"]) == 0
    scores = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert scores[1]["value"] == pytest.approx(1 - 0.5 * 2 / 6)
    assert scores[1]["signature"] == "calm:1|weight:0.5"


def test_a_single_file_adds_its_metric(capsys):
    file = PLUGIN / "grice_shouting.py"
    assert main(["list", "calm", "--plugin", str(file)]) == 0
    assert "--calm-weight" in capsys.readouterr().out


def test_a_name_is_taken_once(tmp_path):
    file = tmp_path / "again.py"
    file.write_text((PLUGIN / "grice_shouting.py").read_text().replace('"calm"', '"relevance"'))
    registry = find_metrics([file])
    assert registry.origins["relevance"] == "grice"
    assert "metric 'relevance' of" in registry.problems[0]


@pytest.mark.parametrize(("content", "message"), [
    (None, "not a Python file"), ("import", "SyntaxError"), ("1 / 0", "ZeroDivisionError"),
    ('from grice.metrics import metric\n@metric("x", version="1", judges="response", source="")\n'
     'def x(responses): ...', r"lacks summary=.*, example=Example\(\["),
])  # fmt: skip
def test_a_file_that_is_no_plugin_is_refused(tmp_path, content, message):
    file = tmp_path / "plugin.py"
    if content is not None:
        file.write_text(content)
    with pytest.raises(MetricError, match=message):
        find_metrics([file])
