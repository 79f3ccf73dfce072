"""Roles of turns, the turns that are judged, and replies that are odd."""

import json
from pathlib import Path

import pytest

import grice
from grice.cli import main
from grice.data import Conversation, Turn
from grice.readers.roles import LANGCHAIN, SHAREGPT, role_of, roles_of, user_turns
from grice.report.shown import opening
from grice.scoring.loaded import responses
from grice.scoring.summary import Summary, notes

SUPPORT = json.loads((Path(__file__).parent / "support.json").read_text("utf-8"))


def turns_of(*names, stated=False):
    return tuple(Turn(n, f"These are words of {n}.", role=n if stated else None) for n in names)


def judged(turns, speakers=(), targets=None):
    return [item.turn for item in responses(Conversation("c", turns, targets), speakers)]


def scores_of(tmp_path, record, metric="log_length", more=()):
    (tmp_path / "talks.jsonl").write_text(json.dumps(record) + "\n")
    words = ["score", str(tmp_path / "talks.jsonl"), "-m", metric, "-o", str(tmp_path / "out")]
    assert main([*words, *more]) == 0
    return [json.loads(line) for line in (tmp_path / "out").read_text().splitlines()]


@pytest.mark.parametrize(("role", "speaker", "meant"), [
    ("assistant", "Ann", "assistant"), ("user", "bot", "user"), ("moderator", "bot", "assistant"),
    (None, "Support Agent", "assistant"), (None, "virtual-assistant", "assistant"),
    (None, "CUSTOMER", "user"), (None, "end_user", "user"), ("developer", "x", "system"),
    ("function", "x", "tool"), (None, "developer", None), (None, "agent_1", None),
    (None, "user1", None), (None, "Ann", None), ("", "", None),
])  # fmt: skip
def test_a_stated_role_comes_first_and_the_name_of_the_speaker_second(role, speaker, meant):
    assert role_of(role, speaker) == meant


@pytest.mark.parametrize(("word", "role"), [*LANGCHAIN.items(), *SHAREGPT.items()])
def test_what_formats_translate_words_into_is_a_role(word, role):
    assert role_of(role) == role
    assert role_of(word) in (None, role), f"{word} means something else elsewhere"


def test_a_speaker_named_system_is_the_assistant_in_a_conversation_of_two():
    assert roles_of(turns_of("user", "system")) == ["user", "assistant"]
    assert roles_of(turns_of("Ann", "System")) == [None, "assistant"]
    assert roles_of(turns_of("system", "user", "assistant")) == ["system", "user", "assistant"]
    assert roles_of(turns_of("system", "Ann", "Bob")) == [None, None, None]
    assert roles_of(turns_of("system", "user", stated=True)) == ["system", "user"]


@pytest.mark.parametrize(("speakers", "users"), [
    (("Agent", "Customer"), [False, True]), (("Bot", "Ann"), [False, True]),
    (("Ann", "Bob", "Ann"), [True, False, True]), (("human", "human"), [True, True]), ((), []),
])  # fmt: skip
def test_if_one_side_is_named_the_rest_is_the_other(speakers, users):
    assert user_turns(turns_of(*speakers)) == users


@pytest.mark.parametrize(("names", "stated", "asked", "expected"), [
    ("User Assistant User", False, (), [1]), ("Agent Customer Agent", False, (), [0, 2]),
    ("Ann Bot", False, (), [1]), ("Ann Bob", False, (), [0, 1]), ("human human", False, (), [0, 1]),
    ("customer Ann", False, (), [0, 1]),  # nobody is known as the assistant
    ("System User Assistant", False, (), [2]), ("User Assistant", False, ("all",), [0, 1]),
    ("Customer Agent", False, ("assistant",), [1]), ("Customer Agent", False, ("Customer",), [0]),
    ("user user assistant assistant", True, (), [2, 3]),
    ("user Assistant user assistant", True, (), [1, 3]),  # two spellings
    ("user user", True, (), [0, 1]),
    ("user assistant user", True, ("User",), [0, 2]),  # roles by any spelling
    ("user assistant user", True, ("all",), [0, 1, 2]),
])  # fmt: skip
def test_who_is_judged(names, stated, asked, expected):
    assert judged(turns_of(*names.split(), stated=stated), asked) == expected


