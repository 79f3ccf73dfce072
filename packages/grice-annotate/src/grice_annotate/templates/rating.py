"""Ratings of replies: any aspects, on a scale."""

from __future__ import annotations

import random
from functools import partial
from typing import TYPE_CHECKING, Any

from grice_annotate.records import AnswerError
from grice_annotate.templates._replies import instructed, reply_record, reply_tasks
from grice_annotate.templates._template import Column, Judged, Page, Submitted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from grice.data import Json, Score
    from grice_annotate.records import Answer, Settings, Task

ABOUT = "rate replies on a scale, by any aspects"
OPTIONS = frozenset({"aspects", "scale"})
read = partial(reply_tasks, stage="rating")
ABSTAIN = "abstain"


def page(page: Page) -> dict[str, Any]:
    """Return the steps of the scale."""
    low, high = page.settings.scale
    return {"steps": range(low, high + 1)}


def answer(submitted: Submitted) -> Json:
    """Return the rating of each aspect, or None for somebody who abstains."""
    settings, form = submitted.page.settings, submitted.form
    if ABSTAIN in form:
        return None
    low, high = settings.scale
    steps = {str(step): step for step in range(low, high + 1)}
    ratings: dict[str, Json] = {}
    for number, aspect in enumerate(settings.aspects):
        given = form.get(f"aspect{number}", [""])[0]
        if given not in steps:
            raise AnswerError(f"choose {low} to {high} for {aspect}, or that you cannot judge")
        ratings[aspect] = steps[given]
    return ratings


def checks(count: int, tasks: Sequence[Task], settings: Settings) -> list[Task]:
    """Return replies that say which step to choose."""
    low, high = settings.scale
    draw = random.Random(settings.seed)
    checks = []
    for number in range(count):
        step = draw.randint(low, high)
        expected: dict[str, Json] = dict.fromkeys(settings.aspects, step)
        words = f"To show that you read every reply, please choose {step} here for every question."
        checks.append(instructed(draw.choice(tasks), number, words, expected))
    return checks


def propose(scores: Mapping[str, Score], settings: Settings) -> Json:
    """Return the steps of scores: an aspect takes the metric of its name, or the only one."""
    low, high = settings.scale
    proposal: dict[str, Json] = {}
    for aspect in settings.aspects:
        score = scores.get(aspect) or (next(iter(scores.values())) if len(scores) == 1 else None)
        if score is None or score.value is None:
            return None
        proposal[aspect] = round(low + score.value * (high - low))
    return proposal


def _number(value: Json) -> float | None:
    if not isinstance(value, dict):
        return None
    ratings = [rating for rating in value.values() if isinstance(rating, int | float)]
    return sum(ratings) / len(ratings) if ratings else None


def columns(_: Sequence[Task], answers: Sequence[Answer]) -> list[Column]:
    """Return the ratings of each aspect."""
    aspects: dict[str, dict[tuple[int, int], float | str]] = {}
    for answer in answers:
        for aspect, rating in answer.value.items() if isinstance(answer.value, dict) else ():
            if isinstance(rating, int | float):
                aspects.setdefault(aspect, {})[answer.task, answer.judge] = float(rating)
    return [Column(aspect, "interval", values) for aspect, values in aspects.items()]


def record(item: Sequence[Judged]) -> Iterator[dict[str, Json]]:
    """Yield the reply with the ratings of each judge."""
    task, values = item[0]
    given = [value for value in values.values() if isinstance(value, dict)]
    aspects = list(dict.fromkeys(aspect for value in given for aspect in value))
    ratings = {aspect: [value[aspect] for value in given] for aspect in aspects}
    settled = task.adjudicated if isinstance(task.adjudicated, dict) else None
    means = [_number(value) or 0.0 for value in ([settled] if settled else given)]
    yield reply_record(
        task,
        {
            "ratings": ratings[aspects[0]] if len(aspects) == 1 else dict(ratings),
            "label": sum(means) / len(means) if means else None,
            "annotators": list(values),
            "abstained": len(values) - len(given),
            **({"adjudicated": settled} if settled else {}),
        },
    )
