"""What a template declares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import TypeAlias

    from grice.records import Json, Score
    from grice.stats.agreement import Scale
    from grice_annotate.records import Answer, Form, Judge, Settings, Task

    Predict: TypeAlias = Callable[[str, str], str]


class Column(NamedTuple):
    """One number or category of the answers, of which agreement is measured.

    Attributes:
        name: What it is called in tables.
        scale: Of its values.
        values: By task and judge; a judge who abstained has none.
    """

    name: str
    scale: Scale
    values: Mapping[tuple[int, int], float | str]


class Page(NamedTuple):
    """A task before a judge.

    Attributes:
        draft: What a writer tried before.
        predict: The model that writers try to fool: the stance of an argument to a belief.
    """

    task: Task
    judge: Judge
    settings: Settings
    draft: Json = None
    predict: Predict | None = None


class Submitted(NamedTuple):
    """A page that a judge sent.

    Attributes:
        form: Its fields.
        page: What was on it.
    """

    form: Form
    page: Page


class Judged(NamedTuple):
    """A task and what counts of its answers, by the pseudonyms of judges."""

    task: Task
    values: dict[str, Json]


class Followed(NamedTuple):
    """What follows a task that has its answers.

    Attributes:
        judges: How many more judges it needs; where any, nothing else follows yet.
        tasks: Tasks that follow it.
    """

    judges: int = 0
    tasks: tuple[Task, ...] = ()


class Template(NamedTuple):
    """What can be asked of people.

    Attributes:
        name: Its name, and that of its page.
        about: One line for the command line.
        read: Gives the tasks of files in order; raises InputError for a file that does not fit,
            RecordError for such a record.
        answer: Gives the answer of a submitted page; raises AnswerError for one that cannot be
            taken, TryAgainError for one that the judge may improve.
        record: Gives what is written of an item: its first task, and those that followed.
        columns: Gives what agreement is measured of.
        options: Fields of the settings that not all templates read.
        page: Gives what the page shows beside task and settings.
        preview: Gives HTML about an answer while it is written.
        checks: Gives a number of attention checks.
        follow: Gives what follows a task that has its answers.
        number: Gives an answer as one number, for calibration; None if it has none.
        propose: Gives the answer that scores of a reply propose, by metric; None where they
            propose none. None for a template that takes no such proposals.
    """

    name: str
    about: str
    read: Callable[[Sequence[str], Settings], Iterable[Task]]
    answer: Callable[[Submitted], Json]
    record: Callable[[Sequence[Judged]], dict[str, Json]]
    columns: Callable[[Sequence[Task], Sequence[Answer]], Sequence[Column]] = lambda *_: ()
    options: frozenset[str] = frozenset()
    page: Callable[[Page], dict[str, Any]] = lambda _: {}
    preview: Callable[[Submitted], str] = lambda _: ""
    checks: Callable[[int, Sequence[Task], Settings], Sequence[Task]] = lambda *_: ()
    follow: Callable[[Task, Sequence[Answer], Settings], Followed] = lambda *_: Followed()
    number: Callable[[Json], float | None] = lambda _: None
    propose: Callable[[Mapping[str, Score], Settings], Json] | None = None


def verdicts(
    name: str, stage: str, tasks: Sequence[Task], answers: Sequence[Answer]
) -> list[Column]:
    """Return the column of what judges said of the tasks of a stage."""
    judged = {task.id for task in tasks if task.stage == stage}
    values: dict[tuple[int, int], float | str] = {
        (answer.task, answer.judge): str(answer.value)
        for answer in answers
        if answer.task in judged
    }
    return [Column(name, "nominal", values)]
