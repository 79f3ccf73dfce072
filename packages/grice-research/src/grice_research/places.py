"""Folders of recipes: weights that do not ship, and the data of the product."""

from __future__ import annotations

import os
from pathlib import Path

import grice
import grice_models
import grice_tasks

VARIABLE = "GRICE_WEIGHTS"
PRODUCT_DATA = Path(grice.__file__).parent / "data"
"""Tables that ship; recipes write into it, so work on a clone."""
MODELS = Path(grice_models.__file__).parent / "models"  # models that ship with the core
TASK_MODELS = Path(grice_tasks.__file__).parent / "models"  # models that ship with the tasks


def work_folder(recipe: str) -> Path:
    """Return where a recipe keeps its intermediate files, which need not be there yet.

    It is ``weights/RECIPE`` below the current directory, or a folder in ``GRICE_WEIGHTS``.
    """
    return Path(os.environ.get(VARIABLE) or "weights") / recipe
