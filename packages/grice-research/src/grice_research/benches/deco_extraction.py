"""Triples of events read from replies, against those people wrote for DECO test (ACCENT, setup 2).

All 12 relations were asked of all 100 replies; a cell is a reply and a relation. Saying yes
everywhere, or for the six relations that people found most often in the training part, are the
baselines: their F1 is near those of the published extractors. The paper's search takes every known
triple that shares a word with the reply and another with it or the turn before, of a sample of
ATOMIC-2020 here.

Whether a cell holds a triple is judged as a yes or no; how alike the triples are, by BLEU-2 over
the cells where both the people and the extractor give one (the released script).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import pairwise, product
from pathlib import Path
from typing import NamedTuple, cast

import msgspec
import numpy as np

from grice.data import Triple
from grice.errors import InputError
from grice.knowledge.extraction import ContextResponse, TripleExtractor
from grice.knowledge.schema import RELATIONS
from grice.metrics.commonsense import exchange_of
from grice.perturb.wording import lemma, words
from grice.scoring.loaded import responses
from grice.stats.estimate import Estimate
from grice.stats.inputs import Floats
from grice.stats.resample import estimate, resample
from grice.text.content import content_words
from grice.text.events import event_text
from grice_research.benches._turns import table_lines
from grice_research.benches.atomic2020 import SOURCE, TRAINING
from grice_research.context import BenchContext, data_digest
from grice_research.figures import Figure, Gap, Kind, figure, gap_to
from grice_research.published import printed

TITLE = "Triples of events read from replies, DECO test"
PAPER = (
    "Ghazarian et al., ACCENT: An Automatic Event Commonsense Evaluation Metric for Open-Domain "
    "Dialogue Systems, Findings of ACL 2023"
)

MODEL = "builtin:extraction"
PRINTED = {
    "precision": "precision", "recall": "recall", "F1": "f1", "BLEU-2": "bleu2",
}  # fmt: skip
BESIDE = "ACCENT T5"
SEARCH = "CSKB search"
FREQUENT = ("xEffect", "oReact", "HasSubEvent", "HinderedBy", "isAfter", "xAttr")
"""The relations with most triples in DECO's training part (Table 10)."""

Found = list[dict[str, list[tuple[str, str]]]]


def measure(context: BenchContext) -> Iterator[Figure]:
    """Yield ours and the trivial baselines; bench accent has the printed rows."""
    replies = read_replies(context, "deco_test")
    exchanges = replies.exchanges
    models = context.models()
    extractor = cast("TripleExtractor", models.load(MODEL))
    fingerprint = f"{models.fingerprint(MODEL)}|on:{replies.fingerprint}"
    stated = {
        row: {PRINTED[name]: value for (_, name), value in cells.items() if name in PRINTED}
        for row, cells in printed("accent", "table 3").items()
    }

    found = read_triples(extractor, exchanges)
    trivial, ours = baselines(exchanges), cells_of(found, replies)
    gaps: dict[str, list[Gap]] = {}
    for row, copied in trivial.items():
        compared = extraction_differences(ours, cells_of(copied, replies), RELATIONS)
        for name in ("f1", "bleu2"):
            gaps.setdefault(name, []).append(gap_to(row, compared[name]))
    for each in _rows("extractor", found, replies, "ours", fingerprint, stated[BESIDE], BESIDE):
        yield msgspec.structs.replace(each, gaps=tuple(gaps.get(each.measure, ())))
    for row, copied in trivial.items():
        yield from _rows(row, copied, replies, "baseline", replies.fingerprint)
    known = f"{data_digest(context.folder, TRAINING)}|on:{replies.fingerprint}"
    search = searched(exchanges, context.folder)
    yield from _rows(SEARCH, search, replies, "ours", known, stated[SEARCH], SEARCH)


def read_triples(extractor: TripleExtractor, exchanges: Sequence[ContextResponse]) -> Found:
    """Return the triples of each reply by relation, worded as people worded theirs."""
    triples: Found = []
    for extraction in extractor.extract(exchanges):
        cells: dict[str, Pairs] = {}
        for triple in extraction.triples:
            pair = as_deco(triple.head), as_deco(triple.tail)
            cells.setdefault(triple.relation, []).append(pair)
        triples.append(cells)
    return triples


