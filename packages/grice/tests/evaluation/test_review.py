"""The order of review: which replies come first, why, and what is missing."""

import json

import pytest
from msgspec.structs import replace

import grice
from grice import Conversation, Score, Turn
from grice.cli import main
from grice.data import FeatureEvidence, Span, json_line
from grice.errors import InputError
from grice.evaluation.review import Reviewer

TEXTS = ["Where do you live?", "In Leeds.", "Do you like it?", "In Leeds.", "You said so."]
TALK = Conversation("talk", tuple(Turn("ab"[i % 2], text) for i, text in enumerate(TEXTS)))


def scored(turn, metric, value, *evidence, status="ok", conversation="talk", reason=None, model=""):
    signature = f"{metric}:1|model:{model or metric}@1a2b+encoder@3c4d"
    return Score(conversation, turn, metric, value, status, reason, (), evidence, signature)


def reviewed(*scores, talk=TALK, top=20):
    reviewer = Reviewer(top)
    reviewer.add(talk, scores)
    return reviewer.review()


def test_the_worst_reply_comes_first_with_its_words():
    verbatim = FeatureEvidence("repeated span", 1.0, span=Span(3, 0, 8))
    first, second = reviewed(
        scored(1, "relevance", 0.9),
        scored(3, "relevance", 0.5),
        scored(3, "repetition", 0.01, verbatim, reason="repeats turn 1 (cosine 1.00)"),
    ).items
    assert (first.rank, first.turn, first.flaw, first.metric) == (1, 3, "repeats", "repetition")
    quoted = first.words, first.before, first.reply, first.reason
    assert quoted == (("In Leeds",), "Do you like it?", "In Leeds.", "repeats turn 1 (cosine 1.00)")
    assert (second.turn, second.flaw) == (1, "none")
    assert 0 < first.quality < second.quality < 1


def test_every_empty_reply_comes_before_all_others_also_without_texts():
    bad = scored(4, "repetition", 0.0, reason="repeats turn 1")
    empty = scored(0, "repetition", 0.0, reason="the reply is empty")
    scores = [*(replace(empty, turn=turn, flags=("empty",)) for turn in range(4)), bad]
    result = reviewed(*scores, talk=None, top=5)
    listed = [(item.rank, item.turn, item.flaw, item.quality is None) for item in result.items]
    assert listed[:4] == [(turn + 1, turn, "empty reply", True) for turn in range(4)]
    assert listed[4:] == [(5, 4, "repeats", False)]
    assert result.certain == {"empty-reply": 4}
    assert [item.flaw for item in reviewed(*scores, talk=None, top=1).items] == ["empty reply"]


def texted(*replies):
    """Return a conversation of one user and their bot, and a score of each reply."""
    turns = [turn for text in replies for turn in (Turn("user", "Go on?"), Turn("bot", text))]
    places = range(1, len(turns), 2)
    return Conversation("talk", tuple(turns)), [scored(turn, "relevance", 0.9) for turn in places]


def test_certain_flaws_come_first_with_their_words():
    talk, scores = texted("Dear {{name}}, hello.", "Fine.", "Click on the", "")
    result = reviewed(*scores, talk=talk)
    assert [(item.turn, item.flaw, item.certainty) for item in result.items[:3]] == [
        (7, "empty reply", "certain"),
        (1, "template left in", "certain"),
        (5, "cut-off reply", "certain"),
    ]
    assert (result.items[3].turn, result.items[3].quality is None) == (3, False)
    assert result.items[1].words == ("{{name}}",)
    assert [(span.turn, span.start, span.end) for span in result.items[1].spans] == [(1, 5, 13)]
    assert result.items[1].before == "Go on?"
    assert result.certain == {"empty-reply": 1, "template-left-in": 1, "cut-off": 1}


def test_where_there_are_too_many_some_of_each_rule_are_listed():
    talk, scores = texted(*[""] * 5, *["Click on the"] * 5, "Hello {{name}}!")
    flaws = [item.flaw for item in reviewed(*scores, talk=talk, top=4).items]
    assert flaws == [*["empty reply"] * 2, "template left in", "cut-off reply"]


@pytest.mark.parametrize(("plain", "listed"), [(2, 1), (3, 10)])
def test_a_finding_of_nearly_all_replies_of_a_log_is_listed_once(plain, listed):
    data = [f'{{"say": {i}}}' for i in range(10)]
    talk, scores = texted(*data, *["Yes, of course."] * plain)
    result = reviewed(*scores, talk=talk)
    certain = [item for item in result.items if item.findings]
    assert len(certain) == listed
    assert ("as in 9 other replies" in certain[0].reason) is (listed == 1)
    assert result.certain == {"raw-json": 10}


@pytest.mark.parametrize(("value", "flaw"), [(0.49, "irrelevant"), (0.5, "none")])
def test_a_value_that_is_not_low_in_itself_names_no_flaw(value, flaw):
    (item,) = reviewed(scored(3, "relevance", value)).items
    assert (item.flaw, item.has_flaw) == (flaw, flaw != "none")
    assert item.effects["relevance"] < 0
    assert item.headline == ("irrelevant" if item.has_flaw else "no specific flaw")


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
    (item,) = reviewed(scored(3, "repetition", 0.01, *verbatim), talk=talk).items
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
    result = reviewed(*scores)
    first, second = result.items
    assert (first.quality, first.flaw, first.metric) == (0.3, "repeats", "repetition")
    assert (first.reason, first.words) == ("repeats turn 1: the words are the same", ("In Leeds",))
    assert first.effects == {"relevance": 0.1, "repetition": -0.3}
    assert (second.quality, second.flaw, second.metric) == (0.4, "none", None)
    assert not result.missing + result.unused


