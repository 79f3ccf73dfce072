"""Bodies of requests and answers, and refusals."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from fastapi import HTTPException, Request, Response
from msgspec.structs import replace
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from grice.data import Conversation, Finding, Score, json_line
from grice.errors import RecordError, did_you_mean, plural
from grice.evaluation.ranking import Ranking
from grice.evaluation.rerank import Blend, Ranked
from grice.readers import from_record
from grice.readers._formats import kind
from grice.scoring.blended import Rule

if TYPE_CHECKING:
    from grice.serve import Limits

JSON, LONGEST_ID = "application/json", 200
TALK: dict[str, object] = {
    "turns": [
        {"speaker": "Ann", "text": "Is it far to the station?"},
        {"speaker": "Bob", "text": "Ten minutes on foot."},
    ]
}
EXAMPLES: dict[str, dict[str, object]] = {
    "/score": TALK,
    "/explain": {**TALK, "turn": 1, "what_if": True},
    "/rank": {"conversations": [TALK], "top": 5},
    "/rerank": {
        "turns": [{"speaker": "Ann", "text": "Is it far to the station?"}],
        "candidates": ["Ten minutes on foot.", "I like trains.", "Yes."],
    },
}
FIELDS = {
    "turns": "turns in order: texts, or objects with speaker and text",
    "messages": "alternative to turns: objects with role and content",
    "id": "its id in the scores",
    "targets": "indices of the turns to judge; by default every reply",
}
"""Fields of a conversation, which :func:`grice.readers.from_record` reads with all others."""


def _config(path: str) -> ConfigDict:
    """Return the settings of a body, whose schema also names the fields that readers read."""
    properties = {name: {"description": about} for name, about in FIELDS.items()}

    def describe(schema: dict[str, Any]) -> None:
        schema |= {"properties": properties | schema["properties"], "example": EXAMPLES[path]}

    return ConfigDict(extra="allow", strict=True, json_schema_extra=describe)


class Talk(BaseModel):
    """A conversation or several, and the metrics that score them."""

    model_config = _config("/score")
    metrics: list[str] = Field([], description="names of loaded metrics; without any, all")
    conversations: list[dict[str, Any]] | None = Field(
        None, description="a list of objects with turns or messages (not /explain, /rerank)"
    )

    def chosen(self, loaded: Sequence[str]) -> tuple[str, ...]:
        """Return the requested metrics, in the order in which they are loaded."""
        for place, name in enumerate(self.metrics):
            if name not in loaded:
                what = f"metric {name[:100]!r} is not loaded here{did_you_mean(name, loaded)}"
                do = "name others, or start grice serve with -m"
                raise Refused(400, what, where=f"metrics[{place}]", do=do)
        return tuple(name for name in loaded if not self.metrics or name in self.metrics)

    def one(self, limits: Limits, **further: list[Any]) -> Conversation:
        """Return the only conversation; items of further fields count as turns."""
        if self.conversations is not None:
            what = "one conversation is expected here"
            raise Refused(400, what, where="conversations", do="send its turns or messages")
        built = _built({**(self.model_extra or {}), **further}, "talk", "")
        _check_size(len(built.turns) + sum(map(len, further.values())), limits)
        return built

    def all(self, limits: Limits) -> list[Conversation]:
        """Return the conversations of the list, or that of the request itself."""
        if self.conversations is None:
            return [self.one(limits)]
        built = [
            _built(item, f"talk {place + 1}", f"conversations[{place}]")
            for place, item in enumerate(self.conversations)
        ]
        _check_size(sum(len(conversation.turns) for conversation in built), limits)
        return built


class Reply(Talk):
    """A conversation, and the turn to explain."""

    model_config = _config("/explain")
    turn: int = Field(-1, description="index of the reply, from 0; by default the last turn")
    what_if: bool = Field(False, description="also try single changes of knowledge and text")

    def judged(self, limits: Limits) -> Conversation:
        """Return the conversation, of which the turn alone is judged."""
        conversation = self.one(limits)
        last = len(conversation.turns) - 1
        if not -1 <= self.turn <= last:
            do = "count from 0, or leave it out for the last"
            raise Refused(400, f"no turn {self.turn}: turns are 0 to {last}", where="turn", do=do)
        return replace(conversation, targets=(last if self.turn == -1 else self.turn,))


class Unranked(Talk):
    """Conversations, and the number of replies to list."""

    model_config = _config("/rank")
    top: int = Field(20, description="maximum number of replies; by default 20")


class Candidates(Talk):
    """A conversation, candidate replies, and how they are ranked."""

    model_config = _config("/rerank")
    candidates: list[Any] = Field(description="candidates for the turn after the last one")
    blend: Rule = Field("mean", description="mean, geometric, min or max")
    weights: dict[str, float] = Field({}, description="weights of metrics in the blend")
    vetoes: dict[str, float] = Field(
        {}, description="a candidate below this value of a metric is ranked last"
    )
    held_out: list[str] = Field([], description="metrics that do not affect the order")

    def blended(self) -> Blend:
        """Return how the scores of a candidate become one value."""
        return Blend(self.blend, self.weights, self.vetoes, tuple(self.held_out))


def _built(record: dict[str, Any], name: str, inside: str) -> Conversation:
    try:
        built = from_record(record, name)
        if len(built.id) > LONGEST_ID:  # each score repeats it
            raise RecordError(f"more than {LONGEST_ID} characters", file=name, field="id")
    except RecordError as error:
        raise refusal_of(error, inside) from None
    return built


def _check_size(count: int, limits: Limits) -> None:
    if count > limits.turns:
        what = f"{plural(count, 'turn')}; the limit is {limits.turns:,}"
        do = "send them in several requests, or use the command line for files"
        raise Refused(413, what, where="conversations", do=do)


class Scored(msgspec.Struct, frozen=True, omit_defaults=True):
    """Scores in the order of the turns and of the loaded metrics, and the flaws that rules find.

    ``changes`` by metric are those that ``what_if`` asks for.
    """

    scores: list[Score]
    findings: list[Finding]
    changes: dict[str, Any] | None = None


class Failed(msgspec.Struct, frozen=True):
    """The body of an error: problem, place, and what to do."""

    error: dict[Literal["what", "where", "do"], str]


ANSWERS = {"/score": Scored, "/explain": Scored, "/rank": Ranking, "/rerank": Ranked}
"""The body of an answer, by path."""


RETRY, CLOSE = {"Retry-After": "1"}, {"Connection": "close"}
"""Headers of a refusal: whether to send the request again, or not to read the rest of it."""


class Refused(HTTPException):
    """A refused request, and headers of the answer."""

    def __init__(
        self, status: int, what: str, *, where: str = "request", do: str, **headers: str
    ) -> None:
        super().__init__(status, what, headers)
        self.body = Failed({"what": what, "where": where, "do": do})

    def answer(self) -> Response:
        """Return the response to it."""
        return Response(json_line(self.body), self.status_code, self.headers, media_type=JSON)


async def received(request: Request, limits: Limits) -> bytes:
    """Return the body of a request, within the limits of size and time."""
    data, size = bytearray(), 0
    try:
        async with asyncio.timeout(limits.body_seconds):
            async for part in request.stream():
                size += len(part)
                if size <= limits.body:
                    data += part
                elif size > 8 * limits.body:  # bytes of the body read after it, so that the
                    break  # client reads the answer; then the connection is closed
    except TimeoutError:
        what = f"the body was not received within {limits.body_seconds:g} seconds"
        raise Refused(408, what, where="body", do="send it without delay", **CLOSE) from None
    if size > limits.body:
        what = f"more than {limits.body:,} bytes"
        raise Refused(413, what, where="body", do="send it in several requests", **CLOSE)
    return bytes(data)


def refusal_of(error: Exception, inside: str = "") -> Refused:
    """Return the refusal of a request, or of a part of it, for an error."""
    if isinstance(error, Refused):
        return error
    if isinstance(error, RecordError):
        where = ".".join(part for part in (inside, error.field) if part) or "conversation"
        do = (
            'send {"turns": [{"speaker": "A", "text": "…"}, …]} or '
            '{"messages": [{"role": "user", "content": "…"}, …]}; see /docs'
        )
        return Refused(400, error.problem, where=where, do=do)
    if not isinstance(error, ValidationError):
        return Refused(400, str(error), do="correct the request; see /docs")
    first = error.errors()[0]
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"])
    found = first["input"]
    shown = f"{found!r:.60}" if isinstance(found, str) else kind(found)
    what = first["msg"] if first["type"] == "missing" else f"{first['msg']}, found {shown}"
    do = f"correct {first['loc'][0]}; see /docs"
    return Refused(400, what, where="".join(parts).removeprefix("."), do=do)
