"""Perturbed conversations against their originals: which of the two scores higher?

The measure is the share of pairs whose original scores higher; a tie counts half, so that a
constant metric gets 0.5.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec.structs import replace

from grice.data import Conversation
from grice.errors import InputError
from grice.evaluation.table import score_table
from grice.perturb import perturb
from grice.stats.comparison import proportion
from grice.stats.estimate import Estimate

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from grice.perturb import Material, Perturbation
    from grice.scoring.api import Grader

EVERY = "every kind"
METHOD = "paired accuracy, ties 0.5, Wilson's interval over sources"


class Pair(NamedTuple):
    """An original and its perturbed version; ``source`` groups versions of one original."""

    kind: str
    source: str
    original: Conversation
    perturbed: Conversation


class PerturbedRow(msgspec.Struct, frozen=True, kw_only=True):
    """Accuracy of one metric: the share of pairs with the original scored higher, by kind.

    :data:`EVERY` kind comes first; versions of one source are one item of the intervals.
    """

    metric: str
    signature: str
    kinds: dict[str, Estimate]
    ties: float
    failed: int


class PerturbedBlock(msgspec.Struct, frozen=True, kw_only=True):
    """Accuracy of all metrics on pairs."""

    data: str
    pairs: int
    sources: int
    rows: tuple[PerturbedRow, ...]


def perturbed_pairs(
    name: str,
    conversations: Sequence[Conversation],
    kinds: Iterable[Perturbation],
    *,
    seed: int,
    material: Material,
) -> list[Pair]:
    """Perturb conversations in each of several ways."""
    pairs: list[Pair] = []
    for kind in kinds:
        for number, talk in enumerate(conversations):
            changed = perturb(talk, kind, seed=seed, material=material)
            if changed is not None:
                # Ids of several files may collide; numbers do not.
                original = replace(talk, id=str(number))
                perturbed = replace(changed.conversation, id=f"{number}/{kind.name}")
                pairs.append(Pair(kind.name, original.id, original, perturbed))
    if not pairs:
        raise InputError(
            f"{name}: no conversation could be broken; other kinds may apply: grice perturb list"
        )
    return pairs


def judge_pairs(
    name: str, pairs: Sequence[Pair], grader: Grader, drawn: str = ""
) -> PerturbedBlock:
    """Score all conversations of pairs and return the accuracy of each metric.

    A metric of single replies is compared by its mean over the replies of a conversation.
    """
    talks = {talk.id: talk for pair in pairs for talk in (pair.original, pair.perturbed)}
    table = score_table(grader, grader.signatures, list(talks.values()))
    rows = [
        accuracy(pairs, table.conversation_means(metric), metric, f"{signature}|pairs:2{drawn}")
        for metric, signature in grader.signatures.items()
    ]
    rows.sort(key=lambda row: -row.kinds[EVERY].value if row.kinds else 1.0)
    sources = len({pair.source for pair in pairs})
    return PerturbedBlock(data=name, pairs=len(pairs), sources=sources, rows=tuple(rows))


def accuracy(
    pairs: Iterable[Pair], values: Mapping[str, float], metric: str = "", signature: str = ""
) -> PerturbedRow:
    """Return the share of pairs whose original has the higher value."""
    hits: dict[str, dict[str, list[float]]] = {}
    judged = ties = failed = 0
    for pair in pairs:
        good, bad = values.get(pair.original.id), values.get(pair.perturbed.id)
        if good is None or bad is None:
            failed += 1
            continue
        judged += 1
        ties += good == bad
        for kind in (EVERY, pair.kind):
            of_source = hits.setdefault(kind, {}).setdefault(pair.source, [])
            of_source.append(0.5 if good == bad else float(good > bad))
    kinds = {}
    for kind in sorted(hits, key=lambda kind: (kind != EVERY, kind)):
        by_source = hits[kind].values()
        share = proportion(list(map(sum, by_source)), list(map(len, by_source)))
        assert share is not None
        kinds[kind] = replace(share, method=METHOD)
    share_tied = ties / judged if judged else 0.0
    return PerturbedRow(
        metric=metric, signature=signature, kinds=kinds, ties=share_tied, failed=failed
    )
