"""ACCENT in the configuration of its paper, with the models that ship in place of its own.

Every triple of the extractor is judged (at most one per relation), by the largest cosine of its
tail with ten generated tails; a reply has the mean, or 0.5 without a triple. The paper's models are
a T5 that reads triples, COMET-BART that generates tails and a Sentence-BERT that compares them.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np

from grice.knowledge.extraction.protocol import Exchange
from grice.knowledge.lookup import encoded
from grice.metrics.commonsense import MODELS
from grice.metrics.commonsense.scorers import Sources, best_cosine, find_scorer, mean_score
from grice.records import Triple
from grice.stats import Estimate, mean
from grice_research.replies import ASPECT, PERSON, Column, correlations
from grice_research.rows import Row
from grice_research.triples import GENERATOR

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from grice.knowledge.extraction.protocol import TripleExtractor
    from grice.knowledge.plausibility import TripleHead
    from grice.knowledge.protocols import KnowledgeBase
    from grice.models.protocols import Encoder
    from grice.records import Response
    from grice_research.context import BenchContext
    from grice_research.replies import Replies

__all__ = [
    "accent_columns",
    "accent_rows",
    "exchange_of",
    "read_by_extractor",
    "system_rows",
    "tail_cosines",
]

CONFIGURATION = "ACCENT's configuration"
TAILS = 10
EMBEDDERS = {"sentence vectors": "bundle:encoder", "word vectors": "bundle:words"}
"""What tails are compared with (table 6), the first in the paper's manner."""


class Way(NamedTuple):
    """One way to judge the triples of a reply: what its row is called, its scorer, its embedder."""

    row: str
    scorer: str
    embedder: str


def read_by_extractor(context: BenchContext, replies: Replies) -> list[tuple[Triple, ...]]:
    """Return the triples that the shipped extractor reads from each reply, all of them."""
    extractor = cast("TripleExtractor", context.models().open(MODELS["extractor"]))
    extractions = extractor.extract([exchange_of(response) for response in replies.responses])
    return [
        tuple(Triple(t.head, t.relation, t.tail) for t in extraction.triples)
        for extraction in extractions
    ]


def exchange_of(response: Response) -> Exchange:
    """Return a reply with the turn before it, as extractors read it."""
    last = response.history[-1:]
    same = any(turn.speaker == response.speaker for turn in last)
    return Exchange(tuple(turn.text for turn in last), response.text, same)


def accent_rows(
    context: BenchContext,
    replies: Replies,
    triples: Sequence[Sequence[Triple]],
    printed: Mapping[str, tuple[str, Mapping[str, float]]],
    prefix: str = "",
) -> Iterator[Row]:
    """Yield the paper's configuration, what changes one part of it, and its ranking of systems.

    Args:
        context: Opens the models.
        replies: The replies.
        triples: Those of each reply.
        printed: Printed row and figures by scorer: ``as generated`` and ``likelihood``.
        prefix: What the names of the rows begin with.
    """
    for way, column in accent_columns(context, replies, triples, f"{prefix}{CONFIGURATION}"):
        of_paper = way.embedder == next(iter(EMBEDDERS))
        beside, figures = printed.get(way.scorer if of_paper else "", ("", {}))
        yield from correlations(column, replies, "ours", figures, beside)
        if of_paper and way.scorer == "as generated" and any(replies.system):
            yield from system_rows(column, replies)


