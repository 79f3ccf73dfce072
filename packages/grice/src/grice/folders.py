"""Where grice keeps what belongs to its user: what may be made again, and what was chosen.

The folders are those of platformdirs, which a test compares with: its import alone would add a good
10 ms to every command.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path


def cache_folder() -> Path:
    """Return where what can be had again is kept: ``GRICE_CACHE``, or the user's cache folder.

    That is ``grice`` in ``XDG_CACHE_HOME`` or ``~/.cache``, in ``~/Library/Caches`` on macOS and
    ``grice/Cache`` in ``%LOCALAPPDATA%`` on Windows.
    """
    if stated := os.environ.get("GRICE_CACHE"):
        return Path(stated)
    if sys.platform == "win32":
        return _folder("LOCALAPPDATA", "AppData/Local") / "grice" / "Cache"
    if sys.platform == "darwin":
        return _folder("XDG_CACHE_HOME", "Library/Caches") / "grice"
    return _folder("XDG_CACHE_HOME", ".cache") / "grice"


def config_folder() -> Path:
    """Return where choices are kept: ``GRICE_CONFIG``, or the user's folder for settings.

    That is ``grice`` in ``XDG_CONFIG_HOME`` or ``~/.config``, in ``~/Library/Application Support``
    on macOS and in ``%APPDATA%`` on Windows.
    """
    if stated := os.environ.get("GRICE_CONFIG"):
        return Path(stated)
    if sys.platform == "win32":
        return _folder("APPDATA", "AppData/Roaming") / "grice"
    if sys.platform == "darwin":
        return _folder("XDG_CONFIG_HOME", "Library/Application Support") / "grice"
    return _folder("XDG_CONFIG_HOME", ".config") / "grice"


def _folder(variable: str, usual: str) -> Path:
    stated = os.environ.get(variable)
    return Path(stated) if stated else Path.home() / usual
