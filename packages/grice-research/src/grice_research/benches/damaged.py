"""Conversations that were damaged on purpose, each beside its original.

A metric is right about a pair if the original scores higher; ties count half, so that 0.5 is
chance. Versions of one original are one item for the intervals. Nothing is trained or chosen on
these conversations, but coherence learned from damages of such kinds, made on other conversations.
Metrics are held against trivial baselines over all pairs alone: for nearly every kind of damage
there is some count that sees it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from grice.data import Conversation
from grice.errors import InputError
from grice.evaluation.datasets import Level
from grice.evaluation.perturbed import EVERY, Pair
from grice.readers import read
from grice.stats import mean
from grice_research.benches._turns import digest_of, quality_metrics, values_of
from grice_research.benches.trivial_baselines import BASELINES, JUDGED
from grice_research.comparisons import RIGHT
from grice_research.context import BenchContext
from grice_research.figures import Figure, figure, gap_to

TITLE = "Conversations damaged on purpose, beside their originals"
PAPER = "github.com/e0397123/comp-analysis (GPL-3.0), from conversations of FED and of DECODE"
SET = "robust_dialogues"
LEVEL: Level = "dialogue"
FILE = f"rated/{SET}.jsonl.gz"
BROKEN = ("repeat_self",)  # kinds whose stated original is not what they were made from


def read_pairs(folder: Path) -> list[Pair]:
    """Read perturbed conversations with known originals, without those of the same text."""
    if not (folder / FILE).is_file():
        raise InputError(f"{SET} is not there (looked for {FILE}); its source is {PAPER}")
    records = [record for record in read(folder / FILE) if isinstance(record, Conversation)]
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
    for record in records:
        kind = str(record.meta.get("kind"))
        if kind in ("original", "decode_consistent"):
            continue
        origin = originals.get(record.meta.get("origin")) if kind not in BROKEN else None
        # A conversation of DECODE is the consistent one gone on until it contradicts itself.
        origin = consistent.get(record.id, origin)
        if origin is not None and _texts(origin) != _texts(record):
            pairs.append(Pair(kind, origin.id, origin, record))
    if not pairs:
        raise InputError(f"{folder / FILE}: there is no pair in it")
    return pairs


def _texts(talk: Conversation) -> list[str]:
    return [turn.text for turn in talk.turns]


def talks_of(pairs: Sequence[Pair]) -> list[Conversation]:
    """Return all conversations of pairs, each once."""
    return list({talk.id: talk for pair in pairs for talk in pair[2:]}.values())


def measure(context: BenchContext) -> Iterator[Figure]:
    """Yield how often each metric and baseline is right, over all pairs and by kind of damage."""
    pairs = read_pairs(context.folder)
    metrics = quality_metrics(JUDGED[LEVEL])
    right = {name: _right(context, name, pairs) for name in (*metrics, *BASELINES[LEVEL])}
    trained = {name: context.trained_share(name, SET) for name in metrics}
    data = digest_of(SET, talks_of(pairs))
    kinds = dict.fromkeys(pair.kind for pair in pairs)
    for kind in (EVERY, *kinds):
        rows = [i for i, pair in enumerate(pairs) if kind in (EVERY, pair.kind)]
        chosen = {name: [values[i] for i in rows] for name, values in right.items()}
        yield from _of_kind(context, kind, data, [pairs[i] for i in rows], chosen, trained)


def _of_kind(
    context: BenchContext,
    kind: str,
    data: str,
    pairs: Sequence[Pair],
    right: Mapping[str, Sequence[float]],
    trained: Mapping[str, float],
) -> Iterator[Figure]:
    sources = [pair.source for pair in pairs]
    for name, values in right.items():
        ours = name in trained
        gaps = (
            (base, [a - b for a, b in zip(values, right[base], strict=True)])
            for base in (BASELINES[LEVEL] if ours and kind == EVERY else ())
        )
        yield figure(
            row=name,
            measure=RIGHT,
            estimate=mean(values, groups=sources, bounds=(0, 1)),
            kind="ours" if ours else "baseline",
            on=f"{SET}:{kind}",
            metric=name * ours,
            gaps=tuple(
                gap_to(base, mean(each, groups=sources, bounds=(-1, 1))) for base, each in gaps
            ),
            trained=trained.get(name, 0.0),
            signature=f"{context.grader(name)[1][name]}|on:{data}:{kind}",
        )


def _right(context: BenchContext, metric: str, pairs: Sequence[Pair]) -> list[float]:
    """Return of each pair whether the original scores higher: 1, 0, or 0.5 for a tie."""
    grader, _ = context.grader(metric)
    scores = values_of(metric, grader.score(talks_of(pairs)))
    values = [(scores[pair.original.id], scores[pair.perturbed.id]) for pair in pairs]
    return [0.5 if good == bad else float(good > bad) for good, bad in values]
