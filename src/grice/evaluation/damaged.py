"""Damaged replies and conversations beside their originals: which does a metric score higher?

Two public collections hold texts that were damaged on purpose, each beside what it was made from
(Mehri and Eskenazi's FED conversations and replies of other sets, as collected in
``comp-analysis``). Nobody rated them: that the original is the better one is known by the making.
A metric is judged by the share of pairs in which it scores the original higher; a tie counts
half, so a metric that knows nothing gets 0.5, and so does one that gives every text the same
score, such as always-yes.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from grice.errors import InputError
from grice.evaluation.columns import score_table
from grice.evaluation.datasets import Item, Rated, RatedSet
from grice.evaluation.meta import BASELINES
from grice.evaluation.overlap import normalised
from grice.evaluation.shares import share
from grice.evaluation.trained import Guard, Model, TrainedOn
from grice.formats import read
from grice.records import Conversation, Turn
from grice.stats.estimate import Estimate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from grice.evaluation.datasets import Level
    from grice.evaluation.grid import Plan

__all__ = [
    "DAMAGED",
    "EVERY",
    "DamagedBlock",
    "DamagedRow",
    "PairedSet",
    "judge_pairs",
    "read_pairs",
]

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
        same: Pairs left out, by kind, because both have the same words.
        left_out: Records left out, by kind, because no original of theirs is known.
        rated: All conversations of the pairs, each once, as what is scored.
    """

    set: RatedSet
    pairs: tuple[Pair, ...]
    same: dict[str, int]
    left_out: dict[str, int]
    rated: Rated


class DamagedRow(msgspec.Struct, frozen=True, kw_only=True):
    """One metric on one collection.

    Attributes:
        metric: Its name.
        signature: What exactly was computed.
        trivial: Whether it is one of the floors.
        kinds: Share of pairs with the original scored higher, by kind of damage, over
            :data:`EVERY` kind first. The interval takes versions of one source as one.
        ties: Share of pairs that got the same score.
        failed: Pairs left out because the metric failed on a side.
        trained: How far each of its models was trained on the texts.
    """

    metric: str
    signature: str
    trivial: bool
    kinds: dict[str, Estimate]
    ties: float
    failed: int
    trained: tuple[TrainedOn, ...] = ()


class DamagedBlock(msgspec.Struct, frozen=True, kw_only=True):
    """All metrics on one collection.

    Attributes:
        data: Its name.
        level: ``turn`` or ``dialogue``.
        pairs: How many pairs.
        sources: How many contexts or conversations they go back to.
        same: Pairs of the same words, by kind, which were left out.
        left_out: Records without a known original, by kind.
        rows: The metrics, best first.
    """

    data: str
    level: str
    pairs: int
    sources: int
    same: dict[str, int]
    left_out: dict[str, int]
    rows: tuple[DamagedRow, ...]


def read_pairs(name: str, folder: Path | None) -> PairedSet:
    """Return the pairs of a collection, those of the same words left out and counted.

    Args:
        name: One of :data:`DAMAGED`.
        folder: The data folder.

    Raises:
        InputError: If it is not there, or holds no pair.
    """
    entry = DAMAGED[name]
    if folder is None or not (folder / entry.file).is_file():
        raise InputError(
            f"{name} is not there (looked for {entry.file}); give its folder with --data, or in "
            f"GRICE_DATA\n  source:  {entry.source}\n  licence: {entry.licence}"
        )
    found = [one for one in read(folder / entry.file) if isinstance(one, Conversation)]
    made, left_out = (_replies if entry.level == "turn" else _dialogues)(found)
    pairs, same = [], Counter[str]()
    for pair in made:
        if _words(pair.original) == _words(pair.damaged):
            same[pair.kind] += 1
        else:
            pairs.append(pair)
    if not pairs:
        raise InputError(f"{folder / entry.file}: there is no pair in it")
    texts = {one.id: Item(one, {}, None, pair.source)
             for pair in pairs for one in (pair.original, pair.damaged)}  # fmt: skip
    rated = Rated(entry, tuple(texts.values()), (), True, name)
    return PairedSet(entry, tuple(pairs), dict(sorted(same.items())), left_out, rated)


def _words(talk: Conversation) -> tuple[str, ...]:
    return tuple(normalised(turn.text) for turn in talk.turns)


