"""Metrics against people: every metric on every rated set, each set read and scored once.

The way of a rated set is straight: :func:`meta_evaluate` reads the set (``datasets``), computes the
metrics or takes them from files (``table``), correlates it with the ratings (``agreement``), and
returns records. Of damaged texts, for which no ratings exist, it counts the pairs in order
(``pairs``).
"""

from __future__ import annotations

from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from grice.errors import InputError
from grice.evaluation.agreement import BASELINES, NOT_HERE, Block, Row, evaluate
from grice.evaluation.datasets import RatedSet, data_folder, load_rated, wanted_sets
from grice.evaluation.pairs import DAMAGED, DamagedBlock, judge_pairs, read_pairs
from grice.evaluation.table import read_table, score_table
from grice.scoring.api import Grader, load

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from grice.evaluation.datasets import Rated
    from grice.evaluation.table import Column, Reduce, ScoreTable


class Results(NamedTuple):
    """A meta-evaluation.

    Attributes:
        shared: One line for each pair of sets that hold the same conversations.
    """

    blocks: tuple[Block, ...]
    damaged: tuple[DamagedBlock, ...]
    shared: tuple[str, ...]

    @property
    def failed(self) -> bool:
        """Whether a metric failed on an item."""
        rated = any(row.failed for block in self.blocks for row in block.rows)
        return rated or any(row.failed for block in self.damaged for row in block.rows)


def load_named(names: Sequence[str]) -> Grader:
    """Load metrics by their names with the options that they have by default."""
    return load(*names)


def meta_evaluate(
    metrics: Sequence[str],
    on: Sequence[str],
    *,
    load: Callable[[Sequence[str]], Grader] = load_named,
    data: Path | None = None,
    scores: Sequence[str] = (),
    reduce: Reduce = "mean",
    baseline: str | None = None,
    kendall: bool = False,
    most: int | None = None,
    seed: int = 0,
    report: Callable[[Block | DamagedBlock], None] = lambda _: None,
    warn: Callable[[str], None] = lambda _: None,
) -> Results:
    """Hold metrics against human ratings, beside the trivial baselines of each level.

    Args:
        metrics: Names of the metrics; the trivial baselines are always there.
        on: Rated sets, collections of damaged texts, files of your own, or ``all``; aspects stand
            behind a colon, as in ``fed_turn:relevant,fluent``.
        load: Loads metrics by their names.
        data: Folder of the data sets; by default that of ``GRICE_DATA``.
        scores: Files that ``grice score`` wrote, whose scores are taken instead of computing them;
            ``SET=FILE`` where ids stand in several sets.
        reduce: How scores of replies become one of their conversation.
        baseline: The trivial baseline to compare with; by default the cosine of the level.
        most: How many of the pairs of a collection of damaged texts to draw; by default all.
        seed: Of those draws, and of the resamples behind intervals and tests.
        report: Is given each table as soon as it stands.
        warn: Is told of records that could not be read.

    Raises:
        InputError: If a set is missing or unknown, or the ids of a file stand in several sets.
    """
    wanted = wanted_sets([word for word in on if word not in DAMAGED])
    known = [want.set for want in wanted if isinstance(want.set, RatedSet)]
    files = _Files(scores, [entry.name for entry in known])
    folder = data_folder(data)
    blocks, damaged = [], []
    with ExitStack() as stack:
        loaded = cache(lambda names: stack.enter_context(load(names)))

        def computed(rated: Rated, names: Iterable[str]) -> dict[str, Column]:
            names = tuple(dict.fromkeys(names))
            if not names:
                return {}
            grader = loaded(names)
            table = score_table(grader, grader.signatures, rated)
            return {name: table.column(name, rated, reduce) for name in names}

        for want in wanted:
            rated = load_rated(want.set, folder)
            trivial = BASELINES[rated.set.level]
            columns = files.columns(rated, reduce)
            names = (*metrics, *trivial, *([baseline] if baseline else []))
            columns |= computed(rated, (name for name in names if name not in columns))
            for aspect in want.aspects or (rated.set.default,):
                for problem in rated.problems[:3]:
                    warn(problem)
                block = evaluate(
                    rated,
                    aspect,
                    tuple(columns.values()),
                    baseline=baseline,
                    kendall=kendall,
                    trivial=trivial,
                    seed=seed,
                )
                blocks.append(block if rated.set.is_own else _with_absent(block))
                report(blocks[-1])
        for name in (word for word in on if word in DAMAGED):
            paired = read_pairs(name, folder, most=most, seed=seed)
            for line in paired.remarks():
                warn(line)
            trivial = BASELINES[paired.set.level]
            columns = computed(paired.rated, (*metrics, *trivial))
            # Another draw gives other figures: it belongs to what was computed.
            drawn = "" if len(paired.pairs) == paired.of else f",most:{most},seed:{seed}"
            damaged.append(judge_pairs(paired, columns.values(), trivial, drawn))
            report(damaged[-1])
    return Results(tuple(blocks), tuple(damaged), tuple(shared_evidence(known)))


class _Files:
    """Scores of earlier runs.

    Args:
        words: ``FILE`` or ``SET=FILE``, each.
        names: The sets that are evaluated on.

    Raises:
        InputError: If a file is no file of scores.
    """

    def __init__(self, words: Iterable[str], names: Collection[str]) -> None:
        parts = [(word.partition("="), word) for word in words]
        self._files = [
            (name, read_table(file)) if equals and name in names else ("", read_table(word))
            for (name, equals, file), word in parts
        ]
        self._claimed: dict[str, str] = {}

    def columns(self, rated: Rated, reduce: Reduce) -> dict[str, Column]:
        """Return the columns that the files have on a set; of two files with one, the first."""
        columns: dict[str, Column] = {}
        for name, table in self._files:
            for metric in table.metrics:
                if metric not in columns and self._belongs(name, table, metric, rated):
                    columns[metric] = table.column(metric, rated, reduce)
        return columns

    def _belongs(self, name: str, table: ScoreTable, metric: str, rated: Rated) -> bool:
        """Return whether a file has scores of the set; refuse to guess between two sets."""
        if name:
            return name == rated.set.name
        if not table.covers(metric, rated):
            return False
        first = self._claimed.setdefault(table.source, rated.set.name)
        if first != rated.set.name and first not in rated.set.overlaps:
            raise InputError(
                f"{table.source}: its ids stand in {first} and in {rated.set.name}; say whose "
                f"scores they are with --scores {first}={table.source}"
            )
        return True


def _with_absent(block: Block) -> Block:
    """Return a table with each trivial metric that cannot stand in it, and the reason."""
    there = {row.metric for row in block.rows}
    absent = [
        Row(metric=name, signature="", trivial=True, n=0, abstained=0, failed=0, missing=0, why=why)
        for name, why in NOT_HERE[block.level].items()
        if name not in there
    ]
    return msgspec.structs.replace(block, rows=(*block.rows, *absent))


def shared_evidence(sets: Sequence[RatedSet]) -> list[str]:
    """Return one line for each pair of sets that hold the same conversations."""
    names = {entry.name for entry in sets}
    pairs = {
        frozenset((entry.name, other))
        for entry in sets
        for other in entry.overlaps
        if other in names
    }
    return [
        f"{' and '.join(sorted(pair))} share conversations: count them as one piece of evidence"
        for pair in sorted(pairs, key=sorted)
    ]
