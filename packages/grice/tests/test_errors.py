"""Messages: short whatever they quote, and the same after pickling."""

import json
import pickle

import pytest

import made_metric
from grice.cli import main
from grice.errors import LONGEST, QUOTED, GriceError, InputError, RecordError
from grice.readers import read

HUGE = "k" * 3_000_000


@pytest.mark.parametrize("error", [
    InputError(HUGE), RecordError(HUGE, file="chats.jsonl", line=3, field=f"turns[0].{HUGE}"),
    RecordError("no turn", file="chats.jsonl"), GriceError(),
])  # fmt: skip
def test_a_message_is_short_and_survives_pickling(error):
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again)) == (type(error), str(error))
    assert len(str(error)) <= LONGEST


@pytest.mark.parametrize("record", [
    {HUGE: 1, "turns": 5}, {"turns": [{HUGE: 1}]}, {"turns": [{"text": {HUGE: 1}}]},
    {"turns": ["a"], "targets": [HUGE]}, {HUGE: []}, {"turns": ["a"], "id": {HUGE: 1}},
])  # fmt: skip
def test_a_huge_key_or_value_makes_a_short_message(tmp_path, record):
    file = tmp_path / "chats.jsonl"
    file.write_text(json.dumps(record) + '\n{"turns": ["a", "b"]}\n')
    (problem,) = [item for item in read(file, format="turns") if isinstance(item, RecordError)]
    assert len(str(problem)) <= len(str(file)) + 2 * QUOTED + 20


def test_a_failed_score_has_a_short_reason(tmp_path, capsys):
    plugin = made_metric.write(tmp_path / "loud.py", "loud", "raise ValueError(responses[0].text)")
    file = tmp_path / "chats.jsonl"
    file.write_text(json.dumps({"turns": [HUGE]}))
    words = ["--format", "turns", "--plugin", plugin, "-m", "loud,log_length"]
    assert main(["score", str(file), *words]) == 4
    shown = capsys.readouterr()
    failed, _ = map(json.loads, shown.out.splitlines())
    assert len(failed["reason"]) <= LONGEST
    assert len(shown.err) < 5000


@pytest.mark.parametrize(("key", "shown"), [("sk-12345", "[key]"), ("sk-1234", "sk-1234")])
def test_a_key_is_left_out_of_a_message_unless_it_is_a_short_word(monkeypatch, key, shown):
    monkeypatch.setenv("OPENAI_API_KEY", key)
    assert str(GriceError(f"the key {key}")) == f"the key {shown}"
