"""Models that a command opens for the calls it makes."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from grice.errors import GriceError
from grice.files import cache_folder

LARGE = "large"
"""The preset that is recommended to those who have scored with the one that ships."""

if TYPE_CHECKING:
    import argparse
    from collections.abc import Collection

    from grice.models.loader import ModelLoader


def opened_models(*, workers: int | None = None, keep: bool = True) -> ModelLoader:
    """Return models as scoring opens them by default, to be closed at the end of a block."""
    from grice.models.loader import ModelLoader, default_workers

    return ModelLoader(
        mode="fast", workers=workers or default_workers(), cache=cache_folder() if keep else None
    )


def models_as_asked(arguments: argparse.Namespace) -> ModelLoader:
    """Return models with the arithmetic, workers and cache that the arguments give."""
    from grice.cli.options import endpoint_terms
    from grice.models.loader import ModelLoader, default_workers

    return ModelLoader(
        mode=arguments.mode,
        workers=arguments.workers or default_workers(),
        cache=None if arguments.no_cache else arguments.cache or cache_folder(),
        terms=endpoint_terms(arguments),
    )


def recommend_larger(metrics: Collection[str] = ()) -> None:
    """Print what the largest preset finds more than ``small``, and the commands that run it.

    Nothing is printed if quiet, or where the preset would change no score.
    """
    from grice.cli.terminal import note
    from grice.models.store.folders import find_stored
    from grice.models.store.index import known_models
    from grice.scoring.presets import named_preset

    with suppress(GriceError):  # a finished run does not fail by a file of settings
        preset = named_preset(LARGE)
        if metrics and not {*preset.metrics, *preset.options}.intersection(metrics):
            return
        index = known_models()
        missing = [index[name] for name in preset.models if find_stored(name) is None]
        size = sum(entry.download or 0 for entry in missing) / 1e9
        fetch = f"grice models get {LARGE} ({size:.1f} GB to fetch), then " if missing else ""
        note(f"{LARGE} finds more {preset.finds}: {fetch}grice score --models {LARGE}")
