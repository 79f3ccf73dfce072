"""Scores over HTTP: ``grice serve``, and an ASGI application for other servers.

It needs FastAPI, uvicorn and prometheus-client (``pip install "grice[serve]"``).
"""

from __future__ import annotations

import msgspec

from grice.errors import imported

__all__ = ["Limits", "check_installed"]


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of a service; a request beyond one is refused.

    Attributes:
        head, body: Bytes of a request.
        turns: Turns of all conversations, or candidates, of one request.
        concurrency: Requests at the same time; further ones are answered with status 429.
        head_seconds: Time in which the next request of a connection must begin, with a whole head.
        body_seconds: Time in which the body must arrive.
        seconds: Time in which scores must be ready.
    """

    head: int = 16 << 10
    body: int = 1 << 20
    turns: int = 2_000
    concurrency: int = 512
    head_seconds: int = 15
    body_seconds: float = 10
    seconds: float = 60


def check_installed() -> None:
    """Raise an error if a package that serving needs is not installed."""
    for package in ("fastapi", "uvicorn", "prometheus_client"):
        imported(package, "serving", "serve")
