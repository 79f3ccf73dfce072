"""The order of reading: which replies come first, why, and what is missing."""

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from grice import Conversation, Score, Turn
from grice.cli import main
from grice.data import FeatureEvidence, Span, json_line
from grice.detectors import RULES
from grice.errors import InputError
from grice.evaluation.ranking import Ranker, rank

PRECISE = {
    code: (rule.precision, rule.measured.low) for code, rule in RULES.items() if rule.measured
}
OBJECTIONS = Path(__file__).with_name("objections.jsonl").read_text("utf-8")
TEXTS = ["Where do you live?", "In Leeds.", "Do you like it?", "In Leeds.", "Nice."]
TALK = Conversation("talk", tuple(Turn("ab"[i % 2], text) for i, text in enumerate(TEXTS)))


def scored(turn, metric, value, *evidence, status="ok", conversation="talk", reason=None, model=""):
    signature = f"{metric}:1|model:{model or metric}@1a2b+encoder@3c4d"
    return Score(conversation, turn, metric, value, status, reason, (), evidence, signature)


def ranked(*scores, talk=TALK, top=20):
    ranker = Ranker(top)
    ranker.add(talk, scores)
    return ranker.ranking()


def test_the_worst_reply_comes_first_with_its_words():
    verbatim = FeatureEvidence("repeated span", 1.0, span=Span(3, 0, 8))
    before = FeatureEvidence("earlier span", 1.0, span=Span(1, 0, 9))
    first, second = ranked(
        scored(1, "relevance", 0.9),
        scored(3, "relevance", 0.5),
        scored(3, "repetition", 0.0, verbatim, before, reason="repeats turn 1 (cosine 1.00)"),
    ).items
    listed = first.rank, first.turn, first.findings[0].code, first.metric
    assert listed == (1, 3, "D314", "repetition")
    quoted = first.words, first.before, first.reply, first.reason
    assert quoted == (("In Leeds",), "Do you like it?", "In Leeds.", "repeats turn 1")
    assert (second.turn, second.findings) == (1, ())
    assert 0 < first.quality < second.quality < 1


def test_every_empty_reply_comes_before_all_others_also_without_texts():
    bad = scored(4, "repetition", 0.0, reason="repeats turn 1")
    empty = scored(0, "repetition", 0.0, reason="the reply is empty")
    scores = [*(replace(empty, turn=turn, flags=("empty",)) for turn in range(4)), bad]
    result = ranked(*scores, talk=None, top=5)
    listed = [(item.rank, item.turn, item.findings[0].code, item.certain) for item in result.items]
    assert listed[:4] == [(turn + 1, turn, "T101", True) for turn in range(4)]
    assert listed[4:] == [(5, 4, "D314", False)]
    assert result.certain == {"T101": 4}
    assert [item.headline for item in ranked(*scores, talk=None, top=1).items] == ["empty reply"]


def texted(*replies):
    """Return a conversation of one user and their bot, and a score of each reply."""
    turns = [turn for text in replies for turn in (Turn("user", "Go on?"), Turn("bot", text))]
    places = range(1, len(turns), 2)
    return Conversation("talk", tuple(turns)), [scored(turn, "relevance", 0.9) for turn in places]


def test_findings_of_all_families_come_first_those_of_precise_rules_before_others():
    talk, scores = texted("Dear {{name}}, hello.", "Fine.", "Click on the", "")
    objects = Turn("user", "That is not what I asked!")
    talk = replace(talk, turns=(*talk.turns[:4], objects, *talk.turns[5:]))
    result = ranked(*scores, talk=talk)
    listed = [(item.turn, item.findings[0].code, item.certain) for item in result.items]
    order = [(7, "T101"), (1, "T105"), (5, "T108"), (3, "U501")]
    order.sort(key=lambda found: PRECISE[found[1]], reverse=True)
    assert listed == [(*found, True) for found in order]
    assert result.items[-1].words == ("That is not what I asked!",)
    (item,) = (item for item in result.items if item.turn == 1)
    assert item.words == ("{{name}}",)
    assert [(span.turn, span.start, span.end) for span in item.spans] == [(1, 5, 13)]
    assert item.before == "Go on?"
    assert result.certain == dict.fromkeys(("T101", "T105", "T108", "U501"), 1)


