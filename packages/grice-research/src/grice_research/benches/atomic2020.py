"""ATOMIC-2020: does a knowledge base write the tails that people wrote?

The 5,000 test queries (head and relation) for which the authors released what their COMET-BART
writes. All systems go through one scorer, that of pycocoevalcap; what people wrote as "none" is no
reference, and where a system writes "none" its next tail counts. Queries with no other reference
are left out.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeAlias, cast

import numpy as np

from grice.data import Triple
from grice.knowledge.generative import GenerativeKnowledge, plain_event
from grice.knowledge.store import KnowledgeBase
from grice.stats.estimate import Estimate
from grice.stats.inputs import Floats, group_codes
from grice.stats.resample import estimate, resample
from grice_research.benches._turns import marked_lines, table_lines
from grice_research.context import BenchContext, data_digest
from grice_research.figures import Figure, Kind, figure
from grice_tasks.situatedgen.captions import ORDERS, bleu_counts, rouge_l

Tails: TypeAlias = list[list[str]]

TITLE = "Tails of ATOMIC-2020's test queries"
PAPER = (
    "Hwang et al., (Comet-)Atomic 2020: On Symbolic and Neural Commonsense Knowledge Graphs, "
    "AAAI 2021"
)

QUERIES = "atomic/atomic2020_test5000_comet_bart.jsonl.gz"
TRAINING = "atomic/atomic2020_sample.tsv.gz"
SOURCE = "github.com/allenai/comet-atomic-2020, system_eval/BART (CC BY)"
K = 9  # tails per query: as many beams as were released
GENERATED, STORED = "builtin:comet", "builtin:atomic"
NONE = "none"


class Query(NamedTuple):
    """A head and a relation with what people and COMET-BART wrote, "none" left out."""

    head: str
    relation: str
    references: tuple[str, ...]
    greedy: tuple[str, ...]
    beam: tuple[str, ...]


def measure(context: BenchContext) -> Iterator[Figure]:
    """Yield likeness to people's tails for every system, and the generator's perplexity."""
    asked = read_queries(context.folder)
    greedy, beam = ([list(getattr(query, name)) for query in asked] for name in ("greedy", "beam"))
    frequent = frequent_tails(context.folder, asked)
    given: list[tuple[str, Kind, Tails, str]] = [
        ("COMET-BART, greedy", "printed", greedy, "released output"),
        ("COMET-BART, beam", "printed", beam, "released output"),
        ("most frequent tail", "baseline", frequent, "of its relation"),
    ]
    names = {"generated": GENERATED, "retrieved": STORED}
    for row, reference in names.items():
        knowledge = cast("KnowledgeBase", context.models().load(reference))
        signature = context.models().fingerprint(reference)
        heads, relations = ([getattr(each, side) for each in asked] for side in Query._fields[:2])
        tails = [[tail.tail for tail in each] for each in knowledge.tails(heads, relations, K)]
        given.append((row, "ours", tails, signature))
    for row, kind, tails, signature in given:
        for name, value in tail_likeness(asked, tails).items():
            stated = f"{signature}|on:{data_digest(context.folder, QUERIES)}|measure:{name}"
            yield figure(row, name, value, kind, signature=stated)
    yield from _perplexities(context, asked)


def read_queries(folder: Path) -> list[Query]:
    """Return the queries for which people wrote a tail."""
    queries = []
    for item in marked_lines(folder, QUERIES, SOURCE):
        greedy, beam = [item["comet_bart_greedy"]], item["comet_bart_beam"]
        texts = [_without_none(each) for each in (item["tails"], [*greedy, *beam], beam)]
        if texts[0]:
            queries.append(Query(item["head"], item["relation"], *texts))
    return queries


def _without_none(tails: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(tail.strip() for tail in tails if folded(tail) not in (NONE, "")))


def folded(tail: str) -> str:
    """Return letters and digits in lower case, persons spelled in one way."""
    return re.sub(r"[\W_]+", "", plain_event(tail).lower())


def frequent_tails(folder: Path, asked: Sequence[Query]) -> Tails:
    """Return the most frequent tails of each query's relation in the training part."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for row in table_lines(folder, TRAINING, SOURCE):
        if row["split"] == "train" and folded(row["tail"]) not in (NONE, ""):
            counts[row["relation"]][row["tail"].strip()] += 1
    best = {
        relation: sorted(tails, key=lambda tail: (-tails[tail], tail))[:K]
        for relation, tails in counts.items()
    }
    return [best.get(query.relation, []) for query in asked]


