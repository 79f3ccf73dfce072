"""Triples read by search: whatever is known that joins a word of the reply with another word.

The search that ACCENT (Ghazarian et al., Findings of ACL 2023) compares its extractor with: base
forms of nouns, verbs and adjectives of the reply and of the turn before it are looked for in the
heads and tails of a knowledge base. It reads no relation from the text, so that nearly every
relation is found in nearly every reply. ACCENT keeps every row that is found; here one per relation
is given, as extractors do.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from grice.errors import BundleError
from grice.knowledge.extraction.protocol import (
    KINDS,
    RELATIONS,
    ExtractedTriple,
    Extraction,
    TripleExtractor,
    check_kinds,
)
from grice.knowledge.lookup import StoredKnowledge
from grice.knowledge.protocols import KnowledgeBase
from grice.knowledge.store import BundledStore
from grice.models.registry import NoSettings, dependencies_of, model_kind
from grice.text.contractions import written_out
from grice.text.tokens import LETTER_WORDS
from grice.text.verbs import base_form
from grice.text.wordlists import (
    AUXILIARIES,
    DEGREES,
    DETERMINERS,
    FILLERS,
    KEPT_ADVERBS,
    PREPOSITIONS,
    QUESTIONS,
    THINGS,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from grice.knowledge.extraction.protocol import Exchange, Kind
    from grice.models.bundle import Bundle
    from grice.models.registry import Opener
    from grice.records import Triple

FURTHER = "be few less lot me more most much one or other own same several then two us while you"
STOP = frozenset(FURTHER.split()).union(
    AUXILIARIES, DEGREES, DETERMINERS, FILLERS, KEPT_ADVERBS, PREPOSITIONS, QUESTIONS, THINGS
)
CONTENT = ("VERB", "NOUN", "ADJ")
CONFIDENCE = 0.5
"""Of every triple: a word is there or not."""


def concepts(text: str) -> list[str]:
    """Return the base forms of the nouns, verbs and adjectives of a text, each once, in order.

    >>> concepts("My dogs were barking at the old postman.")
    ['dog', 'bark', 'old', 'postman']
    """
    words = LETTER_WORDS.findall(" ".join(written_out(text)).lower())
    lemmas = [_lemma(word) for word in words if word not in STOP]
    return list(dict.fromkeys(word for word in lemmas if word and word not in STOP))


@cache
def _lemma(word: str) -> str:
    """Return the base form of a content word; nothing for another word."""
    # It takes a moment to import, and only this baseline asks it here.
    from lemminflect import getAllLemmas

    lemmas = getAllLemmas(word)
    kinds = [kind for kind in CONTENT if kind in lemmas]
    if not kinds:
        return ""
    base = base_form(word)
    known = [lemma for kind in kinds for lemma in lemmas[kind]]
    return base if base != word or word in known else str(known[0])


class Texts:
    """Texts that are searched for words, each text once."""

    def __init__(self, texts: Iterable[str]) -> None:
        distinct = list(dict.fromkeys(texts))
        self.numbers = {text: number for number, text in enumerate(distinct)}
        lines = [text.lower() + "\n" for text in distinct]
        self._joined = "".join(lines)
        self._starts = np.cumsum([0, *map(len, lines[:-1])])
        self._holding: dict[str, NDArray[np.int64]] = {}

    def holding(self, word: str) -> NDArray[np.int64]:
        """Return the numbers of the texts with a word somewhere in them, within words too."""
        if word not in self._holding:
            places = [match.start() for match in re.finditer(re.escape(word), self._joined)]
            lines = np.searchsorted(self._starts, np.array(places, np.int64), side="right") - 1
            self._holding[word] = np.unique(lines)
        return self._holding[word]

    def held(self, words: Sequence[int], names: Sequence[str]) -> Held:
        """Return how many of some words each text holds, and the sum of their numbers."""
        count, total = (np.zeros(len(self.numbers), np.int32) for _ in range(2))
        for word in words:
            lines = self.holding(names[word])
            count[lines] += 1
            total[lines] += word
        return Held(count, total)


class Held(NamedTuple):
    """How many words each text or row holds, and the sum of the words' numbers."""

    number: NDArray[np.int32]
    total: NDArray[np.int32]

    def at(self, rows: NDArray[np.int64]) -> Held:
        """Return those of some texts."""
        return Held(self.number[rows], self.total[rows])


