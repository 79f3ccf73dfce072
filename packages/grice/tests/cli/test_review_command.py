"""``grice review`` on the command line: what it prints and writes."""

import json

import pytest

from grice import Conversation, Score, Turn
from grice.cli import main
from grice.data import FeatureEvidence, Span, json_line

TALK = Conversation(
    "talk",
    (
        Turn("a", "Where do you live now that you have left the town that we both grew up in?"),
        Turn("b", "I live in a small house near the harbour. " * 5),
        Turn("a", "And do you like it there?"),
        Turn("b", "I live in a small house near the harbour."),
    ),
)


@pytest.fixture
def files(tmp_path):
    evidence = FeatureEvidence("says again", 1.0, span=Span(3, 0, 40))
    scores = [
        Score("talk", 1, "relevance", 0.9, "ok", None, (), (), "relevance:1"),
        Score(
            "talk", 3, "repetition", 0.0, "ok", "repeats turn 1", (), (evidence,), "repetition:1"
        ),
    ]
    (tmp_path / "talk.jsonl").write_bytes(json_line(TALK))
    (tmp_path / "out.jsonl").write_bytes(b"\n".join(map(json_line, scores)))
    return str(tmp_path / "out.jsonl"), str(tmp_path / "talk.jsonl")


def test_a_reply_is_shown_with_what_was_said_before_and_why(files, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["review", *files]) == 0
    shown = capsys.readouterr().out
    assert shown.index("repeats, talk #3") < shown.index("talk #1")
    assert "> And do you like it there?\n   > I live in a small house near the harbour." in shown
    assert "repetition 0.00: repeats turn 1" in shown
    assert '"I live in a small house near…"' in shown
    assert max(map(len, shown.splitlines())) <= 80
    assert "not run: " in shown


def test_a_metric_that_does_not_count_in_the_order_is_named(tmp_path, capsys):
    scores = [
        Score("talk", 1, "relevance", 0.4, "ok", None, (), (), "relevance:1"),
        Score("talk", 1, "contradiction", 0.0, "ok", "contradicts", (), (), "contradiction:1"),
    ]
    (tmp_path / "talk.jsonl").write_bytes(json_line(TALK))
    (tmp_path / "out.jsonl").write_bytes(b"\n".join(map(json_line, scores)))
    assert main(["review", str(tmp_path / "out.jsonl"), str(tmp_path / "talk.jsonl")]) == 0
    shown = capsys.readouterr().out
    assert "run but not used for the order: contradiction" in shown
    assert "contradicts" not in shown


def test_the_first_replies_are_written_a_line_each(files, tmp_path, capsys):
    out = tmp_path / "first.jsonl"
    assert main(["review", *files, "--top", "1", "-o", str(out), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    (line,) = out.read_text("utf-8").splitlines()
    assert result["items"] == [json.loads(line)]
    assert (result["turns"], result["items"][0]["flaw"]) == (2, "repeats")


def test_certain_flaws_are_counted_and_come_first(tmp_path, capsys):
    talk = Conversation("talk", (Turn("a", "Who is it?"), Turn("b", "<b>Hello {{name}}</b>")))
    score = Score("talk", 1, "relevance", 0.9, "ok", None, (), (), "relevance:1")
    (tmp_path / "talk.jsonl").write_bytes(json_line(talk))
    (tmp_path / "out.jsonl").write_bytes(json_line(score))
    files = [str(tmp_path / name) for name in ("out.jsonl", "talk.jsonl")]
    assert main(["review", *files]) == 0
    shown = capsys.readouterr().out
    assert "certain flaws: template left in (1)\n" in shown
    assert "1. certain template left in, talk #1\n   > Who is it?\n" in shown
    assert "> <b>Hello {{name}}</b>\n" in shown
    assert "a template field is not filled in\n" in shown
    assert '"{{name}}"' in shown
    assert main(["review", *files, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["certain"] == {"template-left-in": 1}
    (finding,) = result["items"][0]["findings"]
    assert finding["spans"] == [{"turn": 1, "start": 9, "end": 17}]
    assert main(["review", files[0]]) == 0
    assert "certain" not in capsys.readouterr().out