def baselines(exchanges: Sequence[ContextResponse]) -> dict[str, Found]:
    """Return what reads nothing: the two turns copied, or worded as one event each."""
    copied = [[(exchange.previous, exchange.reply)] for exchange in exchanges]
    worded = [
        [(as_deco(event_text(exchange.previous)), as_deco(event_text(exchange.reply)))]
        for exchange in exchanges
    ]
    return {
        "always yes, copying": [dict.fromkeys(RELATIONS, pair) for pair in copied],
        "six frequent relations, each turn as one event": [
            dict.fromkeys(FREQUENT, pair) for pair in worded
        ],
    }


def searched(exchanges: Sequence[ContextResponse], folder: Path) -> Found:
    """Return the known triples of which one side holds a word of the reply, the other another."""
    known = table_lines(folder, TRAINING, SOURCE)
    rows = [row for row in known if row["split"] == "train" and row["relation"] in RELATIONS]
    sides = [(row["head"].lower(), row["tail"].lower()) for row in rows]

    @cache
    def holding(word: str, side: int) -> frozenset[int]:
        return frozenset(i for i, pair in enumerate(sides) if word in pair[side])

    triples: Found = []
    for exchange in exchanges:
        own, before = _concepts(exchange.reply), _concepts(exchange.previous)
        places = {
            place
            for word, other in product(sorted(own), sorted(own | before))
            if word != other
            for side in (0, 1)
            for place in holding(word, side) & holding(other, 1 - side)
        }
        cells: dict[str, Pairs] = {}
        for row in (rows[place] for place in sorted(places)):
            cells.setdefault(row["relation"], []).append((row["head"], row["tail"]))
        triples.append(cells)
    return triples


def _concepts(text: str) -> set[str]:
    """Return the base forms of the nouns, verbs and adjectives of a text that tell something."""
    content = {word.text.lower() for word in content_words(text)}
    kinds = ((word.lower, word.kind or "noun") for word in words(text) if word.lower in content)
    return {lemma(word, kind) for word, kind in kinds if kind != "name"}


def cells_of(triples: Found, replies: Replies) -> list[Cells]:
    """Return found triples beside those of people, by reply."""
    cells = []
    for each, people in zip(triples, replies.triples, strict=True):
        gold: dict[str, Pairs] = {}
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
    printed_as: str = "",
) -> Iterator[Figure]:
    cells = cells_of(triples, replies)
    given = sum(bool(pairs) for each in triples for pairs in each.values())
    why = f"{given} of {len(triples) * len(RELATIONS)} cells hold a triple"
    for name, measured in extraction_measures(cells, RELATIONS).items():
        stated = (published or {}).get(name)
        beside = "" if stated is None else printed_as
        about = partial(figure, why=why, signature=signature, published=stated, beside=beside)
        yield about(row, name, measured, kind)


class Replies(NamedTuple):
    """Replies with the turn before them, and the triples that people wrote for each."""

    exchanges: tuple[ContextResponse, ...]
    triples: tuple[tuple[Triple, ...], ...]
    fingerprint: str


def read_replies(context: BenchContext, name: str) -> Replies:
    """Return the replies of a rated set."""
    rated = context.rated(name)
    exchanges, triples = [], []
    for item in rated.items:
        exchanges.append(exchange_of(responses(item.conversation)[-1]))
        drawn: object = item.conversation.meta.get("tuples")
        groups = drawn.values() if isinstance(drawn, dict) else ()
        triples.append(tuple(Triple(*triple[:3]) for group in groups for triple in group))
    return Replies(tuple(exchanges), tuple(triples), rated.fingerprint)


MEASURES = ("precision", "recall", "f1", "bleu2")

Pairs = list[tuple[str, str]]  # heads and tails of one cell


class Cells(NamedTuple):
    """The triples of one reply by relation, those of people and those of an extractor."""

    gold: Mapping[str, Pairs]
    extracted: Mapping[str, Pairs]


def extraction_measures(
    replies: Sequence[Cells],
    relations: Sequence[str],
) -> dict[str, Estimate]:
    """Return precision, recall, F1 and BLEU-2, 0 to 1, with intervals over replies."""
    counts = _table(replies, relations)
    return _estimates(lambda weights: _measures(weights @ counts), len(counts), "")


