"""Whose turns are judged, what is no reply, and what becomes of replies that are odd."""

import json

import pytest

import grice
from grice.cli import main
from grice.records import Conversation, Turn
from grice.scoring.items import EVERYBODY, responses

SUPPORT = {
    "messages": [
        {"role": "system", "content": "You are a support bot."},
        {"role": "user", "content": "My order has not come."},
        {"role": "assistant", "content": "I am sorry. What is its number?"},
        {"role": "user", "content": "1234"},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "x", "type": "function"}]},
        {"role": "tool", "content": '{"status": "lost"}', "tool_call_id": "x"},
        {"role": "assistant", "content": "It was lost. We send a new one."},
        {"role": "user", "content": "Thanks"},
        {"role": "assistant", "content": ""},
    ]
}


def judged(turns, speakers=()):
    return [item.turn for item in responses(Conversation("c", tuple(turns)), speakers)]


def spoken(*roles):
    return [Turn(role, "Some words.", role=role) for role in roles]


def written(tmp_path, *records):
    path = tmp_path / "talks.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def scores_of(tmp_path, *records, metric="log_length", more=()):
    out = tmp_path / "out.jsonl"
    status = main(["score", str(written(tmp_path, *records)), "-m", metric, "-o", str(out), *more])
    assert status == 0
    return [json.loads(line) for line in out.read_text().splitlines()]


def test_the_assistant_is_judged_where_roles_are_known():
    assert judged(spoken("user", "assistant", "user", "assistant")) == [1, 3]
    assert judged(spoken("user", "user", "assistant", "assistant")) == [2, 3]
    assert judged(spoken("user", "Assistant", "user", "assistant")) == [1, 3], "two spellings"
    assert judged(spoken("user", "user")) == [0, 1], "nobody is known as the assistant"
    assert judged([Turn("A", "Hi"), Turn("B", "Hello")]) == [0, 1]


def test_who_is_asked_for_is_judged():
    talk = spoken("user", "assistant", "user")
    assert judged(talk, ["user"]) == [0, 2]
    assert judged(talk, ["User"]) == [0, 2], "roles by any spelling"
    assert judged(talk, [EVERYBODY]) == [0, 1, 2]
    targets = Conversation("c", tuple(talk), targets=(0, 1))
    assert [item.turn for item in responses(targets)] == [0, 1], "a record may name its turns"


def test_beside_a_user_alone_another_spelling_of_an_assistant_is_said(tmp_path, capsys):
    talk = {
        "messages": [
            {"role": "user", "content": "Where is my order?"},
            {"role": "assistent", "content": "It is on its way."},
        ]
    }
    assert [score["turn"] for score in scores_of(tmp_path, talk)] == [0, 1]
    shown = " ".join(capsys.readouterr().err.split())
    assert "1 turn is of the role 'assistent', which is not known as an assistant's" in shown
    assert [
        score["turn"] for score in scores_of(tmp_path, talk, more=["--speaker", "assistent"])
    ] == [1]
    assert "not known" not in capsys.readouterr().err


def test_calls_of_tools_and_their_answers_are_no_replies(tmp_path, capsys):
    scores = scores_of(tmp_path, SUPPORT)
    assert [score["turn"] for score in scores] == [2, 6, 8]
    shown = capsys.readouterr().err
    assert "only the assistant's turns are judged; --speaker all judges everybody" in shown
    assert "2 tool calls and results are not judged" in shown
    everybody = scores_of(tmp_path, SUPPORT, more=["--speaker", "all"])
    assert [score["turn"] for score in everybody] == [1, 2, 3, 6, 7, 8]
    assert "only the assistant" not in capsys.readouterr().err


def test_turns_without_a_speaker_are_by_their_roles(tmp_path):
    record = {
        "turns": [
            {"role": "user", "text": "Can you help?"},
            {"role": "user", "text": "My phone broke."},
            {"role": "assistant", "text": "What is broken?"},
        ]
    }
    with grice.read(written(tmp_path, record)) as reading:
        [talk] = reading
    assert [turn.speaker for turn in talk.turns] == ["user", "user", "assistant"]


def test_an_empty_reply_has_the_lowest_score(tmp_path, capsys):
    *_, empty = scores_of(tmp_path, SUPPORT, metric="relevance")
    assert (empty["turn"], empty["value"], empty["status"]) == (8, 0.0, "ok")
    assert (empty["reason"], empty["flags"]) == ("the reply is empty", ["empty"])
    assert "1 reply is empty and has the lowest score" in capsys.readouterr().err


def test_a_bot_that_falls_silent_does_not_pass_the_gate(tmp_path):
    full = [grice.Conversation(str(i), (*spoken("user"), *spoken("assistant"))) for i in range(4)]
    silent = [
        grice.Conversation(talk.id, (talk.turns[0], Turn("assistant", " ", role="assistant")))
        for talk in full[:2]
    ]
    with grice.load("log_length") as grader:
        before = grader.score(full)
        after = grader.score([*silent, *full[2:]])
    assert sum(score.value for score in after) < sum(score.value for score in before)
    assert all(score.status == "ok" for score in after)


def test_thinking_is_not_judged_and_evidence_stands_behind_it():
    thought = "<think>They ask about Paris. Paris it is.</think>"
    talk = Conversation("c", (Turn("A", "Where is it?"), Turn("B", f"{thought}In Paris.")), (1,))
    plain = Conversation("c", (Turn("A", "Where is it?"), Turn("B", " In Paris.")), (1,))
    with grice.load("log_length") as grader:
        [score], [bare] = grader.score(talk), grader.score(plain)
    assert score.value == bare.value
    assert (score.flags, bare.flags) == (("thinking_skipped",), ())


@pytest.mark.parametrize(
    "text", ["<think>Let me see", "<think>a</think>", "They want tea.</think>", "<THINKING>x"]
)
def test_a_reply_of_thinking_alone_is_empty(text):
    talk = Conversation("c", (Turn("A", "Tea?"), Turn("B", text)), (1,))
    [score] = grice.score(talk, "log_length")
    assert set(score.flags) == {"empty", "thinking_skipped"}


def test_a_reply_that_is_a_json_object_says_so():
    for text, flags in (('{"answer": "Paris"}', ("json",)), ("{Paris}", ()), ("[1]", ())):
        [score] = grice.score(
            Conversation("c", (Turn("A", "?"), Turn("B", text)), (1,)), "log_length"
        )
        assert score.flags == flags


@pytest.mark.parametrize(
    "reply",
    [
        "Ihre Bestellung wurde geändert und wird morgen geliefert.",
        "Claro, puede pagar con tarjeta.",
        "Votre commande sera livrée demain.",
    ],
)
def test_a_short_reply_that_is_plainly_not_english_is_not_judged(reply):
    [score] = grice.score(["Where is my order?", reply], "relevance")
    assert score.status == "abstained"
    assert "not in English" in score.reason


@pytest.mark.parametrize("metric", ["relevance", "engagement", "commonsense", "repetition"])
def test_a_reply_in_another_language_is_not_judged(metric):
    reply = "Die Hauptstadt von Frankreich ist Paris, und man kann dort sehr gut essen."
    [score] = grice.score(["What is the capital of France?", reply], metric)
    assert score.status == "abstained"
    assert "English" in score.reason
