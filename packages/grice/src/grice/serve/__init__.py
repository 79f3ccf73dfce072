"""Scores over HTTP: ``grice serve``, and an application for a server of one's own.

It needs FastAPI, uvicorn and prometheus-client (``pip install "grice[serve]"``), which are imported
with :mod:`grice.serve.app` alone.
"""

from __future__ import annotations

from importlib.util import find_spec

import msgspec

from grice.errors import InputError

__all__ = ["Limits", "check_installed"]


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Bounds of a service; a request beyond one is refused with the bound.

    Attributes:
        head: Bytes of the head of a request.
        body: Bytes of its body.
        turns: Turns of all conversations, or candidates, of one request.
        concurrency: Requests that may be under way at once; beyond them they are answered 429.
        head_seconds: How long the head of a request may take to arrive.
        body_seconds: How long its body may take.
        seconds: How long a request may wait for its scores.
        gather_seconds: How long more requests are waited for where several came together before.
    """

    head: int = 16 << 10
    body: int = 1 << 20
    turns: int = 2_000
    concurrency: int = 512
    head_seconds: float = 10
    body_seconds: float = 10
    seconds: float = 60
    gather_seconds: float = 0.002


def check_installed() -> None:
    """Raise InputError if a package that serving needs is not installed."""
    for package in ("fastapi", "uvicorn", "prometheus-client"):
        if find_spec(package.replace("-", "_")) is None:
            raise InputError(
                f'serving needs {package}, which is not installed: pip install "grice[serve]"'
            )
