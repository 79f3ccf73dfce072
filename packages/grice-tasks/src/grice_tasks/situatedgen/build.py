"""The whole way from questions or statements to a benchmark in a folder."""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec
import numpy as np

from grice.errors import InputError, did_you_mean
from grice_tasks.situatedgen.examples import describe, halved, samples_of, source_table
from grice_tasks.situatedgen.records import (
    CONTEXTS,
    Marked,
    MinedPair,
    Sample,
    Statement,
    context_of,
    contexts_in,
)
from grice_tasks.situatedgen.statements import to_statements
from grice_tasks.situatedgen.tagger import MASK, mark_statements
from grice_tasks.situatedgen.words import find_run, lemmas, match_keywords

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from grice.models.protocols import Encoder
    from grice_tasks.situatedgen.models import ContrastHead
    from grice_tasks.situatedgen.records import Question
    from grice_tasks.situatedgen.statements import Clauses
    from grice_tasks.situatedgen.tagger import Tagger

    Array: TypeAlias = NDArray[np.float32]


THRESHOLD = 0.8
FEWEST, MOST = 2, 5  # Marks that a masked sentence may have
BLOCK = 2048
Refusal: TypeAlias = Literal["keywords", "contained", "shared entity", "no shared context"]
Likeness: TypeAlias = "tuple[int, int, float]"


class RuleSet(msgspec.Struct, frozen=True):
    """Conditions on a pair."""

    every_label: bool  # whether a shared entity of any label refuses a pair, or of context alone
    inflected: bool  # whether an entity is found in another form of its words too
    contained: bool  # whether a statement may not hold the other one whole


RULES = {
    "paper": RuleSet(every_label=True, inflected=True, contained=False),
    "released": RuleSet(every_label=False, inflected=False, contained=True),
}


def refusal(first: Marked, second: Marked, rules: str = "paper") -> Refusal | None:
    """Return why two statements are no pair; None if they may be one."""
    if rules not in RULES:
        raise InputError(f"rules={rules!r}{did_you_mean(rules, RULES)}")
    wanted = RULES[rules]
    if any(not FEWEST <= statement.masked.count(MASK) <= MOST for statement in (first, second)):
        return "keywords"
    mine, other = first.statement.lower(), second.statement.lower()
    if wanted.contained and (mine in other or other in mine):
        return "contained"
    if not context_of(first.entities) & context_of(second.entities):
        return "no shared context"
    for statement, text in ((first, second.statement), (second, first.statement)):
        for entity in statement.entities:
            if not wanted.every_label and entity.label not in CONTEXTS:
                continue
            shared = (
                find_run(_content(entity.text), lemmas(text)) >= 0
                if wanted.inflected
                else entity.text.lower() in text.lower()
            )
            if shared:
                return "shared entity"
    return None


def _content(entity: str) -> tuple[str, ...]:
    return lemmas(re.sub(r"^(?:the|an?)\s+", "", entity, flags=re.IGNORECASE))


def mine_pairs(
    marked: Sequence[Marked],
    likenesses: Iterable[Likeness],
    rules: str = "paper",
) -> tuple[list[MinedPair], dict[str, int]]:
    """Return the pairs that the rules let pass, and how many each rule refused."""
    pairs: list[MinedPair] = []
    refused: dict[str, int] = {}
    for i, j, score in likenesses:
        first, second = marked[min(i, j)], marked[max(i, j)]
        why = refusal(first, second, rules)
        if why:
            refused[why] = refused.get(why, 0) + 1
            continue
        context = context_of(first.entities) & context_of(second.entities)
        pairs.append(MinedPair((first.id, second.id), round(score, 4), tuple(sorted(context))))
    return pairs, refused


def alike(vectors: Array, *, threshold: float = THRESHOLD) -> Iterator[Likeness]:
    """Yield every two rows with a cosine from the threshold on, each pair once."""
    for begin in range(0, len(vectors), BLOCK):
        rows = vectors[begin : begin + BLOCK]
        for start in range(begin, len(vectors), BLOCK):
            cosines = rows @ vectors[start : start + BLOCK].T
            for i, j in np.argwhere(cosines >= threshold):
                if begin + i < start + j:
                    yield begin + int(i), start + int(j), float(cosines[i, j])


TEST, DEV = 0.25, 0.15  # Largest shares of the pairs, as published


