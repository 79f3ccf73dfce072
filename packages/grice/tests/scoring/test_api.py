"""The Python face: what it takes, and what it says of what it cannot take."""

from __future__ import annotations

import pytest

import grice
from grice.errors import ModelError, RecordError

PLUGIN = '''
from grice.metrics import Example, metric
from grice.records import Judgement


@metric("nil", version="1", summary="?", judges="response", source="-",
        example=Example(["a", "b"], 0.0, 0.0))
def nil(responses):
    """Return nothing of worth."""
    return [Judgement(0.0) for _ in responses]
'''


def test_paths_may_be_texts(tmp_path):
    plugin = tmp_path / "nil.py"
    plugin.write_text(PLUGIN)
    with grice.load("nil", cache=str(tmp_path / "kept"), plugins=[str(plugin)]) as grader:
        [score] = grader.score(["Hello.", "Hi."])
    assert (score.metric, score.value) == ("nil", 0.0)
    assert (tmp_path / "kept").is_dir()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"mode": "slow"}, "mode 'slow': write exact or fast"),
        ({"workers": 0}, "0 workers: at least one is needed"),
        ({"workers": -2}, "-2 workers: at least one is needed"),
    ],
)
def test_a_setting_that_cannot_be_is_named(settings, message):
    with pytest.raises(ModelError, match=message):
        grice.load("log_length", **settings)


def test_the_signature_of_a_metric_that_asks_a_model_holds_the_mode():
    for mode in ("fast", "exact"):
        with grice.load("relevance", "log_length", mode=mode) as grader:
            assert f"mode:{mode}" in grader.signatures["relevance"].split("|")
            assert "mode:" not in grader.signatures["log_length"]


def test_a_broken_record_of_a_file_is_named(tmp_path):
    file = tmp_path / "talks.jsonl"
    file.write_text('{"turns": ["Hello.", "Hi."]}\n{"turns": 5}\n')
    with pytest.raises(RecordError, match=r"talks\.jsonl:2: turns: expected a list of turns"):
        grice.score(grice.read(file), "log_length")
    file.write_text('{"turns": ["Hello.", "Hi."]}\n')
    assert len(grice.score(grice.read(file), "log_length")) == 2
