"""From questions or statements to a benchmark in a folder."""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import msgspec
import numpy as np

from grice.data import json_line
from grice.errors import InputError, did_you_mean
from grice.files import make_folder, write_lines, write_text
from grice_tasks.pages import template
from grice_tasks.situatedgen.examples import describe, halved, samples_of, source_table
from grice_tasks.situatedgen.records import (
    CONTEXTS,
    Marked,
    MinedPair,
    Sample,
    Statement,
    context_of,
    contexts_in,
    read_given,
)
from grice_tasks.situatedgen.statements import to_statements
from grice_tasks.situatedgen.tagger import MASK, mark_statements
from grice_tasks.situatedgen.words import find_run, lemmas, match_keywords

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from grice.models.protocols import Encoder
    from grice_tasks.situatedgen.models import ContrastHead, SituatedModels
    from grice_tasks.situatedgen.records import Question
    from grice_tasks.situatedgen.statements import ClauseFinder
    from grice_tasks.situatedgen.tagger import ContextTagger

    Array: TypeAlias = NDArray[np.float32]


THRESHOLD = 0.8
FEWEST, MOST = 2, 5  # marks that a masked sentence may have
BLOCK = 2048
LEAST_CONTRAST = 0.5
TEST, DEV = 0.25, 0.15  # largest shares of the pairs, as published
Refusal: TypeAlias = Literal["keywords", "contained", "shared entity", "no shared context"]
Likeness: TypeAlias = "tuple[int, int, float]"


class RuleSet(NamedTuple):
    """Conditions on a pair."""

    every_label: bool  # a shared entity of any label refuses a pair, not of context alone
    inflected: bool  # an entity is found in other forms of its words, not as spelt in any word
    contained: bool  # a statement may not hold the other one whole


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
        entities = [
            each for each in statement.entities if wanted.every_label or each.label in CONTEXTS
        ]
        if any(_holds(text, entity.text, inflected=wanted.inflected) for entity in entities):
            return "shared entity"
    return None


def _holds(text: str, entity: str, *, inflected: bool) -> bool:
    if not inflected:
        return entity.lower() in text.lower()
    bare = re.sub(r"^(?:the|an?)\s+", "", entity, flags=re.IGNORECASE)
    return find_run(lemmas(bare), lemmas(text)) >= 0


