from __future__ import annotations

import pytest

from grice import Conversation, Turn
from grice.metrics.coherence import coherence
from grice.metrics.coherence.language_model import (
    LanguageDialogueSettings,
    LanguageModelDialogues,
)
from grice.metrics.coherence.protocol import Dialogue, DialogueClassifier
from grice.models.protocols import TokenScore

TALK = Dialogue(("A", "B", "A", "B"), ("one", "two", "three", "four"))
ORDER = {text: place for place, text in enumerate(TALK.texts)}


class Ordered:
    """A language model that likes a turn after the one that comes before it."""

    identity = "ordered"

    def __init__(self):
        self.read = 0

    def token_scores(self, passages):
        self.read += len(passages)
        return [self._scores([s.text.strip() for s in each if s.scored]) for each in passages]

    def _scores(self, texts):
        after = [None, *texts]
        return [
            [TokenScore(0, 1, -1.0 if ORDER.get(before, -1) + 1 == ORDER.get(text) else -4.0)]
            for before, text in zip(after, texts, strict=False)
        ]

    def log_probabilities(self, prompts, texts):
        return [-1.0 for _ in texts]

    def truncated(self, texts):
        return [False for _ in texts]


def model_of(base=None, **stated):
    weights = {"weight_mean": 1.0, "weight_worst": 0.0, "weight_gain": 1.0, "bias": 2.0}
    turns = {"weight_turn": 1.0, "bias_turn": 2.0}
    settings = LanguageDialogueSettings(base="-", **{**weights, **turns, **stated})
    return LanguageModelDialogues(base or Ordered(), settings, "tiny")


def test_turns_in_their_order_are_likely_and_shuffled_ones_less():
    (likely,) = model_of().likely([TALK])
    assert likely.turns == (-1.0, -1.0, -1.0, -1.0)
    assert likely.mean == likely.worst == -1.0
    assert likely.gain > 0.5


def test_a_turn_from_elsewhere_is_the_worst():
    model = model_of(permutations=0)
    assert isinstance(model, DialogueClassifier)
    other = TALK._replace(texts=("one", "two", "else", "four"))
    (whole, _), (broken, turns) = model.read([TALK, other])
    assert whole == pytest.approx(0.731, abs=1e-3)
    assert broken < whole
    assert turns[2] == min(turns)


def test_a_conversation_is_read_once_and_once_for_each_shuffle():
    base = Ordered()
    model_of(base, permutations=3).read([TALK, TALK])
    assert base.read == 8


def test_values_do_not_depend_on_other_conversations():
    other = TALK._replace(texts=("four", "one", "two", "three"))
    model = model_of()
    assert model.read([TALK, other]) == model.read([other, TALK])[::-1]


def test_one_turn_alone_has_a_value():
    ((value, turns),) = model_of().read([Dialogue(("A",), ("one",))])
    assert 0 < value < 1
    assert len(turns) == 1


def test_the_metric_points_at_the_least_likely_turn():
    texts = ("one", "two", "else", "four", "one")
    turns = tuple(Turn("AB"[i % 2], text) for i, text in enumerate(texts))
    (judgement,) = coherence.function([Conversation("c", turns)], model=model_of(permutations=0))
    assert judgement.status == "ok"
    assert {piece.turn for piece in judgement.evidence} <= {2, 3, 4}
