"""CSKB Population: is a triple of commonsense plausible? (ACCENT, setup 3).

How often people find a triple plausible differs so much between relations that a prior which reads
no text reaches 0.82 of the pooled area under the curve; over relations it is 0.5. The figure to
trust is therefore the mean over relations weighted by their size, which the authors of the set
used in their paper.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice_research.published import load_bench
from grice_research.rows import Row
from grice_research.triples import (
    AREAS,
    MODELS_OF,
    OF_ACCENT,
    SCORERS,
    TripleRows,
    area,
    read_triples,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grice_research.context import BenchContext

TITLE = "Plausibility of commonsense triples, CSKB Population"
PAPER = (
    "Fang et al., Benchmarking Commonsense Knowledge Base Population with an Effective Evaluation "
    "Dataset, EMNLP 2021; figures beside ours from ACCENT, 2023"
)

MEASURES = {"auc_weighted": AREAS[1], "auc_pooled": AREAS[0]}
ALL = "18 relations"
PARTS = {ALL: "", "12 relations": ", ACCENT's 12 relations"}
BASELINES = ("relation_rate", "cosine_head_tail")


def measure(context: BenchContext) -> Iterator[Row]:
    """Yield both areas of ours and of the baselines; then the printed ones."""
    rows = read_triples(context.folder, ALL)
    for name in ("compatibility", *BASELINES):
        scores = SCORERS[name](rows, context.models(), context.folder)
        fingerprint = "|".join(
            [name, *(context.models().fingerprint(reference) for reference in MODELS_OF[name])]
        )
        for part, suffix in PARTS.items():
            yield from _areas(name, scores, rows, part, suffix, fingerprint)
    for part, suffix in PARTS.items():
        for name, value in _published(part).items():
            yield Row(
                row=f"{name} (table 4{suffix})",
                measure="auc_pooled",
                estimate=None,
                kind="printed",
                published=value,
                why="its scores were not released",
            )


def _areas(
    name: str, scores: list[float], rows: TripleRows, part: str, suffix: str, fingerprint: str
) -> Iterator[Row]:
    places = [
        i for i, triple in enumerate(rows.triples) if part == ALL or triple.relation in OF_ACCENT
    ]
    chosen = TripleRows(
        tuple(rows.triples[i] for i in places), tuple(rows.plausible[i] for i in places)
    )
    published = None if name in BASELINES else _published(part)["ACCENT"]
    for measure, title in MEASURES.items():
        printed = published if measure == "auc_pooled" else None
        yield Row(
            row=f"{name}{suffix}",
            measure=measure,
            estimate=area(title, [scores[i] for i in places], chosen),
            kind="baseline" if name in BASELINES else "ours",
            published=printed,
            beside="ACCENT" if printed is not None else "",
            signature=f"{fingerprint}|on:cskb_population:{part}|measure:{title}",
        )


def _published(part: str) -> dict[str, float]:
    table = next(printed for printed in load_bench("accent").tables if printed.id == "table 4")
    place = next(i for i, head in enumerate(table.columns()) if head.on.endswith(part))
    areas = {name: cells[place] for name, cells in table.rows().items()}
    return {name: cell.value for name, cell in areas.items() if cell is not None}
