"""The page of a meta-evaluation: one file that asks for nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from grice.pages import head
from grice.report.html import asset, environment
from grice.report.svg import Forest, Scatter, forest, scatter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice.evaluation.agreement import Block, Confound
    from grice.evaluation.pairs import DamagedBlock, DamagedRow
    from grice.stats.estimate import Estimate


class Kept(NamedTuple):
    """Partial correlations of one metric, as the page words them."""

    metric: str
    plain: str
    given: tuple[str, ...]
    cells: tuple[str, ...]


class Plot(NamedTuple):
    """One scatter plot with what stands above it."""

    metric: str
    spearman: Estimate
    shape: Scatter


class Section(NamedTuple):
    """A block with what is drawn of it."""

    block: Block
    kept: tuple[Kept, ...]
    plots: tuple[Plot, ...]


class Judged(NamedTuple):
    """One metric on damaged texts, with its plot."""

    row: DamagedRow
    shape: Forest


class Pairs(NamedTuple):
    """A collection of damaged texts as the template shows it; the metrics with a figure first."""

    block: DamagedBlock
    same: int
    judged: tuple[Judged, ...]


def as_html(
    blocks: Sequence[Block],
    damaged: Sequence[DamagedBlock] = (),
    *,
    title: str,
    command: str,
    made: str,
    shared: Sequence[str],
) -> str:
    """Return the page.

    Args:
        shared: What to keep in mind about sets that overlap.
    """
    style = asset("meta.css")
    return (
        environment()
        .get_template("meta.html.j2")
        .render(
            title=title,
            command=command,
            made=made,
            shared=shared,
            head=head(title, style=style),
            sections=[_shown(block) for block in blocks],
            damaged=[_pairs(block) for block in damaged],
            signatures=_signatures(blocks, damaged),
        )
    )


def _signatures(blocks: Sequence[Block], damaged: Sequence[DamagedBlock]) -> list[tuple[str, str]]:
    """Return metric and signature, each once: on damaged texts a metric has another one."""
    signatures = [(row.metric, row.signature) for block in blocks for row in block.rows]
    signatures += [(row.metric, row.signature) for block in damaged for row in block.rows]
    return list(dict.fromkeys(signatures))


def _pairs(block: DamagedBlock) -> Pairs:
    judged = tuple(Judged(row, forest(row.kinds)) for row in block.rows if row.kinds)
    return Pairs(block, sum(block.same.values()), judged)


def _shown(block: Block) -> Section:
    plots = tuple(
        Plot(row.metric, row.spearman, scatter(row.points)) for row in block.rows if row.spearman
    )
    kept = tuple(
        Kept(
            row.metric,
            f"{row.spearman.value:.3f}",
            tuple(confound.given for confound in row.confounds),
            tuple(_kept(confound) for confound in row.confounds),
        )
        for row in block.rows
        if row.spearman and row.confounds
    )
    return Section(block, kept, plots)


def _kept(confound: Confound) -> str:
    if confound.partial is None:
        return "–"
    share = "" if confound.kept is None else f" ({100 * confound.kept:.0f} %)"
    return f"{confound.partial.value:.3f}{share}"