@pytest.mark.parametrize(("nonsense", "dull", "flaw"), [
    (0.1, 0.9, "dull"), (0.7, 0.8, "senseless"), (0.9, 0.1, "senseless"),
])  # fmt: skip
def test_sense_names_the_flaw_only_where_it_stands_out(nonsense, dull, flaw):
    heads = [FeatureEvidence("nonsense", nonsense), FeatureEvidence("dull", dull)]
    (item,) = reviewed(scored(3, "sensibleness", 0.0, *heads, model="sense-small")).items
    assert (item.metric, item.flaw) == ("sensibleness", flaw)


def test_it_says_what_it_rests_on_and_what_is_missing():
    result = reviewed(scored(3, "relevance", 0.2), scored(1, "relevance", 0.2))
    used = dict(result.parts)
    assert used.pop("relevance") == 2
    assert set(used.values()) == {0}
    assert (result.missing, result.unused) == (tuple(used), ())
    for status, value in (("abstained", 0.5), ("failed", None)):
        silent = scored(3, "contradiction", value, status=status)
        beside = reviewed(scored(3, "relevance", 0.2), silent)
        assert beside.items[0].effects.keys() == {"relevance"}
        assert beside.parts["contradiction"] == 0


@pytest.mark.parametrize("size", ["small", "medium", "large"])
def test_ranks_are_those_of_the_models_of_the_run(size):
    evidence = FeatureEvidence("nonsense", 0.9)
    nonsense = scored(3, "sensibleness", 0.05, evidence, model=f"sense-{size}")
    result = reviewed(scored(3, "relevance", 0.4), nonsense)
    assert result.reference.startswith(f"quality-{size}@")
    assert result.items[0].flaw == "senseless"
    own = scored(3, "sensibleness", 0.05, model="own")
    assert reviewed(scored(3, "relevance", 0.4), own).unused == ("sensibleness",)


@pytest.mark.parametrize(
    ("values", "first"), [((0.4, 0.3, 0.2, 0.1), [4, 3]), ((0.1,) * 3, [1, 2])]
)
def test_only_the_first_are_kept_and_of_equals_the_earlier(values, first):
    scores = [scored(turn, "relevance", value) for turn, value in enumerate(values, 1)]
    assert [item.turn for item in reviewed(*scores, top=2).items] == first


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
        items = grice.review(scores, texts, top=2).items
        listed = [(item.conversation, item.turn, item.reply) for item in items]
        assert listed == [("z", 1, reply), ("x", 1, reply)]
    other = files / "other.jsonl"
    other.write_bytes(json_line(Conversation("w", TALK.turns)))
    with pytest.raises(InputError, match="conversation 'x' is not in the files given"):
        grice.review(str(files / "out.jsonl"), [other])
    other.write_bytes(json_line(Conversation("x", TALK.turns[:1])))
    with pytest.raises(InputError, match="has 1 turn, and a score is of turn 1"):
        grice.review(str(files / "out.jsonl"), [other])


def test_scores_that_say_nothing_are_refused(tmp_path):
    path = tmp_path / "out.jsonl"
    path.write_bytes(json_line(scored(1, "log_length", 0.5)))
    with pytest.raises(InputError, match="no reply has a usable score of any of quality, "):
        grice.review(str(path))
    with pytest.raises(InputError, match="top 0: at least 1"):
        Reviewer(0)


def test_a_reply_is_shown_with_its_reason_and_written(tmp_path, capsys, monkeypatch):
    house = "I live in a small house near the harbour."
    said = "Where do you live?", f"{house} " * 3, "And do you like it there?", house, "<b>{{x}}</b>"
    talk = Conversation("talk", tuple(Turn("ab"[i % 2], text) for i, text in enumerate(said)))
    evidence = FeatureEvidence("repeated span", 1.0, span=Span(3, 0, 40))
    again = scored(3, "repetition", 0.0, evidence, reason="repeats turn 1")
    scores, talks, out = (tmp_path / name for name in ("out.jsonl", "talk.jsonl", "first.jsonl"))
    every = scored(1, "relevance", 0.9), again, scored(4, "relevance", 0.9)
    scores.write_bytes(b"\n".join(map(json_line, every)))
    talks.write_bytes(json_line(talk))
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["review", str(scores), str(talks)]) == 0
    shown = capsys.readouterr().out
    assert "certain flaws: template left in (1)\n1. certain template left in, talk #4\n" in shown
    assert '> <b>{{x}}</b>\n   a template field is not filled in\n   "{{x}}"' in shown
    assert shown.index("2. ") < shown.index("repeats, talk #3") < shown.index("talk #1")
    assert "> And do you like it there?\n   > I live in a small house near the harbour." in shown
    assert "repetition 0.00: repeats turn 1" in shown
    assert '"I live in a small house near…"' in shown
    assert max(map(len, shown.splitlines())) <= 80
    assert "not run: " in shown
    options = "--top", "1", "-o", str(out), "--json"
    assert main(["review", str(scores), *options]) == 0
    result = json.loads(capsys.readouterr().out)
    (line,) = out.read_text("utf-8").splitlines()
    assert result["items"] == [json.loads(line)]
    assert (result["turns"], result["items"][0]["flaw"]) == (3, "repeats")
