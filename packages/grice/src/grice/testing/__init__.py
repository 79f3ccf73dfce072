"""Conformance test of metrics, for the tests of plug-ins.

In a plugin's tests::

    from grice.testing import check_metric

    def test_shouting_keeps_the_rules():
        check_metric(shouting)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from grice.data import (
    Conversation,
    Evidence,
    FeatureEvidence,
    Score,
    Span,
    TripleEvidence,
    Turn,
    TurnEvidence,
)
from grice.metrics.declaration import Metric
from grice.models.loader import ModelLoader
from grice.scoring.loaded import LoadedMetric, load_metric

__all__ = ["check_metric"]

_EVERYDAY = (
    ("Do you like to cook?", "I love it. I made pasta for my sister yesterday.", "Lucky sister!"),
    ("I lost my keys again.", "Then you can't get in. Call the landlord!", "He is on holiday."),
    ("Hi", "Hello, how are you?", "Tired. I worked all night because the server broke."),
)
_ODD = (
    ("",),
    (" \n\t ", ""),
    ("One turn only.",),
    ("?", "!!!", "..."),
    ("\x00\x07", "\u202eright to left\u202c", "e\u0301\u200b"),
    ("日本語を話しますか。", "Немного.", "😀😀 👩‍👩‍👧‍👧"),
    ("</script><script>alert(1)</script>", "{{ 7*7 }} %s ${x} \\x41"),
    ("\ud800 half a character", "I like it."),
    ("What did she say?", "word " * 3000),
    ("What did she say?", "x" * 20_000),
)


def check_metric(metric: Metric, options: Mapping[str, object] | None = None) -> None:
    """Raise ``AssertionError`` with the broken rule if the metric breaks one.

    Checked are: the worked example; values, abstentions and reasons; equal scores in any order and
    batch; odd texts without a failure; tags that change no score; spans of evidence; JSON.
    ``options`` are values and model references other than the defaults.
    """
    models = ModelLoader(mode="fast", workers=1, cache=None)
    fresh = ModelLoader(mode="fast", workers=1, cache=None)
    try:
        loaded = load_metric(metric, models, options or {})
        _check_example(loaded)
        conversations = [*_conversations(_EVERYDAY, "everyday"), *_conversations(_ODD, "odd")]
        groups = loaded.score(conversations)
        for conversation, scores in zip(conversations, groups, strict=True):
            for score in scores:
                _check_score(metric, conversation, score)
        _check_tags(loaded, conversations[: len(_EVERYDAY)])
        _check_independence(load_metric(metric, fresh, options or {}), conversations, groups)
        assert loaded.judge([]) == [], "no items must give no judgements"
    finally:
        models.close()
        fresh.close()


def _check_example(loaded: LoadedMetric) -> None:
    example = loaded.metric.example
    [[score]] = loaded.score([example.conversation()])
    assert score.status == "ok", f"example: {score.status}: {score.reason}"
    assert score.value is not None
    assert example.low <= score.value <= example.high, (
        f"example: {score.value} outside {example.low} to {example.high}"
    )


def _check_score(metric: Metric, conversation: Conversation, score: Score) -> None:
    place = f"{conversation.id} #{score.turn}"
    assert score.status != "failed", f"{place}: failed: {score.reason}"
    assert score.value is not None, f"{place}: a value is missing"
    if score.status == "abstained":
        assert score.value == metric.neutral, f"{place}: abstained with {score.value}"
        assert score.reason, f"{place}: abstained without a reason"
    for evidence in score.evidence:
        _check_evidence(conversation, evidence, place)
    again = msgspec.json.decode(msgspec.json.encode(score), type=Score)
    assert again == score, f"{place}: JSON does not bring the score back"


def _check_evidence(conversation: Conversation, evidence: Evidence, place: str) -> None:
    if isinstance(evidence, TurnEvidence):
        assert 0 <= evidence.turn < len(conversation.turns), f"{place}: no turn {evidence.turn}"
    spans: list[Span | None] = []
    if isinstance(evidence, TripleEvidence):
        spans = [evidence.triple.head_span, evidence.triple.tail_span]
    elif isinstance(evidence, FeatureEvidence):
        spans = [evidence.span]
    for span in filter(None, spans):
        text = conversation.turns[span.turn].text
        assert 0 <= span.start < span.end <= len(text), f"{place}: {span} outside its text"
        assert text[span.start : span.end].strip(), f"{place}: {span} covers nothing"


def _check_independence(
    loaded: LoadedMetric, conversations: list[Conversation], expected: list[list[Score]]
) -> None:
    # ModelLoader without memory of the first run, backwards and one by one.
    for conversation, scores in reversed(list(zip(conversations, expected, strict=True))):
        assert loaded.score([conversation]) == [scores], (
            f"{conversation.id}: another score alone than in a batch"
        )
    assert loaded.score(conversations) == expected, "another score the second time"


def _check_tags(loaded: LoadedMetric, conversations: Sequence[Conversation]) -> None:
    tagged = [
        replace(
            talk,
            turns=tuple(replace(turn, text=turn.text.replace(" ", "<br>")) for turn in talk.turns),
        )
        for talk in conversations
    ]
    groups = zip(tagged, loaded.score(conversations), loaded.score(tagged), strict=True)
    for conversation, plain, scores in groups:
        for score, other in zip(plain, scores, strict=True):
            _check_score(loaded.metric, conversation, other)
            assert (score.value, score.status) == (other.value, other.status), (
                f"{conversation.id} #{score.turn}: another score with tags between the words"
            )


def _conversations(talks: tuple[tuple[str, ...], ...], name: str) -> Iterator[Conversation]:
    for i, talk in enumerate(talks):
        turns = tuple(Turn("AB"[j % 2], text) for j, text in enumerate(talk))
        yield Conversation(f"{name}-{i}", turns)
