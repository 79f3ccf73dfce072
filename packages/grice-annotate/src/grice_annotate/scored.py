"""What scores do for a study: the order of its tasks, and proposals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from grice.errors import InputError, did_you_mean
from grice.evaluation.review import review
from grice.evaluation.scores import read_scores

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from grice.records import Score
    from grice_annotate.records import Settings, Task
    from grice_annotate.templates import Template


def with_scores(tasks: Iterable[Task], scores: str, metric: str) -> list[Task]:
    """Return tasks with their score by a metric."""
    by_key = _by_key(scores, [metric])
    scored = []
    for task in tasks:
        score = by_key.get(task.key, {}).get(metric)
        known = score is not None and score.status != "failed"
        scored.append(replace(task, score=score.value) if score and known else task)
    if all(task.score is None for task in scored):
        raise InputError(f"{scores}: {metric} scored none of these items")
    return scored


def reviewed(tasks: Iterable[Task], scores: str, *, top: int) -> list[Task]:
    """Return the tasks that ``grice review`` puts first, in its order."""
    by_key = {task.key: task for task in tasks}
    places = (f"{item.conversation}:{item.turn}" for item in review(scores, top=top).items)
    first = [by_key[place] for place in places if place in by_key]
    if not first:
        raise InputError(f"{scores}: none of the replies that review puts first is in the input")
    return first


def with_proposals(
    tasks: Sequence[Task],
    template: Template,
    settings: Settings,
    scores: str,
    metrics: Sequence[str],
) -> list[Task]:
    """Return tasks with the answers that metrics propose."""
    if template.propose is None:
        raise InputError(
            f"scores propose nothing to {template.name}; give proposals in a field `proposal`"
        )
    by_key = _by_key(scores, metrics)
    proposed = []
    for task in tasks:
        proposal = template.propose(by_key.get(task.key, {}), settings)
        proposed.append(task if proposal is None else replace(task, proposal=proposal))
    if all(task.proposal is None for task in proposed):
        raise InputError(f"{scores}: {', '.join(metrics)} propose nothing to any of these items")
    return proposed


def _by_key(scores: str, metrics: Sequence[str]) -> dict[str, dict[str, Score]]:
    """Return the scores of replies by the key of their task and by metric."""
    by_key: dict[str, dict[str, Score]] = {}
    names = set()
    for _, score in read_scores(scores):
        names.add(score.metric)
        if score.turn is not None and score.metric in metrics:
            by_key.setdefault(f"{score.conversation}:{score.turn}", {})[score.metric] = score
    for metric in metrics:
        if metric not in names:
            raise InputError(f"{scores}: no score of {metric!r}{did_you_mean(metric, names)}")
    return by_key
