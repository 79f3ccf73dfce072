"""Exports of a study: records for grice, a data card; and its progress."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from statistics import median
from typing import TYPE_CHECKING

import msgspec

from grice.errors import plural
from grice_annotate.agreement import agreement_of, counting
from grice_annotate.templates import Judged
from grice_annotate.templates._template import is_right

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
    judges = []
    for judge in study.judges():
        mine = [answer for answer in answers if answer.judge == judge.id]
        checks = [answer for answer in mine if answer.task in controls]
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
                    checks=len(checks),
                    passed=sum(
                        is_right(study.template, controls[answer.task], answer.value)
                        for answer in checks
                    ),
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


def data_card(study: Study) -> str:
    """Return a card of a study: what was asked, of whom, when, and how well they agree."""
    settings, tasks, answers = study.settings, study.tasks(), study.answers()
    progress = progress_of(study, tasks, answers)
    names = {judge.id: judge.name for judge in study.judges()}
    times = [answer.saved for answer in answers]
    rows = [
        f"# Data card: {study.template.about}",
        "",
        f"- Template: `{study.template.name}`",
        *(f"- Source: {_cell(name)}, sha256 {digest}" for name, digest in study.source().items()),
        f"- {plural(progress.done, 'task')} of {progress.tasks} with all "
        f"{plural(settings.judges, 'judge')}; {plural(progress.answers, 'answer')} of "
        f"{progress.wanted}",
        f"- From {_when(min(times))} to {_when(max(times))}" if times else "- No answer yet",
        f"- Order of tasks: {settings.order}, seed {settings.seed}; "
        + (
            f"an attention check every {settings.check_every} tasks"
            if settings.check_every
            else "no attention checks"
        ),
        "",
        "## Judges (pseudonyms)",
        "",
        "| judge | answers | set aside | checks passed | median seconds |",
        "|---|---|---|---|---|",
        *(
            f"| {_cell(judge.name)} | {judge.answers} | {judge.set_aside} | "
            f"{judge.passed} of {judge.checks} | "
            f"{'' if judge.seconds is None else format(judge.seconds, '.1f')} |"
            for judge in progress.judges
        ),
        "",
        "## Agreement",
        "",
        "| of | measure | value | 95 % interval | n |",
        "|---|---|---|---|---|",
    ]
    for row in agreement_of(study.template, tasks, answers, names):
        estimate = row.estimate
        if estimate is None:
            measure, note = _cell(row.measure), _cell(row.note or "")
            rows.append(f"| {_cell(row.column)} | {measure} | | {note} | |")
            continue
        bounds = f"{estimate.low:.2f} to {estimate.high:.2f}" if estimate.interval else ""
        measure = _cell(row.measure)
        rows.append(
            f"| {_cell(row.column)} | {measure} | {estimate.value:.3f} | {bounds} | {estimate.n} |"
        )
    rows += ["", "## Guideline", "", settings.guideline.strip() or "None was given.", ""]
    return "\n".join(rows)


def _cell(text: str) -> str:
    """Return text on one line whose characters mean nothing in Markdown or HTML."""
    return re.sub(r"([\\`*_\[\]<>&|~#!])", r"\\\1", " ".join(text.split()))


def _when(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")
