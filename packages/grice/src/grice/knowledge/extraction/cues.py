"""Triples of events read from a reply by the words that relate them.

The events come from a span tagger, one pass per turn. Every ordered pair of them is scored under
each of ACCENT's relations by the cues around and inside them
(:mod:`grice.knowledge.extraction.candidates`), the best pair of a relation is its triple, and its
score becomes a probability. The cues and their weights stand in the bundle's ``cues.toml``, to be
read and changed.
"""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec
import numpy as np

from grice.errors import BundleError, did_you_mean
from grice.knowledge.extraction.candidates import (
    FEATURES,
    allowed,
    are_whole,
    candidates,
    features,
    worded,
)
from grice.knowledge.extraction.clauses import CHARACTERS, EVENTS, event_mentions
from grice.knowledge.extraction.protocol import (
    KINDS,
    RELATIONS,
    ExtractedTriple,
    Extraction,
    TripleExtractor,
    check_kinds,
)
from grice.models.loader import Settings, encoder_reference, model_type
from grice.models.products import Columns
from grice.models.protocols import SpanTagger
from grice.numeric import sigmoid
from grice.text.lexicon import look_up
from grice.text.script import unreadable
from grice.text.tokens import UNICODE_LETTERS
from grice.text.wordlists import (
    ADVERBS,
    AFTER_OBJECT,
    AUXILIARIES,
    CLAUSE_STARTS,
    DEGREES,
    DETERMINERS,
    NOT_VERBS,
    PREPOSITIONS,
    QUESTIONS,
    THINGS,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from grice.knowledge.extraction.candidates import Candidate
    from grice.knowledge.extraction.clauses import EventMention
    from grice.knowledge.extraction.protocol import Exchange, Kind
    from grice.models.bundle import Bundle
    from grice.models.loader import ModelLoader
    from grice.models.protocols import SpanTagger, TaggedSpan
    from grice.text.people import Speaker

    Array = NDArray[np.float32]

KNOWN_SHARE = 0.5
"""Least share of words that the lexicon knows, below which a text is not taken for English."""
CLAUSES = 12
"""Most clauses of a turn that are paired, of those its events are made of; exclamations count."""
DECIMALS = 4
"""Decimals of a score by which the best pair of a relation is chosen."""
FEW_WORDS = 4
"""Texts of fewer words may be names and greetings, which say nothing about their language."""


class Scale(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a relation's score becomes log odds: ``base + slope * (score - centre) / spread``.

    Attributes:
        centre: Mean score of the best pairs in everyday replies.
        spread: Their standard deviation.
        base: Log odds that a reply with the mean score holds the relation.
        slope: How much one standard deviation counts.
    """

    centre: float = 0.0
    spread: float = 1.0
    base: float = 0.0
    slope: float = 1.0


class Cues(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a file of cues states.

    Attributes:
        weights: What each feature counts, by relation; ``all`` counts for every relation.
        scale: How scores become log odds, by relation.
    """

    weights: dict[str, dict[str, float]] = {}
    scale: dict[str, Scale] = {}


class _Best(NamedTuple):
    """The best pair under a relation."""

    candidate: Candidate
    relation: str
    score: float
    whole: bool


class CueSettings(Settings, frozen=True):
    """Of a bundle of kind ``extractor``: the confidence from which a triple is given."""

    least: float


class CueExtractor:
    """Reads triples by cues; see the module."""

    def __init__(self, bundle: Bundle, settings: CueSettings, tagger: SpanTagger) -> None:
        self.identity = f"{bundle.identity}/{tagger.identity}"
        self._tagger = tagger
        cues = read_cues(bundle.path("cues.toml"))
        self._weights = Columns(cue_weights(cues.weights, bundle.path("cues.toml")))
        self._scale = [cues.scale.get(name, Scale()) for name in RELATIONS]
        self.least = settings.least

    def extract(
        self,
        exchanges: Sequence[Exchange],
        *,
        kinds: Sequence[Kind] = KINDS,
        least: float | None = None,
    ) -> list[Extraction]:
        """Return what each reply holds, as a :class:`.protocol.TripleExtractor`."""
        check_kinds(kinds)
        bound = self.least if least is None else least
        return [
            self._read(exchange, mentions, cut, kinds, bound)
            for exchange, (mentions, cut) in zip(
                exchanges, mentions_in(exchanges, self._tagger, kinds), strict=True
            )
        ]

    def _read(
        self,
        exchange: Exchange,
        mentions: Sequence[EventMention],
        cut: bool,  # noqa: FBT001
        kinds: Sequence[Kind],
        least: float,
    ) -> Extraction:
        flags = ("truncated",) if cut else ()
        own = sum(item.own for item in mentions)
        if not own:
            foreign = not_english(exchange.reply)
            if foreign is not None:
                return Extraction(reason=f"the reply {foreign}")
            reason = "no event was found in the reply"
            return Extraction(events=len(mentions), reason=reason, flags=flags)
        best = self._best(mentions, kinds)
        confidences = self._confidences(best)
        chosen = sorted(
            (
                _triple(pair, confidence)
                for pair, confidence in zip(best, confidences, strict=True)
                if confidence >= least
            ),
            key=lambda triple: -triple.confidence,
        )
        reason = "" if chosen else "no two events are related"
        return Extraction(tuple(chosen), len(mentions), own, reason, flags)

    def _best(self, mentions: Sequence[EventMention], kinds: Sequence[Kind]) -> list[_Best]:
        pairs = candidates(mentions, kinds)
        if not pairs:
            return []
        own = sum(item.own for item in mentions)
        scores = self._weights.product(features(pairs, (len(mentions) - own, own)))
        fitting, whole = allowed(pairs), are_whole(pairs)
        # Two events often fit as well one way round as the other: of equals the first is taken, and
        # rounding in the last bits must not say which are equal.
        first = np.where(fitting, scores.round(DECIMALS), -np.inf).argmax(axis=0)
        return [
            _Best(pairs[first[i]], relation, float(scores[first[i], i]), bool(whole[first[i], i]))
            for i, relation in enumerate(RELATIONS)
            if fitting[:, i].any()
        ]

    def _confidences(self, pairs: Sequence[_Best]) -> list[float]:
        odds = []
        for best in pairs:
            scale = self._scale[RELATIONS.index(best.relation)]
            odds.append(scale.base + scale.slope * (best.score - scale.centre) / scale.spread)
        return [float(value) for value in sigmoid(np.array(odds, np.float32))]


def _triple(best: _Best, confidence: float) -> ExtractedTriple:
    head, tail = worded(best.candidate, best.relation)
    return ExtractedTriple(
        head=head,
        relation=best.relation,
        tail=tail,
        confidence=confidence,
        kind=best.candidate.kind,
        whole=best.whole,
        head_place=best.candidate.head.place,
        tail_place=best.candidate.tail.place,
    )


def mentions_in(
    exchanges: Sequence[Exchange], tagger: SpanTagger, kinds: Sequence[Kind]
) -> list[tuple[list[EventMention], bool]]:
    """Return the events of each turn before and reply, and whether some were left out.

    A turn that is not English holds none; without ``pair`` the turn before is not read.
    """
    turns = dict.fromkeys(
        text
        for exchange in exchanges
        for text in (exchange.reply, exchange.previous if "pair" in kinds else "")
    )
    texts = list(dict.fromkeys(text[:CHARACTERS] for text in turns if not_english(text) is None))
    spans = dict(zip(texts, tagger.tag(texts), strict=True))
    return [_mentions(exchange, spans, kinds) for exchange in exchanges]


def _mentions(
    exchange: Exchange, spans: Mapping[str, tuple[TaggedSpan, ...]], kinds: Sequence[Kind]
) -> tuple[list[EventMention], bool]:
    mentions: list[EventMention] = []
    cut = False
    speaker: Speaker = "responder" if exchange.same_speaker else "previous"
    turns: list[tuple[str, Literal["reply", "previous"], Speaker]]
    turns = [(exchange.previous, "previous", speaker), (exchange.reply, "reply", "responder")]
    for whole, turn, said_by in turns if "pair" in kinds else turns[1:]:
        text = whole[:CHARACTERS]
        if text not in spans:
            continue
        tagged = spans[text]
        read = event_mentions(text, tagged, turn=turn, said_by=said_by)
        cut |= len(whole) > CHARACTERS or len(tagged) > EVENTS or len(read) > CLAUSES
        mentions += read[:CLAUSES]
    return mentions, cut


def not_english(text: str) -> str | None:
    """Return why a text cannot be read as English; None if it may be English.

    >>> not_english("Je ne sais pas pourquoi tu dis toujours cela")
    'holds few words that are English'
    """
    reason = unreadable(text)
    if reason is not None:
        return reason
    words = UNICODE_LETTERS.findall(text[:CHARACTERS].lower())
    known = sum(len(word) < 2 or word in _COMMON or bool(look_up(word).readings) for word in words)
    foreign = len(words) >= FEW_WORDS and known < KNOWN_SHARE * len(words)
    return "holds few words that are English" if foreign else None


_COMMON = (
    ADVERBS
    | AFTER_OBJECT
    | AUXILIARIES
    | CLAUSE_STARTS
    | DEGREES
    | DETERMINERS
    | NOT_VERBS
    | PREPOSITIONS
    | QUESTIONS
    | THINGS
    | {"are", "didn", "doesn", "don", "haven", "isn", "ll", "or", "re", "ve", "wasn", "who"}
    | {"else", "myself", "yourself", "oh", "ok", "okay", "yeah", "yes", "hi", "hello", "wow"}
)


def read_cues(path: Path) -> Cues:
    """Read a file of cues."""
    try:
        return msgspec.convert(tomllib.loads(path.read_text("utf-8")), Cues)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError) as error:
        raise BundleError(f"{path}: the cues cannot be read: {error}") from None


def cue_weights(stated: Mapping[str, Mapping[str, float]], path: Path) -> Array:
    """Return the weights of all features under all relations, shape ``(features, relations)``."""
    weights = np.zeros((len(FEATURES), len(RELATIONS)), np.float32)
    for group, cues in stated.items():
        if group != "all" and group not in RELATIONS:
            raise BundleError(f"{path}: no relation {group!r}{did_you_mean(group, RELATIONS)}")
        columns = slice(None) if group == "all" else RELATIONS.index(group)
        for name, value in cues.items():
            if name not in FEATURES:
                raise BundleError(
                    f"{path}: {group}: no feature {name!r}{did_you_mean(name, FEATURES)}"
                )
            weights[FEATURES.index(name), columns] += np.float32(value)
    return weights


@model_type("extractor", task="triples of a reply", protocol=TripleExtractor, settings=CueSettings)
def extractor(bundle: Bundle, settings: CueSettings, loader: ModelLoader) -> CueExtractor:
    """Open cues, with the tagger whose events they read."""
    tagger = loader.dependency(bundle, encoder_reference(bundle.card), SpanTagger, "events")
    return CueExtractor(bundle, settings, tagger)
