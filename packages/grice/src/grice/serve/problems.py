"""What a request is told that is not answered: what was found, where, and what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from grice.errors import RecordError


class Problem(msgspec.Struct, frozen=True, omit_defaults=True):
    """The body of an answer that is an error.

    Attributes:
        what: What was found.
        where: The part of the request it is about, such as ``turns[3].text``.
        do: What to do about it.
    """

    what: str
    where: str = "request"
    do: str = ""


class Refused(Exception):  # noqa: N818 - an answer, not a fault
    """A request that is not answered with what it asks for.

    Attributes:
        status: Status of the answer.
        problem: Its body.
        retry_after: Seconds after which asking again makes sense; None if it does not.
    """

    def __init__(
        self, status: int, what: str, *, where: str = "request", do: str, retry: int | None = None
    ) -> None:
        super().__init__(what)
        self.status = status
        self.problem = Problem(what, where, do)
        self.retry_after = retry


def of_record(error: RecordError, inside: str = "") -> Refused:
    """Return the refusal of a conversation that cannot be used, with its place in the request."""
    where = ".".join(part for part in (inside, error.field) if part)
    return Refused(
        400,
        error.problem,
        where=where or "conversation",
        do='send {"turns": [{"speaker": "A", "text": "…"}, …]} or '
        '{"messages": [{"role": "user", "content": "…"}, …]}; see /docs',
    )
