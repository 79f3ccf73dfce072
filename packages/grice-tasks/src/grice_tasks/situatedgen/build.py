"""The whole way from questions or statements to a benchmark in a folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np

from grice.errors import InputError
from grice_tasks.situatedgen.examples import describe, samples_of, source_table
from grice_tasks.situatedgen.marking import mark_statements
from grice_tasks.situatedgen.match import match_keywords
from grice_tasks.situatedgen.mining import alike, mine_pairs, split_pairs
from grice_tasks.situatedgen.records import MinedPair, Sample, Statement, contexts_in
from grice_tasks.situatedgen.statements import to_statements
from grice_tasks.situatedgen.trivial_outputs import halved

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Sequence

    from grice.models.protocols import Encoder
    from grice_tasks.situatedgen.contrast import ContrastHead
    from grice_tasks.situatedgen.records import Marked, Question
    from grice_tasks.situatedgen.statements import Clauses
    from grice_tasks.situatedgen.tagger import Tagger


class Built(msgspec.Struct, frozen=True):
    """A benchmark with what each step took and left out.

    Attributes:
        counts: What each step took and left out, with the reason.
    """

    splits: dict[str, list[Sample]]
    counts: dict[str, int]
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
