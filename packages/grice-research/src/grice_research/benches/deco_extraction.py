"""Triples of events read from replies, against those people wrote for DECO test (ACCENT, setup 2).

All 12 relations were asked of all 100 replies; a cell is a reply and a relation, and 28.9 % of
them hold a triple. Saying yes everywhere gives F1 0.449, above the published extractors, and to
say yes for the six relations that people found most often in the training part gives 0.456.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from grice.knowledge.schema import RELATIONS
from grice.models.embedded import EmbeddedEncoder
from grice.models.folder import open_folder, shipped_models
from grice.text.events import event_text
from grice_research.extraction import (
    BERTSCORE,
    Cells,
    as_deco,
    extraction_differences,
    extraction_measures,
    lines_of,
)
from grice_research.published import load_bench
from grice_research.replies import exchange_of, read_replies
from grice_research.rows import Row
from grice_tasks.explagraphs.embedding import TokenLikeness

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from grice.knowledge.extraction import Exchange, TripleExtractor, TripleKind
    from grice_research.context import BenchContext
    from grice_research.replies import Replies
    from grice_research.rows import Kind

TITLE = "Triples of events read from replies, DECO test"
PAPER = (
    "Ghazarian et al., ACCENT: An Automatic Event Commonsense Evaluation Metric for Open-Domain "
    "Dialogue Systems, Findings of ACL 2023"
)

MODEL = "bundle:extraction"
PRINTED = {
    "precision": "precision",
    "recall": "recall",
    "F1": "f1",
    "BLEU-2": "bleu2",
    "BERTScore": "bertscore, roberta-large",
}
OWN_BERTSCORE = "bertscore, shipped encoder"
"""Greedy matching of the shipped encoder's token states: no printed figure is of that model."""
BESIDE = "ACCENT T5"
FREQUENT = ("xEffect", "oReact", "HasSubEvent", "HinderedBy", "isAfter", "xAttr")
"""The relations with most triples in DECO's training part (Table 10)."""
COPYING = "six frequent relations, copying"
KINDS: dict[str, tuple[TripleKind, ...]] = {
    "extractor, without Pair": ("single",),
    "extractor, without Single": ("pair",),
}

Found = list[dict[str, list[tuple[str, str]]]]


def measure(context: BenchContext) -> Iterator[Row]:
    """Yield ours, its ablations, the trivial baselines, and the printed rows."""
    replies = read_replies(context, "deco_test")
    exchanges = [exchange_of(response) for response in replies.responses]
    models = context.models()
    extractor = cast("TripleExtractor", models.load(MODEL))
    fingerprint = f"{models.fingerprint(MODEL)}|on:{replies.fingerprint}"
    printed = _printed()

    triples_of = {"extractor": read_triples(extractor, exchanges)}
    yield from _rows(
        "extractor", triples_of["extractor"], replies, "ours", fingerprint, printed[BESIDE]
    )
    for row, kinds in KINDS.items():
        part = read_triples(extractor, exchanges, kinds)
        yield from _rows(row, part, replies, "ours", f"{fingerprint}|kinds:{','.join(kinds)}")

    triples_of |= baselines(exchanges)
    for row in list(triples_of)[1:]:
        yield from _rows(row, triples_of[row], replies, "baseline", replies.fingerprint)
    yield from _differences(triples_of, replies, fingerprint)
    for name, figures in printed.items():
        for measured, value in figures.items():
            yield Row(
                row=f"{name} (table 3)",
                measure=measured,
                estimate=None,
                kind="printed",
                published=value,
                why="its output was not released",
            )


def read_triples(
    extractor: TripleExtractor,
    exchanges: Sequence[Exchange],
    kinds: Sequence[TripleKind] = ("single", "pair"),
) -> Found:
    """Return the triples of each reply by relation, worded as people worded theirs."""
    triples: Found = []
    for extraction in extractor.extract(exchanges, kinds=kinds):
        cells: dict[str, list[tuple[str, str]]] = {}
        for triple in extraction.triples:
            pair = as_deco(triple.head), as_deco(triple.tail)
            cells.setdefault(triple.relation, []).append(pair)
        triples.append(cells)
    return triples


def baselines(exchanges: Sequence[Exchange]) -> dict[str, Found]:
    """Return what reads nothing: the two turns copied, or worded as one event each."""
    copied = [[(exchange.previous, exchange.reply)] for exchange in exchanges]
    worded = [
        [(as_deco(event_text(exchange.previous)), as_deco(event_text(exchange.reply)))]
        for exchange in exchanges
    ]
    return {
        "always yes, copying": [dict.fromkeys(RELATIONS, pair) for pair in copied],
        COPYING: [dict.fromkeys(FREQUENT, pair) for pair in copied],
        "six frequent relations, each turn as one event": [
            dict.fromkeys(FREQUENT, pair) for pair in worded
        ],
    }


def cells_of(triples: Found, replies: Replies) -> list[Cells]:
    """Return found triples beside those of people, by reply."""
    cells = []
    for each, people in zip(triples, replies.triples, strict=True):
        gold: dict[str, list[tuple[str, str]]] = {}
        for triple in people:
            gold.setdefault(triple.relation, []).append((triple.head, triple.tail))
        cells.append(Cells(gold, each))
    return cells


def _rows(
    row: str,
    triples: Found,
    replies: Replies,
    kind: Kind,
    signature: str,
    published: Mapping[str, float] | None = None,
) -> Iterator[Row]:
    cells = cells_of(triples, replies)
    likeness = _likeness(cells)
    given = sum(bool(pairs) for each in triples for pairs in each.values())
    why = f"{given} of {len(triples) * len(RELATIONS)} cells hold a triple"
    for name, estimate in extraction_measures(cells, RELATIONS, likeness=likeness).items():
        shown = OWN_BERTSCORE if name == BERTSCORE else name
        yield Row(
            row=row,
            measure=shown,
            estimate=estimate,
            kind=kind,
            why=why,
            signature=signature,
            published=(published or {}).get(shown),
            beside=BESIDE if (published or {}).get(shown) is not None else "",
        )


def _likeness(cells: Sequence[Cells]) -> TokenLikeness:
    """Return BERTScore's F1 by the shipped encoder, with all texts encoded at once."""
    sides = [side for reply in cells for side in (reply.extracted, reply.gold)]
    texts = [text for side in sides for pairs in side.values() for text in lines_of(pairs)]
    encoder = EmbeddedEncoder(open_folder(shipped_models()["encoder"]), mode="exact", threads=1)
    return TokenLikeness(encoder, texts)


def _differences(
    triples_of: Mapping[str, Found], replies: Replies, fingerprint: str
) -> Iterator[Row]:
    """Yield how far ours is above each trivial baseline, replies drawn together for both."""
    ours = cells_of(triples_of["extractor"], replies)
    for row in list(triples_of)[1:]:
        compared = extraction_differences(ours, cells_of(triples_of[row], replies), RELATIONS)
        for name in ("f1", "bleu2"):
            yield Row(
                row=f"extractor less {row}",
                measure=f"difference of {name}",
                estimate=compared[name],
                kind="ours",
                signature=fingerprint,
            )


def _printed() -> dict[str, dict[str, float]]:
    """Return the printed rows of Table 3."""
    table = next(printed for printed in load_bench("accent").tables if printed.id == "table 3")
    names = [PRINTED.get(column.measure) for column in table.columns()]
    return {
        row: {
            name: cell.value
            for name, cell in zip(names, cells, strict=True)
            if name is not None and cell is not None
        }
        for row, cells in table.rows().items()
    }
