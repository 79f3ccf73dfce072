"""Requests put to an application without a network: what ``grice serve --check`` tries."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NamedTuple

from grice.records import json_line
from grice.serve.openapi import PATHS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from starlette.types import ASGIApp, Message


class Request(NamedTuple):
    """A request: the parts of its body, and its headers."""

    method: str
    path: str
    body: bytes | Sequence[bytes] = b""
    headers: Mapping[str, str] = {"content-type": "application/json"}


class Reply(NamedTuple):
    """What is answered."""

    request: Request
    status: int
    headers: dict[str, str]
    body: bytes


def check(app: ASGIApp) -> list[Reply]:
    """Return what an application answers to the example of each path, and to the other paths."""
    posts = [Request("POST", path, json_line(example)) for path, (_, example, _) in PATHS.items()]
    others = ("/health/live", "/health/ready", "/metrics", "/openapi.json", "/docs", "/")
    return asyncio.run(exchange(app, [*posts, *(Request("GET", path) for path in others)]))


async def exchange(app: ASGIApp, requests: Sequence[Request]) -> list[Reply]:
    """Return the answers to requests that come at once; the application begins and ends here."""
    events: asyncio.Queue[Message] = asyncio.Queue()
    begun, ended = asyncio.Event(), asyncio.Event()

    async def send(message: Message) -> None:
        (begun if message["type"].startswith("lifespan.startup") else ended).set()

    life = asyncio.ensure_future(app({"type": "lifespan", "state": {}}, events.get, send))
    events.put_nowait({"type": "lifespan.startup"})
    await begun.wait()
    try:
        return list(await asyncio.gather(*(_asked(app, request) for request in requests)))
    finally:
        events.put_nowait({"type": "lifespan.shutdown"})
        await ended.wait()
        await life


async def _asked(app: ASGIApp, request: Request) -> Reply:
    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": request.method,
        "path": request.path,
        "raw_path": request.path.encode(),
        "query_string": b"",
        "headers": [
            (name.lower().encode(), value.encode()) for name, value in request.headers.items()
        ],
        "scheme": "http",
        "server": ("localhost", 80),
        "client": ("localhost", 1),
    }
    parts = _parts([request.body] if isinstance(request.body, bytes) else request.body)
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    await app(scope, parts.__anext__, send)
    headers = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    body = b"".join(message.get("body", b"") for message in sent[1:])
    return Reply(request, sent[0]["status"], headers, body)


async def _parts(parts: Sequence[bytes]) -> AsyncIterator[Message]:
    for place, part in enumerate(parts):
        more = place < len(parts) - 1
        yield {"type": "http.request", "body": part, "more_body": more}
    await asyncio.Event().wait()  # whoever asks stays until it is answered
