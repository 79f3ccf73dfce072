"""Counts of annotated dialogues, beside what the paper's tables 1, 2 and 9 print."""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right
from collections import Counter
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import msgspec

from grice.data import Triple
from grice_tasks.cider.files import cider_schema

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice_tasks.cider.files import Dialogue


class Merged(NamedTuple):
    """Result of the rule for one dialogue."""

    kept: tuple[Triple, ...]  # the triplets of the experiments, in order
    dropped: int
    repeated: int


def merge_labels(dialogue: Dialogue) -> Merged:
    """Return a dialogue's triplets under the 31 relations of the experiments.

    Of the released 4,539 triplets this leaves the 4,386 of every released task file: raw labels are
    merged or dropped, and 89 of the paper's 153 other triplets are repetitions.
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


Value: TypeAlias = int | float | tuple[int, ...]

_TURN = re.compile(r"(?:^|(?<=\s{4}))(?=[A-Z]: )")


class Published(msgspec.Struct, frozen=True):
    """Figures that the paper prints."""

    counts: dict[str, int | float | tuple[int, ...]]  # tables 1 and 2
    relations: dict[str, int]  # triplets of each relation, table 9
    reasons: dict[str, str]  # why a figure differs


@cache
def published() -> Published:
    """Return what the paper prints of its annotation, out of ``published.toml``."""
    text = (files("grice_tasks.cider") / "published.toml").read_text("utf-8")
    return msgspec.convert(tomllib.loads(text), Published)


class Counted(NamedTuple):
    """One figure."""

    name: str
    value: Value
    printed: Value | None  # the paper's; None if it has none
    same: bool | None  # whether they agree, as printed; None without a printed one
    why: str


def turn_starts(text: str) -> list[int]:
    """Return where each turn of a released text begins: at a speaker after four blanks."""
    starts = [m.start() for m in _TURN.finditer(text)]
    return starts if starts and starts[0] == 0 else [0, *starts]


def count(dialogues: Sequence[Dialogue]) -> dict[str, Value]:
    """Return the figures of :func:`published` and of each relation, recounted."""
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
    schema = cider_schema().relations
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
    rows, paper = [], published()
    for name, figure in count(dialogues).items():
        printed = paper.counts.get(name, paper.relations.get(name))
        if printed is None:
            rows.append(Counted(name, figure, None, None, ""))
            continue
        same = round(figure, 2) == printed if isinstance(figure, float) else figure == printed
        rows.append(
            Counted(name, figure, printed, same, "" if same else paper.reasons.get(name, ""))
        )
    return rows
