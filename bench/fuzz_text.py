"""Read every text at hand with the rules that need no model: no failure, on any of them.

    python bench/fuzz_text.py [--data DIR] [--shuffle] [--skip N] [--limit N] [--seed 0]

Takes the turns of all conversations and the cells of all tables under DIR (or GRICE_DATA), each
text once, as they are or with their words in random order. Events are marked at random, more
wildly than the shipped tagger does. Every failure is printed with its text; exit status 1 if there
is one.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import corpora

from grice.knowledge.extraction.candidates import candidates, worded
from grice.knowledge.extraction.cues import CueExtractor, CueSettings, mentions_in, not_english
from grice.knowledge.extraction.patterns import PatternExtractor
from grice.knowledge.extraction.protocol import KINDS, RELATIONS, Exchange
from grice.knowledge.extraction.search import concepts
from grice.knowledge.generative import as_fragment, plain_event
from grice.knowledge.schema import load_schema
from grice.metrics.coherence.features import verbatim_features
from grice.metrics.coherence.turn_text import read_turn
from grice.metrics.engagement.features import surface
from grice.models.bundle import open_bundle
from grice.models.protocols import TaggedSpan
from grice.models.registry import read_settings
from grice.text.events import event_text, reaction
from grice.text.repetition import novelty
from grice.text.script import unreadable

SHOWN = 3
"""Failures of a kind that are printed; further ones are counted."""
EVERY = 20_000
"""Texts between two words on how far it is."""
SCHEMA = load_schema("atomic2020")


class RandomTagger:
    """Marks stretches between words, and now and then inside of one."""

    identity = "random"

    def tag(self, texts: Sequence[str]) -> list[tuple[TaggedSpan, ...]]:
        """Return spans that follow from the text alone, in order and without overlap."""
        return [tuple(self._spans(text)) for text in texts]

    def _spans(self, text: str) -> Iterator[TaggedSpan]:
        rng = random.Random(text)
        between = [i for i, character in enumerate(text) if not character.isalnum()]
        count = rng.randint(0, 4)
        cuts = {rng.choice(between) if between and rng.random() < 0.8 else rng.randint(0, len(text))
                for _ in range(2 * count)}  # fmt: skip
        ends = sorted(cuts)
        for start, end in zip(ends[::2], ends[1::2], strict=False):
            if text[start:end].strip():
                yield TaggedSpan(start, end, "event", rng.random())


class Reader:
    """Does with a text and the one before it what the metrics do before they ask a model."""

    def __init__(self) -> None:
        self._tagger = RandomTagger()
        bundle = open_bundle("extraction")
        self._cues = CueExtractor(bundle, read_settings(bundle, CueSettings), self._tagger)
        self._patterns = PatternExtractor(self._tagger)

    def read(self, before: str, text: str) -> None:
        """Raise whatever a rule raises, or AssertionError for what cannot be."""
        share = novelty(text, [before]).novel_fraction
        assert 0 <= share <= 1, f"the share of new words is {share}"
        unreadable(text), not_english(text), concepts(text), read_turn(text)
        surface(before, text), verbatim_features("AB", [before, text])
        event_text(text), reaction(text, said_by="previous")
        exchange = Exchange((before,), text)
        self._patterns.extract([exchange])
        self._check(before, text, self._cues.extract([exchange], least=0.0)[0].triples)
        [(mentions, _)] = mentions_in([exchange], self._tagger, KINDS)
        for number, pair in enumerate(candidates(mentions, KINDS)):
            relation = RELATIONS[number % len(RELATIONS)]
            head, tail = worded(pair, relation)
            plain_event(head), as_fragment(tail, SCHEMA[relation])

    def _check(self, before: str, text: str, triples: Sequence[object]) -> None:
        for triple in triples:
            for place in (triple.head_place, triple.tail_place):  # type: ignore[attr-defined]
                whole = text if place.turn == "reply" else before
                assert whole[place.start : place.end].strip(), f"{place} covers nothing"


def texts(arguments: argparse.Namespace) -> Iterator[tuple[str, str]]:
    """Yield each text with the one before it."""
    for conversation in corpora.conversations(corpora.folder(arguments.data), statements=True):
        talk = corpora.shuffled(conversation, arguments.seed) if arguments.shuffle else conversation
        for place in talk.targets or ():
            yield talk.turns[place - 1].text if place else "", talk.turns[place].text


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--shuffle", action="store_true", help="the words of each text at random")
    parser.add_argument("--skip", type=int, default=0, help="texts that were read earlier")
    parser.add_argument("--limit", type=int, help="texts that are read after them")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    reader = Reader()
    failures: Counter[str] = Counter()
    count = 0
    start = time.monotonic()
    last = None if arguments.limit is None else arguments.skip + arguments.limit
    for before, text in islice(texts(arguments), arguments.skip, last):
        count += 1
        if count % EVERY == 0:
            print(f"{count:,} texts, {failures.total():,} failures", file=sys.stderr, flush=True)
        try:
            reader.read(before, text)
        except Exception as error:  # noqa: BLE001 - whatever comes is what is looked for
            place = traceback.extract_tb(error.__traceback__)[-1]
            kind = f"{type(error).__name__} in {place.name}, line {place.lineno}"
            failures[kind] += 1
            if failures[kind] <= SHOWN:
                print(f"{kind}: {error}\n  before: {before[:300]!r}\n  text: {text[:300]!r}")
    rate = count / (time.monotonic() - start)
    order = "shuffled" if arguments.shuffle else "as they are"
    print(f"{count:,} texts, {order}: {failures.total():,} failures ({dict(failures)}); "
          f"{rate:,.0f} texts/s")  # fmt: skip
    return 1 if failures else 0


if __name__ == "__main__":
    raise SystemExit(main())
