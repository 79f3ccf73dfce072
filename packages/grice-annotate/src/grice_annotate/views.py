"""Contents of the pages of a study."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import msgspec

from grice_annotate.agreement import agreement_of, disputed_tasks
from grice_annotate.export import pages, progress_of
from grice_annotate.templates import Page
from grice_annotate.templates._template import fields, is_right

if TYPE_CHECKING:
    from grice.data import Json
    from grice_annotate.agreement import Agreement
    from grice_annotate.records import Form, Judge, Task
    from grice_annotate.study import Given, Study

FRESH = 5.0
"""Seconds for which agreement is shown again before it is computed again."""
DISPUTED = 10
"""Tasks that are shown, those that judges disagree on most."""
PLAIN = dict.fromkeys(("back", "done", "answers", "right"))
"""Values that only some pages of a task have."""


class Views:
    """The pages of a study; every text in them is escaped."""

    def __init__(self, study: Study) -> None:
        self._study = study
        self._pages = pages()
        self._agreement: tuple[float, list[Agreement]] = (0.0, [])

    def message(self, title: str, text: str, **others: object) -> str:
        """Return a page of one sentence."""
        return self._pages.get_template("message.html").render(title=title, text=text, **others)

    def nothing_left(self, judge: Judge) -> str:
        """Return the page of a judge for whom there is no task."""
        study = self._study
        if missed := study.quiz(judge).failed:
            right, items = missed
            text = f"{right} of {items} answers were right, which is too few. Thank you for trying!"
            return self.message("The quiz is over", text)
        text = (
            "The study is paused. Your answers are kept; come back to this link later."
            if study.paused
            else "There is no task left for you. Thank you! You can close this page."
        )
        title = "Paused" if study.paused else "Done"
        return self.message(title, text, back=study.previous(judge), token=judge.token)

    def task(self, given: Given, *, form: Form | None = None, problem: str = "") -> str:
        """Return the page of a task, with an earlier answer, a proposal or a refused form."""
        study, task = self._study, given.task
        proposed = given.proposed and not given.answered
        answer = task.proposal if proposed else given.answer
        told = task.quiz and given.answered
        return self._render(
            given.task,
            given.judge,
            draft=given.draft,
            answer=task.expected if told else answer,
            right=is_right(study.template, task, given.answer) if told else None,
            form=form or {},
            problem=problem,
            proposed=proposed,
            change=given.answered,
            back=study.previous(given.judge),
            done=study.done(given.judge),
            action=f"/j/{given.judge.token}",
        )

    def disputed(self, task: Task, judge: Judge, *, problem: str = "") -> str:
        """Return the page on which the owner settles a task, with what judges answered."""
        names = {judge.id: judge.name for judge in self._study.judges()}
        answers = [
            (names[answer.judge], msgspec.json.encode(answer.value).decode())
            for answer in self._study.answers()
            if answer.task == task.id and not answer.set_aside
        ]
        return self._render(
            task,
            judge,
            draft=None,
            answer=task.adjudicated,
            problem=problem,
            action=f"/o/{judge.token}/task/{task.id}",
            answers=answers,
        )

    def _render(self, task: Task, judge: Judge, *, draft: Json, **rest: object) -> str:
        study = self._study
        page = Page(task, judge, study.settings, draft)
        template = study.template
        return self._pages.get_template(f"{template.name}.html").render(
            task=task,
            content=task.content,
            settings=study.settings,
            judge=judge,
            draft=draft,
            **{**PLAIN, "form": {}, "proposed": False, "change": False, **rest},
            **template.page(page),
        )

    def task_data(self, given: Given | None) -> dict[str, Any]:
        """Return a task for programs that judge."""
        if given is None:
            return {"task": None, "paused": self._study.paused}
        task = given.task
        return {
            "task": task.id,
            "key": task.key,
            "stage": task.stage,
            "content": {name: each for name, each in fields(task.content).items() if name != "why"},
            "draft": given.draft,
        }

    def progress(self, owner: Judge, *, base: str) -> str:
        """Return the owner's page."""
        study = self._study
        tasks, answers = study.tasks(), study.answers()
        then, agreement = self._agreement
        if time.monotonic() - then > FRESH:
            agreement = agreement_of(study.template, tasks, answers)
            self._agreement = time.monotonic(), agreement
        names = {judge.id: judge.name for judge in study.judges()}
        return self._pages.get_template("progress.html").render(
            study=study,
            settings=study.settings,
            owner=owner,
            base=base,
            progress=progress_of(study, tasks, answers),
            agreement=agreement,
            disputed=disputed_tasks(study.template, tasks, answers)[:DISPUTED],
            names=names,
            paused=study.paused,
        )
