"""Damaged texts beside their originals: which of the two does a metric score higher?

A metric is judged by the share of pairs in which it scores the original higher; a tie counts
half, so a metric that knows nothing gets 0.5, and so does one that gives every text the same
score, such as always-yes.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec.structs import replace

from grice.errors import InputError, plural
from grice.evaluation.datasets import OWN, Item, Rated, RatedSet, hashed
from grice.perturb.run import perturb
from grice.readers import read
from grice.records import Conversation, Turn
from grice.stats.estimate import Estimate
from grice.stats.systems import proportion

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    from grice.evaluation.datasets import Level
    from grice.evaluation.table import Column
    from grice.perturb import Material, Perturbation

EVERY = "every kind"
METHOD = "paired accuracy, ties 0.5, Wilson's interval over sources"
BROKEN = ("repeat_self",)
"""Kinds whose stated original is not what they were made from."""
COLLECTIONS: tuple[tuple[str, Level, str], ...] = (
    ("robust_turn_pairs", "turn", "Replies, whole and damaged, to one context."),
    ("robust_dialogues", "dialogue", "FED conversations, each damaged many times."),
)
DAMAGED = {
    name: RatedSet(
        name=name,
        file=f"rated/{name}.jsonl.gz",
        level=level,
        default=EVERY,
        source="github.com/e0397123/comp-analysis",
        licence="GPL-3.0 (repository of the copy)",
        note=note,
    )
    for name, level, note in COLLECTIONS
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
        of: How many pairs there are, of which these were drawn.
        same: Pairs left out, by kind, because the damaged version is the original.
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


class DamagedRow(msgspec.Struct, frozen=True, kw_only=True):
    """One metric on one collection.

    Attributes:
        kinds: Share of pairs with the original scored higher, ties counted half, by kind of
            damage, over :data:`EVERY` kind first; empty if no pair has both values. The interval
            takes versions of one source as one.
    """

    metric: str
    signature: str
    trivial: bool
    kinds: dict[str, Estimate]
    ties: float
    failed: int

    @property
    def every(self) -> Estimate | None:
        """The share over every kind; None if no pair could be judged."""
        return self.kinds.get(EVERY)


class DamagedBlock(msgspec.Struct, frozen=True, kw_only=True):
    """All metrics on one collection; fields as in :class:`PairedSet`."""

    data: str
    level: str
    pairs: int
    of: int
    sources: int
    same: dict[str, int]
    left_out: dict[str, int]
    rows: tuple[DamagedRow, ...]

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of damage that some metric could be judged on, every kind first."""
        kinds = {kind for row in self.rows for kind in row.kinds}
        return tuple(sorted(kinds, key=lambda kind: (kind != EVERY, kind)))


def judge_pairs(
    paired: PairedSet, columns: Iterable[Column], trivial: Collection[str], drawn: str = ""
) -> DamagedBlock:
    """Return how often each metric scores the original higher."""
    ids = [item.conversation.id for item in paired.rated.items]
    rows = [
        DamagedRow(
            metric=column.metric,
            signature=f"{column.signature}|pairs:2{drawn}",
            trivial=column.metric in trivial,
            **shares(paired.pairs, dict(zip(ids, column.values, strict=True)))._asdict(),
        )
        for column in columns
    ]
    rows.sort(key=lambda row: -row.every.value if row.every else 1.0)
    return DamagedBlock(
        data=paired.set.name,
        level=paired.set.level,
        pairs=len(paired.pairs),
        of=paired.of,
        sources=len({pair.source for pair in paired.pairs}),
        same=paired.same,
        left_out=paired.left_out,
        rows=tuple(rows),
    )


def perturbed_pairs(
    name: str,
    conversations: Sequence[Conversation],
    kinds: Iterable[Perturbation],
    *,
    seed: int,
    material: Material,
) -> PairedSet:
    """Break conversations in each of several ways, and pair each result with its original.

    A metric of single replies is compared by its mean over the replies of a conversation.
    """
    pairs: list[Pair] = []
    for kind in kinds:
        for place, talk in enumerate(conversations):
            broken = perturb(talk, kind, seed=seed, material=material)
            if broken is not None:
                # Ids of several files may collide: the places do not.
                original = replace(talk, id=str(place))
                damaged = replace(broken.conversation, id=f"{place}/{kind.name}")
                pairs.append(Pair(kind.name, original.id, original, damaged))
    if not pairs:
        raise InputError(
            f"{name}: no conversation could be broken; other kinds may apply: grice perturb list"
        )
    entry = RatedSet(name=name, file=name, level="dialogue", default=EVERY, source=OWN, licence="")
    return _paired(entry, pairs, len(pairs), {}, {})


def _paired(
    entry: RatedSet,
    pairs: Sequence[Pair],
    of: int,
    same: Mapping[str, int],
    left_out: Mapping[str, int],
) -> PairedSet:
    items = {
        talk.id: Item(talk, {}, None, pair.source)
        for pair in pairs
        for talk in (pair.original, pair.damaged)
    }
    rated = Rated(entry, tuple(items.values()), (), grouped=True, fingerprint=entry.name)
    return PairedSet(entry, tuple(pairs), of, dict(sorted(same.items())), dict(left_out), rated)


class Shares(NamedTuple):
    """How often values are higher for the original; see :class:`DamagedRow`."""

    kinds: dict[str, Estimate]
    ties: float
    failed: int


def shares(pairs: Iterable[Pair], values: Mapping[str, float | None]) -> Shares:
    """Return how often the original has the higher value; a tie counts half."""
    hits: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    judged = ties = failed = 0
    for pair in pairs:
        good, bad = values[pair.original.id], values[pair.damaged.id]
        if good is None or bad is None:
            failed += 1
            continue
        judged += 1
        ties += good == bad
        for kind in (EVERY, pair.kind):
            hits[kind][pair.source].append(0.5 if good == bad else float(good > bad))
    kinds = {}
    for kind in sorted(hits, key=lambda kind: (kind != EVERY, kind)):
        by_source = hits[kind].values()
        share = proportion(list(map(sum, by_source)), list(map(len, by_source)))
        assert share is not None
        kinds[kind] = replace(share, method=METHOD)
    return Shares(kinds, ties / judged if judged else 0.0, failed)


def read_pairs(
    name: str, folder: Path | None, *, most: int | None = None, seed: int = 0
) -> PairedSet:
    """Return the pairs of a collection, those that are the same text left out and counted."""
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
        texts = [[turn.text for turn in talk.turns] for talk in (pair.original, pair.damaged)]
        if texts[0] == texts[1]:
            same[pair.kind] += 1
        else:
            pairs.append(pair)
    if not pairs:
        raise InputError(f"{folder / entry.file}: there is no pair in it")
    drawn = pairs
    if most is not None:
        drawn = heapq.nsmallest(most, pairs, key=lambda pair: hashed(pair.damaged.id, seed))
    return _paired(entry, drawn, len(pairs), same, left_out)


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
        turns = (*before, replace(record.turns[-1], text=reply))
        source = "\n".join(turn.text for turn in record.turns[:-1])
        original = replace(record, targets=(len(record.turns) - 1,), meta={})
        damaged = replace(
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