def split_pairs(
    pairs: Sequence[MinedPair], *, seed: int = 17
) -> tuple[dict[str, list[MinedPair]], int]:
    """Return the pairs of ``train``, ``dev`` and ``test``, and how many fell between communities.

    The graph's nodes are statements, its edges pairs. Its connected components will not do: one
    holds nearly all. Louvain's communities (Blondel et al. 2008) are shuffled, and each goes to
    test if test then has no more than a quarter of the pairs, else to dev if that then has no more
    than 15 %, else to train.
    """
    import networkx

    if not pairs:
        raise InputError("no pair to split: the statements have no likeness above the threshold")
    graph = networkx.Graph()
    graph.add_nodes_from(sorted({name for pair in pairs for name in pair.ids}))
    graph.add_edges_from(sorted(pair.ids for pair in pairs))
    communities = networkx.community.louvain_communities(graph, seed=seed)
    home = {name: k for k, group in enumerate(communities) for name in group}
    inside: dict[int, list[MinedPair]] = {}
    for pair in pairs:
        first, second = (home[name] for name in pair.ids)
        if first == second:
            inside.setdefault(first, []).append(pair)
    total = sum(map(len, inside.values()))
    order = sorted(inside)
    random.Random(seed).shuffle(order)
    splits: dict[str, list[MinedPair]] = {"train": [], "dev": [], "test": []}
    for community in order:
        group = inside[community]
        for name, share in (("test", TEST), ("dev", DEV), ("train", 1.0)):
            if len(splits[name]) + len(group) <= share * total:
                splits[name] += group
                break
    return splits, len(pairs) - total


class Built(msgspec.Struct, frozen=True):
    """A benchmark with what each step took and left out."""

    splits: dict[str, list[Sample]]
    counts: dict[str, int]  # what each step took and left out, with the reason
    sources: dict[str, dict[str, int]]


def build_benchmark(
    given: Sequence[Question | Statement],
    *,
    clauses: Clauses,
    tagger: Tagger,
    encoder: Encoder,
    judge: ContrastHead | None = None,
    rules: str = "paper",
    least_contrast: float = 0.5,
    seed: int = 17,
) -> Built:
    """Return a benchmark from questions with answers, or statements."""
    ready = [record for record in given if isinstance(record, Statement)]
    asked = [record for record in given if not isinstance(record, Statement)]
    turned = to_statements(asked, clauses)
    counts = {
        "read": len(given),
        "no statement (false claim or unknown form)": len(asked) - len(turned),
    }
    marked, left = mark_statements(_distinct([*ready, *turned]), tagger)
    counts["the same statement again"] = len(ready) + len(turned) - len(marked) - len(left)
    counts["statement without context"] = len(left)
    counts["statements with context"] = len(marked)
    vectors = (
        np.stack(encoder.encode([statement.masked for statement in marked])) if marked else None
    )
    if vectors is None:
        raise InputError("no statement has a place, date, time or event: nothing can contrast")
    pairs, refused = mine_pairs(marked, alike(vectors), rules)
    counts |= {f"pair refused: {why}": n for why, n in sorted(refused.items())}
    counts["pairs mined"] = len(pairs)
    if judge is not None:
        contrasting = keep_contrasting(pairs, marked, judge, least_contrast)
        counts["pair refused: exchanging contexts changes nothing"] = len(pairs) - len(contrasting)
        pairs = contrasting
    splits, between = split_pairs(pairs, seed=seed)
    counts["pairs between communities"] = between
    made = {name: samples_of(part, marked, seed=seed) for name, part in splits.items()}
    made, left_out = keep_apart({name: _named(name, part) for name, part in made.items()})
    counts["pairs with the keywords of another split's sentence"] = left_out
    return Built(made, counts, source_table(marked))


def _named(split: str, samples: Sequence[Sample]) -> list[Sample]:
    return [msgspec.structs.replace(sample, id=f"{split}::{sample.id}") for sample in samples]


def keep_apart(splits: dict[str, list[Sample]]) -> tuple[dict[str, list[Sample]], int]:
    """Return the splits without what has the keywords of a sentence of a later one."""
    separate: dict[str, list[Sample]] = {}
    later: set[frozenset[str]] = set()
    for name, samples in reversed(splits.items()):
        separate[name] = [sample for sample in samples if later.isdisjoint(_keyword_sets(sample))]
        later.update(*(_keyword_sets(sample) for sample in separate[name]))
    left_out = sum(map(len, splits.values())) - sum(map(len, separate.values()))
    return {name: separate[name] for name in splits}, left_out


