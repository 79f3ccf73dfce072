"""The grid: each metric on each set, every set read and scored once."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import msgspec

from grice.errors import InputError
from grice.evaluation.datasets import load_rated
from grice.evaluation.meta import BASELINES, NOT_HERE, Row, evaluate
from grice.evaluation.table import read_table, score_table
from grice.evaluation.trained import Guard, Model, models_named

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from grice.evaluation.datasets import Rated, Wanted
    from grice.evaluation.meta import Block
    from grice.evaluation.table import Column, Reduce, Scores, ScoreTable
    from grice.runtime.bundle import Bundle

    Loaded: TypeAlias = tuple[Scores, Mapping[str, str], Mapping[str, Sequence[Bundle]]]

__all__ = ["FromFile", "Plan", "blocks", "scores_from"]


class FromFile(NamedTuple):
    """Scores of an earlier run.

    Attributes:
        file: Where they stand.
        data: The only set they belong to; empty if ids tell.
        table: What was read.
    """

    file: str
    data: str
    table: ScoreTable


class Plan(NamedTuple):
    """What a grid is made of.

    Attributes:
        metrics: Names of the metrics to compute, floors left out.
        loaded: Loads metrics by name; gives them with their signatures and models.
        files: Scores of earlier runs, which are taken instead of computing.
        reduce: How scores of replies become one of a conversation.
        baseline: The floor to compare with; None for the cosine of the level.
        kendall: Whether tau-b is computed too.
    """

    metrics: Sequence[str]
    loaded: Callable[[Sequence[str]], Loaded]
    files: Sequence[FromFile] = ()
    reduce: Reduce = "mean"
    baseline: str | None = None
    kendall: bool = False


def scores_from(word: str, names: Sequence[str]) -> FromFile:
    """Return the scores that ``FILE`` or ``SET=FILE`` names.

    Args:
        word: What was given.
        names: The sets of the grid.

    Raises:
        InputError: If the file is no file of scores.
    """
    name, equals, file = word.partition("=")
    if not equals or name not in names:
        name, file = "", word
    return FromFile(file, name, read_table(file))


def blocks(
    wanted: Sequence[Wanted], folder: Path | None, plan: Plan
) -> Iterator[tuple[Rated, Block]]:
    """Yield the table of each set and aspect, in the order asked for.

    Raises:
        InputError: If a set is missing, or the ids of a file of scores stand in several sets.
    """
    claimed: dict[str, str] = {}
    for want in wanted:
        rated = load_rated(want.set, folder)
        columns, models = _columns(rated, plan, claimed)
        guard = Guard(rated)
        trained = {name: guard.look(used) for name, used in models.items()}
        floors = BASELINES[rated.set.level]
        for aspect in want.aspects or (rated.set.default,):
            block = evaluate(
                rated,
                aspect,
                columns,
                baseline=plan.baseline,
                kendall=plan.kendall,
                trivial=floors,
            )
            rows = [msgspec.structs.replace(row, trained=trained[row.metric]) for row in block.rows]
            rows += _not_here(rated.set.level, {row.metric for row in rows})
            yield rated, msgspec.structs.replace(block, rows=tuple(rows))


def _not_here(level: str, there: Collection[str]) -> list[Row]:
    """Return a row for each trivial metric that cannot stand in the table, with the reason."""
    return [
        Row(metric=name, signature="", trivial=True, n=0, abstained=0, failed=0, missing=0, why=why)
        for name, why in NOT_HERE[level].items()
        if name not in there
    ]


def _columns(
    rated: Rated, plan: Plan, claimed: dict[str, str]
) -> tuple[list[Column], dict[str, tuple[Model, ...]]]:
    found: dict[str, Column] = {}
    for source in plan.files:
        for metric in source.table.metrics:
            if metric not in found and _belongs(source, metric, rated, claimed):
                found[metric] = source.table.column(metric, rated, plan.reduce)
    floors = (plan.baseline,) if plan.baseline else ()
    names = dict.fromkeys((*plan.metrics, *BASELINES[rated.set.level], *floors))
    wanted = [name for name in names if name not in found]
    # What made the scores of a file is known as far as their signature names it.
    models = {
        name: models_named(column.signature) or (Model(name, None),)
        for name, column in found.items()
    }
    if wanted:
        loaded, signatures, bundles = plan.loaded(wanted)
        table = score_table(loaded, signatures, rated)
        found |= {name: table.column(name, rated, plan.reduce) for name in wanted}
        models |= {
            name: tuple(Model(bundle.card.name, bundle) for bundle in bundles[name])
            for name in wanted
        }
    return list(found.values()), models


def _belongs(source: FromFile, metric: str, rated: Rated, claimed: dict[str, str]) -> bool:
    """Return whether a file has scores of the set; refuse to guess between two sets."""
    if source.data:
        return source.data == rated.set.name
    if not source.table.covers(metric, rated):
        return False
    first = claimed.setdefault(source.file, rated.set.name)
    if first != rated.set.name and first not in rated.set.overlaps:
        raise InputError(
            f"{source.file}: its ids stand in {first} and in {rated.set.name}; say whose scores "
            f"they are with --scores {first}={source.file}"
        )
    return True
