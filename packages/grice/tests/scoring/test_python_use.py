"""Scoring as people write it in Python: messages, lists of them, results to look at."""

import logging
import sys

import pytest

import grice
from grice.errors import InputError, RecordError

CHAT = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Is it far?"},
    {"role": "assistant", "content": "Ten minutes."},
]


def test_messages_are_a_conversation_and_are_left_as_they_are():
    before = [dict(message) for message in CHAT]
    [score] = grice.score(CHAT, "log_length")
    assert (score.conversation, score.turn) == ("talk", 2)
    assert before == CHAT


def test_several_conversations_may_be_of_any_kind():
    talks = [CHAT, ["Is it far?", "Ten minutes."], grice.Conversation("own", ())]
    scores = grice.score(talks, "log_length", "turn_count")
    assert [(score.conversation, score.turn) for score in scores] == [
        ("talk 1", 2), ("talk 1", None), ("talk 2", 1), ("talk 2", None), ("own", None)
    ]  # fmt: skip
    turns = [{"speaker": "Ann", "text": "Hi"}, {"speaker": "Bob", "text": "Hello"}]
    assert [score.turn for score in grice.score(turns, "log_length")] == [0, 1]


@pytest.mark.parametrize(
    ("talk", "error", "words"),
    [
        ([{"role": "user", "content": 7}], RecordError, r"messages\[0\].*content.*expected text"),
        ([{"role": "user", "content": "Hi"}, "Hello"], InputError, "found dict"),
        ([{"name": "Ann"}], RecordError, r"turns\[0\].*missing"),
        ([[]], InputError, "found list"),
        ([3], InputError, "found int"),
        (3, InputError, "found int"),
        ("Hi", InputError, "a list of messages"),
    ],
)
def test_what_is_no_conversation_is_refused(talk, error, words):
    with pytest.raises(error, match=words):
        grice.score(talk, "log_length")


def test_results_show_themselves():
    talk = grice.Conversation("<b>", tuple(grice.Turn("AB"[i % 2], "Hi") for i in range(30)))
    scores = grice.score(talk, "log_length")
    lines = repr(scores).splitlines()
    assert lines[0] == "30 scores"
    assert lines[1].split() == ["conversation", "turn", "metric", "value", "status", "reason"]
    assert lines[-1] == "… and 10 more"
    page = scores._repr_html_()
    assert page.count("<tr>") == 21
    assert "&lt;b&gt;" in page
    assert "<b>" not in page
    rows = scores.to_rows()
    assert (len(rows), rows[3]["turn"], rows[3]["signature"]) == (30, 3, "log_length:2")


def test_a_frame_is_of_a_library_that_is_there(monkeypatch):
    scores = grice.score(CHAT, "log_length")
    monkeypatch.setitem(sys.modules, "pandas", None)
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(InputError, match="pip install pandas"):
        scores.to_frame()

    class Frames:
        DataFrame = staticmethod(list)

    monkeypatch.setitem(sys.modules, "polars", Frames)
    assert scores.to_frame() == scores.to_rows()


def test_a_closed_grader_scores_nothing():
    with grice.load("log_length") as grader:
        assert repr(grader) == "<grice.Grader of log_length>"
    with pytest.raises(InputError, match="closed"):
        grader.score(CHAT)
    assert "closed" in repr(grader)


def test_runs_are_logged_under_the_name_grice(tmp_path, caplog, capsys):
    path = tmp_path / "talks.jsonl"
    path.write_text('{"turns": ["Hi", "Hello"]}\n{broken\n')
    grice.score_files(path, metrics=["log_length"])
    assert capsys.readouterr().err == "", "nothing is printed that nobody asked for"
    with caplog.at_level(logging.INFO, "grice"):
        grice.score_files(path, metrics=["log_length"])
    assert {record.name for record in caplog.records} == {"grice"}
    assert "scored 1 conversations" in caplog.text
    assert "skipped: " in caplog.text
