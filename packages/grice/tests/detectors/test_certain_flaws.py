"""Flaws that rules find: with which words, and what they leave alone."""

import json
import time
from pathlib import Path

import pytest

import grice
from grice import Conversation, Turn
from grice.detectors import ALL, TEXT_RULES, find_flaws
from grice.scoring.loaded import judged_turns


def items_of(file):
    return list(map(json.loads, (Path(__file__).parent / file).read_text("utf-8").splitlines()))


ITEMS = items_of("written.jsonl")
MESSAGES = json.loads((Path(__file__).parent / "messages.json").read_text("utf-8"))
MISSED = {"other-language": 3, "cut-off": 1}
"""Written flaws that a rule does not find: it stays silent where it cannot be sure."""
ENGLISH = "I would like to know when my parcel will arrive."
GERMAN = "Ich weiß nicht, ob das eine gute Idee ist."


def talk(*texts):
    roles = ("user", "assistant")
    turns = (Turn(roles[i % 2], text, role=roles[i % 2]) for i, text in enumerate(texts))
    return Conversation("talk", tuple(turns))


def certain_flaws(conversation, turns=None):
    return find_flaws(conversation, TEXT_RULES, turns or judged_turns(conversation))


WRITTEN = sorted({item["rule"] for item in ITEMS})


def found(*texts, rules=TEXT_RULES):
    flaws = find_flaws(talk(*texts), rules, range(1, len(texts), 2))
    return [(flaw.rule, flaw.turn) for flaw in flaws]


def of_rule(rule, *, flaw):
    items = [item for item in ITEMS if item["rule"] == rule and item["flaw"] is flaw]
    replies = [found(item["user"], item["reply"], rules=ALL) for item in items]
    hits = [rule in dict(each) for each in replies]
    return items, hits


@pytest.mark.parametrize("rule", WRITTEN)
def test_written_flaws_are_found(rule):
    items, hits = of_rule(rule, flaw=True)
    assert len(items) >= 12
    missed = [item["reply"] for item, hit in zip(items, hits, strict=True) if not hit]
    flaws = [flaw for item in items for flaw in certain_flaws(talk(item["user"], item["reply"]))]
    assert {flaw.message for flaw in flaws if flaw.rule == rule} == {*MESSAGES.get(rule, ())}
    assert len(missed) == MISSED.get(rule, 0), missed


@pytest.mark.parametrize("rule", WRITTEN)
def test_written_near_misses_are_not(rule):
    items, hits = of_rule(rule, flaw=False)
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


@pytest.mark.parametrize("item", items_of("thresholds.jsonl"))
def test_a_rule_applies_from_its_threshold_on(item):
    assert len(found(*item["before"], item["flaw"])) == 1
    assert found(*item["before"], item["none"]) == []


def test_a_finding_names_ten_places_at_most():
    (flaw,) = certain_flaws(talk("Hi", " ".join(f"{{{{n{i}}}}}" for i in range(11))))
    assert len(flaw.spans) == 10


def test_only_replies_that_metrics_judge_are_checked():
    said = "s: You are {{bot}}.", "u: I am {{me}}", "call: find {}", 't: {"town": "Leeds"}'
    conversation = Conversation("talk", tuple(map(turn, [*said, "a: Leeds, {{name}}!"])))
    assert [flaw.turn for flaw in certain_flaws(conversation)] == [4]
    assert [flaw.turn for flaw in certain_flaws(conversation, [1])] == [1]


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


def test_a_turn_that_its_speaker_goes_on_with_is_not_cut_off():
    first = Turn("bot", "Open the settings and click on the", role="assistant")
    second = Turn("bot", "blue button.", role="assistant")
    user = Turn("user", "How?", role="user")
    assert certain_flaws(Conversation("1", (user, first, second))) == []
    (flaw,) = certain_flaws(Conversation("1", (user, first, user)))
    assert flaw.rule == "cut-off"
    assert found("Hi", "Now then I gave you all of the new informat", "More information?") == []


HOSTILE = [
    "{", "{{", "[", "<", "`", "```\n", "<a ", '{ "', "<|", "&lt;", "\n", "at ", 'File "', "write ",
    "a.", "1. ", "\n1. ", "**", "<think>", "</think>", "{%", "[user ", "<NAME ", "aError", " ",
    "User: ", "\u200b", "中", "</s>", "[{ ", "a-", "🙂", "\u202e", "مرحبا ", '{"a":{"\\"b\\":',
    "1 ", "@a.", "+49 ", "you are a ", "half past ", "password: ", "forget ", "7:",
]  # fmt: skip


