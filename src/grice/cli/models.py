"""Models that a command opens for the calls it makes."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from grice.cli.options import cache_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grice.runtime.models import Models

__all__ = ["opened_models"]


@contextmanager
def opened_models(*, workers: int | None = None, keep: bool = True) -> Iterator[Models]:
    """Open models as scoring does by default, and close them.

    Args:
        workers: Batches computed at the same time; by default one per core.
        keep: Keep answers in the user's cache folder, or for this command only.
    """
    from grice.runtime.models import Models, default_workers

    models = Models(
        mode="fast",
        workers=workers or default_workers(),
        cache=cache_folder() if keep else None,
    )
    try:
        yield models
    finally:
        models.close()
