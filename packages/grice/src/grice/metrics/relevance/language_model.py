"""A causal language model as a judge of replies, by two numbers.

The mean log likelihood of the reply after the history, and how much the history adds to it: the
pointwise mutual information that Li et al. (NAACL 2016) choose replies by. How they are weighed
stands in the card; the model is the one that the card names as ``base``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from grice.metrics.relevance.pairs import BALANCED
from grice.models.protocols import CausalLM, PairClassifier, Segment
from grice.models.registry import Settings, model_kind
from grice.numeric import sigmoid
from grice.text.tokens import WORD_CHARACTER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice.models.bundle import Bundle
    from grice.models.protocols import Pair, Passage
    from grice.models.registry import Opener

REPLY = "A:"
"""What stands before a reply."""


class Likely(NamedTuple):
    """How likely a reply is, in nats a token.

    Attributes:
        after: Mean log likelihood after the history, at most 0.
        gain: How much of it the history adds.
    """

    after: float
    gain: float


class LanguageSettings(Settings, frozen=True):
    """The model and its weights.

    The log odds are ``weight_after * likelihood + weight_gain * gain + weight_shift``.
    """

    base: str
    weight_after: float
    weight_gain: float
    weight_shift: float


class LanguageModel:
    """Says how well replies answer, by their likelihood.

    Args:
        base: The language model.
        settings: What the card states.
        identity: Name and hash of the card.
    """

    def __init__(self, base: CausalLM, settings: LanguageSettings, identity: str) -> None:
        self.identity = f"{identity}/{base.identity}"
        self._base = base
        self._settings = settings

    def likely(self, pairs: Sequence[Pair]) -> list[Likely]:
        """Return how likely the right side of each pair is after the left side."""
        replies = [Segment(f" {pair.right.lstrip()}", scored=True) for pair in pairs]
        after = [
            (*_history(pair), Segment(REPLY), reply)
            for pair, reply in zip(pairs, replies, strict=True)
        ]
        alone = [(Segment(REPLY), reply) for reply in replies]
        means = self._means([*after, *alone])
        return [
            Likely(value, value - other)
            for value, other in zip(means[: len(pairs)], means[len(pairs) :], strict=True)
        ]

    def classify(self, pairs: Sequence[Pair]) -> list[float]:
        """Return the probability that the right side answers the left, 0 to 1.

        A pair without a word on either side gives 0.5: there is nothing to judge.
        """
        judged = [
            i
            for i, pair in enumerate(pairs)
            if WORD_CHARACTER.search(pair.right) and any(map(WORD_CHARACTER.search, pair.left))
        ]
        likely = np.array(self.likely([pairs[i] for i in judged]), np.float32).reshape(-1, 2)
        weights = np.array([self._settings.weight_after, self._settings.weight_gain], np.float32)
        odds = likely @ weights + np.float32(self._settings.weight_shift)
        values = [BALANCED] * len(pairs)
        for i, probability in zip(judged, sigmoid(odds), strict=True):
            values[i] = float(probability)
        return values

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        """Return for each text whether it is longer than half of what the model reads."""
        return self._base.truncated(texts)

    def _means(self, passages: Sequence[Passage]) -> list[float]:
        return [
            float(np.mean([token.log_probability for token in tokens])) if tokens else 0.0
            for (tokens,) in self._base.token_scores(passages)
        ]


def _history(pair: Pair) -> list[Segment]:
    """Return the history as lines of two speakers; the reply is by ``A``."""
    turns = [" ".join(turn.split()) for turn in pair.left if turn.strip()]
    names = ["AB"[(len(turns) - i) % 2] for i in range(len(turns))]
    return [Segment(f"{name}: {turn}\n") for name, turn in zip(names, turns, strict=True)]


@model_kind(
    "language-model", answers="relevance", protocol=PairClassifier, settings=LanguageSettings
)
def language_model(bundle: Bundle, settings: LanguageSettings, opener: Opener) -> LanguageModel:
    """Open a judge and the model it stands on."""
    base = opener.part(bundle, settings.base, CausalLM, "likelihood")
    return LanguageModel(base, settings, bundle.identity)
