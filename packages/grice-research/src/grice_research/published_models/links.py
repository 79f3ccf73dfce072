"""CIDER's published classifiers in the place of the heads that ship: relation, and entailment.

The relation of two spans is that of task 4, told from the dialogue and both; whether the dialogue
entails it is task 1, asked for the likeliest relation alone. Both read the whole dialogue for each
pair of spans, which takes a hundred times longer than the heads do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypeAlias

import msgspec
import numpy as np

from grice.errors import ModelFolderError
from grice.models.embedded import EmbeddedEncoder
from grice.models.loader import Settings, model_type
from grice_research.published_models.readers import TextClassifier
from grice_tasks.cider.files import cider_schema
from grice_tasks.cider.models import TripletModels, event_tagger

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from grice.models.folder import ModelFolder
    from grice.models.loader import ModelLoader
    from grice_tasks.cider.models import Sides

    Array: TypeAlias = NDArray[np.float32]

NEVER = np.float32(-1e4)
"""Log odds of relations that were not asked for."""


class PublishedLinkSettings(Settings, frozen=True):
    """Settings of type ``published-links``.

    Attributes:
        parts: References of the classifiers of relations and of entailment, and of the tagger of
            events.
    """

    parts: Annotated[tuple[str, ...], msgspec.Meta(min_length=3, max_length=3)]


class PublishedLinks:
    """Stands in the place of :class:`~grice_tasks.cider.models.LinkHead`."""

    both = False

    def __init__(self, relations: TextClassifier, entailment: TextClassifier) -> None:
        self.relations = tuple(cider_schema().relations)
        missing = sorted(set(self.relations) - set(relations.labels))
        if missing or "entailment" not in [label.lower() for label in entailment.labels]:
            raise ModelFolderError(
                f"{relations.identity} and {entailment.identity}: the labels of the first are "
                f"CIDER's relations (missing: {', '.join(missing) or 'none'}), one of the second "
                "is entailment"
            )
        self._tell = relations
        self._check = entailment
        self._order = [relations.labels.index(name) for name in self.relations]
        self._entailed = [label.lower() for label in entailment.labels].index("entailment")

    def index(self, relation: str) -> int:
        """Return the place of a relation among the numbers."""
        return self.relations.index(relation)

    def in_context(self) -> PublishedLinks:
        """Return itself: spans are read in their text."""
        return self

    def __call__(self, sides: Sides, pairs: Sequence[tuple[int, int]]) -> Array:
        """Return the numbers of each pair; see :class:`~grice_tasks.cider.models.LinkHead`."""
        text, spans = sides.layout.text, sides.spans
        rows = self._tell.logits([(text, f"{spans[a]} [SEP] {spans[b]}") for a, b in pairs])
        numbers = np.full((len(pairs), 3, len(self.relations)), NEVER, np.float32)
        numbers[:, 1] = 0
        numbers[:, 2] = np.stack(rows)[:, self._order]
        best = numbers[:, 2].argmax(axis=1)
        schema = cider_schema()
        asked = [
            (text, f"{spans[a]} {schema[self.relations[place]].surface} {spans[b]}")
            for (a, b), place in zip(pairs, best, strict=True)
        ]
        for row, place, logits in zip(numbers, best, self._check.logits(asked), strict=True):
            others = np.delete(logits, self._entailed)
            row[0, place] = logits[self._entailed] - np.logaddexp.reduce(others)
        return numbers


@model_type("published-links", task="links", protocol=TripletModels, settings=PublishedLinkSettings)
def published_links(
    folder: ModelFolder, settings: PublishedLinkSettings, loader: ModelLoader
) -> TripletModels:
    """Open both classifiers, with the shipped tagger and encoder that find the spans."""
    relations, entailment, tagger = settings.parts
    events = loader.folder(tagger)
    links = PublishedLinks(
        loader.dependency(folder, relations, TextClassifier, "labels"),
        loader.dependency(folder, entailment, TextClassifier, "labels"),
    )
    encoder = loader.encoder_of(events, EmbeddedEncoder)
    return TripletModels(links, 0.0, encoder, tagger=event_tagger(events))