def system_rows(column: Column, replies: Replies) -> Iterator[Row]:
    """Yield the mean of each system that writes replies, and how many pairs people rank likewise.

    That is figure 6 of the paper, which ranks DiSCoL below DialoGPT below PLATO-2.
    """
    names = sorted({name for name in replies.system if name is not None and name != PERSON})
    estimates = {name: _of_system(column.values, replies, name) for name in names}
    rated = {name: _of_system(replies.human, replies, name) for name in names}
    for name in names:
        yield Row(
            row=column.row,
            measure="mean",
            on=name,
            kind="ours",
            estimate=mean(estimates[name]),
            signature=column.signature,
        )
    pairs = [(a, b) for a, b in combinations(names, 2)]
    alike = [
        (np.mean(estimates[a]) < np.mean(estimates[b])) == (np.mean(rated[a]) < np.mean(rated[b]))
        for a, b in pairs
    ]
    share = Estimate(
        float(np.mean(alike)),
        None,
        None,
        0.95,
        len(pairs),
        "share of pairs of systems",
        note="so few pairs have no interval",
    )
    orders = (_order(estimates), _order(rated))
    yield Row(
        row=column.row,
        measure="pairs of systems ranked as by people",
        kind="ours",
        estimate=share,
        why="metric: {}; people: {}".format(*orders),
        signature=column.signature,
    )


def _of_system(values: Sequence[float], replies: Replies, system: str) -> list[float]:
    return [value for value, name in zip(values, replies.system, strict=True) if name == system]


def _order(values: Mapping[str, Sequence[float]]) -> str:
    means = {name: float(np.mean(each)) for name, each in values.items()}
    return " < ".join(f"{name} {means[name]:.3f}" for name in sorted(means, key=means.__getitem__))


def accent_columns(
    context: BenchContext, replies: Replies, triples: Sequence[Sequence[Triple]], row: str
) -> Iterator[tuple[Way, Column]]:
    """Yield a value per reply by each way of judging its triples, the paper's first."""
    first, *others = EMBEDDERS
    ways = [
        Way(row, "as generated", first),
        Way(f"{row}, tails worded alike", "cosine", first),
        *(Way(f"{row}, {name}", "as generated", name) for name in others),
        Way(f"{row}, likelihood of the tail", "likelihood", first),
    ]
    counts = [len(each) for each in triples]
    distinct = list(dict.fromkeys(triple for each in triples for triple in each))
    why = f"{np.mean(counts):.1f} triples per reply, {counts.count(0)} replies without any"
    for way in ways:
        scores = dict(zip(distinct, _scores(context, distinct, way), strict=True))
        values = [mean_score([scores[triple] for triple in each]) for each in triples]
        yield way, Column(way.row, values, counts, _signature(context, replies, way), why)


def _scores(context: BenchContext, triples: Sequence[Triple], way: Way) -> list[float]:
    models = context.models()
    knowledge = cast("KnowledgeBase", models.open(GENERATOR))
    embedder = cast("Encoder", models.open(EMBEDDERS[way.embedder]))
    if way.scorer == "as generated":
        return tail_cosines(triples, knowledge, embedder)
    head = cast("TripleHead", models.open(MODELS["plausibility"]))
    return find_scorer(way.scorer)(triples, Sources(head, knowledge, embedder, TAILS))


def tail_cosines(
    triples: Sequence[Triple], knowledge: KnowledgeBase, embedder: Encoder
) -> list[float]:
    """Return ACCENT's test of each triple, tails as they are said and as they are generated.

    The paper does not word them alike: a said tail is a clause, a generated one a fragment.
    """
    if not triples:
        return []
    heads, relations = [triple.head for triple in triples], [triple.relation for triple in triples]
    given = knowledge.tails(heads, relations, TAILS)
    texts = [[tail.tail for tail in each] for each in given]
    vectors = encoded([*(t.tail for t in triples), *(t for each in texts for t in each)], embedder)
    return [
        best_cosine(vectors[triple.tail], [vectors[text] for text in each])
        for triple, each in zip(triples, texts, strict=True)
    ]


def _signature(context: BenchContext, replies: Replies, way: Way) -> str:
    references = (MODELS["extractor"], GENERATOR, EMBEDDERS[way.embedder])
    fingerprints = "|".join(context.models().fingerprint(reference) for reference in references)
    return (
        f"{way.row}|scorer:{way.scorer}|pool:mean|{fingerprints}|on:{replies.fingerprint}:{ASPECT}"
    )
