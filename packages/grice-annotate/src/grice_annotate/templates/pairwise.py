"""Two replies to one history: which is better, or neither; sides are shuffled for each judge."""

from __future__ import annotations

import random
from itertools import combinations
from typing import TYPE_CHECKING, Any

import msgspec

from grice.data import Json
from grice.errors import RecordError
from grice_annotate.records import AnswerError, Task
from grice_annotate.templates._replies import Line, conversations
from grice_annotate.templates._template import Column, Judged, Page, Submitted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from grice.data import Conversation
    from grice_annotate.records import Answer, Settings

ABOUT = "say which of two replies is better"
FIELD = "candidates"
"""Field of a conversation with the replies that are compared, as ``grice rerank`` reads it."""
TIE = "tie"
MOST = 8
"""Candidates of a conversation, each compared with each."""


class _Pair(msgspec.Struct, frozen=True):
    """Two replies to a history."""

    conversation: str
    history: list[Line]
    first: str
    second: str
    meta: dict[str, Json] = {}


def read(files: Sequence[str], settings: Settings) -> Iterator[Task]:
    """Yield a task for each pair of candidates."""
    for talk in conversations(files):
        history = [Line(turn.speaker, turn.text) for turn in talk.turns]
        meta = {name: value for name, value in talk.meta.items() if name != FIELD}
        for (i, first), (j, second) in combinations(enumerate(_candidates(talk)), 2):
            pair = _Pair(talk.id, history, first, second, meta)
            yield Task(
                key=f"{talk.id}:{i}-{j}",
                group=talk.id,
                content=msgspec.to_builtins(pair),
                stage="pairwise",
                judges=settings.judges,
            )


def _candidates(talk: Conversation) -> list[str]:
    given = talk.meta.get(FIELD)
    listed = given if isinstance(given, list) else []
    texts = [text for text in listed if isinstance(text, str) and text.strip()]
    if len(texts) < len(listed) or not 2 <= len(texts) <= MOST:
        problem = f"expected a list of 2 to {MOST} replies to compare"
        raise RecordError(problem, file=talk.id, field=FIELD)
    return texts


def _swapped(page: Page) -> bool:
    """Return whether the second reply stands first for a judge."""
    draw = random.Random(f"{page.settings.seed} {page.task.id} {page.judge.name}")
    return draw.random() < 0.5


def page(page: Page) -> dict[str, Any]:
    """Return both replies, in the order of a judge."""
    pair = msgspec.convert(page.task.content, _Pair)
    sides = [("first", pair.first), ("second", pair.second)]
    return {"sides": sides[::-1] if _swapped(page) else sides}


def answer(submitted: Submitted) -> Json:
    """Return which is better, and whether the sides were swapped for the judge."""
    choice = submitted.form.get("choice", [""])[0]
    if choice not in ("first", "second", TIE):
        raise AnswerError("choose one of the replies, or that they are equally good")
    return {"choice": choice, "swapped": _swapped(submitted.page)}


def _choice(value: Json) -> str:
    return str(value["choice"]) if isinstance(value, dict) else TIE


def columns(_: Sequence[Task], answers: Sequence[Answer]) -> list[Column]:
    """Return the better reply."""
    values: dict[tuple[int, int], float | str] = {
        (answer.task, answer.judge): _choice(answer.value) for answer in answers
    }
    return [Column("better reply", "nominal", values)]


def record(item: Sequence[Judged]) -> Iterator[dict[str, Json]]:
    """Yield the pair as a preference, with the votes."""
    task, values = item[0]
    pair = msgspec.convert(task.content, _Pair)
    choices = {name: _choice(value) for name, value in values.items()}
    votes = {side: list(choices.values()).count(side) for side in ("first", "second", TIE)}
    better = _choice(task.adjudicated) if task.adjudicated is not None else _winner(votes)
    chosen, rejected = (
        (pair.second, pair.first) if better == "second" else (pair.first, pair.second)
    )
    yield {
        **pair.meta,
        "id": task.key,
        "conversation": pair.conversation,
        "prompt": [msgspec.to_builtins(line) for line in pair.history],
        "chosen": chosen,
        "rejected": rejected,
        "tie": better == TIE,
        "votes": dict(votes),
        "choices": dict(choices),
    }


def _winner(votes: Mapping[str, int]) -> str:
    if votes["first"] == votes["second"]:
        return TIE
    return "first" if votes["first"] > votes["second"] else "second"
