"""Issues of replies, as check boxes (Meng et al., DETA): any of six, or none."""

from __future__ import annotations

import random
from functools import partial
from typing import TYPE_CHECKING

from grice_annotate.records import AnswerError
from grice_annotate.templates._replies import instructed, reply_record, reply_tasks
from grice_annotate.templates._template import Column, Judged, Submitted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grice.data import Json
    from grice_annotate.records import Answer, Settings, Task

ABOUT = "mark what is wrong with replies: six issues, or none"
read = partial(reply_tasks, stage="issues")
ISSUES = {
    "engagement": "It is not interesting.",
    "relevance": "It is not related to what was said before.",
    "commonsense": "It does not make sense.",
    "repetition": "It repeats something: words, a sentence, an earlier turn.",
    "hallucination": "It states something that is not true.",
    "inconsistency": "It contradicts what the same speaker said before.",
}
"""The question of each issue."""
NONE = "none"


def answer(submitted: Submitted) -> Json:
    """Return the issues that are marked, in their order."""
    marked = set(submitted.form.get("issue", []))
    if unknown := marked - {*ISSUES, NONE}:
        raise AnswerError(f"{min(unknown)[:40]!r} is no issue of the list")
    if not marked or (NONE in marked and len(marked) > 1):
        raise AnswerError("mark the issues of the reply, or that it has none, not both")
    return [issue for issue in ISSUES if issue in marked]


def checks(count: int, tasks: Sequence[Task], settings: Settings) -> list[Task]:
    """Return replies that say which issue to mark."""
    draw = random.Random(settings.seed)
    checks = []
    for number in range(count):
        issue = draw.choice(list(ISSUES))
        words = f'To show that you read every reply, please mark "{ISSUES[issue]}" here, alone.'
        checks.append(instructed(draw.choice(tasks), number, words, [issue]))
    return checks


def columns(_: Sequence[Task], answers: Sequence[Answer]) -> list[Column]:
    """Return each issue, and all of them together."""
    columns = {
        issue: {
            (answer.task, answer.judge): str(issue in _marked(answer.value)) for answer in answers
        }
        for issue in ISSUES
    }
    # All binary labels of a judge in one list, as the chapter measures its kappa.
    every: dict[tuple[int, int], float | str] = {
        (task * len(ISSUES) + place, judge): value
        for place, values in enumerate(columns.values())
        for (task, judge), value in values.items()
    }
    return [Column("all issues", "nominal", every)] + [
        Column(issue, "nominal", dict(values)) for issue, values in columns.items()
    ]


def _marked(value: Json) -> list[str]:
    return [issue for issue in value if isinstance(issue, str)] if isinstance(value, list) else []


def record(item: Sequence[Judged]) -> Iterator[dict[str, Json]]:
    """Yield the reply with the issues of each judge."""
    task, values = item[0]
    marked = [_marked(value) for value in values.values()]
    marks = {issue: sum(issue in issues for issues in marked) for issue in ISSUES}
    sound = [int(not issues) for issues in marked]
    settled = task.adjudicated
    yield reply_record(
        task,
        {
            "issues": dict(values),
            "marks": dict(marks),
            "ratings": list(sound),
            "label": sum(sound) / len(sound),
            **({"adjudicated": settled} if settled is not None else {}),
        },
    )


def page(_: object) -> dict[str, object]:
    """Return the issues with their questions."""
    return {"issues": ISSUES}
