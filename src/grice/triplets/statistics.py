"""Counts of annotated dialogues, beside what the paper's tables 1, 2 and 9 print."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from grice.knowledge.schema import load_schema
from grice.triplets.experiments import merge_labels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice.triplets.records import Dialogue

__all__ = ["PRINTED", "Counted", "Value", "compare_counts", "count", "turn_starts"]

Value: TypeAlias = int | float | tuple[int, ...]

_TURN = re.compile(r"(?:^|(?<=\s{4}))(?=[A-Z]: )")

PRINTED: dict[str, Value] = {
    "dialogues": 807,
    "triplets": 4539,
    "triplets per dialogue": 5.62,
    "daily-dialogue: dialogues, triplets": (245, 1286),
    "mutual: dialogues, triplets": (182, 658),
    "dream: dialogues, triplets": (380, 2595),
    "dialogues with under 3, 3-5, 6-10, over 10 triplets": (142, 312, 281, 72),
    "span pairs with one, with several relations": (4203, 164),
    "turns between head and tail: 0, 1, 2-5, 6-8, over 8": (1009, 1490, 1501, 401, 138),
    "same speaker, different speakers": (2475, 2064),
    "fewest, most turns": (5, 12),
    "most words in a turn": 30,
    "in no experiment": 153,
    "of a relation of no experiment": 153,
    "Attribution": 728,
    "Causal": 1958,
    "Comparison": 98,
    "Conditional": 298,
    "Intentional": 799,
    "Social": 76,
    "Spatial": 192,
    "Temporal": 237,
}
"""Tables 2 and 9 of the paper, and what its text says of turns (section 2)."""

WHY = {
    "turns between head and tail: 0, 1, 2-5, 6-8, over 8": (
        "released offsets are the first place where the words stand, spans that do not stand in "
        "the text have none, and turns of MuTual hold several units; the paper counts all 4,539"
    ),
    "same speaker, different speakers": "likewise: 427 triplets have a span without a place",
    "fewest, most turns": "no bound that the released dialogues keep",
    "most words in a turn": "no bound that the released dialogues keep",
    "of a relation of no experiment": "89 of the 153 are repetitions that merging labels makes",
}


class Counted(NamedTuple):
    """One figure.

    Attributes:
        name: What is counted.
        found: The figure.
        printed: The paper's; None if it has none.
        same: Whether they agree, as printed; None without a printed one.
        why: If they do not, why.
    """

    name: str
    found: Value
    printed: Value | None
    same: bool | None
    why: str


def turn_starts(text: str) -> list[int]:
    """Return where each turn of a released text begins: at a speaker after four blanks.

    >>> turn_starts("A: Hi    B: Hello    A: Bye")
    [0, 9, 21]
    """
    starts = [m.start() for m in _TURN.finditer(text)]
    return starts if starts and starts[0] == 0 else [0, *starts]


def count(dialogues: Sequence[Dialogue]) -> dict[str, Value]:
    """Return the figures of :data:`PRINTED` and of each relation, recounted.

    Distances and speakers are of triplets whose spans both stand in the text.
    """
    sizes = [len(dialogue.triplets) for dialogue in dialogues]
    merged = [merge_labels(dialogue) for dialogue in dialogues]
    figures: dict[str, Value] = {
        "dialogues": len(dialogues),
        "triplets": sum(sizes),
        "triplets per dialogue": sum(sizes) / max(1, len(sizes)),
    }
    for source in dict.fromkeys(dialogue.source for dialogue in dialogues):
        of = [dialogue for dialogue in dialogues if dialogue.source == source]
        figures[f"{source}: dialogues, triplets"] = len(of), sum(len(d.triplets) for d in of)
    figures["dialogues with under 3, 3-5, 6-10, over 10 triplets"] = _binned(sizes, (3, 6, 11))
    pairs = Counter(
        (dialogue.id, t.head, t.tail) for dialogue in dialogues for t in dialogue.triplets
    )
    once = sum(times == 1 for times in pairs.values())
    figures["span pairs with one, with several relations"] = once, len(pairs) - once
    figures |= _distances(dialogues)
    dropped = sum(labels.dropped for labels in merged)
    repeated = sum(labels.repeated for labels in merged)
    figures["in no experiment"] = dropped + repeated
    figures["of a relation of no experiment"] = dropped
    relations = Counter(triple.relation for each in merged for triple in each.kept)
    schema = load_schema("cider").relations
    categories: Counter[str] = Counter()
    for name, relation in schema.items():
        categories[relation.category] += relations[name]
    return figures | dict(categories) | {name: relations[name] for name in schema}


def _distances(dialogues: Sequence[Dialogue]) -> dict[str, Value]:
    distances, same, turns, words = [], 0, [], []
    for dialogue in dialogues:
        starts = turn_starts(dialogue.text)
        turns.append(len(starts))
        ends = [*starts[1:], len(dialogue.text)]
        for start, end in zip(starts, ends, strict=True):
            turn = dialogue.text[start:end]
            words.append(len(re.sub(r"^[A-Z]: ", "", turn).split()))
        for triplet in dialogue.triplets:
            if triplet.latent or triplet.head_at is None or triplet.tail_at is None:
                continue
            ends_at = (triplet.head_at[0], triplet.tail_at[0])
            at = [bisect_right(starts, start) - 1 for start in ends_at]
            distances.append(abs(at[0] - at[1]))
            same += dialogue.text[starts[at[0]]] == dialogue.text[starts[at[1]]]
    return {
        "turns between head and tail: 0, 1, 2-5, 6-8, over 8": _binned(distances, (1, 2, 6, 9)),
        "same speaker, different speakers": (same, len(distances) - same),
        "fewest, most turns": (min(turns, default=0), max(turns, default=0)),
        "most words in a turn": max(words, default=0),
    }


def _binned(values: Sequence[int], borders: tuple[int, ...]) -> tuple[int, ...]:
    counts = Counter(bisect_right(borders, value) for value in values)
    return tuple(counts[i] for i in range(len(borders) + 1))


def compare_counts(dialogues: Sequence[Dialogue]) -> list[Counted]:
    """Return every figure beside the printed one, with the reason where they differ."""
    rows = []
    for name, figure in count(dialogues).items():
        printed = PRINTED.get(name, TABLE_9.get(name))
        if printed is None:
            rows.append(Counted(name, figure, None, None, ""))
            continue
        same = round(figure, 2) == printed if isinstance(figure, float) else figure == printed
        rows.append(Counted(name, figure, printed, same, "" if same else WHY.get(name, "")))
    return rows


TABLE_9: dict[str, int] = {
    "CapableOf": 20,
    "DependsOn": 9,
    "HasA": 41,
    "HasProperty": 284,
    "HasSubevent": 58,
    "IsA": 227,
    "MannerOf": 60,
    "Causes": 1126,
    "CausesDesire": 454,
    "Implies": 338,
    "Antonym": 25,
    "DistinctFrom": 20,
    "SimilarTo": 30,
    "Synonym": 23,
    "HasPrerequisite": 298,
    "Desires": 17,
    "MotivatedByGoal": 361,
    "ObstructedBy": 244,
    "UsedFor": 170,
    "SocialRule": 76,
    "AtLocation": 187,
    "LocatedNear": 5,
    "Before": 119,
    "HappensIn": 101,
    "Simutaneous": 17,
    "NotHasProperty": 21,
    "NotIsA": 8,
    "NotCauses": 24,
    "NotCausesDesire": 7,
    "NotImplies": 9,
    "NotMotivatedByGoal": 7,
}
