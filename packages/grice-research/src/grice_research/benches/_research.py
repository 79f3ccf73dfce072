"""Metrics that a recipe left in its work folder and that may not ship: weights, or scores."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from grice.errors import BundleError, InputError
from grice.evaluation.table import read_table
from grice.records import Score
from grice.scoring.api import load
from grice_research.context import BenchContext, Skipped

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from grice.evaluation.table import Scores, ScoreTable
    from grice.records import Conversation

__all__ = ["research", "scored"]

PLACES = {"relevance": "research_fluent", "engagement": "engagement_research"}
"""By metric, which is the name of its recipe too, the folder of its weights."""


@contextmanager
def research(context: BenchContext) -> Iterator[BenchContext]:
    """Give a context like this one, whose metrics read the weights of research.

    Raises:
        Skipped: If the recipe has not made them here.
    """
    opened = context.models()
    made_by = f"the recipes of {' and '.join(PLACES)} make it"
    try:
        folders = {name: context.weights(name) / folder for name, folder in PLACES.items()}
        options = {name: {"model": f"file:{folder}"} for name, folder in folders.items()}
        grader = load(*PLACES, options=options, mode=opened.mode, workers=1)
    except (BundleError, Skipped) as error:
        raise Skipped(f"{error}; {made_by}") from error

    def loaded(names: Sequence[str]) -> tuple[Scores, Mapping[str, str]]:
        return grader, {name: grader.signatures[name] for name in names}

    with grader:
        yield BenchContext(context.folder, loaded, context.metrics, (), lambda: opened)


def scored(context: BenchContext) -> Iterator[tuple[str, BenchContext]]:
    """Yield contexts like this one, whose metrics are scores that a recipe left in files.

    For what is too large to run here: a recipe lets a language model read the rated replies and
    leaves scores as ``grice score`` writes them, a file for each model, named after it.

    Raises:
        Skipped: If no recipe has left any.
        InputError: If a file holds no scores, or one metric that was computed in two ways.
    """
    folder = context.weights("relevance") / "scores"
    files = sorted(folder.glob("*.jsonl"))
    if not files:
        raise Skipped(
            f"no scores lie in {folder}; "
            "python -m grice_research.recipes.relevance.large makes them"
        )
    for file in files:
        yield file.stem, _of_file(context, file)


def _of_file(context: BenchContext, file: Path) -> BenchContext:
    table = read_table(str(file))
    signatures = {name: table.signature(name) for name in table.metrics}

    def loaded(names: Sequence[str]) -> tuple[Scores, Mapping[str, str]]:
        missing = sorted(set(names) - signatures.keys())
        if missing:
            raise InputError(f"{file} holds no scores of {', '.join(missing)}")
        return _Kept(table, names), {name: signatures[name] for name in names}

    return BenchContext(context.folder, loaded, tuple(signatures), (), context.models)


class _Kept:
    """Scores of a file, given again for the conversations that they are of.

    Args:
        table: The scores.
        names: Metrics.
    """

    def __init__(self, table: ScoreTable, names: Sequence[str]) -> None:
        self._table = table
        self._names = names

    def score(self, talk: Sequence[Conversation]) -> list[Score]:
        """Return the scores there are of conversations."""
        return [
            Score(
                conversation.id,
                line.turn,
                name,
                line.value,
                line.status,
                None,
                (),
                (),
                line.signature,
            )
            for conversation in talk
            for name in self._names
            for line in self._table.lines(name, conversation.id)
        ]
