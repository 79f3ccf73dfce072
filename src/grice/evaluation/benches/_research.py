"""Metrics with weights that a recipe left in its work folder and that may not ship."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from grice.errors import BundleError
from grice.evaluation.workshop import Left, Workshop
from grice.scoring.api import load

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from grice.evaluation.columns import Scores

__all__ = ["research"]

PLACES = {
    "relevance": ("GRICE_RELEVANCE", "recipes/relevance/work/research_fluent"),
    "engagement": ("GRICE_ENGAGEMENT", "recipes/engagement/work/engagement_research"),
}
"""By metric the variable that names the folder of its weights, and where the recipe puts them."""


@contextmanager
def research(shop: Workshop) -> Iterator[Workshop]:
    """Give a workshop like another, whose metrics read the weights of research.

    Raises:
        Left: If the recipe has not made them here.
    """
    folders = {name: Path(os.environ.get(*place)) for name, place in PLACES.items()}
    options = {name: {"model": f"file:{folder}"} for name, folder in folders.items()}
    opened = shop.models()
    try:
        grader = load(*PLACES, options=options, mode=opened.mode, workers=1)
    except BundleError as error:
        raise Left(f"{error}; the recipes of {' and '.join(PLACES)} make it") from error

    def loaded(names: Sequence[str]) -> tuple[Scores, Mapping[str, str]]:
        return grader, {name: grader.signatures[name] for name in names}

    with grader:
        yield Workshop(shop.folder, loaded, shop.metrics, (), lambda: opened)