def _replies(found: Sequence[Conversation]) -> tuple[list[Pair], dict[str, int]]:
    pairs = []
    left_out: Counter[str] = Counter()
    for one in found:
        kind, reply = str(one.meta.get("kind")), one.meta.get("response_perturbed")
        if not isinstance(reply, str):
            left_out[kind] += 1
            continue
        before = one.turns[:-1]
        if isinstance(given := one.meta.get("context_perturbed"), list):
            speakers = [turn.speaker for turn in one.turns]
            before = tuple(
                Turn(speakers[i % len(speakers)], str(text)) for i, text in enumerate(given)
            )
        turns = (*before, msgspec.structs.replace(one.turns[-1], text=reply))
        source = "\n".join(turn.text for turn in one.turns[:-1])
        original = msgspec.structs.replace(one, targets=(len(one.turns) - 1,), meta={})
        damaged = msgspec.structs.replace(
            original, id=f"{one.id} damaged", turns=turns, targets=(len(turns) - 1,)
        )
        pairs.append(Pair(kind, source, original, damaged))
    return pairs, dict(left_out)


def _dialogues(found: Sequence[Conversation]) -> tuple[list[Pair], dict[str, int]]:
    originals = {one.meta.get("origin"): one for one in found if one.meta.get("kind") == "original"}
    consistent = {
        one.id.replace("consistent", "contradiction"): one
        for one in found
        if one.meta.get("kind") == "decode_consistent"
    }
    pairs = []
    left_out: Counter[str] = Counter()
    for one in found:
        kind = str(one.meta.get("kind"))
        if kind in ("original", "decode_consistent"):
            continue
        origin = originals.get(one.meta.get("origin")) if kind not in BROKEN else None
        # A conversation of DECODE is the consistent one gone on until it contradicts itself.
        origin = consistent.get(one.id, origin)
        if origin is None:
            left_out[kind] += 1
        else:
            pairs.append(Pair(kind, origin.id, origin, one))
    return pairs, dict(left_out)


def judge_pairs(
    name: str, folder: Path | None, plan: Plan, heard: Callable[[str], None] = lambda _: None
) -> DamagedBlock:
    """Return how often each metric, and each floor of the level, scores the original higher.

    Args:
        name: One of :data:`DAMAGED`.
        folder: The data folder.
        plan: The metrics and how they are loaded; ids of these texts are their own, so scores of
            files are not looked at.
        heard: Is told what is left out.

    Raises:
        InputError: If the collection is not there.
    """
    read_in = read_pairs(name, folder)
    for kind, count in read_in.left_out.items():
        heard(f"{name}: {count} records of {kind} have no known original and are left out")
    floors = BASELINES[read_in.set.level]
    names = tuple(dict.fromkeys((*plan.metrics, *floors)))
    loaded, signatures, bundles = plan.loaded(names)
    table = score_table(loaded, signatures, read_in.rated)
    guard = Guard(read_in.rated)
    ids = [item.conversation.id for item in read_in.rated.items]
    rows = []
    for metric in names:
        column = table.column(metric, read_in.rated, plan.reduce)
        values = dict(zip(ids, column.values, strict=True))
        models = (Model(bundle.card.name, bundle) for bundle in bundles[metric])
        rows.append(
            _row(metric, column.signature, read_in.pairs, values, metric in floors,
                 guard.look(models))
        )  # fmt: skip
    rows.sort(key=lambda row: -row.kinds[EVERY].value if row.kinds else 1.0)
    return DamagedBlock(
        data=name,
        level=read_in.set.level,
        pairs=len(read_in.pairs),
        sources=len({pair.source for pair in read_in.pairs}),
        same=read_in.same,
        left_out=read_in.left_out,
        rows=tuple(rows),
    )


def _row(
    metric: str,
    signature: str,
    pairs: Sequence[Pair],
    values: dict[str, float | None],
    trivial: bool,  # noqa: FBT001 - a fact, not a switch
    trained: tuple[TrainedOn, ...],
) -> DamagedRow:
    hits: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    ties = failed = 0
    for pair in pairs:
        good, bad = values[pair.original.id], values[pair.damaged.id]
        if good is None or bad is None:
            failed += 1
            continue
        hit = 0.5 if good == bad else float(good > bad)
        ties += hit == 0.5
        for kind in (EVERY, pair.kind):
            hits[kind][pair.source].append(hit)
    kinds = {kind: accuracy(by_source.values()) for kind, by_source in hits.items()}
    first = {EVERY: kinds.pop(EVERY)} if EVERY in kinds else {}
    judged = len(pairs) - failed
    return DamagedRow(
        metric=metric,
        signature=f"{signature}|pairs:1",
        trivial=trivial,
        kinds=first | dict(sorted(kinds.items())),
        ties=ties / judged if judged else 0.0,
        failed=failed,
        trained=trained,
    )


def accuracy(hits: Iterable[Sequence[float]]) -> Estimate:
    """Return the mean of hits (1, or 0.5 for a tie) with an interval over their sources.

    Args:
        hits: Those of each source; at least one.
    """
    lists = list(hits)
    found = share([sum(one) for one in lists], [len(one) for one in lists])
    if found is None:
        raise InputError("there is no pair to judge")
    return msgspec.structs.replace(
        found, method="paired accuracy, ties 0.5, Wilson's interval over sources"
    )
