"""Who is the user, the assistant, the system or a tool, and what follows from it."""

from __future__ import annotations

import pytest

from grice.cli import main
from grice.readers.roles import LANGCHAIN, SHAREGPT, role_of, roles_of, user_turns
from grice.records import Conversation, Turn
from grice.report.shown import opening
from grice.scoring.items import responses

TALK = ["Hello, how can I help?", "My parcel is late.", "Which one is it?", "Number 1234."]


def spoken(*speakers):
    return tuple(Turn(name, f"These are some words of {name}.") for name in speakers)


def judged(*speakers, asked=()):
    return [item.turn for item in responses(Conversation("c", spoken(*speakers)), asked)]


@pytest.mark.parametrize(
    ("role", "speaker", "meant"),
    [
        ("assistant", "Ann", "assistant"),
        ("user", "bot", "user"),
        ("moderator", "bot", "assistant"),
        (None, "Support Agent", "assistant"),
        (None, "virtual-assistant", "assistant"),
        (None, "CUSTOMER", "user"),
        (None, "end_user", "user"),
        ("developer", "x", "system"),
        ("function", "x", "tool"),
        (None, "developer", None),
        (None, "agent_1", None),
        (None, "user1", None),
        (None, "Ann", None),
        ("", "", None),
    ],
)
def test_a_stated_role_comes_first_and_the_name_of_the_speaker_second(role, speaker, meant):
    assert role_of(role, speaker) == meant


@pytest.mark.parametrize(("word", "role"), [*LANGCHAIN.items(), *SHAREGPT.items()])
def test_what_formats_translate_words_into_is_a_role(word, role):
    assert role_of(role) == role
    assert role_of(word) in (None, role), f"{word} means something else elsewhere"


def test_a_speaker_named_system_is_the_assistant_in_a_conversation_of_two():
    assert roles_of(spoken("user", "system")) == ["user", "assistant"]
    assert roles_of(spoken("Ann", "System")) == [None, "assistant"]
    assert roles_of(spoken("system", "user", "assistant")) == ["system", "user", "assistant"]
    assert roles_of(spoken("system", "Ann", "Bob")) == [None, None, None]
    stated = (Turn("system", "Be brief.", role="system"), Turn("user", "Hi.", role="user"))
    assert roles_of(stated) == ["system", "user"]


@pytest.mark.parametrize(
    ("speakers", "users"),
    [
        (("Agent", "Customer"), [False, True]),
        (("wizard", "user"), [False, True]),
        (("Bot", "Ann"), [False, True]),
        (("Ann", "Bob", "Ann"), [True, False, True]),
        (("human", "human"), [True, True]),
        ((), []),
    ],
)
def test_if_one_side_is_named_the_rest_is_the_other(speakers, users):
    assert user_turns(spoken(*speakers)) == users


def test_names_of_speakers_say_who_is_judged():
    assert judged("User", "Assistant", "User") == [1]
    assert judged("Agent", "Customer", "Agent") == [0, 2]
    assert judged("Ann", "Bot") == [1]
    assert judged("Ann", "Bob") == [0, 1]
    assert judged("human", "human") == [0, 1]
    assert judged("customer", "Ann") == [0, 1], "nobody is known as the assistant"
    assert judged("System", "User", "Assistant") == [2]
    assert judged("User", "Assistant", asked=["all"]) == [0, 1]
    assert judged("Customer", "Agent", asked=["assistant"]) == [1]
    assert judged("Customer", "Agent", asked=["Customer"]) == [0]


def test_a_system_prompt_in_a_transcript_is_no_part_of_the_history():
    [item] = responses(Conversation("c", spoken("System", "User", "Assistant")))
    assert item.positions == (1,)


def test_a_conversation_is_known_by_the_first_turn_of_its_customer():
    assert opening(Conversation("c", spoken("Agent", "Customer"))) == 1
    assert opening(Conversation("c", spoken("Ann", "Bob"))) == 0


@pytest.mark.parametrize("names", [("Assistant", "User"), ("Agent", "Customer")])
def test_only_the_assistant_of_a_transcript_or_a_table_is_judged(tmp_path, capsys, names):
    said = [(names[i % 2], text) for i, text in enumerate(TALK)]
    transcript, table = tmp_path / "talk.txt", tmp_path / "talk.csv"
    transcript.write_text("".join(f"{name}: {text}\n" for name, text in said))
    rows = (f'{name.lower()},"{text}"\n' for name, text in said)
    table.write_text("speaker,text\n" + "".join(rows))
    for file in (transcript, table):
        assert main(["score", str(file), "-m", "log_length", "-o", str(tmp_path / "out")]) == 0
        assert (tmp_path / "out").read_text().count("\n") == 2
        assert "only the assistant's turns are judged" in capsys.readouterr().err