@pytest.mark.parametrize("piece", HOSTILE)
def test_a_long_text_of_anything_takes_no_time(piece):
    long = piece * (300_000 // len(piece))
    start = time.process_time()
    found(ENGLISH, long, long, "{{name}} " + long, rules=ALL)
    assert time.process_time() - start < 1


@pytest.mark.parametrize("reply", ['{"a": 1}', GERMAN, "Click on the", "Fine, thank you."])
def test_thousands_of_turns_take_time_that_grows_with_them(reply):
    certain_flaws(talk(*[ENGLISH, reply] * 10))
    start = time.process_time()
    found(*[ENGLISH, reply] * 5_000, rules=ALL)
    assert time.process_time() - start < 3


@pytest.mark.parametrize("reply", ["🙂🙂🙂", "😀", "مرحبا بك", "‏שלום", "\ud800", "\x00ok"])
def test_emojis_and_scripts_from_right_to_left_are_replies(reply):
    assert found("😀", reply) == []


def test_findings_in_the_examples_are_right():
    examples = Path(__file__).parents[4] / "examples"
    check = grice.check(examples / "convai.jsonl", select=["T"])
    found = {(flaw.rule, *flaw.quotes) for flaw in check.findings}
    assert found == {("empty-reply",), ("leaked-tokens", "<STOP>")}
    key = (examples / "support-bot-flaws.csv").read_text("utf-8")
    bot = grice.check(examples / "support-bot.jsonl").findings
    assert [flaw for flaw in bot if f"{flaw.conversation},{flaw.turn}," not in key] == []
    assert len(bot) > 8


def turn(line):
    """Return a turn written as ``role: text``, or ``call: name arguments``."""
    role, text = line.split(": ", 1)
    if role == "call":
        name, _, arguments = text.partition(" ")
        calls = [{"id": "1", "function": {"name": name, "arguments": arguments}}]
        return Turn("assistant", "", role="assistant", meta={"tool_calls": calls})
    role = {"u": "user", "a": "assistant", "s": "system", "t": "tool"}[role]
    return Turn(role, text, role=role)


def codes(*said, meta=None):
    conversation = Conversation("talk", tuple(map(turn, said)), meta=meta or {})
    return {flaw.code for flaw in find_flaws(conversation, ALL, judged_turns(conversation))}


@pytest.mark.parametrize("value", ["[" * 5000, "9" * 5000, "\ud800", "nan", '"[1]"', "null"])
def test_odd_arguments_and_results_are_read(value):
    call = f'call: pay {{"n": {value}, "to": "{value}"}}'
    said = "u: 9 euros", call, f"t: {value}", f"a: {value} paid", "u: 3", call
    assert codes(*said) <= {"A402", "A405"}
    expected = {"expected_trajectory": [value], "tools": [value]}
    assert codes("u: hi", "a: hi", meta=expected) == {"A406"}


PRICE = ["u: How much is it?", 'call: price {"item": "tent"}', 't: {"price": 120.5, "stock": 3}']


@pytest.mark.parametrize("item", items_of("families.jsonl"), ids=lambda item: item["code"])
def test_a_rule_finds_its_flaw_and_leaves_its_near_miss_alone(item):
    assert item["code"] in codes(*item["flaw"])
    assert item["code"] not in codes(*item["none"])


@pytest.mark.parametrize(("mode", "calls", "fine"), [
    ("strict", ["price"], True), ("strict", ["price", "book"], False),
    ("unordered", ["book", "price"], False), ("subset", ["book", "price"], True),
    ("superset", [], True), ("superset", ["book"], False),
])  # fmt: skip
def test_expected_calls_are_compared_by_their_mode(mode, calls, fine):
    expected = {"expected_trajectory": {"mode": mode, "calls": calls}}
    assert ("A406" in codes(*PRICE, meta=expected)) != fine
    assert "A406" not in codes(*PRICE)


def test_secrets_are_quoted_by_their_first_characters():
    (flaw,) = find_flaws(talk("Hi", "Use 4111 1111 1111 1111"), ALL, [1])
    assert (flaw.code, flaw.quotes, flaw.spans[0].start) == ("P203", ("4111…",), 4)


def test_calls_of_other_layouts_are_read():
    parts = [{"type": "tool_use", "id": "1", "name": "book", "input": {"people": 4}}]
    call = {"name": "book", "arguments": '{"people": 4}'}
    for meta in ({"content": parts}, {"function_call": call}):
        turns = (turn("u: A table for two"), Turn("bot", "", role="assistant", meta=meta))
        assert [f.code for f in find_flaws(Conversation("t", turns), ALL, [])] == ["A401"]
