"""Flaws that the text of a reply shows: what is found, with which words, and what is not."""

import json
import time
from pathlib import Path

import pytest

from grice import Conversation, Turn
from grice.detectors import RULES, certain_flaws
from grice.readers import read

ITEMS = [
    json.loads(line)
    for line in (Path(__file__).parent / "written.jsonl").read_text("utf-8").splitlines()
]
MESSAGES = json.loads((Path(__file__).parent / "messages.json").read_text("utf-8"))
MISSED = {"other-language": 3, "cut-off": 1}
"""Written flaws that a rule does not find: it stays silent where it cannot be sure."""
ENGLISH = "I would like to know when my parcel will arrive."
GERMAN = "Ich weiß nicht, ob das eine gute Idee ist."


def talk(*texts):
    roles = ("user", "assistant")
    turns = (Turn(roles[i % 2], text, role=roles[i % 2]) for i, text in enumerate(texts))
    return Conversation("talk", tuple(turns))


def found(*texts):
    return [(flaw.rule, flaw.turn) for flaw in certain_flaws(talk(*texts))]


def of_rule(rule, *, flaw):
    items = [item for item in ITEMS if item["rule"] == rule and item["flaw"] is flaw]
    hits = [rule in [name for name, _ in found(item["user"], item["reply"])] for item in items]
    return items, hits


@pytest.mark.parametrize("rule", RULES)
def test_written_flaws_are_found(rule):
    items, hits = of_rule(rule, flaw=True)
    assert len(items) >= 20
    missed = [item["reply"] for item, hit in zip(items, hits, strict=True) if not hit]
    flaws = [flaw for item in items for flaw in certain_flaws(talk(item["user"], item["reply"]))]
    assert {flaw.message for flaw in flaws if flaw.rule == rule} == {*MESSAGES[rule]}
    assert len(missed) == MISSED.get(rule, 0), missed


@pytest.mark.parametrize("rule", RULES)
def test_written_near_misses_are_not(rule):
    items, hits = of_rule(rule, flaw=False)
    assert len(items) >= 20
    assert [item["reply"] for item, hit in zip(items, hits, strict=True) if hit] == []


@pytest.mark.parametrize(("reply", "words"), [
    ("Dear {{name}}, hello from [Company Name].", ["{{name}}", "[Company Name]"]),
    ('Look: {"name": "find", "arguments": {}}', ['{"name": "']),
    ('  {"error": "no"}\n', ['{"error": "no"}']),
    ("<b>Oh</b> <think>why</think> no", ["<think>", "</think>"]),
    ("🙂 Open the settings and click on the ", ["the"]),
    ("Sorry.\nKeyError: 'x'\nTraceback (most recent call last):", ["Traceback (most recent"]),
])  # fmt: skip
def test_the_words_stand_at_the_offsets_of_the_text_as_it_came(reply, words):
    (flaw,) = certain_flaws(talk("Hi", reply))
    quoted = [reply[span.start : span.end] for span in flaw.spans]
    assert [text[: len(start)] for text, start in zip(quoted, words, strict=True)] == words
    assert {span.turn for span in flaw.spans} == {1}


NAME, LONG = "[Company Name]", "Now then I gave you all of the new"


@pytest.mark.parametrize(("before", "flaw", "none"), [
    ([ENGLISH], "你好朋友", "你好朋"),
    ([ENGLISH], "こんにち", "こんに"),
    ([ENGLISH], "안녕하세", "안녕하"),
    ([ENGLISH], "приветвсем", "приветвсе"),
    ([ENGLISH], "приветвсем приветвсем hello", "приветвсем приветвсем helloo"),
    ([ENGLISH], "の" + "中" * 10, "の" + "中" * 11),
    ([ENGLISH], "Ich weiß nicht, ob das.", "Ich weiß nicht das."),
    ([ENGLISH], "Ich kann das nicht sehen.", "Ich kann das nicht."),
    ([ENGLISH], "Ich kann das nicht sehen " + "7" * 10, "Ich kann das nicht sehen " + "7" * 11),
    (["Hi"], f"Dear {NAME}, " + "a" * 579, f"Dear {NAME}, " + "a" * 580),
    (["Hi"], "a" * 19_990 + " {{name}}", "a" * 19_998 + " {{name}}"),
    (["Hi"], "click on the", "on the"), (["Hi"], "Hello [your dog]", "Hello [customer dog]"),
    ([NAME, "Hi", "a", "b", "c", "d", "e"], f"Dear {NAME}", "Dear Ann"),
    ([ENGLISH, "a", NAME, *"abcd"], "Dear [City Name]", f"Dear {NAME}"),
    ([ENGLISH], "[big old dog name]", "[one big old dog name]"),
    ([ENGLISH], "[your one big dog has an old name]", "[your one very big dog has an old name]"),
    ([ENGLISH], "[customer city]", "[customer dog]"),
    ([ENGLISH], "So:\n```\nx = 1", "So.\n```\nx = 1"),
    (["temperature", "information", *"abcde"], f"{LONG} informat", f"{LONG} temperat"),
    (["information"], f"{LONG} informat", f"{LONG[4:]} informat"),
    (["information"], "Any informa-", "informa-"),
    (["我的包裹在哪里？"], "か" * 21, "か" * 20),
    (["おしえてください。", "a", "電話番号教"], "I do not know what you want from them.", "はい。"),
    ([f"{ENGLISH} Борщ"], "你好朋友", "Борщ уже в пути"),
])  # fmt: skip
def test_a_rule_applies_from_its_threshold_on(before, flaw, none):
    assert (len(found(*before, flaw)), found(*before, none)) == (1, [])
    assert sum(len(flaw.spans) for flaw in certain_flaws(talk("Hi", "{{name}} " * 11))) == 10