def test_targets_history_and_opening_of_a_conversation():
    assert judged(turns_of("user", "assistant", "user"), targets=(0, 1)) == [0, 1]
    [item] = responses(Conversation("c", turns_of("System", "User", "Assistant")))
    assert item.positions == (1,), "a system prompt is no part of the history"
    assert opening(Conversation("c", turns_of("Agent", "Customer"))) == 1
    assert opening(Conversation("c", turns_of("Ann", "Bob"))) == 0


def test_beside_a_user_alone_another_spelling_of_an_assistant_is_said(tmp_path, capsys):
    said = {"user": "Where is my order?", "assistent": "It is on its way."}
    talk = {"messages": [{"role": role, "content": text} for role, text in said.items()]}
    assert [score["turn"] for score in scores_of(tmp_path, talk)] == [0, 1]
    shown = " ".join(capsys.readouterr().err.split())
    assert "1 turn is of the role 'assistent', which is not a known assistant role" in shown
    scores = scores_of(tmp_path, talk, more=["--speaker", "assistent"])
    assert [score["turn"] for score in scores] == [1]
    assert "not known" not in capsys.readouterr().err
    long = Summary(unknown_roles={"r" * 40: 1, "s" * 41: 2})
    assert [sum(map(line.count, "rs")) > 80 for line in notes(long)] == [True, False]


def test_calls_of_tools_and_their_answers_are_no_replies(tmp_path, capsys):
    assert [score["turn"] for score in scores_of(tmp_path, SUPPORT)] == [2, 6, 8]
    shown = capsys.readouterr().err
    assert "only the assistant's turns are judged; --speaker all judges every speaker" in shown
    assert "2 tool calls and results are not judged" in shown
    everybody = scores_of(tmp_path, SUPPORT, more=["--speaker", "all"])
    assert [score["turn"] for score in everybody] == [1, 2, 3, 6, 7, 8]
    assert "only the assistant" not in capsys.readouterr().err


def test_an_empty_reply_has_the_lowest_score(tmp_path, capsys):
    *_, empty = scores_of(tmp_path, SUPPORT, metric="relevance")
    assert (empty["turn"], empty["value"], empty["status"]) == (8, 0.0, "ok")
    assert (empty["reason"], empty["flags"]) == ("the reply is empty", ["empty"])
    assert "1 reply is empty and has the lowest score" in capsys.readouterr().err


@pytest.mark.parametrize(("text", "as_if", "flags"), [
    ("<think>Paris it is.</think>In Paris.", " In Paris.", {"thinking_skipped"}),
    ("<think>Let me see", "", {"empty", "thinking_skipped"}),
    ("They want tea.</think>", "", {"empty", "thinking_skipped"}),
    ("<THINKING>x", "", {"empty", "thinking_skipped"}),
    ('{"answer": "Paris"}', '{"answer": "Paris"}', {"json"}), ("{Paris}", "{Paris}", set()),
    ("[1]", "[1]", set()),
])  # fmt: skip
def test_thinking_is_not_judged_and_odd_replies_are_flagged(text, as_if, flags):
    talks = [Conversation("c", (Turn("A", "Where?"), Turn("B", t)), (1,)) for t in (text, as_if)]
    score, plain = grice.score(talks, "log_length")
    assert (score.value, set(score.flags)) == (plain.value, flags)


GERMAN = "Die Hauptstadt von Frankreich ist Paris, und man kann dort sehr gut essen."


@pytest.mark.parametrize(("metric", "reply"), [
    *((name, GERMAN) for name in ("relevance", "engagement", "commonsense", "repetition")),
    ("relevance", "Claro, puede pagar con tarjeta."),
    ("relevance", "Votre commande sera livrée demain."),
])  # fmt: skip
def test_a_reply_in_another_language_is_not_judged(metric, reply):
    [score] = grice.score(["What is the capital of France?", reply], metric)
    assert score.status == "abstained"
    assert "English" in score.reason
