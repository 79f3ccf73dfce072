"""The server process, and requests to an application without a network."""

from __future__ import annotations

import asyncio
import os
import re
import socket
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

import h11
import httpx2
import uvicorn
from starlette.datastructures import Headers
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from grice.errors import InputError, os_reason
from grice.serve.bodies import CLOSE, EXAMPLES, Refused

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.types import ASGIApp, Receive, Scope, Send

    from grice.serve import Limits

PORT = re.compile(r":\d*$")
BACKLOG = 2048
ACCEPTED = 16
"""Connections accepted at once, before those above the limit are closed."""
SPARE_FILES = 64
"""Files that the process may open beside its connections."""
ENDING_SECONDS = 120
"""Seconds for accepted requests after the service is told to stop."""


class _Protocol(H11Protocol):
    """HTTP with ``timeout_keep_alive`` seconds to read an answer and to send the whole next head.

    The clock of uvicorn starts after the first answer, and the first byte of a head stops it.
    Answers that are not read for as long, also of requests sent ahead, end the connection.
    """

    _files = os.sysconf("SC_OPEN_MAX") if hasattr(os, "sysconf") else 512  # select on Windows
    most = max(_files - SPARE_FILES, SPARE_FILES)
    _clock: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait(None)
        if len(self.connections) > self.most:
            transport.abort()

    def pause_writing(self) -> None:
        super().pause_writing()  # the client does not read what it asked for
        self._unread = self.loop.call_later(self.timeout_keep_alive, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._unread.cancel()

    def on_response_complete(self) -> None:
        answered = self.cycle
        super().on_response_complete()
        self._wait(answered)

    def send_400_response(self, msg: str) -> None:
        with suppress(h11.LocalProtocolError):  # an answer has begun
            super().send_400_response(msg)
        self.transport.close()
        if self.cycle is not None:
            self.cycle.disconnected = True  # so that no second answer follows

    def _wait(self, answered: RequestResponseCycle | None) -> None:
        if self._clock is not None:
            self._clock.cancel()
        self._clock = self.loop.call_later(self.timeout_keep_alive, self._late, answered)

    def _late(self, answered: RequestResponseCycle | None) -> None:
        if self.cycle is answered:  # no other request has come
            if self.conn.trailing_data[0] and not self.transport.is_closing():
                self.send_400_response(f"no whole head within {self.timeout_keep_alive} seconds")
            self.transport.abort()


def _checked(app: ASGIApp, hosts: Collection[str]) -> ASGIApp:
    """Return an application that checks the header Host, if hosts are named, and both lengths.

    A page of another site may give its name the address of this machine (DNS rebinding), but
    cannot change the header.
    """

    async def answered(scope: Scope, receive: Receive, send: Send) -> None:
        answer, headers = app, Headers(raw=scope.get("headers", []))
        given = headers.get("host", "")
        if scope["type"] == "http" and {"content-length", "transfer-encoding"} <= {*headers}:
            what, do = "both Content-Length and Transfer-Encoding", "send one of them"
            answer = Refused(400, what, where="header", do=do, **CLOSE).answer()
        elif hosts and given and PORT.sub("", given).lower() not in hosts:
            do = f"send one of {', '.join(hosts)}, or listen elsewhere with --host"
            what = f"{given[:80]!r} is no name of this machine"
            answer = Refused(421, what, where="header Host", do=do).answer()
        await answer(scope, receive, send)

    return answered


def serve(
    app: Starlette, *, host: str, port: int, limits: Limits, begun: Callable[[str], None]
) -> None:
    """Serve until a signal, then finish accepted requests; ``begun`` gets the address."""

    class Server(uvicorn.Server):
        """A server that announces its address, and ends normally by a signal."""

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            listening.listen(BACKLOG)  # more may wait than are accepted at once

        async def main_loop(self) -> None:
            begun(f"http://{shown}:{bound}")  # a signal before here would skip the shutdown
            await super().main_loop()

        @contextmanager
        def capture_signals(self) -> Iterator[None]:
            with super().capture_signals():
                yield
                self._captured_signals.clear()  # not raised again after a normal end

    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family)
    except (OSError, OverflowError) as error:
        reason, do = os_reason(error), "name another with --port, or --host"
        raise InputError(f"{host}:{port}: cannot listen there: {reason}; {do}") from None
    # asyncio does not set it on connections of a socket made elsewhere: the head and the body of an
    # answer would be 40 ms apart.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    address, bound = listening.getsockname()[:2]
    shown = f"[{address}]" if ":" in address else address
    own = ("localhost", "127.0.0.1", "[::1]", shown, host.lower())
    config = uvicorn.Config(
        _checked(app, dict.fromkeys(own) if ip_address(address).is_loopback else ()),
        http=_Protocol,
        ws="none",
        lifespan="on",
        log_level="error",
        access_log=False,
        server_header=False,
        backlog=ACCEPTED,
        timeout_keep_alive=limits.head_seconds,
        timeout_graceful_shutdown=ENDING_SECONDS,
        h11_max_incomplete_event_size=limits.head,
    )
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
