"""Links of a conversation by a language model: under which relation a head makes a tail likelier.

What ships proposes pairs of spans and the relations that may link them; of these the language model
chooses by likelihood, so that a link is always between words that were said and has a relation of
the schema. What a connective says is a link whatever the model finds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypeAlias

import msgspec
import numpy as np

from grice.knowledge.schema import load_schema
from grice.models.choices import Option, option_scores
from grice.models.protocols import CausalLM
from grice.models.registry import Settings, model_kind
from grice_tasks.cider.models import LinkOdds, TripletModels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from grice.models.bundle import Bundle
    from grice.models.protocols import TextScorer
    from grice.models.registry import Opener

    Array: TypeAlias = NDArray[np.float32]


class LanguageLinkSettings(Settings, frozen=True):
    """Of a bundle of kind ``language-model-links``.

    Attributes:
        parts: The language model, and the links that ship.
        weight: What a nat of gain is worth in log odds.
        bias: What is added.
        pairs: Pairs of spans of a conversation that are judged, the surest ones of what ships.
        relations: Relations of each pair that are judged, the likeliest ones.
    """

    parts: Annotated[tuple[str, ...], msgspec.Meta(min_length=2, max_length=2)]
    weight: float
    bias: float
    pairs: Annotated[int, msgspec.Meta(ge=1)] = 16
    relations: Annotated[int, msgspec.Meta(ge=1)] = 4


def link_option(head: str, relation: str, tail: str) -> Option:
    """Return a tail after its head and relation, and after the relation alone."""
    gloss = load_schema("cider")[relation].gloss
    return Option(f'"{head.strip()}" {gloss}', f'"{tail.strip()}"', f"It {gloss}")


class LikelihoodLinks:
    """A :class:`~grice_tasks.cider.models.LinkJudge`.

    Args:
        model: Says how probable tails are.
        settings: What the card states.
    """

    def __init__(self, model: TextScorer, settings: LanguageLinkSettings) -> None:
        self._model = model
        self._settings = settings

    def __call__(self, spans: Sequence[tuple[str, str]], odds: Array, likely: Array) -> LinkOdds:
        """Return the odds of each pair; pairs that are not judged have no likely relation."""
        names = tuple(load_schema("cider").relations)
        surest = np.argsort(-(odds + likely).max(axis=1), kind="stable")[: self._settings.pairs]
        asked = [(pair, self._relations(odds[pair] + likely[pair])) for pair in surest.tolist()]
        gains = option_scores(
            self._model,
            [
                [link_option(spans[pair][0], names[r], spans[pair][1]) for r in relations]
                for pair, relations in asked
            ],
        )
        judged, certain = odds.copy(), np.full_like(likely, -np.inf)
        for (pair, relations), values in zip(asked, gains, strict=True):
            if relations:
                judged[pair, relations] = (
                    self._settings.weight * np.array(values) + self._settings.bias
                )
                certain[pair, relations[int(np.argmax(values))]] = 0.0
        return LinkOdds(judged, certain)

    def _relations(self, scores: Array) -> list[int]:
        """Return the likeliest relations that can hold, the likeliest first."""
        order = np.argsort(-scores, kind="stable")[: self._settings.relations]
        return [r for r in order.tolist() if np.isfinite(scores[r])]


@model_kind(
    "language-model-links", answers="links", protocol=TripletModels, settings=LanguageLinkSettings
)
def language_model_links(
    bundle: Bundle, settings: LanguageLinkSettings, opener: Opener
) -> TripletModels:
    """Open the language model and what proposes links."""
    base, proposed = settings.parts
    model = opener.part(bundle, base, CausalLM, "likelihood")
    heads = opener.part(bundle, proposed, TripletModels, "links")
    return heads._replace(judged=LikelihoodLinks(model, settings))
