"""Pairs of sentences of which the second contradicts the first, or does not.

Sets of natural language inference, the items that were written for the recipe ``sense``, turns of
one speaker of Synthetic-Persona-Chat, which go together, and statements of such turns with what
says the opposite. Only sets that may train what ships are read.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import islice, product
from random import Random
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

from grice.perturb.contradiction import opposite
from grice.perturb.negation import negated
from grice.text.content import sentences
from grice_research.recipes.relevance.corpora import normalise
from grice_research.recipes.sense.mixture import evaluated, is_stated
from grice_research.recipes.sense.pairs import written_items
from grice_research.recipes.sense.sources import lines_of, snli_dev, table_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

FOLDS = 6
"""Every sixth premise is kept back."""
WINDOWS = 4
"""Pairs of turns of each speaker of a conversation."""
CHARACTERS = 400
"""Of a premise the last and of a hypothesis the first are read."""
MADE = 8
"""Pairs of statements that are made of the turns of each speaker."""
SHORTEST, LONGEST = 4, 14
"""Words of a statement that is turned into its opposite."""


class Sentences(NamedTuple):
    """Two sentences, the earlier one first."""

    premise: str
    hypothesis: str
    contradicts: bool
    source: str
    validation: bool


def is_kept_back(group: str) -> bool:
    """Return whether pairs of a premise, a group or a conversation are not learned from."""
    return crc32(group.encode()) % FOLDS == 0


def _pair(first: str, second: str, source: str, group: str, *, contradicts: bool) -> Sentences:
    return Sentences(
        first.strip()[-CHARACTERS:],
        second.strip()[:CHARACTERS],
        contradicts,
        source,
        is_kept_back(group),
    )


def _labelled(source: str, rows: Iterator[tuple[str, str, str]]) -> Iterator[Sentences]:
    for premise, hypothesis, label in rows:
        yield _pair(premise, hypothesis, source, premise, contradicts=label == "contradiction")


def snli(data: Path) -> Iterator[Sentences]:
    """Yield the development part of SNLI."""
    yield from _labelled("snli", snli_dev(data))


def revised(data: Path) -> Iterator[Sentences]:
    """Yield pairs of SNLI with revisions of either side by people; a group stays together."""
    for row in lines_of(data / "nli_contradiction/cf_snli.jsonl.gz"):
        if row["split"] != "test":
            label = row["label"] == "contradiction"
            yield _pair(
                row["premise"], row["hypothesis"], "revised", str(row["group"]), contradicts=label
            )


def broken(data: Path) -> Iterator[Sentences]:
    """Yield premises with one word replaced: every third contradiction, and all others."""
    rows = lines_of(data / "nli_contradiction/breaking_nli.jsonl.gz")
    for place, row in enumerate(rows):
        label = row["label"] == "contradiction"
        if not label or place % 3 == 0:
            yield _pair(
                row["premise"], row["hypothesis"], "broken", row["premise"], contradicts=label
            )


def negated_nli(data: Path) -> Iterator[Sentences]:
    """Yield pairs with "not" in either side or both."""
    for row in table_of(data / "negated_nli/negated_nli.tsv.gz"):
        label = row["label"] == "contradiction"
        yield _pair(
            row["premise"], row["hypothesis"], "negated", row["hypothesis"], contradicts=label
        )


def monotone(data: Path) -> Iterator[Sentences]:
    """Yield pairs that differ by a quantifier or a narrower word; none is a contradiction."""
    for place, row in enumerate(lines_of(data / "nli_contradiction/med.jsonl.gz")):
        if place % 2:
            yield _pair(
                row["premise"], row["hypothesis"], "monotone", row["premise"], contradicts=False
            )


def written(_: Path) -> Iterator[Sentences]:
    """Yield replies beside what their speaker said before, of items on contradicting oneself."""
    for item in written_items():
        if item.kind == "self_contradiction":
            good = {better for better, _ in item.comparisons}
            for place, (history, reply) in enumerate(item.readings):
                own = " ".join(history[-2::-2][::-1])
                if own:
                    pair = _pair(own, reply, "written", own, contradicts=place not in good)
                    yield pair._replace(validation=item.validation)


def turns(data: Path) -> Iterator[Sentences]:
    """Yield two turns of one speaker, which go together, and statements with their opposites.

    Statement and opposite stand first in turn, each is paired with itself, too, and with another
    statement and its opposite, so that neither side alone tells.
    """
    draw = Random(0)
    for talk in lines_of(data / "synthetic_persona_chat/valid.jsonl.gz"):
        spoken = defaultdict(list)
        for turn in talk["turns"]:
            spoken[turn["speaker"]].append(turn["text"])
        for texts in spoken.values():
            if len(texts) > WINDOWS:
                for _ in range(WINDOWS):
                    i, j = sorted(draw.sample(range(1, len(texts)), 2))
                    yield _pair(texts[i], texts[j], "turns", talk["id"], contradicts=False)
                yield from islice(_opposites(texts[1:], talk["id"], draw), MADE)


def _opposites(texts: list[str], group: str, draw: Random) -> Iterator[Sentences]:
    statements = [
        sentence.text
        for text in texts
        for sentence in sentences(text)
        if SHORTEST <= len(sentence.text.split()) <= LONGEST and not sentence.text.endswith("?")
    ]
    draw.shuffle(statements)
    last = None
    for text in statements:
        other = negated(text) if draw.random() < 0.5 else opposite(text, draw)
        if other and other != text:
            both = (text, other)
            for first, second in product(last or (), both):
                yield _pair(first, second, "unrelated", group, contradicts=False)
            for first, second in product(both, both):
                yield _pair(first, second, "opposite", group, contradicts=first != second)
            last = both


SOURCES: dict[str, Callable[[Path], Iterator[Sentences]]] = {
    "snli": snli,
    "revised": revised,
    "broken": broken,
    "negated": negated_nli,
    "monotone": monotone,
    "written": written,
    "turns": turns,
}
"""By name; each yields pairs from the folder of data sets."""


def pairs(data: Path) -> list[Sentences]:
    """Return the pairs of all sources, each once, without sentences of evaluated sets."""
    stated = evaluated(data) | {normalise(text) for text in _dialogues(data)}
    return [
        pair
        for pair in dict.fromkeys(pair for source in SOURCES.values() for pair in source(data))
        if not (is_stated(pair.premise, stated) or is_stated(pair.hypothesis, stated))
    ]


def _dialogues(data: Path) -> Iterator[str]:
    """Yield the turns of the sets of contradictions in dialogue."""
    for row in lines_of(data / "rgm_contradiction/rgm_contradiction.jsonl.gz"):
        yield from (turn["text"] for turn in row["context"])
        yield row["response"]
    for row in lines_of(data / "decode_human_bot/decode_human_bot_open.jsonl.gz"):
        yield from (turn["text"] for turn in row["turns"])
