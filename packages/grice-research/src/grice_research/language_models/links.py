"""Links of CIDER: which span is the tail, does a triplet hold, and which links are there."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from grice.models.choices import option_scores
from grice.models.protocols import CausalLM
from grice.records import Conversation, Triple, Turn
from grice.stats import mean
from grice_research.language_models.samples import SHIPS, Place, sampled
from grice_research.roc import roc_areas
from grice_research.triplets.choices import nearest
from grice_research.triplets.cider import load_cider
from grice_research.triplets.models import TaskModels
from grice_research.triplets.tasks import answer_tasks
from grice_tasks.cider.find import read_all
from grice_tasks.cider.language_model import link_option
from grice_tasks.cider.models import TripletModels
from grice_tasks.cider.statistics import turn_starts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from grice.records import Span
    from grice_research.context import BenchContext
    from grice_research.language_models.samples import Candidate, Size
    from grice_research.rows import Row
    from grice_research.triplets.choices import Choice
    from grice_research.triplets.cider import Cider
    from grice_tasks.cider.find import Found
    from grice_tasks.cider.records import Dialogue
    from grice_tasks.cider.records import Place as Characters

__all__ = ["links", "spans", "triplets"]

SHIPPED = "bundle:triplets"
CHOICES: dict[Size, int] = {"medium": 60, "large": 30}
TRIPLETS: dict[Size, int] = {"medium": 100, "large": 60}
DIALOGUES: dict[Size, int] = {"medium": 15, "large": 5}
CHOICE_ON, HOLDS_ON = "links, CIDER, which span, sample", "links, CIDER, does it hold, sample"
LINKS_ON = "links, CIDER, found in dialogues, sample"
NEIGHBOURS = "neighbouring events, Causes"
WHY = "neither saw a text of CIDER"


class _Held(NamedTuple):
    """A triplet of a dialogue, and whether it holds there."""

    dialogue: str
    triple: Triple
    holds: bool


def links(context: BenchContext, candidate: Candidate) -> Iterator[Row]:
    """Yield how many of the links that are there in dialogues overlap those of people."""
    bundle = candidate.bundle("links")
    dialogues = load_cider(context.folder / "cider").dialogues.values()
    models = context.models()
    heads = {candidate.row: bundle, SHIPS: SHIPPED}
    yield from _links(
        sampled(list(dialogues), DIALOGUES[candidate.size], lambda dialogue: dialogue.id),
        {name: models.open(reference, TripletModels) for name, reference in heads.items()},
        Place(candidate.on(LINKS_ON), models, candidate, bundle, WHY),
    )


def _opened(
    context: BenchContext, candidate: Candidate, on: str
) -> tuple[Cider, CausalLM, TaskModels, Place]:
    """Return CIDER, the language model, what ships, and the place where they are compared."""
    models = context.models()
    return (
        load_cider(context.folder / "cider"),
        models.open(candidate.base, CausalLM),
        TaskModels(models.open(SHIPPED, TripletModels)),
        Place(candidate.on(on), models, candidate, candidate.base, WHY),
    )


def spans(context: BenchContext, candidate: Candidate) -> Iterator[Row]:
    """Yield the share of right spans."""
    cider, model, shipped, place = _opened(context, candidate, CHOICE_ON)
    choices = sampled(cider.choices(), CHOICES[candidate.size], lambda choice: choice.id)
    scores = option_scores(
        model,
        [
            [link_option(choice.head, choice.relation, text) for text in choice.options]
            for choice in choices
        ],
    )
    dialogues = [choice.id.rpartition("-triplet-")[0] for choice in choices]
    answers = answer_tasks(cider, frozenset(dialogues), shipped).options
    given = {
        candidate.row: [each.index(max(each)) for each in scores],
        SHIPS: [answers[choice.id] for choice in choices],
        "nearest to the head": [nearest(choice) for choice in choices],
        "longest": [_longest(choice) for choice in choices],
    }
    right = {
        name: [float(a == choice.label) for a, choice in zip(each, choices, strict=True)]
        for name, each in given.items()
    }
    gaps = [a - b for a, b in zip(right[candidate.row], right[SHIPS], strict=True)]
    gap = mean(gaps, groups=dialogues, interval="percentile", bounds=(-1, 1))
    shares = {
        name: mean(values, groups=dialogues, interval="percentile", bounds=(0, 1))
        for name, values in right.items()
    }
    yield from place.rows("accuracy", shares, gap)


def _longest(choice: Choice) -> int:
    return max(range(len(choice.options)), key=lambda place: len(choice.options[place]))


def triplets(context: BenchContext, candidate: Candidate) -> Iterator[Row]:
    """Yield the area of triplets that hold over frozen negatives."""
    cider, model, shipped, place = _opened(context, candidate, HOLDS_ON)
    held = sampled(_held(cider), TRIPLETS[candidate.size], repr)
    scores = option_scores(
        model,
        [
            [link_option(triplet.triple.head, triplet.triple.relation, triplet.triple.tail)]
            for triplet in held
        ],
    )
    answers = answer_tasks(cider, frozenset(triplet.dialogue for triplet in held), shipped).entailed
    columns = {
        candidate.row: [score for (score,) in scores],
        SHIPS: [answers[triplet.dialogue, triplet.triple] for triplet in held],
        "words of the tail": [float(len(triplet.triple.tail.split())) for triplet in held],
    }
    labels = [float(triplet.holds) for triplet in held]
    pair = (candidate.row, SHIPS)
    areas = roc_areas(columns, labels, groups=[triplet.dialogue for triplet in held], pairs=[pair])
    yield from place.rows("AUC", areas.areas, areas.differences[pair])


def _held(cider: Cider) -> Sequence[_Held]:
    """Return all triplets of people, and as many frozen negatives as there are."""
    held = []
    for items, holds in ((cider.items, True), (cider.negatives, False)):
        for item in items:
            triple = Triple(item.head.strip(), item.relation, item.tail.strip())
            held.append(_Held(item.dialogue, triple, holds))
    return held


class _Told(NamedTuple):
    """A link as it is compared: where both sides stand in the dialogue's text."""

    sides: tuple[Characters, Characters]
    relation: str