def _keyword_sets(sample: Sample) -> set[frozenset[str]]:
    """Return the keywords of each sentence, in lower case."""
    places = list(zip(sample.keywords, sample.keywords_pos, strict=True))
    return {frozenset(word.lower() for word, place in places if place == k) for k in (0, 1)}


def _distinct(statements: Sequence[Statement]) -> list[Statement]:
    seen: dict[str, Statement] = {}
    for statement in statements:
        seen.setdefault(" ".join(statement.statement.lower().split()).rstrip("."), statement)
    return list(seen.values())


def keep_contrasting(
    pairs: Sequence[MinedPair], marked: Sequence[Marked], judge: ContrastHead, least: float = 0.5
) -> list[MinedPair]:
    """Return the pairs whose contexts the model would not exchange, with its word for each.

    This is the test of context dependence: a pair that is as good with its places or times
    exchanged has several right answers.
    """
    known = {statement.id: statement for statement in marked}
    both = [(known[a], known[b]) for a, b in (pair.ids for pair in pairs)]
    contexts = [
        [(e.text, kind) for statement in two for e, kind in contexts_in(statement.entities)]
        for two in both
    ]
    judged = judge.judge([(a.statement, b.statement) for a, b in both], contexts)
    return [
        msgspec.structs.replace(pair, contrast=round(judgement.contrast, 4))
        for pair, judgement in zip(pairs, judged, strict=True)
        if judgement.contrast is not None and judgement.contrast >= least
    ]


def datasheet(built: Built, *, title: str, sources: Sequence[str], settings: str) -> str:
    """Return what a user of the benchmark should know, in Markdown."""
    lines = [
        f"# {title}",
        "",
        "Pairs of sentences that contrast by place or time, with shuffled",
        "keywords as input, built after SituatedGen (Zhang and Wan, NeurIPS 2023).",
        "",
        "## Sources",
        "",
        *[f"- {source}" for source in sources],
        "",
        "## Steps",
        "",
    ]
    lines += [f"- {what}: {count:,}" for what, count in built.counts.items()]
    lines += ["", "## Statements", "", "| source | GEO only | TEMP only | both |"]
    lines += ["|---|---|---|---|"]
    for source, by_context in built.sources.items():
        cells = " | ".join(f"{by_context.get(k, 0):,}" for k in ("GEO only", "TEMP only", "both"))
        lines.append(f"| {source} | {cells} |")
    lines += [
        "",
        "## Splits",
        "",
        "| split | pairs | statements | keywords | mean keywords | mean tokens | skewness | "
        "contexts | MATCH of halved keywords |",
    ]
    lines += ["|---|---|---|---|---|---|---|---|---|"]
    for name, samples in built.splits.items():
        if not samples:
            lines.append(f"| {name} | 0 | – | – | – | – | – | – | – |")
            continue
        s = describe(samples)
        kinds = ", ".join(f"{kind} {n:,}" for kind, n in sorted(s.contexts.items()))
        lines.append(
            f"| {name} | {s.pairs:,} | {s.unique_statements:,} | {s.unique_keywords:,} | "
            f"{s.mean_keywords:.2f} | {s.mean_tokens:.2f} | {s.skewness:.2f} | {kinds} | "
            f"{_floor(samples):.3f} |"
        )
    texts = _shared(built, lambda sample: {text.lower() for text in sample.statements})
    words = _shared(built, _keyword_sets)
    lines += [
        "",
        f"Statements in more than one split: {texts}.",
        f"Sentences' keywords in more than one split: {words}.",
        "",
        "## Known limits",
        "",
        "- Statements are turned from questions by rules and some are clumsy or untrue.",
        "- Contexts are found by a model; pairs were not read by people.",
        "- A pair may still have several right answers.",
        "",
        "## Made by",
        "",
        f"`{settings}`",
        "",
    ]
    return "\n".join(lines)


def _floor(samples: Sequence[Sample]) -> float:
    values = [
        match_keywords(
            halved(sample.keywords), sample.keywords, sample.keywords_pos, reading="exclusive"
        ).value
        for sample in samples
    ]
    return sum(values) / len(values)


def _shared(built: Built, parts: Callable[[Sample], Iterable[Hashable]]) -> int:
    """Return how many of the samples' parts are in more than one split."""
    seen: dict[Hashable, set[str]] = {}
    for name, samples in built.splits.items():
        for part in (part for sample in samples for part in parts(sample)):
            seen.setdefault(part, set()).add(name)
    return sum(len(splits) > 1 for splits in seen.values())
