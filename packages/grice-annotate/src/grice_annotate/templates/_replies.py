"""Replies to judge, from conversations of any format."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from grice.data import Conversation, Json, Turn
from grice.errors import RecordError
from grice.readers import read, records_of
from grice.scoring.loaded import responses
from grice_annotate.records import Task
from grice_tasks.situatedgen.records import read_samples

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from grice.data import Response
    from grice_annotate.records import Settings

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


def reply_tasks(files: Sequence[str], settings: Settings, *, stage: str) -> Iterator[Task]:
    """Yield a task for each reply that is judged: the targets, or the assistant's, or all."""
    for conversation in conversations(files):
        for response in responses(conversation):
            content = _content(conversation, response)
            yield Task(
                key=f"{conversation.id}:{response.turn}",
                group=conversation.id,
                content=msgspec.to_builtins(content),
                stage=stage,
                judges=settings.judges,
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