def _links(
    dialogues: Sequence[Dialogue], heads: Mapping[str, TripletModels], place: Place
) -> Iterator[Row]:
    """Yield the share of links whose sides overlap those of a link of people, and its relation."""
    talks = [_conversation(dialogue) for dialogue in dialogues]
    told = {}
    for name, models in heads.items():
        read = list(read_all(talks, models))
        told[name] = [
            [
                _Told((_at(d, link.head_span), _at(d, link.tail_span)), link.relation)
                for link in each.links
            ]
            for d, each in zip(dialogues, read, strict=True)
        ]
        told[NEIGHBOURS] = [_neighbours(*each) for each in zip(dialogues, read, strict=True)]
    for measure, same in (("sides overlap gold", False), ("sides and relation overlap gold", True)):
        estimates = {
            name: mean(
                [float(_overlaps(link, d, same)) for d, each in rows for link in each],
                groups=[d.id for d, each in rows for _ in each],
                interval="percentile",
                bounds=(0, 1),
            )
            for name, links in told.items()
            if (rows := list(zip(dialogues, links, strict=True)))
        }
        yield from place.rows(measure, estimates)


def _starts(dialogue: Dialogue) -> list[int]:
    """Return where the text of each turn begins, behind its speaker."""
    text = dialogue.text
    return [start + text[start:].index(":") + 1 for start in turn_starts(text)]


def _conversation(dialogue: Dialogue) -> Conversation:
    ends = [*turn_starts(dialogue.text)[1:], len(dialogue.text)]
    turns = [
        Turn("AB"[i % 2], dialogue.text[start:end])
        for i, (start, end) in enumerate(zip(_starts(dialogue), ends, strict=True))
    ]
    return Conversation(dialogue.id, tuple(turns))


def _at(dialogue: Dialogue, span: Span) -> Characters:
    start = _starts(dialogue)[span.turn]
    return start + span.start, start + span.end


def _neighbours(dialogue: Dialogue, read: Found) -> list[_Told]:
    """Return each event linked to the next one by the most frequent relation."""
    events = sorted(_at(dialogue, span) for span in read.events)
    return [_Told(pair, "Causes") for pair in pairwise(events)]


def _overlaps(link: _Told, dialogue: Dialogue, same: bool) -> bool:  # noqa: FBT001
    """Return whether both sides, whichever way, share characters with a link of people."""
    for gold in dialogue.triplets:
        if (
            gold.head_at is None
            or gold.tail_at is None
            or (same and gold.relation != link.relation)
        ):
            continue
        for sides in (link.sides, link.sides[::-1]):
            if all(map(_share, sides, (gold.head_at, gold.tail_at))):
                return True
    return False


def _share(first: Characters, second: Characters) -> bool:
    return max(first[0], second[0]) < min(first[1], second[1])
