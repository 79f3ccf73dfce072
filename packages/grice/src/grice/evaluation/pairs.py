"""Damaged texts beside their originals: which of the two does a metric score higher?

A metric is judged by the share of pairs in which it scores the original higher; a tie counts
half, so a metric that knows nothing gets 0.5, and so does one that gives every text the same
score, such as always-yes.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec.structs import replace

from grice.errors import InputError
from grice.evaluation.damaged import EVERY, Pair, PairedSet
from grice.evaluation.datasets import OWN, Item, Rated, RatedSet
from grice.perturb.run import perturb
from grice.stats.estimate import Estimate
from grice.stats.proportions import proportion

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from grice.evaluation.table import Column
    from grice.perturb import Material, Perturbation
    from grice.records import Conversation


class DamagedRow(msgspec.Struct, frozen=True, kw_only=True):
    """One metric on one collection.

    Attributes:
        trivial: Whether it is a trivial baseline.
        kinds: Share of pairs with the original scored higher, by kind of damage, over
            :data:`EVERY` kind first. The interval takes versions of one source as one.
        ties: Share of pairs that got the same score.
        failed: Pairs left out because the metric failed on a side.
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
    """All metrics on one collection.

    Attributes:
        pairs: How many pairs were judged.
        of: How many there are, of which these were drawn.
        sources: How many contexts or conversations they go back to.
        same: Pairs of one text, by kind, which were left out.
        left_out: Records without a known original, by kind.
        rows: The metrics, best first.
    """

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
    """Return how often each metric scores the original higher.

    Args:
        trivial: Names of the metrics that are trivial baselines.
        drawn: How the pairs were drawn, for signatures; empty if they are all there are.
    """
    ids = [item.conversation.id for item in paired.rated.items]
    rows = []
    for column in columns:
        judged = shares(paired.pairs, dict(zip(ids, column.values, strict=True)))
        rows.append(
            DamagedRow(
                metric=column.metric,
                signature=f"{column.signature}|pairs:2{drawn}",
                trivial=column.metric in trivial,
                kinds=judged.kinds,
                ties=judged.ties,
                failed=judged.failed,
            )
        )
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

    Args:
        name: The name of the conversations in tables.
        material: The sources that perturbations draw from.

    Raises:
        InputError: If no conversation can be broken.
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
    talks = {talk.id: talk for pair in pairs for talk in (pair.original, pair.damaged)}
    items = tuple(Item(talk, {}, None, talk.id) for talk in talks.values())
    rated = Rated(entry, items, (), grouped=True, fingerprint=name)
    return PairedSet(entry, tuple(pairs), len(pairs), {}, {}, rated)


class Shares(NamedTuple):
    """How often values are higher for the original.

    Attributes:
        kinds: Share of pairs, ties counted half, by kind of damage, over :data:`EVERY` kind first;
            empty if no pair has both values.
        ties: Share of pairs with the same value.
        failed: Pairs of which a side has no value.
    """

    kinds: dict[str, Estimate]
    ties: float
    failed: int


def shares(pairs: Iterable[Pair], values: Mapping[str, float | None]) -> Shares:
    """Return how often the original has the higher value.

    Args:
        pairs: Originals and damaged versions.
        values: Of each of their conversations by its id.
    """
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
    ordered = sorted(hits, key=lambda kind: (kind != EVERY, kind))
    kinds = {kind: accuracy(hits[kind].values()) for kind in ordered}
    return Shares(kinds, ties / judged if judged else 0.0, failed)


def accuracy(hits: Iterable[Sequence[float]]) -> Estimate:
    """Return the mean of hits (1, or 0.5 for a tie) with an interval over their sources.

    Args:
        hits: Those of each source; at least one.
    """
    lists = list(hits)
    estimate = proportion(
        [sum(hits_of_source) for hits_of_source in lists],
        [len(hits_of_source) for hits_of_source in lists],
    )
    if estimate is None:
        raise InputError("there is no pair to judge")
    return replace(estimate, method="paired accuracy, ties 0.5, Wilson's interval over sources")