class SearchExtractor:
    """A :class:`~grice.knowledge.extraction.protocol.TripleExtractor` by search.

    A triple is found if a word of the reply is part of its head or tail, and another word of the
    reply or, for ``pair``, of the turn before it, is part of the other side.

    Args:
        triples: What is known; relations that ACCENT does not have are left out.
    """

    def __init__(self, triples: Iterable[Triple], identity: str) -> None:
        self.identity = f"search({identity})"
        known = [triple for triple in triples if triple.relation in RELATIONS]
        self._known = known
        self._heads = Texts(triple.head for triple in known)
        self._tails = Texts(triple.tail for triple in known)
        self._head = np.array([self._heads.numbers[triple.head] for triple in known], np.int64)
        self._tail = np.array([self._tails.numbers[triple.tail] for triple in known], np.int64)
        self._relation = np.array([RELATIONS.index(triple.relation) for triple in known], np.int64)

    def extract(
        self,
        exchanges: Sequence[Exchange],
        *,
        kinds: Sequence[Kind] = KINDS,
        least: float | None = None,
    ) -> list[Extraction]:
        """Return what each reply holds: of each relation the triple with most of the words.

        Every triple has the confidence 0.5, so that a larger ``least`` leaves none.
        """
        check_kinds(kinds)
        return [
            Extraction()
            if least is not None and least > CONFIDENCE
            else self._read(exchange, kinds)
            for exchange in exchanges
        ]

    def _read(self, exchange: Exchange, kinds: Sequence[Kind]) -> Extraction:
        spoken = concepts(exchange.reply)
        names = [*spoken, *(word for word in concepts(exchange.previous) if word not in spoken)]
        own, before = range(len(spoken)), range(len(spoken), len(names))
        triples: dict[str, ExtractedTriple] = {}
        others: dict[Kind, range] = {"single": own, "pair": before}
        for kind in others:
            if kind in kinds:
                for triple in self._best(names, own, others[kind], kind):
                    triples.setdefault(triple.relation, triple)
        ordered = tuple(triples.values())
        reason = "" if ordered else "nothing that is known joins two words of it"
        return Extraction(ordered, len(names), reason=reason)

    def _best(
        self, names: Sequence[str], own: Sequence[int], others: Sequence[int], kind: Kind
    ) -> list[ExtractedTriple]:
        """Return of each relation the first row with most words, if it joins two."""
        sides = [
            [texts.held(words, names).at(rows) for words in (own, others)]
            for texts, rows in ((self._heads, self._head), (self._tails, self._tail))
        ]
        (own_head, other_head), (own_tail, other_tail) = sides
        joined = _joins(own_head, other_tail) | _joins(own_tail, other_head)
        rank = np.where(
            joined,
            own_head.number + own_tail.number + other_head.number + other_tail.number,
            0,
        )
        best = []
        for relation in range(len(RELATIONS)):
            rows = np.flatnonzero(self._relation == relation)
            if len(rows) and rank[row := int(rows[np.argmax(rank[rows])])]:
                known = self._known[row]
                best.append(
                    ExtractedTriple(
                        head=known.head,
                        relation=known.relation,
                        tail=known.tail,
                        confidence=CONFIDENCE,
                        kind=kind,
                    )
                )
        return best


def _joins(first: Held, second: Held) -> NDArray[np.bool_]:
    """Say which rows hold a word on the first side and another one on the second."""
    alone = (first.number == 1) & (second.number == 1)
    both = (first.number > 0) & (second.number > 0)
    joined: NDArray[np.bool_] = both & ~(alone & (first.total == second.total))
    return joined


@model_kind(
    "search-extractor", answers="triples of a reply", protocol=TripleExtractor, settings=NoSettings
)
def search_extractor(bundle: Bundle, _: NoSettings, opener: Opener) -> SearchExtractor:
    """Open a search of the store below."""
    (below,) = dependencies_of(bundle.card)
    base = opener.part(bundle, below, KnowledgeBase, "knowledge")
    if not isinstance(base, StoredKnowledge) or not isinstance(base.store, BundledStore):
        raise BundleError(f"{bundle.folder}: {below} below it is no store of known triples")
    return SearchExtractor(base.store.triples(RELATIONS), base.store.identity)
