"""Scores over HTTP: ``grice serve``, and the application for whoever has a server of their own.

It needs starlette and uvicorn (``pip install "grice[serve]"``), which are imported with
:mod:`grice.serve.app` alone.
"""

from __future__ import annotations

from importlib.util import find_spec

from grice.errors import InputError
from grice.serve.limits import Limits

__all__ = ["Limits", "check_installed"]


def check_installed() -> None:
    """Raise InputError if what serves is not installed."""
    for package in ("starlette", "uvicorn"):
        if find_spec(package) is None:
            raise InputError(
                f'serving needs {package}, which is not installed: pip install "grice[serve]"'
            )
