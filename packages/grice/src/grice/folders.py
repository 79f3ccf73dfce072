"""The user's folders: for what may be made again, and for what was chosen."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """Return the folder of what can be had again: ``GRICE_CACHE``, or the user's cache folder."""
    if stated := os.environ.get("GRICE_CACHE"):
        return Path(stated)
    from platformdirs import user_cache_path

    return user_cache_path("grice", appauthor=False)


def config_folder() -> Path:
    """Return the folder of choices: ``GRICE_CONFIG``, or the user's folder for settings."""
    if stated := os.environ.get("GRICE_CONFIG"):
        return Path(stated)
    from platformdirs import user_config_path

    return user_config_path("grice", appauthor=False, roaming=True)
