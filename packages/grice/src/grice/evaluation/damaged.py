"""Replies and conversations that were damaged on purpose, each beside its original.

Two public collections hold them, made from Mehri and Eskenazi's FED conversations, from DECODE and
from replies of other sets (as collected in ``comp-analysis``). Nobody rated them: that the original
is the better one is known by the making.
"""

from __future__ import annotations

import heapq
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from grice.errors import InputError, plural
from grice.evaluation.datasets import Item, Rated, RatedSet
from grice.evaluation.sample import hashed
from grice.readers import read
from grice.records import Conversation, Turn

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from grice.evaluation.datasets import Level

EVERY = "every kind"
BROKEN = ("repeat_self",)
"""Kinds whose stated original is not what they were made from."""


def _collection(name: str, level: Level, note: str) -> RatedSet:
    return RatedSet(
        name=name,
        file=f"rated/{name}.jsonl.gz",
        level=level,
        default=EVERY,
        source="github.com/e0397123/comp-analysis",
        licence="GPL-3.0 (repository of the copy)",
        note=note,
    )


DAMAGED = {
    entry.name: entry
    for entry in (
        _collection("robust_turn_pairs", "turn", "Replies, whole and damaged, to one context."),
        _collection("robust_dialogues", "dialogue", "FED conversations, each damaged many times."),
    )
}
"""The collections by name."""


class Pair(NamedTuple):
    """An original, what was made of it, and which conversation both go back to."""

    kind: str
    source: str
    original: Conversation
    damaged: Conversation


class PairedSet(NamedTuple):
    """A collection that was read.

    Attributes:
        set: What is known of it.
        pairs: Original and damaged version.
        of: How many pairs there are, of which these were drawn.
        same: Pairs left out, by kind, because the damaged version is the original.
        left_out: Records left out, by kind, because no original of theirs is known.
        rated: All conversations of the pairs, each once, as what is scored.
    """

    set: RatedSet
    pairs: tuple[Pair, ...]
    of: int
    same: dict[str, int]
    left_out: dict[str, int]
    rated: Rated

    def remarks(self) -> list[str]:
        """Return one line for each kind of damage with records that were left out."""
        return [
            f"{self.set.name}: no known original of {plural(count, 'record')} of {kind}: left out"
            for kind, count in self.left_out.items()
        ]


def read_pairs(
    name: str, folder: Path | None, *, most: int | None = None, seed: int = 0
) -> PairedSet:
    """Return the pairs of a collection, those that are the same text left out and counted.

    Args:
        name: One of :data:`DAMAGED`.
        most: How many pairs to draw; by default all.
        seed: Seed of the draw, which does not depend on the order of the file.

    Raises:
        InputError: If it is not there, or holds no pair.
    """
    entry = DAMAGED[name]
    if folder is None or not (folder / entry.file).is_file():
        raise InputError(
            f"{name} is not there (looked for {entry.file}); give its folder with --data, or in "
            f"GRICE_DATA\n  source:  {entry.source}\n  licence: {entry.licence}"
        )
    records = [record for record in read(folder / entry.file) if isinstance(record, Conversation)]
    made, left_out = (_replies if entry.level == "turn" else _dialogues)(records)
    pairs, same = [], Counter[str]()
    for pair in made:
        if _texts(pair.original) == _texts(pair.damaged):
            same[pair.kind] += 1
        else:
            pairs.append(pair)
    if not pairs:
        raise InputError(f"{folder / entry.file}: there is no pair in it")
    drawn = pairs
    if most is not None:
        drawn = heapq.nsmallest(most, pairs, key=lambda pair: hashed(pair.damaged.id, seed))
    texts = {
        talk.id: Item(talk, {}, None, pair.source)
        for pair in drawn
        for talk in (pair.original, pair.damaged)
    }
    rated = Rated(entry, tuple(texts.values()), (), True, name)
    return PairedSet(entry, tuple(drawn), len(pairs), dict(sorted(same.items())), left_out, rated)


def _texts(talk: Conversation) -> tuple[str, ...]:
    return tuple(turn.text for turn in talk.turns)


def _replies(records: Sequence[Conversation]) -> tuple[list[Pair], dict[str, int]]:
    pairs = []
    left_out: Counter[str] = Counter()
    for record in records:
        kind, reply = str(record.meta.get("kind")), record.meta.get("response_perturbed")
        if not isinstance(reply, str):
            left_out[kind] += 1
            continue
        before = record.turns[:-1]
        if isinstance(given := record.meta.get("context_perturbed"), list):
            speakers = [turn.speaker for turn in record.turns]
            before = tuple(
                Turn(speakers[i % len(speakers)], str(text)) for i, text in enumerate(given)
            )
        turns = (*before, msgspec.structs.replace(record.turns[-1], text=reply))
        source = "\n".join(turn.text for turn in record.turns[:-1])
        original = msgspec.structs.replace(record, targets=(len(record.turns) - 1,), meta={})
        damaged = msgspec.structs.replace(
            original, id=f"{record.id} damaged", turns=turns, targets=(len(turns) - 1,)
        )
        pairs.append(Pair(kind, source, original, damaged))
    return pairs, dict(left_out)


def _dialogues(records: Sequence[Conversation]) -> tuple[list[Pair], dict[str, int]]:
    originals = {
        record.meta.get("origin"): record
        for record in records
        if record.meta.get("kind") == "original"
    }
    consistent = {
        record.id.replace("consistent", "contradiction"): record
        for record in records
        if record.meta.get("kind") == "decode_consistent"
    }
    pairs = []
    left_out: Counter[str] = Counter()
    for record in records:
        kind = str(record.meta.get("kind"))
        if kind in ("original", "decode_consistent"):
            continue
        origin = originals.get(record.meta.get("origin")) if kind not in BROKEN else None
        # A conversation of DECODE is the consistent one gone on until it contradicts itself.
        origin = consistent.get(record.id, origin)
        if origin is None:
            left_out[kind] += 1
        else:
            pairs.append(Pair(kind, origin.id, origin, record))
    return pairs, dict(left_out)
