"""What metrics say of the marked turns, scored once and kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np

import grice
from grice.evaluation.review_stack import observed
from grice.records import Conversation, FeatureEvidence, Score, json_line
from grice_research.places import work_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from grice.scoring.api import Grader
    from grice_research.recipes.review.data import Marked

WINDOW = 20
"""Conversations scored at once; a run that is stopped goes on from the answers of its models."""


class Asked(NamedTuple):
    """A witness as it is asked for."""

    metric: str
    flaw: str
    feature: str = ""


def columns_of(
    marked: Sequence[Marked], asked: Sequence[Asked], preset: str
) -> NDArray[np.float64]:
    """Return what each witness says of each turn; NaN where it says nothing."""
    metrics = list(dict.fromkeys(question.metric for question in asked))
    folder = work_folder("review")
    folder.mkdir(parents=True, exist_ok=True)
    seen: dict[tuple[str, int], dict[str, Score]] = {}
    with grice.load(*metrics, workers=1, cache=folder / "cache", models=preset) as grader:
        for metric in metrics:
            for place, what in _observed(grader, metric, marked, folder):
                seen.setdefault(place, {}).update(what)
    rows = [seen.get((turn.talk.id, turn.turn), {}) for turn in marked]
    return np.array([[_figure(row, question) for question in asked] for row in rows], np.float64)


def _figure(seen: dict[str, Score], asked: Asked) -> float:
    score = seen.get(asked.metric)
    if score is None or score.value is None:
        return np.nan
    if not asked.feature:
        return score.value
    features = (piece for piece in score.evidence if isinstance(piece, FeatureEvidence))
    return next((piece.value for piece in features if piece.name == asked.feature), np.nan)


def _observed(
    grader: Grader, metric: str, marked: Sequence[Marked], folder: Path
) -> Iterator[tuple[tuple[str, int], dict[str, Score]]]:
    """Yield what a metric says of every turn that is judged in the conversations."""
    turns: dict[str, list[int]] = {}
    for marked_turn in marked:
        turns.setdefault(marked_turn.talk.id, []).append(marked_turn.turn)
    talks = {marked_reply.talk.id: marked_reply.talk for marked_reply in marked}
    groups = _scored(grader, metric, list(talks.values()), folder / f"{metric}.jsonl")
    for name, asked in turns.items():
        by_turn = observed(groups[name], asked)
        for turn in asked:
            yield (name, turn), by_turn[turn]


def _scored(
    grader: Grader, metric: str, talks: Sequence[Conversation], file: Path
) -> dict[str, list[Score]]:
    """Return a metric's scores by conversation: those kept, if they are of this metric and all."""
    groups: dict[str, list[Score]] = {}
    if file.is_file():
        for line in file.read_bytes().splitlines():
            score = msgspec.json.decode(line, type=Score)
            groups.setdefault(score.conversation, []).append(score)
    kept = next((group[0].signature for group in groups.values()), None)
    if kept == grader.signatures[metric] and all(talk.id in groups for talk in talks):
        return groups
    (scorer,) = (
        loaded_metric
        for loaded_metric in grader.scorer.metrics
        if loaded_metric.metric.name == metric
    )
    groups = {}
    for start in range(0, len(talks), WINDOW):
        window = talks[start : start + WINDOW]
        for talk, scores in zip(window, scorer.score(window, ()), strict=True):
            groups[talk.id] = list(scores)
        print(f"{metric}: {min(start + WINDOW, len(talks))} of {len(talks)}", flush=True)
    lines = (json_line(score) for group in groups.values() for score in group)
    file.write_bytes(b"\n".join(lines))
    return groups
