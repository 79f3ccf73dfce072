"""Requests put to an application without a network: what ``grice serve --check`` tries."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NamedTuple

from starlette.types import Message

from grice.records import json_line
from grice.serve.bodies import EXAMPLES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from starlette.applications import Starlette


class Request(NamedTuple):
    """A request; one that is not whole never sends the rest of its body."""

    method: str
    path: str
    body: bytes = b""
    headers: Mapping[str, str] = {"content-type": "application/json"}
    whole: bool = True


class Reply(NamedTuple):
    """What is answered."""

    request: Request
    status: int
    headers: dict[str, str]
    body: bytes


def check(app: Starlette) -> list[Reply]:
    """Return what an application answers to the example of each path, and to the other paths."""
    posts = [Request("POST", path, json_line(example)) for path, example in EXAMPLES.items()]
    others = ("/health/live", "/health/ready", "/metrics", "/openapi.json", "/docs", "/")
    return asyncio.run(exchange(app, [*posts, *(Request("GET", path) for path in others)]))


async def exchange(app: Starlette, requests: Sequence[Request]) -> list[Reply]:
    """Return the answers to requests that come at once; the application begins and ends here."""
    async with app.router.lifespan_context(app):
        return list(await asyncio.gather(*(_asked(app, request) for request in requests)))


async def _asked(app: Starlette, request: Request) -> Reply:
    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": request.method,
        "path": request.path,
        "raw_path": request.path.encode(),
        "query_string": b"",
        "headers": [(name.lower().encode(), v.encode()) for name, v in request.headers.items()],
        "scheme": "http",
        "server": ("localhost", 80),
        "client": ("localhost", 1),
    }
    part = {"type": "http.request", "body": request.body, "more_body": not request.whole}
    parts, sent = [part], list[Message]()

    async def receive() -> Message:
        if not parts:  # the client stays until it is answered
            await asyncio.Event().wait()
        return parts.pop()

    async def send(message: Message) -> None:
        sent.append(message)

    await app(scope, receive, send)
    headers = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    body = b"".join(message.get("body", b"") for message in sent[1:])
    return Reply(request, sent[0]["status"], headers, body)
