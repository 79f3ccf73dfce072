"""Replies to judge, of conversations in any format that grice reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from grice.errors import RecordError
from grice.readers import read, records_of
from grice.records import Json
from grice.scoring.items import responses
from grice_annotate.records import Task

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from grice.records import Conversation, Response

PROPOSAL = "proposal"
"""Field of a record with an answer that somebody proposes, in the template's own form."""


class Line(msgspec.Struct, frozen=True):
    """A turn as a page shows it."""

    speaker: str
    text: str


class ReplyTask(msgspec.Struct, frozen=True, omit_defaults=True):
    """A reply and what was said before it.

    Attributes:
        conversation: Id of the conversation.
        turn: Number of the reply in it, from 0.
        history: What was said before.
        reply: The reply.
        meta: Further fields of the record, written again with the answers.
    """

    conversation: str
    turn: int
    history: list[Line]
    reply: Line
    meta: dict[str, Json] = {}


def conversations(files: Sequence[str]) -> Iterator[Conversation]:
    """Yield the conversations of files; of several files, each is named in ``meta``."""
    for record in records_of([read(file) for file in files]):
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