@pytest.mark.parametrize(("value", "asked", "flaw"), [
    (0.0, "Do you like it?", ["D312"]), (0.0, "Do you like Leeds?", []), (0.5, "Why?", []),
])  # fmt: skip
def test_a_reply_is_off_topic_if_its_value_is_low_and_its_words_are_new(value, asked, flaw):
    turns = (*TALK.turns[:2], Turn("a", asked), *TALK.turns[3:])
    (item,) = ranked(scored(3, "relevance", value), talk=replace(TALK, turns=turns)).items
    assert ([finding.code for finding in item.findings], item.has_flaw) == (flaw, bool(flaw))
    assert item.headline == ("off topic" if item.has_flaw else "no specific flaw")


def test_what_is_quoted_has_no_markdown_and_no_traffic_of_tools():
    reply = "See [the claim](https://a.example/claim), **in Leeds**."
    talk = Conversation(
        "talk",
        (
            Turn("user", "Where?", role="user"),
            Turn("assistant", "", role="assistant", meta={"tool_calls": [{"id": "1"}]}),
            Turn("lookup", '{"town": "Leeds"}', role="tool"),
            Turn("assistant", reply, role="assistant"),
        ),
    )
    start = reply.index("the claim")
    spans = [Span(3, start, reply.index("/claim")), Span(3, reply.index("**"), len(reply))]
    verbatim = [FeatureEvidence("repeated span", 1.0, span=span) for span in spans]
    (item,) = ranked(scored(3, "repetition", 0.0, *verbatim), talk=talk).items
    assert item.words == ("the claim", "in Leeds.")
    assert item.before == "Where?"


def test_the_quality_of_the_run_decides_with_the_evidence_of_its_strongest_part():
    repeats = FeatureEvidence("repeated span", 1.0, span=Span(3, 0, 8))
    parts = FeatureEvidence("relevance", 0.6, 0.1), FeatureEvidence("repetition", 0.0, -0.3)
    reason = "repetition 0.00: repeats turn 1: the words are the same"
    scores = [
        scored(3, "quality", 0.3, *parts, repeats, reason=reason, model="quality-small"),
        scored(3, "relevance", 0.0),
        scored(1, "quality", 0.4, parts[0], reason="no specific flaw", model="quality-small"),
    ]
    result = ranked(*scores)
    first, second = result.items
    assert (first.quality, first.headline, first.metric) == (0.3, "repeats itself", "repetition")
    assert (first.reason, first.words) == ("repeats itself", ("In Leeds",))
    assert first.effects["repetition"] > first.effects["relevance"] > 0
    assert (second.quality, second.findings, second.metric) == (0.4, (), None)
    assert not result.missing + result.unused


@pytest.mark.parametrize(("nonsense", "dull", "repetition", "flaws"), [
    (0.1, 0.9, 0.5, ["D316"]), (0.79, 0.8, 0.5, ["D311"]), (0.9, 0.1, 0.5, ["D311"]),
    (0.9, 0.1, 0.01, ["D314"]), (0.7, 0.1, 0.5, []),
])  # fmt: skip
def test_a_clear_flaw_is_named_and_the_same_words_before_all(nonsense, dull, repetition, flaws):
    heads = [FeatureEvidence("nonsense", nonsense), FeatureEvidence("dull", dull)]
    sense = scored(3, "sensibleness", 0.0, *heads, model="sense-small")
    (item,) = ranked(sense, scored(3, "repetition", repetition)).items
    assert [finding.code for finding in item.findings] == flaws


@pytest.mark.parametrize("case", OBJECTIONS.splitlines())
def test_a_user_who_objects_says_what_is_wrong(case):
    reply, said, flaw = json.loads(case).values()
    texts = (
        "Four people, Sunday.",
        "Fine.",
        "Is it by the window?",
        reply,
        said,
        "Sorry, my mistake.",
    )
    turns = (Turn(("user", "bot")[i % 2], text) for i, text in enumerate(texts))
    talk = Conversation("talk", tuple(turns))
    (item,) = (i for i in ranked(scored(3, "relevance", 0.9), talk=talk).items if i.turn == 3)
    assert [f.message.startswith(flaw or "-") for f in item.findings].count(True) == bool(flaw)
    assert all(code[0] in "DU" for code in (finding.code for finding in item.findings))


def test_replies_in_another_language_have_no_rank_and_are_counted(tmp_path, capsys):
    texts = "Wo ist mein Paket?", "Ihr Paket ist auf dem Weg zu Ihnen.", "Where?", "It is in Leeds."
    talk = Conversation("talk", tuple(Turn("ab"[i % 2], text) for i, text in enumerate(texts)))
    ranker = Ranker(9, speakers=("b",))
    silent = scored(1, "relevance", 0.5, status="abstained")
    ranker.add(talk, [silent, scored(3, "relevance", 0.9)])
    listed = [(item.rank, item.turn, item.status) for item in ranker.ranking().items]
    assert listed == [(1, 3, "ok"), (0, 1, "abstained")]
    assert ranker.ranking().unjudged == {"German": 1}
    turns = (*talk.turns[:2], Turn("a", "Wann?"), Turn("b", "Er kommt."))
    (tmp_path / "talk.jsonl").write_bytes(json_line(replace(talk, turns=turns)))
    assert main(["check", str(tmp_path / "talk.jsonl"), "--rank"]) == 0
    out, err = capsys.readouterr()
    assert out == "none of 4 replies is ranked\n"
    assert "4 of 4 replies are not ranked, since their language is not judged: German (4)" in err


