"""Exports of a study: records for grice, a data card; and its progress."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import cache
from statistics import median
from typing import TYPE_CHECKING

import jinja2
import msgspec

from grice.errors import plural
from grice_annotate.agreement import agreement_of, counting
from grice_annotate.templates import Judged
from grice_annotate.templates._template import is_right, verdicts_on

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grice.data import Json
    from grice_annotate.records import Answer, Task
    from grice_annotate.study import Study


class JudgeProgress(msgspec.Struct, frozen=True):
    """Counts of one judge, and the median seconds of a task; None before the first."""

    id: int
    name: str
    token: str
    answers: int
    set_aside: int
    written: int
    right: int
    quiz: int
    quiz_right: int
    checks: int
    passed: int
    seconds: float | None


class Progress(msgspec.Struct, frozen=True):
    """Tasks done of all tasks, answers given of those wanted, without checks."""

    done: int
    tasks: int
    answers: int
    wanted: int
    judges: tuple[JudgeProgress, ...]


def progress_of(study: Study, tasks: Sequence[Task], answers: Sequence[Answer]) -> Progress:
    """Return how far a study is."""
    controls = {task.id: task for task in tasks if not task.judges}
    counts: dict[int, int] = {}
    for answer in answers:
        if not answer.set_aside and answer.task not in controls:
            counts[answer.task] = counts.get(answer.task, 0) + 1
    asked = [task for task in tasks if task.judges]
    written = verdicts_on(study.template, tasks, counting(tasks, answers))
    judges = []
    for judge in study.judges():
        mine = [answer for answer in answers if answer.judge == judge.id]
        checks, quiz = (
            [
                is_right(study.template, task, answer.value)
                for answer in mine
                if (task := controls.get(answer.task)) and task.quiz == of_quiz
            ]
            for of_quiz in (False, True)
        )
        rated = [answer for answer in mine if answer.task not in controls]
        times = [answer.seconds for answer in rated if answer.seconds is not None]
        if not judge.owner:
            judges.append(
                JudgeProgress(
                    id=judge.id,
                    name=judge.name,
                    token=judge.token,
                    answers=sum(not answer.set_aside for answer in rated),
                    set_aside=sum(answer.set_aside for answer in rated),
                    written=len(written.get(judge.id, [])),
                    right=sum(written.get(judge.id, [])),
                    quiz=len(quiz),
                    quiz_right=sum(quiz),
                    checks=len(checks),
                    passed=sum(checks),
                    seconds=median(times) if times else None,
                )
            )
    return Progress(
        done=sum(counts.get(task.id, 0) >= task.judges for task in asked),
        tasks=len(asked),
        answers=sum(counts.values()),
        wanted=sum(task.judges for task in asked),
        judges=tuple(judges),
    )


def records(study: Study) -> Iterator[dict[str, Json]]:
    """Yield the records of each item that was answered; empty ones for what is left out."""
    tasks = study.tasks()
    values = _values(study, tasks)
    items: dict[int, list[Judged]] = {}
    first: dict[int, int] = {}
    for task in sorted(tasks, key=lambda task: task.id):  # what follows comes later
        first[task.id] = task.id if task.parent is None else first[task.parent]
        if task.id in values:
            items.setdefault(first[task.id], []).append(Judged(task, values[task.id]))
    for task in tasks:
        if task.id in items:
            yield from study.template.record(items[task.id])


def _values(study: Study, tasks: Sequence[Task]) -> dict[int, dict[str, Json]]:
    """Return the answers that count, by task and by pseudonym."""
    names = {judge.id: judge.name for judge in study.judges()}
    values: dict[int, dict[str, Json]] = {}
    for answer in counting(tasks, study.answers()):
        values.setdefault(answer.task, {})[names[answer.judge]] = answer.value
    return values


@cache
def pages() -> jinja2.Environment:
    """Return the templates of pages and cards; every text of a page is escaped."""
    found = jinja2.Environment(
        loader=jinja2.PackageLoader("grice_annotate", "pages"),
        autoescape=jinja2.select_autoescape(["html"]),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    found.filters |= {"cell": _cell, "plural": plural}
    return found


def data_card(study: Study) -> str:
    """Return a card of a study: what was asked, of whom, when, and how well they agree."""
    tasks, answers = study.tasks(), study.answers()
    names = {judge.id: judge.name for judge in study.judges()}
    times = [answer.saved for answer in answers]
    return (
        pages()
        .get_template("card.md.j2")
        .render(
            study=study,
            settings=study.settings,
            progress=progress_of(study, tasks, answers),
            times=[_when(min(times)), _when(max(times))] if times else [],
            agreement=agreement_of(study.template, tasks, answers, names),
        )
    )


def _cell(text: str) -> str:
    """Return text on one line whose characters mean nothing in Markdown or HTML."""
    return re.sub(r"([\\`*_\[\]<>&|~#!])", r"\\\1", " ".join(text.split()))


def _when(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")
