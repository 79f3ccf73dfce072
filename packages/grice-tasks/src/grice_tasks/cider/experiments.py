"""From the raw annotation to the triplets of the experiments."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from grice.records import Triple
from grice_tasks.cider.records import cider_schema

if TYPE_CHECKING:
    from grice_tasks.cider.records import Dialogue


class Merged(NamedTuple):
    """What the rule made of one dialogue.

    Attributes:
        kept: The triplets of the experiments, in order; no spans, for sides may be swapped.
    """

    kept: tuple[Triple, ...]
    dropped: int
    repeated: int


def merge_labels(dialogue: Dialogue) -> Merged:
    """Return a dialogue's triplets under the 31 relations of the experiments.

    Raw labels are merged, two of them with head and tail swapped; others are dropped, and what
    then stands twice in the dialogue is kept once. Of the released 4,539 triplets this leaves
    the 4,386 that every released task file is made of. The paper calls the 153 others rare
    relations; 89 of them are repetitions.
    """
    schema = cider_schema()
    merged: dict[Triple, None] = {}
    dropped = repeated = 0
    for annotated in dialogue.triplets:
        triple = schema.renamed(Triple(annotated.head, annotated.relation, annotated.tail))
        if triple.relation not in schema.relations:
            dropped += 1
        elif triple in merged:
            repeated += 1
        else:
            merged[triple] = None
    return Merged(tuple(merged), dropped, repeated)
