"""What every command of the evaluation does with its arguments and its result."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from grice.cli.output import print_json

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["emit", "names"]

Result = TypeVar("Result")


def emit(result: Result, show: Callable[[Result], None], *, as_json: bool) -> None:
    """Print a result as one line of JSON, or as ``show`` does it for people."""
    if as_json:
        print_json(result)
    else:
        show(result)


def names(listed: str | None) -> list[str]:
    """Return the names in a list with commas, as options take it."""
    return [name.strip() for name in (listed or "").split(",") if name.strip()]
