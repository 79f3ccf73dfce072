"""Measure how far the released entities agree with themselves: a bound for any tagger by phrase.

    python -m grice_research.recipes.situated.consistency --data ../shared/data

A phrase that the release marks as a place, date, time or event somewhere is looked for in all
released statements, as whole words in any case. Where it stands outside of every released entity
the release has left out what it marks elsewhere. A reader that knows for each phrase what the
release does most often, and does that everywhere, is scored as the tagger is: no tagger that takes
the same phrase for the same thing can be nearer. Phrases that stand once agree with themselves, and
where a span begins and ends is taken as released, so that the bound is kind. The second figure is
of the phrases that stand in other statements too, each read as those other statements do.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from grice.stats.estimate import Estimate
from grice_research.benches._situatedgen import ARTICLE, named_entities, ratio
from grice_research.recipes.situated.corpora import SOURCES, rows
from grice_tasks.situatedgen.records import CONTEXTS

WORD = re.compile(r"\w+|[^\w\s]")


class Phrases(NamedTuple):
    """The phrases of a statement: those marked as context, and those left out here."""

    marked: frozenset[str]
    left: frozenset[str]


def bare(name: str) -> str:
    return ARTICLE.sub("", name.lower()).strip()


def read(data: Path) -> dict[str, list[Phrases]]:
    """Return what the release says of every phrase in every statement, by source."""
    lines = {
        source: [
            (str(row["statement"]).lower(), named_entities(row))
            for row in rows(data / f"situatedgen/statements_{source}.jsonl.gz")
        ]
        for source in SOURCES
    }
    first: dict[str, set[str]] = {}
    for text, entities in (line for part in lines.values() for line in part):
        for name, label in entities:
            if label in CONTEXTS and bare(name) in text:
                first.setdefault(WORD.findall(bare(name))[0], set()).add(bare(name))
    return {source: [_phrases(*line, first) for line in part] for source, part in lines.items()}


def _phrases(text: str, entities: list[tuple[str, str]], first: dict[str, set[str]]) -> Phrases:
    covered = [
        occurrence.span()
        for name, _ in entities
        for occurrence in re.finditer(re.escape(name.lower()), text)
    ]
    marked = {bare(name) for name, label in entities if label in CONTEXTS}
    left = set()
    for phrase in {name for word in WORD.findall(text) for name in first.get(word, ())} - marked:
        for match in re.finditer(rf"(?<!\w){re.escape(phrase)}(?!\w)", text):
            if all(match.end() <= start or end <= match.start() for start, end in covered):
                left.add(phrase)
    return Phrases(frozenset(marked), frozenset(left))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    statements = read(parser.parse_args().data)
    every = [statement for part in statements.values() for statement in part]
    marked = Counter(phrase for statement in every for phrase in statement.marked)
    left = Counter(phrase for statement in every for phrase in statement.left)
    often = {phrase for phrase, count in marked.items() if count > left[phrase]}
    rare = marked.keys() - often
    print(f"{len(marked):,} phrases, marked {sum(marked.values()):,} times")
    print(f"those mostly marked are left out {sum(left[phrase] for phrase in often):,} times")
    print(
        f"{len(rare):,} are mostly left out, "
        f"marked {sum(marked[phrase] for phrase in rare):,} times"
    )
    print("| source | F1 of the reader by phrase | by other statements | n |\n|---|---|---|---|")
    for source, part in (*statements.items(), ("all", every)):
        whole = f1(
            [(statement.marked, (statement.marked | statement.left) & often) for statement in part]
        )
        others = f1([elsewhere(statement, marked, left) for statement in part])
        print(f"| {source} | {shown(whole)} | {shown(others)} | {whole.n:,} |")


def elsewhere(
    statement: Phrases, marked: Counter[str], left: Counter[str]
) -> tuple[frozenset[str], frozenset[str]]:
    """Return the marked phrases that stand in other statements too, and what those would mark."""
    counts = {
        phrase: (
            marked[phrase] - (phrase in statement.marked),
            left[phrase] - (phrase in statement.left),
        )
        for phrase in statement.marked | statement.left
    }
    known = frozenset(phrase for phrase, both in counts.items() if sum(both))
    return statement.marked & known, frozenset(p for p in known if counts[p][0] > counts[p][1])


def f1(pairs: Iterable[tuple[frozenset[str], frozenset[str]]]) -> Estimate:
    both = list(pairs)
    right = [2.0 * len(a & b) for a, b in both]
    return ratio(right, [float(len(a) + len(b)) for a, b in both])


def shown(estimate: Estimate) -> str:
    return f"{estimate.value:.3f} [{estimate.low:.3f}, {estimate.high:.3f}]"


if __name__ == "__main__":
    main()
