"""Links of CIDER: which span is the tail, and does a triplet hold, by likelihood."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from grice.knowledge.schema import load_schema
from grice.records import Triple
from grice.runtime.choices import Option, option_scores
from grice.runtime.protocols import CausalLM
from grice.stats import mean
from grice.triplets.models import TripletModels
from grice_research.language_models.samples import LANGUAGE_MODEL, SHIPS, Place, sampled
from grice_research.roc import roc_areas
from grice_research.triplets.choices import nearest
from grice_research.triplets.cider import load_cider
from grice_research.triplets.models import TaskModels
from grice_research.triplets.tasks import answer_tasks

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grice_research.context import BenchContext
    from grice_research.rows import Row
    from grice_research.triplets.choices import Choice
    from grice_research.triplets.cider import Cider

__all__ = ["rows"]

BASE, SHIPPED = "model:medium", "bundle:triplets"
CHOICES, TRIPLETS = 60, 100
CHOICE_ON, HOLDS_ON = "links, CIDER, which span, sample", "links, CIDER, does it hold, sample"
WHY = "neither saw a text of CIDER"
PAIR = (LANGUAGE_MODEL, SHIPS)


class _Held(NamedTuple):
    """A triplet of a dialogue, and whether it holds there."""

    dialogue: str
    triple: Triple
    holds: bool


def rows(context: BenchContext) -> Iterator[Row]:
    """Yield the share of right spans, and the area of triplets that hold over frozen negatives."""
    cider = load_cider(context.folder / "cider")
    models = context.models()
    model = models.open(BASE, CausalLM)
    shipped = TaskModels(models.open(SHIPPED, TripletModels))
    yield from _choices(cider, model, shipped, Place(CHOICE_ON, models, BASE, WHY))
    yield from _triplets(cider, model, shipped, Place(HOLDS_ON, models, BASE, WHY))


def _option(head: str, relation: str, tail: str) -> Option:
    """Return a tail after its head and relation, and after the relation alone."""
    gloss = load_schema("cider")[relation].gloss
    return Option(f'"{head.strip()}" {gloss}', f'"{tail.strip()}"', f"It {gloss}")


def _choices(cider: Cider, model: CausalLM, shipped: TaskModels, place: Place) -> Iterator[Row]:
    choices = sampled(cider.choices(), CHOICES, lambda choice: choice.id)
    scores = option_scores(
        model,
        [
            [_option(choice.head, choice.relation, text) for text in choice.options]
            for choice in choices
        ],
    )
    dialogues = [choice.id.rpartition("-triplet-")[0] for choice in choices]
    answers = answer_tasks(cider, frozenset(dialogues), shipped).options
    given = {
        LANGUAGE_MODEL: [each.index(max(each)) for each in scores],
        SHIPS: [answers[choice.id] for choice in choices],
        "nearest to the head": [nearest(choice) for choice in choices],
        "longest": [_longest(choice) for choice in choices],
    }
    right = {
        name: [float(a == choice.label) for a, choice in zip(each, choices, strict=True)]
        for name, each in given.items()
    }
    gaps = [a - b for a, b in zip(right[LANGUAGE_MODEL], right[SHIPS], strict=True)]
    gap = mean(gaps, groups=dialogues, interval="percentile", bounds=(-1, 1))
    shares = {
        name: mean(values, groups=dialogues, interval="percentile", bounds=(0, 1))
        for name, values in right.items()
    }
    yield from place.rows("accuracy", shares, gap)


def _longest(choice: Choice) -> int:
    return max(range(len(choice.options)), key=lambda place: len(choice.options[place]))


def _triplets(cider: Cider, model: CausalLM, shipped: TaskModels, place: Place) -> Iterator[Row]:
    held = sampled(_held(cider), TRIPLETS, repr)
    scores = option_scores(
        model,
        [
            [_option(triplet.triple.head, triplet.triple.relation, triplet.triple.tail)]
            for triplet in held
        ],
    )
    answers = answer_tasks(cider, frozenset(triplet.dialogue for triplet in held), shipped).entailed
    columns = {
        LANGUAGE_MODEL: [score for (score,) in scores],
        SHIPS: [answers[triplet.dialogue, triplet.triple] for triplet in held],
        "words of the tail": [float(len(triplet.triple.tail.split())) for triplet in held],
    }
    labels = [float(triplet.holds) for triplet in held]
    areas = roc_areas(columns, labels, groups=[triplet.dialogue for triplet in held], pairs=[PAIR])
    yield from place.rows("AUC", areas.areas, areas.differences[PAIR])


def _held(cider: Cider) -> Sequence[_Held]:
    """Return all triplets of people, and as many frozen negatives as there are."""
    held = []
    for items, holds in ((cider.items, True), (cider.negatives, False)):
        for item in items:
            triple = Triple(item.head.strip(), item.relation, item.tail.strip())
            held.append(_Held(item.dialogue, triple, holds))
    return held
