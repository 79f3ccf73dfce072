"""The server process, and requests to an application without a network."""

from __future__ import annotations

import asyncio
import socket
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import httpx2
import uvicorn

from grice.data import json_line
from grice.errors import InputError, os_reason
from grice.serve.bodies import EXAMPLES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from starlette.applications import Starlette

    from grice.serve import Limits

BACKLOG = 2048
IDLE_SECONDS = 15
ENDING_SECONDS = 120
"""How long accepted requests may take once the service is told to end."""


def serve(
    app: Starlette, *, host: str, port: int, limits: Limits, begun: Callable[[str], None]
) -> None:
    """Serve until a signal ends it, after the accepted requests; ``begun`` gets the address."""

    class Server(uvicorn.Server):
        """A server that announces its address, and ends normally by a signal."""

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)  # signals are caught by then
            begun(f"http://{f'[{shown}]' if ':' in shown else shown}:{bound}")

        @contextmanager
        def capture_signals(self) -> Iterator[None]:
            with super().capture_signals():
                yield
                self._captured_signals.clear()  # not raised again once all is finished

    config = uvicorn.Config(
        app,
        http="h11",
        ws="none",
        lifespan="on",
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=ENDING_SECONDS,
        h11_max_incomplete_event_size=limits.head,
    )
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family, backlog=BACKLOG)
    except (OSError, OverflowError) as error:
        reason, do = os_reason(error), "name another with --port, or --host"
        raise InputError(f"{host}:{port}: cannot be listened on: {reason}; {do}") from None
    # asyncio does not set it on connections of a socket made elsewhere: the head and the body of an
    # answer would be 40 ms apart.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    shown, bound = listening.getsockname()[:2]
    with listening:
        Server(config).run([listening])


class Request(NamedTuple):
    """A request to an application."""

    method: str
    path: str
    body: bytes = b""
    headers: Mapping[str, str] = {"content-type": "application/json"}


class Reply(NamedTuple):
    """The answer to a request."""

    request: Request
    status: int
    headers: Mapping[str, str]
    body: bytes


def check(app: Starlette) -> list[Reply]:
    """Return the answers of an application to an example of each path."""
    posts = [Request("POST", path, json_line(example)) for path, example in EXAMPLES.items()]
    others = ("/health/live", "/health/ready", "/metrics", "/openapi.json", "/docs", "/")
    return asyncio.run(exchange(app, [*posts, *(Request("GET", path) for path in others)]))


async def exchange(app: Starlette, requests: Sequence[Request]) -> list[Reply]:
    """Return the answers to concurrent requests; the application starts and ends here."""
    transport = httpx2.ASGITransport(app)
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client,
    ):

        async def ask(request: Request) -> Reply:
            answer = await client.request(
                request.method, request.path, content=request.body, headers=request.headers
            )
            return Reply(request, answer.status_code, answer.headers, answer.content)

        return list(await asyncio.gather(*map(ask, requests)))
