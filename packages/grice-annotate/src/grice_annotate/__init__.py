"""Ask people: a local studio for human judgments.

A study puts tasks before judges by one template (:mod:`grice_annotate.templates`), keeps their
answers in a database (:mod:`grice_annotate.study`), and writes what the rest of grice reads
(:mod:`grice_annotate.export`). It needs ``pip install "grice[annotate]"``.
"""

from __future__ import annotations

from importlib.util import find_spec

from grice.errors import InputError

__all__ = ["check_installed"]


def check_installed() -> None:
    """Raise InputError if what a study needs is not installed."""
    for package in ("sqlalchemy", "starlette", "uvicorn"):
        if find_spec(package) is None:
            raise InputError(
                f'a study needs {package}, which is not installed: pip install "grice[annotate]"'
            )
