"""Declaration of a template."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

from grice_annotate.records import Answer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import TypeAlias

    from grice.data import Json, Score
    from grice.stats.agreement import Scale
    from grice_annotate.records import Form, Judge, Settings, Task

    Predict: TypeAlias = Callable[[str, str], str]
    Attempt: TypeAlias = Callable[[dict[str, Json]], list[dict[str, Json]]]


class Column(NamedTuple):
    """A number or category of the answers by task and judge, for agreement."""

    name: str
    scale: Scale
    values: Mapping[tuple[int, int], float | str]


class Page(NamedTuple):
    """A task before a judge.

    Attributes:
        draft: What a writer tried before.
        attempt: Gives the tries of a writer, after one more, with what the model said of each.
    """

    task: Task
    judge: Judge
    settings: Settings
    draft: Json = None
    attempt: Attempt | None = None


class Submitted(NamedTuple):
    """A submitted page with the fields of its form."""

    form: Form
    page: Page


class Judged(NamedTuple):
    """A task and what counts of its answers, by the pseudonyms of judges."""

    task: Task
    values: dict[str, Json]


class Followed(NamedTuple):
    """The judges a task still needs, or else the tasks that follow it."""

    judges: int = 0
    tasks: tuple[Task, ...] = ()


class Template(NamedTuple):
    """A kind of task for people.

    Attributes:
        read: Gives the tasks of files in order; raises InputError for a file that does not fit,
            RecordError for such a record.
        answer: Gives the answer of a submitted page; raises AnswerError for one that is not taken.
        record: Gives what is written of an item: its first task, and those that followed; an empty
            record for what is left out.
        columns: Gives what agreement is measured of.
        options: Fields of the settings that not all templates read.
        page: Gives what the page shows beside task and settings.
        preview: Gives HTML about an answer while it is written.
        checks: Gives a number of attention checks.
        follow: Gives what follows a task that has its answers.
        verified: Gives who wrote what the answers to a task verify, and whether it is right; None
            for a task that verifies nothing.
        chance: Gives the share of right answers by chance to a task with a right one.
        propose: Gives the answer that scores of a reply propose, by metric; None where they
            propose none. None for a template that takes no such proposals.
    """

    name: str
    about: str
    read: Callable[[Sequence[str], Settings], Iterable[Task]]
    answer: Callable[[Submitted], Json]
    record: Callable[[Sequence[Judged]], Iterable[dict[str, Json]]]
    columns: Callable[[Sequence[Task], Sequence[Answer]], Sequence[Column]] = lambda *_: ()
    options: frozenset[str] = frozenset()
    page: Callable[[Page], dict[str, Any]] = lambda _: {}
    preview: Callable[[Submitted], str] = lambda _: ""
    checks: Callable[[int, Sequence[Task], Settings], Sequence[Task]] = lambda *_: ()
    follow: Callable[[Task, Sequence[Answer], Settings], Followed] = lambda *_: Followed()
    verified: Callable[[Task, Sequence[Json]], tuple[int, bool] | None] = lambda *_: None
    chance: Callable[[Task], float] = lambda _: 0.0
    propose: Callable[[Mapping[str, Score], Settings], Json] | None = None


def fields(value: Json) -> dict[str, Json]:
    """Return the fields of an answer; none of one without fields."""
    return value if isinstance(value, dict) else {}


def is_right(template: Template, task: Task, value: Json) -> bool:
    """Return whether an answer equals the expected one in each column that this one has."""
    columns = [
        template.columns([task], [Answer(task=task.id, value=each)])
        for each in (value, task.expected)
    ]
    given, expected = ({each.name: each.values for each in of if each.values} for of in columns)
    return bool(expected) and all(given.get(name) == expected[name] for name in expected)


def verdicts_on(
    template: Template, tasks: Iterable[Task], answers: Iterable[Answer]
) -> dict[int, list[bool]]:
    """Return for each judge whether each text they wrote was verified as right."""
    given: dict[int, list[Json]] = defaultdict(list)
    for answer in answers:
        given[answer.task].append(answer.value)
    verdicts: dict[int, list[bool]] = defaultdict(list)
    for task in tasks:
        whole = len(given[task.id]) >= task.judges
        if whole and (verified := template.verified(task, given[task.id])):
            verdicts[verified[0]].append(verified[1])
    return verdicts
