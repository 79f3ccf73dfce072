"""A causal language model as a judge of conversations, by how likely their turns are.

Three numbers, in nats a token: the mean over turns, the worst turn, and how much the mean loses
when the turns are shuffled (after the shuffle test of Barzilay and Lapata, 2008).
"""

from __future__ import annotations

from itertools import islice
from random import Random
from typing import TYPE_CHECKING, Annotated, NamedTuple

import msgspec
import numpy as np

from grice.metrics.coherence.protocol import Dialogue, DialogueClassifier
from grice.metrics.readings import Reading
from grice.models.protocols import CausalLM
from grice.models.registry import Settings, model_kind
from grice.numeric import sigmoid

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grice.models.bundle import Bundle
    from grice.models.protocols import Passage
    from grice.models.registry import Opener


class LanguageDialogueSettings(Settings, frozen=True):
    """Of a bundle of kind ``language-model-dialogues``.

    Log odds of a conversation are ``weight_mean * mean + weight_worst * worst + weight_gain * gain
    + bias``; those of a turn ``weight_turn * likelihood + bias_turn``.

    Attributes:
        base: The language model.
        permutations: How often the turns are shuffled; each costs a reading.
    """

    base: str
    weight_mean: float
    weight_worst: float
    weight_gain: float
    bias: float
    weight_turn: float
    bias_turn: float
    permutations: Annotated[int, msgspec.Meta(ge=0, le=20)] = 2


class LikelyTurns(NamedTuple):
    """How likely the turns of a conversation are, in nats a token.

    Attributes:
        turns: Mean log likelihood of each turn after those before it, at most 0.
        mean: Over the turns but the first, which follows nothing.
        worst: The least of these.
        gain: The mean less that of the shuffled conversation.
    """

    turns: tuple[float, ...]
    mean: float
    worst: float
    gain: float


class LanguageModelDialogues:
    """A :class:`~grice.metrics.coherence.protocol.DialogueClassifier` by likelihood.

    Args:
        base: The language model.
        settings: What the card states.
        identity: Name and hash of the card.
    """

    def __init__(self, base: CausalLM, settings: LanguageDialogueSettings, identity: str) -> None:
        self.identity = f"{identity}/{base.identity}"
        self._base = base
        self._settings = settings

    def likely(self, dialogues: Sequence[Dialogue]) -> list[LikelyTurns]:
        """Return how likely the turns of each conversation are, in order and shuffled."""
        shuffled = [list(self._shuffled(dialogue)) for dialogue in dialogues]
        passages = [
            _passage(version)
            for dialogue, others in zip(dialogues, shuffled, strict=True)
            for version in (dialogue, *others)
        ]
        read = (
            [
                float(np.mean([token.log_probability for token in tokens])) if tokens else 0.0
                for tokens in segments
            ]
            for segments in self._base.token_scores(passages)
        )
        return [_likely(next(read), list(islice(read, len(others)))) for others in shuffled]

    def read(self, dialogues: Sequence[Dialogue]) -> list[tuple[float, tuple[float, ...]]]:
        """Return for each conversation a value, and one for each of its turns, all 0 to 1."""
        weights = self._settings
        read = []
        for likely in self.likely(dialogues):
            odds = (
                weights.weight_mean * likely.mean
                + weights.weight_worst * likely.worst
                + weights.weight_gain * likely.gain
                + weights.bias
            )
            of_turns = weights.weight_turn * np.array(likely.turns) + weights.bias_turn
            value, *turns = sigmoid(np.array([odds, *of_turns], np.float32)).tolist()
            read.append((value, tuple(turns)))
        return read

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        """Return for each text whether it is longer than half of what the model reads."""
        return self._base.truncated(texts)

    def _shuffled(self, dialogue: Dialogue) -> Iterator[Dialogue]:
        """Yield the conversation with its texts in other orders; who speaks when stays."""
        draw = Random(0)
        for _ in range(self._settings.permutations):
            yield dialogue._replace(texts=tuple(draw.sample(dialogue.texts, len(dialogue.texts))))


def _passage(dialogue: Dialogue) -> Passage:
    turns = list(zip(dialogue.speakers, dialogue.texts, strict=True))
    reading = Reading(turns, {place: place for place in range(len(turns))})
    return reading.passage(first=dialogue.speakers[0])


def _likely(turns: Sequence[float], shuffled: Sequence[Sequence[float]]) -> LikelyTurns:
    following = turns[1:] or turns
    mean = float(np.mean(following))
    others = [float(np.mean(other[1:] or other)) for other in shuffled]
    gain = mean - float(np.mean(others)) if others else 0.0
    return LikelyTurns(tuple(turns), mean, min(following), gain)


@model_kind(
    "language-model-dialogues",
    answers="coherence",
    protocol=DialogueClassifier,
    settings=LanguageDialogueSettings,
)
def language_model_dialogues(
    bundle: Bundle, settings: LanguageDialogueSettings, opener: Opener
) -> LanguageModelDialogues:
    """Open the language model."""
    base = opener.part(bundle, settings.base, CausalLM, "likelihood")
    return LanguageModelDialogues(base, settings, bundle.identity)
