"""Samples from pairs, what systems are given of them, and the numbers that describe a set."""

from __future__ import annotations

import random
import re
from collections import Counter
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from grice_tasks.situatedgen.records import (
    CONTEXTS,
    Entity,
    Marked,
    Sample,
    context_of,
    contexts_in,
)
from grice_tasks.situatedgen.tagger import MASK
from grice_tasks.situatedgen.words import sentences, words

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from grice_tasks.situatedgen.records import MinedPair


class SplitStatistics(msgspec.Struct, frozen=True):
    """One split, as in table 2 and figure 3 of the paper."""

    pairs: int
    unique_statements: int
    unique_per_pair: float
    unique_keywords: int
    mean_keywords: float
    mean_tokens: float
    keywords_histogram: dict[str, int]  # how many inputs have so many keywords
    skewness: float  # third standardised moment of the number of keywords
    contexts: dict[str, int]  # how many pairs have which kinds of context


def finished(statement: str) -> str:
    """Return a statement as it stands in a reference."""
    text = statement.strip()
    if len(text) > 1 and text[0] == text[-1] == '"':
        text = text[1:-1].strip()
    text = text if text.endswith((".", "!", "?", '"')) else f"{text}."
    return text[:1].upper() + text[1:]


def samples_of(
    pairs: Sequence[MinedPair], marked: Iterable[Marked], *, seed: int = 0
) -> list[Sample]:
    """Return a sample per pair, its keywords shuffled."""
    known = {statement.id: statement for statement in marked}
    rng = random.Random(seed)
    samples = []
    for number, pair in enumerate(pairs):
        both = [known[name] for name in pair.ids]
        given = [(word, side) for side, statement in enumerate(both) for word in _used(statement)]
        rng.shuffle(given)
        texts = (finished(both[0].statement), finished(both[1].statement))
        contexts = [
            tuple(Entity(e.text, e.label) for e, _ in contexts_in(statement.entities))
            for statement in both
        ]
        samples.append(
            Sample(
                id=str(number),
                keywords=tuple(word for word, _ in given),
                keywords_pos=tuple(side for _, side in given),
                statements=texts,
                statement=" ".join(texts),
                ids=pair.ids,
                context=pair.context,
                entities=(contexts[0], contexts[1]),
            )
        )
    return samples


def _used(statement: Marked) -> list[str]:
    """Return the keywords that the mask stands for: one inside another is not used."""
    text, used = statement.statement, []
    for keyword in statement.keywords:
        changed = re.sub(rf"(?<![\w\[]){re.escape(keyword)}(?!\w)", MASK, text)
        if changed != text:
            used.append(keyword)
        text = changed
    return used


def describe(samples: Sequence[Sample]) -> SplitStatistics:
    """Return the numbers of a split."""
    sizes = np.array([len(sample.keywords) for sample in samples], np.float64)
    texts = {text for sample in samples for text in sample.statements}
    tokens = [
        sum(len(words(sentence)) for text in sample.statements for sentence in sentences(text))
        for sample in samples
    ]
    spread = float(sizes.std())
    skewness = float(((sizes - sizes.mean()) ** 3).mean() / spread**3) if spread else 0.0
    return SplitStatistics(
        pairs=len(samples),
        unique_statements=len(texts),
        unique_per_pair=len(texts) / len(samples),
        unique_keywords=len({word for sample in samples for word in sample.keywords}),
        mean_keywords=float(sizes.mean()),
        mean_tokens=float(np.mean(tokens)),
        keywords_histogram={str(n): int((sizes == n).sum()) for n in range(1, 99) if n in sizes},
        skewness=skewness,
        contexts=dict(Counter("+".join(sample.context) or "none" for sample in samples)),
    )


UNNAMED = "(no source in the id)"


def source_table(marked: Iterable[Marked]) -> dict[str, dict[str, int]]:
    """Return how many statements of each source have which context, as in table 1."""
    table: dict[str, Counter[str]] = {}
    for statement in marked:
        source, named, _ = statement.id.partition("::")
        source = source if named else UNNAMED
        kinds = sorted(context_of(statement.entities))
        name = "none" if not kinds else "both" if len(kinds) > 1 else f"{kinds[0]} only"
        table.setdefault(source, Counter())[name] += 1
    return {source: dict(counts) for source, counts in sorted(table.items())}


def halved(keywords: Sequence[str]) -> str:
    """Return the first half of the keywords as one sentence and the rest as another."""
    half = (len(keywords) + 1) // 2
    return " ".join(keywords[:half]) + ". " + " ".join(keywords[half:]) + "."


def swapped(sample: Sample) -> str | None:
    """Return the reference with one context entity exchanged; None without one to exchange."""
    pair = swap_contexts(sample.statements, sample.entities)
    return None if pair is None else " ".join(pair)


def swap_contexts(
    statements: Sequence[str], entities: Sequence[Sequence[Entity]]
) -> tuple[str, str] | None:
    """Return two statements with the first possible pair of their entities exchanged.

    Both entities give the same kind of context, places first, and stand in one sentence only.

    >>> spain, chile = (Entity("Spain", "GPE"),), (Entity("Chile", "GPE"),)
    >>> swap_contexts(("July is hot in Spain.", "July is cold in Chile."), (spain, chile))
    ('July is hot in Chile.', 'July is cold in Spain.')
    """
    first, second = statements
    for kind in ("GEO", "TEMP"):
        own, others = (
            [entity.text for entity in side if CONTEXTS.get(entity.label) == kind]
            for side in entities
        )
        for mine in own:
            for other in others:
                if mine.lower() in second.lower() or other.lower() in first.lower():
                    continue
                turned = _put(first, mine, other), _put(second, other, mine)
                if turned[0] != first and turned[1] != second:
                    return turned
    return None


def _put(text: str, old: str, new: str) -> str:
    start = text.startswith(old)
    replaced = re.sub(rf"(?<!\w){re.escape(old)}(?!\w)", lambda _: new, text)
    return replaced[:1].upper() + replaced[1:] if start else replaced
