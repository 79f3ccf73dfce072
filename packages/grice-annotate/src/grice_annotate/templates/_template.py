"""Declaration of a template, and replies to judge from conversations of any format."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from grice.data import Conversation, Json, Turn
from grice.errors import RecordError
from grice.readers import read, records_of
from grice.scoring.loaded import responses
from grice_annotate.records import Task
from grice_tasks.situatedgen.records import read_samples

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import TypeAlias

    from grice.data import Response, Score
    from grice.stats.agreement import Scale
    from grice_annotate.records import Answer, Form, Judge, Settings

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


def majority(votes: Sequence[str]) -> str | None:
    """Return what more than half of the votes say; None if nothing."""
    [(vote, count)] = Counter(votes).most_common(1) or [("", 0)]
    return vote if count * 2 > len(votes) else None


PROPOSAL = "proposal"
"""Field of a record with an answer that somebody proposes, in the template's own form."""


class Line(msgspec.Struct, frozen=True):
    """A turn as a page shows it."""

    speaker: str
    text: str


class ReplyTask(msgspec.Struct, frozen=True, omit_defaults=True):
    """A reply with its history; ``meta`` holds the other fields of the record."""

    conversation: str
    turn: int
    history: list[Line]
    reply: Line
    meta: dict[str, Json] = {}


def has_fields(path: Path, *names: bytes) -> bool:
    """Return whether the first record of a file of JSON lines has some fields."""
    if path.suffix != ".jsonl" or not path.is_file():
        return False
    with path.open("rb") as lines:
        first = next((line for line in lines if line.strip()), b"")
    return all(b'"%b"' % name in first for name in names)


def conversations(files: Sequence[str]) -> Iterator[Conversation]:
    """Yield the conversations of files; the sentences of a pair of SituatedGen are two turns."""
    pairs = [file for file in files if has_fields(Path(file), b"keywords", b"statements")]
    for sample in (sample for file in pairs for sample in read_samples(Path(file))):
        turns = tuple(map(Turn, ("first", "second"), sample.statements))
        yield Conversation(sample.id, turns, targets=(1,))
    for record in records_of([read(file) for file in files if file not in pairs]):
        if isinstance(record, RecordError):
            raise record
        yield record


def reply_tasks(files: Sequence[str], judges: int, stage: str) -> Iterator[Task]:
    """Yield a task for each reply that is judged: the targets, or the assistant's, or all."""
    for conversation in conversations(files):
        for response in responses(conversation):
            content = _content(conversation, response)
            yield Task(
                key=f"{conversation.id}:{response.turn}",
                group=conversation.id,
                content=msgspec.to_builtins(content),
                stage=stage,
                judges=judges,
                proposal=conversation.meta.get(PROPOSAL),
            )


def _content(conversation: Conversation, response: Response) -> ReplyTask:
    lines = [Line(turn.speaker, turn.text) for turn in conversation.turns[: response.turn + 1]]
    meta = {name: value for name, value in conversation.meta.items() if name != PROPOSAL}
    return ReplyTask(conversation.id, response.turn, lines[:-1], lines[-1], meta)


def instructed(task: Task, number: int, instruction: str, expected: Json) -> Task:
    """Return an attention check: a task whose reply says what is to be answered."""
    content = msgspec.convert(task.content, ReplyTask)
    reply = Line(content.reply.speaker, instruction)
    return Task(
        key=f"check:{number}",
        group="check",
        content=msgspec.to_builtins(msgspec.structs.replace(content, reply=reply)),
        stage=task.stage,
        judges=0,
        expected=expected,
    )


def reply_record(task: Task, fields: Mapping[str, Json]) -> dict[str, Json]:
    """Return a conversation up to a reply, with the fields of its answers.

    It is a conversation that grice reads, and a line of labels: the reply is its only target.
    """
    content = msgspec.convert(task.content, ReplyTask)
    turns: list[Json] = [msgspec.to_builtins(line) for line in (*content.history, content.reply)]
    return {
        **content.meta,
        "id": task.key,
        "conversation": content.conversation,
        "turn": content.turn,
        "turns": turns,
        "targets": [len(turns) - 1],
        **fields,
    }
