"""Single changes of a reply that lift a score."""

from __future__ import annotations

import pytest

from grice.data import (
    Conversation,
    FeatureEvidence,
    Judgement,
    Signature,
    Span,
    Triple,
    TripleEvidence,
    Turn,
    TurnEvidence,
)
from grice.evaluation.perturbed import counterfactuals, without
from grice.metrics.declaration import Example, metric
from grice.scoring.loaded import LoadedMetric


class Store:
    """Says how plausible a tail is, by its words."""

    bad = ("awful", "not", "n't", "sad", "unhappy")

    def plausibility(self, triples):
        return [0.2 if any(word in triple.tail for word in self.bad) else 0.9 for triple in triples]


def clauses(text):
    spans, start = [], 0
    for part in text.rstrip(".").split(", "):
        spans.append((start, start + len(part), part))
        start += len(part) + 2
    return spans


@metric(
    "moods",
    version="1",
    summary="Are the moods said in the reply good ones?",
    judges="response",
    models={"store": "builtin:none"},
    source="Made for this test.",
    example=Example(["Hi", "Hello"], 0, 1),
)
def moods(responses, *, store):
    """Rate each clause."""
    for response in responses:
        triples = [
            Triple("he", "xReact", text, tail_span=Span(response.turn, start, end))
            for start, end, text in clauses(response.text)
        ]
        values = store.plausibility(triples)
        yield Judgement(
            sum(values) / len(values),
            evidence=(
                *(TripleEvidence(t, v) for t, v in zip(triples, values, strict=True)),
                TurnEvidence(0, 0.1),
                FeatureEvidence("clauses", len(triples)),
            ),
        )


@pytest.fixture
def loaded():
    return LoadedMetric(moods, Signature("moods", "1"), {"store": Store()})


def talk(name, text):
    return Conversation(name, (Turn("A", "And?"), Turn("B", text)), (1,))


def test_words_are_left_out_that_lift_a_score(loaded):
    conversation = talk("a", "I am awful, I am happy")
    (score,) = loaded.score([conversation])[0]
    best, *_ = counterfactuals(loaded, conversation, score)
    assert (best.kind, best.change, best.value) == ("text", "I am awful", 0.9)
    assert best.lift == pytest.approx(0.9 - score.value)
    assert (
        counterfactuals(loaded, conversation, loaded.score([talk("b", "I am happy")])[0][0]) == []
    )


def test_a_stretch_is_left_out_with_its_blanks():
    assert without("I won, so I smiled.", Span(0, 7, 18)) == "I won,."
    assert without("I won, so I smiled.", Span(0, 0, 5)) == ", so I smiled."