def tail_likeness(asked: Sequence[Query], tails: Tails) -> dict[str, Estimate]:
    """Return BLEU-2 of the corpus and means over queries; no tail counts as no likeness."""
    pairs = list(zip(asked, tails, strict=True))
    firsts = [(given[0] if given else "", query.references) for query, given in pairs]
    counts = np.stack([bleu_counts(text, *references) for text, references in firsts])
    values = np.array([_matches(query, given) for query, given in pairs])

    def statistic(weights: Floats) -> Floats:
        means = weights @ values / weights.sum(axis=1, keepdims=True)
        return np.column_stack([bleu_2(weights @ counts), means])

    heads = [query.head for query in asked]
    return _estimates(heads, statistic, ("bleu2", "rouge_l", "exact_match", f"match_in_{K}"))


def _matches(query: Query, tails: Sequence[str]) -> tuple[float, float, float]:
    if not tails:
        return 0.0, 0.0, 0.0
    known = {folded(text) for text in query.references}
    hits = [folded(tail) in known for tail in tails[:K]]
    return rouge_l(tails[0], *query.references), float(hits[0]), float(any(hits))


def bleu_2(sums: Floats) -> Floats:
    """Return BLEU-2 for each row of sums of ``grice_tasks.situatedgen.captions.bleu_counts``."""
    guessed, right = sums[:, :2], sums[:, ORDERS : ORDERS + 2]
    mine, other = sums[:, -2], sums[:, -1]
    with np.errstate(divide="ignore", invalid="ignore"):
        short = np.minimum(0.0, 1 - other / mine)
        values: Floats = np.exp(np.log(right / guessed).mean(axis=1) + short)
    return np.nan_to_num(values)


def _perplexities(context: BenchContext, asked: Sequence[Query]) -> Iterator[Figure]:
    generator = cast("GenerativeKnowledge", context.models().load(GENERATED))
    triples = [
        Triple(query.head, query.relation, tail) for query in asked for tail in query.references
    ]
    scored = zip(triples, generator.likelihoods(triples), strict=True)
    kept = [(triple.head, likelihood) for triple, likelihood in scored if likelihood is not None]
    values = np.array([(likelihood.given, likelihood.usual) for _, likelihood in kept])

    def statistic(weights: Floats) -> Floats:
        return np.asarray(np.exp(-(weights @ values) / weights.sum(axis=1, keepdims=True)))

    heads = [head for head, _ in kept]
    each = _estimates(heads, statistic, ("perplexity", "perplexity, head hidden"))
    rows: tuple[tuple[str, Kind], ...] = (
        ("generated", "ours"),
        ("generated, head hidden", "baseline"),
    )
    name = "perplexity"
    why = "of a word piece; every reference counts alike; COMET-BART's was not released"
    data = f"on:{data_digest(context.folder, QUERIES)}|measure:{name}"
    signature = f"{context.models().fingerprint(GENERATED)}|{data}"
    for (row, kind), value in zip(rows, each.values(), strict=True):
        stated = partial(figure, lower=True, why=why, signature=signature)
        yield stated(row, name, value, kind)


def _estimates(
    heads: Sequence[str], statistic: Callable[[Floats], Floats], names: Sequence[str]
) -> dict[str, Estimate]:
    groups = group_codes(heads, len(heads))
    drawn = resample(statistic, len(heads), groups=groups)
    return {name: estimate(drawn, column, what=name) for column, name in enumerate(names)}
