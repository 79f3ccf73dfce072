"""Models that a command opens for the calls it makes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.folders import cache_folder

if TYPE_CHECKING:
    import argparse

    from grice.runtime.models import Models


def opened_models(*, workers: int | None = None, keep: bool = True) -> Models:
    """Return models as scoring opens them by default, to be closed at the end of a block.

    Args:
        workers: Batches computed at the same time; by default one per core; a single
            question has nothing to share out.
        keep: Keep answers in the user's cache folder, or for this command only.
    """
    from grice.runtime.models import Models, default_workers

    return Models(
        mode="fast", workers=workers or default_workers(), cache=cache_folder() if keep else None
    )


def models_as_asked(arguments: argparse.Namespace) -> Models:
    """Return models with the arithmetic, workers and cache that the arguments give.

    Args:
        arguments: Those of :func:`grice.cli.options.add_metric_options`.
    """
    from grice.cli.options import endpoint_terms
    from grice.runtime.models import Models, default_workers

    return Models(
        mode=arguments.mode,
        workers=arguments.workers or default_workers(),
        cache=None if arguments.no_cache else arguments.cache or cache_folder(),
        terms=endpoint_terms(arguments),
    )