def mine_pairs(
    marked: Sequence[Marked], likenesses: Iterable[Likeness], rules: str = "paper"
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


def split_pairs(
    pairs: Sequence[MinedPair], *, seed: int = 17
) -> tuple[dict[str, list[MinedPair]], int]:
    """Return the pairs of ``train``, ``dev`` and ``test``, and how many fell between communities.

    Nodes are statements, edges pairs. One connected component holds nearly all, so that Louvain's
    communities (Blondel et al. 2008) are shuffled, and each goes to the first of test, dev and
    train that it does not make too large.
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
    """A benchmark with the number of records that each step took and left out, by reason."""

    splits: dict[str, list[Sample]]
    counts: dict[str, int]
    sources: dict[str, dict[str, int]]


def build_benchmark(
    given: Sequence[Question | Statement],
    *,
    clauses: ClauseFinder,
    tagger: ContextTagger,
    encoder: Encoder,
    judge: ContrastHead | None = None,
    rules: str = "paper",
    seed: int = 17,
) -> Built:
    """Return a benchmark from questions with answers, or statements."""
    ready = [record for record in given if isinstance(record, Statement)]
    asked = [record for record in given if not isinstance(record, Statement)]
    turned = to_statements(asked, clauses)
    distinct: dict[str, Statement] = {}
    for statement in (*ready, *turned):
        distinct.setdefault(" ".join(statement.statement.lower().split()).rstrip("."), statement)
    marked, left = mark_statements(distinct.values(), tagger)
    counts = {
        "read": len(given),
        "no statement (false claim or unknown form)": len(asked) - len(turned),
        "the same statement again": len(ready) + len(turned) - len(distinct),
        "statement without context": len(left),
        "statements with context": len(marked),
    }
    if not marked:
        raise InputError("no statement has a place, date, time or event: nothing can contrast")
    vectors = np.stack(encoder.encode([statement.masked for statement in marked]))
    pairs, refused = mine_pairs(marked, alike(vectors), rules)
    counts |= {f"pair refused: {why}": n for why, n in sorted(refused.items())}
    counts["pairs mined"] = len(pairs)
    if judge is not None:
        contrasting = keep_contrasting(pairs, marked, judge)
        counts["pair refused: exchanging contexts changes nothing"] = len(pairs) - len(contrasting)
        pairs = contrasting
    splits, between = split_pairs(pairs, seed=seed)
    counts["pairs between communities"] = between
    made = {
        name: [
            msgspec.structs.replace(sample, id=f"{name}::{sample.id}")
            for sample in samples_of(part, marked, seed=seed)
        ]
        for name, part in splits.items()
    }
    made, left_out = keep_apart(made)
    counts["pairs with the keywords of another split's sentence"] = left_out
    return Built(made, counts, source_table(marked))


def keep_apart(splits: dict[str, list[Sample]]) -> tuple[dict[str, list[Sample]], int]:
    """Return the splits without samples that have the keywords of a sentence of a later one."""
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


def keep_contrasting(
    pairs: Sequence[MinedPair], marked: Sequence[Marked], judge: ContrastHead
) -> list[MinedPair]:
    """Return the pairs that are better than with their contexts exchanged, by the model.

    A pair that is as good with its places or times exchanged has several right answers.
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
        if judgement.contrast is not None and judgement.contrast >= LEAST_CONTRAST
    ]


def datasheet(built: Built, *, title: str, sources: Sequence[str], settings: str) -> str:
    """Return the datasheet of a benchmark, in Markdown."""
    splits = built.splits
    return template("datasheet.md.j2").render(
        built=built,
        title=title,
        sources=sources,
        settings=settings,
        splits=[
            (name, describe(part) if part else None, _floor(part)) for name, part in splits.items()
        ],
        shared_statements=_shared(splits, lambda each: {text.lower() for text in each.statements}),
        shared_keywords=_shared(splits, _keyword_sets),
    )


def _floor(samples: Sequence[Sample]) -> float:
    """Return the mean MATCH of halved keywords."""
    matches = (
        match_keywords(halved(each.keywords), each.keywords, each.keywords_pos, reading="exclusive")
        for each in samples
    )
    return sum(match.value for match in matches) / max(1, len(samples))


def _shared(
    splits: Mapping[str, Sequence[Sample]], parts: Callable[[Sample], Iterable[Hashable]]
) -> int:
    """Return how many of the samples' parts are in more than one split."""
    seen: dict[Hashable, set[str]] = {}
    for name, samples in splits.items():
        for part in (part for sample in samples for part in parts(sample)):
            seen.setdefault(part, set()).add(name)
    return sum(len(names) > 1 for names in seen.values())


def build_folder(
    path: Path,
    folder: Path,
    models: SituatedModels,
    *,
    contrast: bool = True,
    rules: str = "paper",
    seed: int = 17,
    title: str,
    sources: Sequence[str] = (),
    command: str,
) -> Built:
    """Build a benchmark from a file of questions or statements, with its datasheet."""
    built = build_benchmark(
        read_given(path),
        clauses=models.context.clauses,
        tagger=models.context.tagger,
        encoder=models.encoder,
        judge=models.contrast.judge if contrast else None,
        rules=rules,
        seed=seed,
    )
    make_folder(folder)
    for name, samples in built.splits.items():
        write_lines(folder / f"{name}.jsonl", [json_line(sample) + b"\n" for sample in samples])
    sheet = datasheet(built, title=title, settings=command, sources=sources or [path.name])
    write_text(folder / "DATASHEET.md", sheet)
    return built