def extraction_differences(
    first: Sequence[Cells], second: Sequence[Cells], relations: Sequence[str]
) -> dict[str, Estimate]:
    """Return how far one extractor is above another on the same replies, by measure.

    The intervals are of the differences, over replies drawn together for both.
    """
    if len(first) != len(second):
        raise InputError(f"{len(first)} replies cannot be compared with {len(second)}")
    tables = (_table(first, relations), _table(second, relations))

    def statistic(weights: Floats) -> Floats:
        return np.subtract(*(_measures(weights @ table) for table in tables))

    return _estimates(statistic, len(first), "difference of ")


def _estimates(statistic: Callable[[Floats], Floats], n: int, what: str) -> dict[str, Estimate]:
    drawn = resample(statistic, n)
    return {name: estimate(drawn, i, what=f"{what}{name}") for i, name in enumerate(MEASURES)}


def _table(replies: Sequence[Cells], relations: Sequence[str]) -> Floats:
    counts = np.array([_counts(cells, relations) for cells in replies], np.float64)
    if len(counts) < 2 or not counts[:, 0].sum():
        raise InputError(
            f"{len(counts)} replies: extraction is measured on at least two, and people and "
            f"extractor must agree on one relation at least"
        )
    return counts


def _measures(sums: Floats) -> Floats:
    """Return the measures of sums of :func:`_counts`, shape ``(n, 4)`` each."""
    both, extracted, gold, likeness = sums.T
    with np.errstate(invalid="ignore", divide="ignore"):
        f1 = 2 * both / (extracted + gold)
        columns = (both / extracted, both / gold, f1, likeness / both)
    return np.stack(columns, axis=1)


def _counts(cells: Cells, relations: Sequence[str]) -> tuple[int, int, int, float]:
    """Return cells of both, of the extractor, of people, and the BLEU-2 of the first."""
    extracted = [name for name in relations if cells.extracted.get(name)]
    gold = [name for name in relations if cells.gold.get(name)]
    both = [name for name in extracted if name in gold]
    pairs = [(lines_of(cells.extracted[name]), lines_of(cells.gold[name])) for name in both]
    likeness = sum(bleu2(mine, goals) for mine, goals in pairs)
    return len(both), len(extracted), len(gold), likeness


def lines_of(pairs: Pairs) -> list[str]:
    """Return triples of one relation as texts that are compared."""
    return [f"{head} <sep> {tail}" for head, tail in pairs]


def bleu2(predictions: Sequence[str], references: Sequence[str]) -> float:
    """Return corpus BLEU of words and neighbouring pairs, without smoothing, 0 to 1.

    Every prediction has all the references; the length it should have is that of the shortest.

    >>> round(bleu2(["PersonX eats chicken"], ["PersonX eats chicken for days"]), 3)
    0.513
    """
    goals = [tokens_13a(text) for text in references]
    mine = [tokens_13a(text) for text in predictions]
    length, wanted = sum(map(len, mine)), len(mine) * min(map(len, goals), default=0)
    total = 0.0
    for order in (1, 2):
        most: Counter[tuple[str, ...]] = Counter()
        for goal in goals:
            most |= _ngrams(goal, order)
        grams = [_ngrams(words, order) for words in mine]
        shared = sum((counts & most).total() for counts in grams)
        if not shared:
            return 0.0
        total += math.log(shared / sum(counts.total() for counts in grams))
    short = min(0.0, 1 - wanted / length)
    return math.exp(short + total / 2)


def _ngrams(words: list[str], order: int) -> Counter[tuple[str, ...]]:
    return Counter((word,) for word in words) if order == 1 else Counter(pairwise(words))


def as_deco(text: str) -> str:
    """Return a clause as the people who wrote DECO's triples do, with every form of "be" as "be".

    >>> as_deco("PersonX is sad")
    'PersonX be sad'
    """
    return re.sub(r"\b(?:is|are|am)\b", "be", text)


_SEPARATE = (
    (re.compile(r"([{-~\[-` -&(-+:-@/])"), r" \1 "),
    (re.compile(r"([^0-9])([.,])"), r"\1 \2 "),
    (re.compile(r"([.,])([^0-9])"), r" \1 \2"),
    (re.compile(r"([0-9])(-)"), r"\1 \2 "),
)
_ENTITIES = (("&quot;", '"'), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">"))


def tokens_13a(text: str) -> list[str]:
    """Split as the WMT script mteval-v13a does: marks apart, except within numbers."""
    for entity, character in _ENTITIES:
        text = text.replace(entity, character)
    text = f" {' '.join(text.split())} "
    for pattern, spaced in _SEPARATE:
        text = pattern.sub(spaced, text)
    return text.split()
