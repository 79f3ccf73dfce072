"""The server process, and requests to an application without a network."""

from __future__ import annotations

import asyncio
import socket
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import httpx2
import uvicorn

from grice.errors import InputError, os_reason
from grice.serve.bodies import EXAMPLES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from starlette.applications import Starlette

    from grice.serve import Limits

BACKLOG = 2048
IDLE_SECONDS = 15
ENDING_SECONDS = 120
"""Seconds for accepted requests after the service is told to stop."""


def serve(
    app: Starlette, *, host: str, port: int, limits: Limits, begun: Callable[[str], None]
) -> None:
    """Serve until a signal, then finish accepted requests; ``begun`` gets the address."""

    class Server(uvicorn.Server):
        """A server that announces its address, and ends normally by a signal."""

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)  # signals are caught by then
            begun(f"http://{f'[{shown}]' if ':' in shown else shown}:{bound}")

        @contextmanager
        def capture_signals(self) -> Iterator[None]:
            with super().capture_signals():
                yield
                self._captured_signals.clear()  # not raised again after a normal end

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
        raise InputError(f"{host}:{port}: cannot listen there: {reason}; {do}") from None
    # asyncio does not set it on connections of a socket made elsewhere: the head and the body of an
    # answer would be 40 ms apart.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    shown, bound = listening.getsockname()[:2]
    with listening:
        Server(config).run([listening])


PAGES = ("/health/live", "/health/ready", "/metrics", "/openapi.json", "/docs", "/")


def check(app: Starlette) -> list[dict[str, Any]]:
    """Return method, path and status of the answers to an example of each path."""
    posts = answers(app, "POST", [(path, path, body) for path, body in EXAMPLES.items()])
    return posts + answers(app, "GET", [(path, path, None) for path in PAGES])


def answers(
    app: Starlette, method: str, requests: Iterable[tuple[str, str, object]]
) -> list[dict[str, Any]]:
    """Return a row for each request: the path that is shown, the one that is asked, the body."""

    async def ask() -> list[dict[str, Any]]:
        async with app.router.lifespan_context(app), client_of(app) as client:
            rows = []
            for shown, path, body in requests:
                answer = await client.request(method, path, json=body)
                rows.append({"method": method, "path": shown, "status": answer.status_code})
            return rows

    return asyncio.run(ask())


def client_of(app: Starlette) -> httpx2.AsyncClient:
    """Return a client whose requests reach an application without a network."""
    return httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://localhost")
