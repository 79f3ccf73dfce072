"""The page of a meta-evaluation: one file that asks for nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.pages import head
from grice.report.html import asset, environment
from grice.report.svg import forest, scatter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice.evaluation.agreement import Block, Confound
    from grice.evaluation.pairs import DamagedBlock


def as_html(
    blocks: Sequence[Block],
    damaged: Sequence[DamagedBlock] = (),
    *,
    title: str,
    command: str,
    made: str,
    shared: Sequence[str],
) -> str:
    """Return the page."""
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


def _pairs(block: DamagedBlock) -> dict[str, object]:
    judged = [{"row": row, "shape": forest(row.kinds)} for row in block.rows if row.kinds]
    return {"block": block, "same": sum(block.same.values()), "judged": judged}


def _shown(block: Block) -> dict[str, object]:
    judged = [(row, row.spearman) for row in block.rows if row.spearman]
    plots = [
        {"metric": row.metric, "spearman": rho, "shape": scatter(row.points)} for row, rho in judged
    ]
    kept = [
        {
            "metric": row.metric,
            "plain": f"{rho.value:.3f}",
            "given": [confound.given for confound in row.confounds],
            "cells": [_kept(confound) for confound in row.confounds],
        }
        for row, rho in judged
        if row.confounds
    ]
    return {"block": block, "kept": kept, "plots": plots}


def _kept(confound: Confound) -> str:
    if confound.partial is None:
        return "–"
    share = "" if confound.kept is None else f" ({100 * confound.kept:.0f} %)"
    return f"{confound.partial.value:.3f}{share}"
