"""Questions with options, one of them right (task 3 of CIDER): how well people choose."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from grice_annotate.records import AnswerError, Task
from grice_annotate.templates._template import Judged, Submitted
from grice_annotate.templates._verdicts import verdicts
from grice_tasks.cider.files import cider_schema
from grice_tasks.lines import read_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grice.data import Json
    from grice_annotate.records import Settings

ABOUT = "choose one of several options, for the accuracy of people"
STAGE = "choices"
MOST = 9
"""Options of a question, each with a digit as its key."""


class _Line(msgspec.Struct, frozen=True):
    """A question, or CIDER's for a head and a relation; ``answer`` is the number of an option."""

    options: tuple[str, ...]
    context: str = ""
    question: str = ""
    head: str = ""
    relation: str = ""
    answer: int | None = None
    id: str = ""
    dialogue: str = ""

    def __post_init__(self) -> None:
        if not (2 <= len(self.options) <= MOST and all(map(str.strip, self.options))):
            raise ValueError(f"options are 2 to {MOST} texts")
        if self.answer not in (None, *range(len(self.options))):
            raise ValueError("answer is the number of an option, from 0")
        if not self.asked.strip():
            raise ValueError("expected a question, or a head and a relation that CIDER asks for")

    @property
    def asked(self) -> str:
        """The question, or that of the relation."""
        relation = cider_schema().relations.get(self.relation)
        template = relation.question if relation and self.head else ""
        return self.question or template.replace("X", self.head, 1)


def read(files: Sequence[str], settings: Settings) -> Iterator[Task]:
    """Yield a task for each question."""
    for file in files:
        for number, line in read_rows(Path(file), _Line):
            key = line.id or f"{Path(file).name}:{number}"
            shown = {"context": line.context, "question": line.asked, "options": line.options}
            yield Task(
                key=key,
                group=line.dialogue or key,
                content=msgspec.to_builtins(shown),
                stage=STAGE,
                judges=settings.judges,
                expected=line.answer,
            )


def _options(task: Task) -> tuple[str, ...]:
    return msgspec.convert(task.content, _Line).options


def answer(submitted: Submitted) -> Json:
    """Return the number of the option that is chosen, from 0."""
    choice = submitted.form.get("choice", [""])[0]
    numbers = list(map(str, range(len(_options(submitted.page.task)))))
    if choice not in numbers:
        raise AnswerError("choose one of the options")
    return numbers.index(choice)


def record(item: Sequence[Judged]) -> Iterator[dict[str, Json]]:
    """Yield the question with the option of each judge; ``label`` is the share of right ones."""
    task, values = item[0]
    right = [value == task.expected for value in values.values()]
    label = None if task.expected is None else sum(right) / len(right)
    said: dict[str, Json] = {"answer": task.expected, "answers": dict(values), "label": label}
    asked: dict[str, Json] = msgspec.to_builtins(task.content)
    yield {"id": task.key, **asked, **said}


columns = partial(verdicts, "choice", STAGE, [*map(str, range(MOST))])


def chance(task: Task) -> float:
    """Return the share of one option."""
    return 1 / len(_options(task))