def test_only_replies_that_metrics_judge_are_checked():
    turns = (
        Turn("system", "You are {{bot}}.", role="system"),
        Turn("user", "I am {{me}}", role="user"),
        Turn("assistant", "", role="assistant", meta={"tool_calls": [{"id": "1"}]}),
        Turn("tool", '{"town": "Leeds"}', role="tool"),
        Turn("assistant", "Leeds, {{name}}!", role="assistant"),
    )
    conversation = Conversation("talk", turns)
    assert [flaw.turn for flaw in certain_flaws(conversation)] == [4]
    assert [flaw.turn for flaw in certain_flaws(conversation, [1])] == [1]


def test_a_system_turn_that_asks_for_json_makes_it_no_flaw():
    system = Turn("system", "Answer in JSON.", role="system")
    reply = talk("When is it?", '{"time": "nine"}')
    assert [flaw.rule for flaw in certain_flaws(reply)] == ["raw-json"]
    turns = (system, *reply.turns)
    assert certain_flaws(Conversation("talk", turns)) == []


def test_a_redacted_log_has_no_templates_left_in():
    assert found("I am [NAME]", "Hello [NAME]!") == []
    assert found("I am Ann", "Hello [NAME]!") == [("template-left-in", 1)]


@pytest.mark.parametrize(("texts", "turns"), [
    ((GERMAN, GERMAN, GERMAN, GERMAN), []),
    (("Где мой заказ сейчас?", "Ваш заказ уже в пути."), []),
    ((ENGLISH, GERMAN), [1]),
    ((ENGLISH, "Yes.", GERMAN, ENGLISH), []),  # the user writes in two languages
    ((ENGLISH, "Yes.", "дадад", GERMAN), [3]), ((ENGLISH, "Yes.", "дадада", GERMAN), []),
    ((ENGLISH, "Yes.", "你好朋", GERMAN), [3]), ((ENGLISH, "Yes.", "你好朋友", GERMAN), []),
    ((f"{ENGLISH} Nicht das, oder?", GERMAN), []),  # the user has used words of it
    ((ENGLISH, GERMAN, "Danke!", "Sehr gern, und ich bin für Sie da."), [1, 3]),
])  # fmt: skip
def test_a_reply_in_no_language_of_its_user_is_found(texts, turns):
    assert found(*texts) == [("other-language", turn) for turn in turns]


def test_a_reply_in_another_language_needs_a_turn_of_the_user_before_it():
    assert certain_flaws(Conversation("talk", tuple(reversed(talk(GERMAN, ENGLISH).turns)))) == []


def test_a_turn_that_its_speaker_goes_on_with_is_not_cut_off():
    first = Turn("bot", "Open the settings and click on the", role="assistant")
    second = Turn("bot", "blue button.", role="assistant")
    user = Turn("user", "How?", role="user")
    assert certain_flaws(Conversation("1", (user, first, second))) == []
    (flaw,) = certain_flaws(Conversation("1", (user, first, user)))
    assert flaw.rule == "cut-off"
    assert found("Hi", f"{LONG} informat", "More information?") == []


HOSTILE = [
    "{", "{{", "[", "<", "`", "```\n", "<a ", '{ "', "<|", "&lt;", "\n", "at ", 'File "', "write ",
    "a.", "1. ", "\n1. ", "**", "<think>", "</think>", "{%", "[user ", "<NAME ", "aError", " ",
    "User: ", "\u200b", "中", "</s>", "[{ ", "a-", "🙂", "\u202e", "مرحبا ", '{"a":{"\\"b\\":',
]  # fmt: skip


@pytest.mark.parametrize("piece", HOSTILE)
def test_a_long_text_of_anything_takes_no_time(piece):
    long, start = piece * (300_000 // len(piece)), time.process_time()
    certain_flaws(talk(ENGLISH, long, long, "{{name}} " + long))
    assert time.process_time() - start < 1


@pytest.mark.parametrize("reply", ['{"a": 1}', GERMAN, "Click on the", "Fine, thank you."])
def test_thousands_of_turns_take_time_that_grows_with_them(reply):
    certain_flaws(talk(*[ENGLISH, reply] * 10))
    start = time.process_time()
    certain_flaws(talk(*[ENGLISH, reply] * 5_000))
    assert time.process_time() - start < 3


@pytest.mark.parametrize("reply", ["🙂🙂🙂", "😀", "مرحبا بك", "‏שלום", "\ud800", "\x00ok"])
def test_emojis_and_scripts_from_right_to_left_are_replies(reply):
    assert found("😀", reply) == []


def test_findings_in_the_examples_are_right():
    with read(Path(__file__).parents[4] / "examples/convai.jsonl") as reading:
        talks = {each.id: each for each in reading if isinstance(each, Conversation)}
    flaws = [flaw for each in talks.values() for flaw in certain_flaws(each)]
    texts = {rule: set() for rule in RULES}
    for flaw in flaws:
        text = talks[flaw.conversation].turns[flaw.turn].text
        texts[flaw.rule] |= {text[span.start : span.end] for span in flaw.spans} or {text}
    assert {rule: words for rule, words in texts.items() if words} == {
        "empty-reply": {""},
        "leaked-tokens": {"<STOP>"},
    }