def test_it_says_what_it_rests_on_and_what_is_missing():
    result = ranked(scored(3, "relevance", 0.2), scored(1, "relevance", 0.2))
    used = dict(result.parts)
    assert used.pop("relevance") == 2
    assert set(used.values()) == {0}
    assert (result.missing, result.unused) == (tuple(used), ())
    for status, value in (("abstained", 0.5), ("failed", None)):
        silent = scored(3, "repetition", value, status=status)
        beside = ranked(scored(3, "relevance", 0.2), silent)
        assert beside.items[0].effects.keys() == {"relevance"}
        assert beside.parts["repetition"] == 0


def test_ranks_are_those_of_the_models_of_the_run():
    for size in ("small", "medium", "large"):
        nonsense = FeatureEvidence("nonsense", 0.9)
        sense = scored(3, "sensibleness", 0.0, nonsense, model=f"sense-{size}")
        result = ranked(scored(3, "relevance", 0.4), sense)
        assert result.reference.startswith(f"quality-{size}@")
        assert result.items[0].findings[0].code == "D311"
    own = scored(3, "sensibleness", 0.05, model="own")
    assert ranked(scored(3, "relevance", 0.4), own).unused == ("sensibleness",)


def test_only_the_first_are_kept_and_of_equals_the_earlier():
    for values, first in (((0.4, 0.3, 0.2, 0.1), [4, 3]), ((0.1,) * 3, [1, 2])):
        scores = [scored(turn, "relevance", value) for turn, value in enumerate(values, 1)]
        assert [item.turn for item in ranked(*scores, top=2).items] == first


def test_a_correct_repair_comes_after_the_reply_that_it_takes_back():
    texts = ["Will my reviews have my name?", "Yes, your reviews show your full name to everybody.",
             "But the page says they are anonymous", "Sorry, that was an error of mine. Your "
             "reviews will be anonymous.", "Good."]  # fmt: skip
    talk = Conversation("talk", tuple(Turn(("user", "bot")[i % 2], t) for i, t in enumerate(texts)))
    span = FeatureEvidence("repeated span", 1.0, span=Span(3, 34, 60))
    flaw, repair = ranked(
        scored(1, "repetition", 0.9), scored(3, "repetition", 0.05, span), talk=talk
    ).items
    assert (flaw.turn, flaw.reason, flaw.words) == (1, "is taken back in turn 3", ("Sorry",))
    assert flaw.probability > 0.5 > repair.probability


@pytest.mark.parametrize(("said", "value", "codes"), [
    ("And?", 0.0, ["D314"]), ("One more time please", 0.0, []), ("Really?", 0.9, []),
])  # fmt: skip
def test_words_that_were_asked_for_and_fine_replies_have_no_reason(said, value, codes):
    talk, scores = texted("In Leeds.", "In Leeds.")
    talk = replace(talk, turns=(*talk.turns[:2], Turn("user", said), talk.turns[3]))
    found = ranked(scores[0], scored(3, "repetition", value), talk=talk).items
    assert [each.code for item in found for each in item.findings] == codes


@pytest.fixture
def files(tmp_path):
    talks = [Conversation(name, TALK.turns) for name in ("x", "y", "z")]
    places = ("x", 1, 0.5), ("z", 1, 0.1), ("z", 3, 0.9)
    scores = [scored(turn, "relevance", v, conversation=name) for name, turn, v in places]
    (tmp_path / "talks.jsonl").write_bytes(b"\n".join(map(json_line, talks)))
    (tmp_path / "out.jsonl").write_bytes(b"\n".join(map(json_line, scores)))
    return tmp_path


