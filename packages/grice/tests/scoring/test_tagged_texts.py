"""Tags in a text change no score, and evidence points into the text as it came."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grice import data
from grice.data import Conversation, FeatureEvidence, Judgement, Signature, Span, Turn
from grice.metrics import Example, metric
from grice.scoring.loaded import LoadedMetric

TAGS = ["<br>", "</p>", '<a href="x y">']
WORDS = st.lists(st.sampled_from(["oh", "no!", "How", "are you?", "<3", "tea.", "é"]), min_size=1)
TALK = st.lists(WORDS, min_size=1, max_size=4)


def judge(texts):
    words = [
        FeatureEvidence(word[0], 1.0, None, Span(turn, *word.span()))
        for turn, text in texts
        for word in re.finditer(r"\S+", text)
    ]
    triple = data.TripleEvidence(data.Triple("a", "xWant", "b", words[0].span, words[-1].span), 0.5)
    evidence = (data.TurnEvidence(texts[-1][0], 0.1), *words, triple)
    return Judgement(0.5, reason="turn {turn}, not turn 0 or {turn}", evidence=evidence)


def pointing(name, judges):
    @metric(name, version="1", summary="Points at every word.", judges=judges, source="none",
            example=Example(["a", "b"], 0.0, 1.0))  # fmt: skip
    def declared(items):
        for item in items:
            if judges == "response":
                before = zip(item.positions, item.history, strict=True)
                yield judge([*((i, turn.text) for i, turn in before), (item.turn, item.text)])
            else:
                yield judge([(i, turn.text) for i, turn in enumerate(item.turns)])

    return LoadedMetric(declared, Signature(name, "1"), {})


@pytest.mark.parametrize("judges", ["response", "conversation"])
@given(TALK, st.data())
def test_evidence_points_into_the_text_as_it_came(judges, turns, data):
    texts = ["".join(word + data.draw(st.sampled_from(TAGS)) for word in words) for words in turns]
    first, *rest = (Turn("AB"[i % 2], text) for i, text in enumerate(texts))
    talk = Conversation("c", (first, Turn("S", "be <b>kind</b>", role="system"), *rest))
    [scores] = pointing(judges, judges).score([talk])
    for score in scores:
        last, *words, linked = score.evidence
        if judges == "conversation":
            assert last.turn == max(i for i, turn in enumerate(talk.turns) if not turn.role)
            assert score.reason == f"turn {last.turn}, not turn 0 or {{turn}}"
        for word in words:
            assert talk.turns[word.span.turn].text[word.span.start : word.span.end] == word.name
        ends = (linked.triple.head_span, linked.triple.tail_span)
        assert ends == (words[0].span, words[-1].span)


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
