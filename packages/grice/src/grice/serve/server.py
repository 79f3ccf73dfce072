"""The process that listens: what is slow is cut off, and what was accepted is finished."""

from __future__ import annotations

import asyncio
import socket
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from grice.errors import InputError, os_reason

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from starlette.types import ASGIApp

    from grice.serve import Limits

TOO_SLOW = b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
BACKLOG = 2048
IDLE_SECONDS = 15
ENDING_SECONDS = 120
"""How long what was accepted may take once the service is told to end."""


def serve(
    app: ASGIApp, *, host: str, port: int, limits: Limits, begun: Callable[[str], None]
) -> None:
    """Serve until a signal says to end; requests that were accepted are answered before.

    Port 0 is any that is free; ``begun`` gets the address once requests to it are answered.
    InputError is raised if nobody can listen there.
    """

    class Patient(H11Protocol):
        """The protocol, which closes a connection whose head does not come in time."""

        def connection_made(self, transport: Any) -> None:  # noqa: ANN401 - as its parent has it
            super().connection_made(transport)
            asyncio.get_running_loop().call_later(limits.head_seconds, self._give_up)

        def _give_up(self) -> None:
            if self.cycle is None and not self.transport.is_closing():
                if self.conn.trailing_data[0]:  # a part of the head has come
                    self.transport.write(TOO_SLOW)
                self.transport.close()

    class Server(uvicorn.Server):
        """A server that says when it answers, and whose end by a signal is an end like any."""

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
        http=Patient,
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
        raise InputError(f"{host}:{port}: nobody can listen here: {reason}; {do}") from None
    # asyncio sets it on none of the connections of a socket that it did not make itself: head and
    # body of an answer would be 40 ms apart.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    shown, bound = listening.getsockname()[:2]
    with listening:
        Server(config).run([listening])