def test_a_file_of_scores_is_read_with_and_without_its_texts(files):
    scores = str(files / "out.jsonl")
    for texts, reply in (([], ""), ([files / "talks.jsonl"], "In Leeds.")):
        items = rank(scores, texts, top=2).items
        listed = [(item.conversation, item.turn, item.reply) for item in items]
        assert listed == [("z", 1, reply), ("x", 1, reply)]
    other = files / "other.jsonl"
    other.write_bytes(json_line(Conversation("w", TALK.turns)))
    with pytest.raises(InputError, match="conversation 'x' is not in the files given"):
        rank(str(files / "out.jsonl"), [other])
    other.write_bytes(json_line(Conversation("x", TALK.turns[:1])))
    with pytest.raises(InputError, match="has 1 turn, and a score is of turn 1"):
        rank(str(files / "out.jsonl"), [other])


def test_scores_that_say_nothing_are_refused(tmp_path):
    path = tmp_path / "out.jsonl"
    path.write_bytes(json_line(scored(1, "log_length", 0.5)))
    with pytest.raises(InputError, match="no reply has a usable score of any of quality, "):
        rank(str(path))
    with pytest.raises(InputError, match="top 0: at least 1"):
        Ranker(0)


def test_the_command_ranks_by_given_scores_in_all_forms(tmp_path, capsys, monkeypatch):
    house = "I live in a small house near the harbour."
    said = "Where do you live?", f"{house} " * 3, "And do you like it there?", house, "<b>{{x}}</b>"
    talk = Conversation("talk", tuple(Turn("ab"[i % 2], text) for i, text in enumerate(said)))
    evidence = FeatureEvidence("repeated span", 1.0, span=Span(3, 0, 40))
    before = FeatureEvidence("earlier span", 1.0, span=Span(1, 0, 40))
    again = scored(3, "repetition", 0.0, evidence, before, reason="repeats turn 1")
    scores, talks, out = (tmp_path / name for name in ("out.jsonl", "talk.jsonl", "first.jsonl"))
    every = scored(1, "relevance", 0.9), again, scored(4, "relevance", 0.9)
    scores.write_bytes(b"\n".join(map(json_line, every)))
    talks.write_bytes(json_line(talk))
    monkeypatch.setenv("COLUMNS", "80")
    words = ["check", str(talks), "--rank", "--scores", str(scores), "-q"]
    assert main(words) == 1
    shown = capsys.readouterr().out
    assert "1. 1.00 talk 4\n" in shown
    assert "> <b>{{x}}</b>\n   T105 a template field is not filled in" in shown
    assert shown.index(" talk 3\n") < shown.index(" talk 1\n")
    assert "> And do you like it there?\n   > I live in a small house near the harbour." in shown
    assert "D314 repeats turn 1\n" in shown
    assert "no flaw stands out" in shown
    assert max(map(len, shown.splitlines())) <= 80
    assert "not run: " in shown
    assert main([*words, "--limit", "1", "-o", str(out), "--json"]) == 1
    (line,) = map(json.loads, out.read_text("utf-8").splitlines())
    assert (line["rank"], line["turn"], line["findings"][0]["code"]) == (1, 4, "T105")
    twice = [line.replace('"talk"', f'"{name}"') for name in "ab" for line in [talks.read_text()]]
    talks.write_text("\n".join(twice))
    scores.write_text("\n".join(json_line(replace(score, conversation=name)).decode()
                                for name in "ab" for score in every))  # fmt: skip
    assert main(words) == 1
    shown = capsys.readouterr().out
    assert (shown.count("> <b>{{x}}"), "2 times, also b 4" in shown) == (1, True)
    assert main([*words, "--format", "markdown"]) == 1
    assert "| a 4 (2 times, also b 4) | T105 |" in capsys.readouterr().out
    assert main([*words, "--json"]) == 1
    assert len(capsys.readouterr().out.splitlines()) == 10
    for form in ("github", "markdown", "sarif", "junit"):
        assert main([*words, "--format", form]) == 1
        shown = capsys.readouterr().out
        assert shown.index("T105") < shown.rindex("D314"), form


def test_the_command_scores_what_it_ranks(tmp_path, capsys):
    talks = tmp_path / "talks.jsonl"
    talks.write_text(
        '{"turns": ["Where do you live?", "In Leeds.", "And do you like it?", "{{x}}"]}'
    )
    assert main(["check", str(talks), "--rank", "--json", "--limit", "9"]) == 1
    first, *others = map(json.loads, capsys.readouterr().out.splitlines())
    assert (first["turn"], first["certain"]) == (3, True)
    assert {each["turn"] for each in others} == {0, 1, 2}
    chances = [each["probability"] for each in others]
    assert chances == sorted(chances, reverse=True)
    for wrong in ("--rank --scores x --models small", "--rank --models openai:x@y"):
        assert main(["check", str(talks), *wrong.split()]) == 2
    assert main(["review", "x"]) == 2
    assert "did you mean 'grice check --rank'?" in capsys.readouterr().err
