"""Tags in a text change no score, and evidence points into the text as it came."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grice.data import (
    Conversation,
    FeatureEvidence,
    Judgement,
    Signature,
    Span,
    Triple,
    TripleEvidence,
    Turn,
)
from grice.metrics import Example, metric
from grice.scoring.loaded import LoadedMetric

TAGS = ["<br>", "</p>", '<a href="x y">']
WORDS = st.lists(st.sampled_from(["oh", "no!", "How", "are you?", "<3", "tea.", "é"]), min_size=1)
TALK = st.lists(WORDS, min_size=1, max_size=4)


def judge(item, texts):
    spans = [
        Span(turn, start, start + len(word))
        for turn, text in texts
        for start, word in words_of(text)
    ]
    evidence = [FeatureEvidence(text_of(dict(texts), span), 1.0, None, span) for span in spans]
    if spans:
        triple = Triple("a", "xWant", "b", spans[0], spans[-1])
        evidence.append(TripleEvidence(triple, 0.5))
    return Judgement(1 / (1 + len(spans)), evidence=tuple(evidence))


def words_of(text):
    place = 0
    for word in text.split():
        place = text.index(word, place)
        yield place, word
        place += len(word)


def text_of(texts, span):
    return texts[span.turn][span.start : span.end]


def pointing(name, judges):
    @metric(name, version="1", summary="Points at every word.", judges=judges, source="none",
            example=Example(["a", "b"], 0.0, 1.0))  # fmt: skip
    def declared(items):
        for item in items:
            if judges == "response":
                before = zip(item.positions, item.history, strict=True)
                texts = [*((i, turn.text) for i, turn in before), (item.turn, item.text)]
            else:
                texts = [(i, turn.text) for i, turn in enumerate(item.turns)]
            yield judge(item, texts)

    return LoadedMetric(declared, Signature(name, "1"), {})


@pytest.mark.parametrize("judges", ["response", "conversation"])
@given(TALK, st.data())
def test_evidence_points_into_the_text_as_it_came(judges, turns, data):
    texts = ["".join(word + data.draw(st.sampled_from(TAGS)) for word in words) for words in turns]
    first, *rest = (Turn("AB"[i % 2], text) for i, text in enumerate(texts))
    talk = Conversation("c", (first, Turn("S", "be <b>kind</b>", role="system"), *rest))
    [scores] = pointing(judges, judges).score([talk])
    for score in scores:
        for piece in score.evidence:
            if isinstance(piece, FeatureEvidence):
                assert talk.turns[piece.span.turn].text[piece.span.start : piece.span.end] == (
                    piece.name
                )
            else:
                spans = [
                    evidence.span
                    for evidence in score.evidence
                    if isinstance(evidence, FeatureEvidence)
                ]
                assert (piece.triple.head_span, piece.triple.tail_span) == (spans[0], spans[-1])


def test_tags_of_references_do_not_count():
    seen = []

    @metric("refers", version="1", summary="Keeps references.", judges="response", source="none",
            example=Example(["a", "b"], 0.0, 1.0))  # fmt: skip
    def refers(responses):
        seen.extend(response.references for response in responses)
        return [Judgement(0.5) for _ in responses]

    turn = Turn("A", "tea", references=("green<br>tea", "coffee"))
    LoadedMetric(refers, Signature("refers", "1"), {}).score([Conversation("c", (turn,))])
    assert seen == [("green tea", "coffee")]
