"""A language model in every place, beside what ships there and trivial baselines.

The samples are small, for a reading takes a processor a tenth of a second, and one by the large
model more than a second: an interval that holds the figure of what ships says that nothing was
shown. The figures are in the mode ``fast``; what calibrates a model is training data alone. The
bundles of the large model do not ship: ``grice_research.recipes.language_model_places`` makes them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.errors import GriceError
from grice_research.context import Skipped
from grice_research.language_models import (
    graphs,
    judgements,
    keywords,
    links,
    relevance,
)
from grice_research.language_models.samples import Candidate
from grice_research.rows import Row

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grice_research.context import BenchContext

TITLE = "A language model in every place"
PAPER = (
    "SmolLM2-135M-Instruct (Allal et al., 2025) and, as large, Qwen2.5-Coder-1.5B-Instruct "
    "(Hui et al., 2024), asked zero-shot, or after a few examples"
)
PLACES = (
    relevance.rows,
    judgements.stances,
    judgements.statements,
    graphs.rows,
    links.spans,
    links.triplets,
    links.links,
    keywords.rows,
)
RECIPE = "language_model_places"
"""Left the bundles of models that do not ship."""


def measure(context: BenchContext) -> Iterator[Row]:
    """Yield the rows of every place, of each model that is at hand."""
    at_hand = []
    for candidate in _candidates(context):
        if why := _missing(context, candidate):
            yield _skipped(candidate, why)
        else:
            at_hand.append(candidate)
    for place in PLACES:
        for candidate in at_hand:
            try:
                yield from place(context, candidate)
            except Skipped as reason:
                yield _skipped(candidate, str(reason))


def _candidates(context: BenchContext) -> tuple[Candidate, ...]:
    try:
        folder = context.weights(RECIPE)
    except Skipped:
        folder = None
    return Candidate("medium"), Candidate("large", folder)


def _missing(context: BenchContext, candidate: Candidate) -> str:
    """Return why a model cannot be opened, in words; empty if it can."""
    try:
        context.models().bundle(candidate.base)
    except GriceError as error:
        return str(error)
    return ""


def _skipped(candidate: Candidate, why: str) -> Row:
    return Row(row=candidate.row, measure="all", estimate=None, kind="ours", why=why)
