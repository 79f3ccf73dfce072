"""Extraction of event triples from a reply, by connectives and other features.

ACCENT (Ghazarian et al., Findings of ACL 2023) reads at most one triple per relation from a reply:
"Single" if both events are in the reply, "Pair" if one is in the turn before. Here a span tagger
finds the events. Every ordered pair of them is scored under each relation by features of the words
(weights in ``cues.toml``), the best pair is the triple, and its score becomes a probability.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from itertools import chain, permutations
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from grice.errors import ModelFolderError, did_you_mean
from grice.knowledge.events import (
    LEAD,
    LEADS,
    MAX_EVENTS,
    EventMention,
    Place,
    Turn,
    carrying_words,
    event_mentions,
)
from grice.knowledge.schema import RELATIONS
from grice.models.folder import ModelFolder
from grice.models.loader import ModelLoader, Settings, encoder_reference, model_type
from grice.models.mlp import Columns
from grice.models.spans import SpanHead
from grice.numeric import Array, sigmoid
from grice.text import wordlists as en
from grice.text.events import Mention, PersonName, Speaker, triple_texts
from grice.text.language import unreadable
from grice.text.lexicon import base_form, is_verb, look_up, present
from grice.text.tokens import UNICODE_LETTERS
from grice.text.wordlists import words_of

TripleKind: TypeAlias = Literal["single", "pair"]
"""``single``: both events are in the reply; ``pair``: one in the reply, one before it."""

KINDS: tuple[TripleKind, ...] = ("single", "pair")

ABOUT_ANYONE = frozenset(("isAfter", "HasSubEvent", "HinderedBy"))
"""Relations whose tail may be about anyone or anything."""

MAX_CHARACTERS = 3000  # characters read of a turn, from its beginning
MAX_CLAUSES = 12
"""Most events of a turn that are paired, those of parts of clauses and exclamations included."""
KNOWN_SHARE = 0.5  # share of known words below which a text is not taken for English
FEW_WORDS = 4  # texts of fewer words may be names and greetings, which show no language
DECIMALS = 4  # decimals of a score by which the best pair of a relation is chosen


class ContextResponse(NamedTuple):
    """The turn before (empty: none), the reply, and whether one speaker said both."""

    previous: str
    reply: str
    same_speaker: bool = False


class ExtractedTriple(msgspec.Struct, frozen=True, omit_defaults=True):
    """A triple of events extracted from a reply.

    Head and tail are clauses with their people named: ``PersonX gets fired``. PersonX is the
    subject of the head, and PersonY that of the tail under oReact, oWant and oEffect.
    """

    head: str
    relation: str
    tail: str
    confidence: float  # probability that annotators find this relation in the reply, 0 to 1
    kind: TripleKind
    head_place: Place | None = None
    tail_place: Place | None = None
    whole: bool = True  # whether both are whole clauses about people


class Extraction(msgspec.Struct, frozen=True, omit_defaults=True):
    """The triples of one reply, at most one per relation, the most confident first."""

    triples: tuple[ExtractedTriple, ...] = ()
    reason: str = ""  # why it is empty
    flags: tuple[str, ...] = ()  # ``truncated``: a turn was too long, or had too many events


class Scale(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Log odds of a score: ``base + slope * (score - centre) / spread``."""

    centre: float = 0.0  # mean of the best pairs' scores in everyday replies
    spread: float = 1.0  # their standard deviation
    base: float = 0.0  # log odds that a reply with the mean score holds the relation
    slope: float = 1.0


class Cues(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The weight of each feature by relation (``all``: every relation), and scales."""

    weights: dict[str, dict[str, float]] = {}
    scale: dict[str, Scale] = {}


class ExtractorSettings(Settings, frozen=True):
    """Settings of type ``extractor``: the confidence from which a triple is returned."""

    least: float


class TripleExtractor:
    """Extracts triples of events from replies."""

    def __init__(self, folder: ModelFolder, settings: ExtractorSettings, tagger: SpanHead) -> None:
        self.identity = f"{folder.identity}/{tagger.identity}"
        self.least = settings.least
        self._tagger = tagger
        weights, self._scales = read_cues(folder.file("cues.toml"))
        self._weights = Columns(weights)

    def extract(
        self,
        exchanges: Sequence[ContextResponse],
        *,
        kinds: Sequence[TripleKind] = KINDS,
        least: float | None = None,
    ) -> list[Extraction]:
        """Return the triples of each reply.

        ``least`` is the confidence from which a triple is returned, by default that of the model.
        Without the kind ``pair`` the turn before is not read.
        """
        least = self.least if least is None else least
        extractions = []
        found = mentions_in(exchanges, self._tagger, kinds)
        for exchange, (mentions, cut) in zip(exchanges, found, strict=True):
            triples = self._triples(mentions, kinds, least)
            reason = "" if triples else "no related events found"
            if not any(item.own for item in mentions):
                foreign = not_english(exchange.reply)
                reason = f"the reply {foreign}" if foreign else "no event found in the reply"
                cut = cut and foreign is None
            extractions.append(Extraction(triples, reason, ("truncated",) if cut else ()))
        return extractions

    def _triples(
        self, mentions: Sequence[EventMention], kinds: Sequence[TripleKind], least: float
    ) -> tuple[ExtractedTriple, ...]:
        pairs = candidates(mentions, kinds)
        if not pairs:
            return ()
        before = sum(not item.own for item in mentions)
        scores = self._weights.product(features(pairs, before))
        fitting = allowed(pairs)
        # Two events often fit as well one way round as the other: of equals the first is taken, and
        # rounding in the last bits must not decide which are equal.
        best = np.where(fitting, scores.round(DECIMALS), -np.inf).argmax(axis=0)
        triples = []
        for i in np.flatnonzero(fitting.any(axis=0)).tolist():
            pair, relation = pairs[best[i]], RELATIONS[i]
            scale = self._scales.get(relation, Scale())
            moved = scale.slope * (float(scores[best[i], i]) - scale.centre)
            odds = np.array(scale.base + moved / scale.spread, np.float32)
            confidence = float(sigmoid(odds))
            if confidence >= least:
                head, tail = worded(pair, relation)
                places = pair.head.place, pair.tail.place
                facts = confidence, pair.kind, *places, is_whole(pair, relation)
                triples.append(ExtractedTriple(head, relation, tail, *facts))
        return tuple(sorted(triples, key=lambda triple: -triple.confidence))


def mentions_in(
    exchanges: Sequence[ContextResponse], tagger: SpanHead, kinds: Sequence[TripleKind]
) -> list[tuple[list[EventMention], bool]]:
    """Return the events of each turn before and reply, and whether some were left out."""
    pair = "pair" in kinds
    turns = [text for each in exchanges for text in (each.reply, each.previous if pair else "")]
    english = (text for text in dict.fromkeys(turns) if not_english(text) is None)
    texts = list(dict.fromkeys(text[:MAX_CHARACTERS] for text in english))
    spans = dict(zip(texts, tagger.tag(texts), strict=True))

    def mentions(whole: str, turn: Turn, said_by: Speaker) -> tuple[list[EventMention], bool]:
        text = whole[:MAX_CHARACTERS]
        if text not in spans:
            return [], False
        read = event_mentions(text, spans[text], turn=turn, said_by=said_by)
        cut = len(whole) > len(text) or len(spans[text]) > MAX_EVENTS or len(read) > MAX_CLAUSES
        return read[:MAX_CLAUSES], cut

    found = []
    for each in exchanges:
        speaker: Speaker = "responder" if each.same_speaker else "previous"
        before, before_cut = mentions(each.previous if pair else "", "previous", speaker)
        own, own_cut = mentions(each.reply, "reply", "responder")
        found.append((before + own, before_cut or own_cut))
    return found


def not_english(text: str) -> str | None:
    """Return why a text cannot be read as English; None if it may be English.

    >>> not_english("Je ne sais pas pourquoi tu dis toujours cela")
    'contains few English words'
    """
    reason = unreadable(text)
    if reason is not None:
        return reason
    words = UNICODE_LETTERS.findall(text[:MAX_CHARACTERS].lower())
    known = sum(len(word) < 2 or word in _COMMON or bool(look_up(word).readings) for word in words)
    foreign = len(words) >= FEW_WORDS and known < KNOWN_SHARE * len(words)
    return "contains few English words" if foreign else None


_COMMON = frozenset().union(
    *(en.ADVERBS, en.AFTER_OBJECT, en.AUXILIARIES, en.CLAUSE_STARTS, en.DEGREES, en.DETERMINERS),
    *(en.NOT_VERBS, en.PREPOSITIONS, en.QUESTIONS, en.THINGS),
    words_of("are didn doesn don haven isn ll or re ve wasn who else myself yourself oh ok okay"),
    words_of("yeah yes hi hello wow"),
)


def read_cues(path: Path) -> tuple[Array, dict[str, Scale]]:
    """Return the weights of features, shape ``(features, relations)``, and the scales."""
    try:
        cues = msgspec.convert(tomllib.loads(path.read_text("utf-8")), Cues)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError) as error:
        raise ModelFolderError(f"{path}: the cues cannot be read: {error}") from None
    weights = np.zeros((len(FEATURES), len(RELATIONS)), np.float32)
    for group, values in cues.weights.items():
        for name, value in values.items():
            for word, known in ((group, ("all", *RELATIONS)), (name, FEATURES)):
                if word not in known:
                    hint = did_you_mean(word, known)
                    raise ModelFolderError(f"{path}: no relation or feature {word!r}{hint}")
            columns = slice(None) if group == "all" else RELATIONS.index(group)
            weights[FEATURES.index(name), columns] += np.float32(value)
    return weights, cues.scale


class Candidate(NamedTuple):
    """Two different events in the roles of head and tail."""

    head: EventMention
    tail: EventMention

    @property
    def kind(self) -> TripleKind:
        """Whether both are in the reply."""
        return "single" if self.head.own and self.tail.own else "pair"

    @property
    def backward(self) -> bool:
        """Whether the tail comes before the head in the same turn."""
        return self.head.own == self.tail.own and self.tail.order < self.head.order


def candidates(mentions: Sequence[EventMention], kinds: Sequence[TripleKind]) -> list[Candidate]:
    """Return the ordered pairs of different events of which at least one is in the reply.

    A head is an event, not a mood, neither event is cut off, and neither repeats the other.
    """
    whole = []
    for item in mentions:
        if "cut off" not in item.features:
            words = frozenset(word.lower() for word in item.event.words if isinstance(word, str))
            whole.append((item, carrying_words(item.event) or words))
    pairs = (
        Candidate(head, tail)
        for (head, first), (tail, second) in permutations(whole, 2)
        if (head.own or tail.own)
        and not {"judged", "exclaimed"} & head.features
        and not (first <= second or second <= first)
    )
    return [pair for pair in pairs if pair.kind in kinds]


def allowed(pairs: Sequence[Candidate]) -> NDArray[np.bool_]:
    """Return which pairs can stand in which relation at all, shape ``(pairs, relations)``."""
    rows = [
        [_mood_fits(pair, relation) and _people_fit(pair, relation) for relation in RELATIONS]
        for pair in pairs
    ]
    return np.array(rows, np.bool_).reshape(len(pairs), len(RELATIONS))


def _people_fit(candidate: Candidate, relation: str) -> bool:
    """Whether the tail is about the person that the relation asks for."""
    if relation in ABOUT_ANYONE:
        return True
    head, tail = (mention.event for mention in candidate)
    if isinstance(tail.words[0], Mention) and tail.words[0].possessive:
        return False  # "my dog barks"
    if "thing" in {head.subject, tail.subject}:
        return head.subject == "thing"
    same = head.subject == tail.subject
    # In the turn before, "you" and "we" often mean the other one, so that a pair may be of others.
    return not (same and candidate.kind == "single") if relation[0] == "o" else same


def _mood_fits(candidate: Candidate, relation: str) -> bool:
    """Whether the tail is a mood under a relation of reactions, and only there.

    A liking is no wish, so that it is no tail of a relation of wishes either.
    """
    head, tail = candidate
    if not relation.endswith("React"):
        likes = "liking" in tail.features and relation.endswith("Want")
        return not likes and not {"judged", "exclaimed"} & tail.features
    if not {"feeling", "liking"} & tail.features or (head.own and not tail.own):
        return False  # nobody reacts before the other has spoken
    # "That is cool. I ...": a judgement is of what went before it, but for "it is sad that ...".
    late = "judged" not in tail.features or head.lead in {"that", "if", "when"}
    return late or not candidate.backward


def is_whole(candidate: Candidate, relation: str) -> bool:
    """Return whether annotators would write such a triple.

    In DECO's training part people write triples of persons (305 of 307 heads), in whole clauses,
    and under isAfter both of one person (22 of 26). People may react to a thing; an exclamation is
    no reaction to what comes after it.
    """
    head, tail = candidate
    if "unsound" in head.features | tail.features or tail.event.subject == "thing":
        return False
    if "exclaimed" in tail.features and candidate.backward:
        return False
    if head.event.subject == "thing":
        return relation.endswith("React") or relation == "oWant"
    return relation != "isAfter" or head.event.subject == tail.event.subject


def worded(candidate: Candidate, relation: str) -> tuple[str, str]:
    """Return head and tail in the wording of annotators for a relation."""
    subject: PersonName | None = None
    if relation not in ABOUT_ANYONE:
        subject = "PersonY" if relation.startswith("o") else "PersonX"
    texts = triple_texts(candidate.head.event, candidate.tail.event, tail_subject=subject)
    head, tail = map(_plain, texts)
    if relation == "oWant":
        tail = _as_wish(tail)
    elif relation in {"xWant", "xIntent"}:
        tail = _as_event(tail)
    elif relation.endswith("React"):
        tail = re.sub(r"^(Person[XY]) (?:is|gets) (?!not\b)", r"\1 feels ", tail)
    elif relation == "xAttr":
        tail = re.sub(r"^(Person[XY]) feels ", r"\1 is ", tail)
    return head, tail


_COLOURS = en.MODIFIERS - words_of("not never only more better all both too")
_WISH = re.compile(
    r"(Person[XY]) (?:(?:would|really|just|also) )*"
    r"(?:wants|needs|hopes|likes|loves|plans|tries|has|wishes|intends) to (\w+)(.*)"
)


def _plain(text: str) -> str:
    """Drop modifiers without content."""
    first, *rest = text.split()
    plain = [first, *(word for word in rest if word not in _COLOURS)]
    return " ".join(plain) if len(plain) > 1 else text


def _as_wish(tail: str) -> str:
    """Turn "PersonY helps" into "PersonY wants to help"."""
    if wish := _WISH.fullmatch(tail):
        return f"{wish[1]} wants to {wish[2]}{wish[3]}"
    person, _, rest = tail.partition(" ")
    verb, _, others = rest.partition(" ")
    wished = verb in {"wants", "hopes", "wishes"} or not is_verb(verb)
    if wished or person not in {"PersonX", "PersonY"}:
        return tail
    return f"{person} wants to {base_form(verb)} {others}".rstrip()


def _as_event(tail: str) -> str:
    """Turn "PersonX wants to help" into "PersonX helps"."""
    wish = _WISH.fullmatch(tail)
    return f"{wish[1]} {present(wish[2])}{wish[3]}" if wish and is_verb(wish[2]) else tail


PAIR_FEATURES = (
    *("one", "pair", "head before", "tail before", "adjacent", "distance", "question before"),
    *("last and first", "same subject", "other subject"),
    *(
        f"{direction} {name}"
        for direction in ("forward", "backward")
        for name in (*LEADS, "same sentence", "new sentence")
    ),
)
EVENT_FEATURES = (
    *("question", "negated", "modal", "wish", "past", "state", "feeling", "liking", "judged"),
    *("exclaimed", "purpose", "derived", "new"),
    *("thing", "third", "confidence", "words", "vague", "names other"),
    *(f"after {lead}" for lead in LEADS),
)
FEATURES = (
    *PAIR_FEATURES,
    *(f"{role} {name}" for role in ("head", "tail") for name in EVENT_FEATURES),
)
"""Names of the columns of :func:`features`."""
_VAGUE = frozenset(["it", "that", "this", "them", "there", "something", "one"])


def features(pairs: Sequence[Candidate], before: int) -> Array:
    """Return the features of pairs of events, a column for each name of :data:`FEATURES`.

    ``before`` is the number of events in the turn before the reply.
    """
    alone = {item.place: _event_features(item) for item in dict.fromkeys(chain(*pairs))}
    rows = [
        [*_pair_features(pair, before), *alone[pair.head.place], *alone[pair.tail.place]]
        for pair in pairs
    ]
    return np.array(rows, np.float32)


def _pair_features(candidate: Candidate, before: int) -> list[float]:
    head, tail = candidate
    subjects = {head.event.subject, tail.event.subject}
    values: dict[str, float] = {
        "one": True,
        "same subject": len(subjects) == 1,
        "other subject": len(subjects) == 2 and "thing" not in subjects,
    }
    if candidate.kind == "pair":
        earlier, own = (head, tail) if tail.own else (tail, head)
        steps = before - earlier.order + own.order
        values |= {
            "pair": True,
            "head before" if tail.own else "tail before": True,
            "last and first": steps == 1,
            "question before": "question" in earlier.features,
        }
    else:
        direction, later = ("forward", tail) if tail.order > head.order else ("backward", head)
        steps = abs(tail.order - head.order)
        if steps == 1:
            sentence = "new sentence" if "new" in later.features else "same sentence"
            values |= {"adjacent": True, f"{direction} {LEAD.get(later.lead, sentence)}": True}
    values["distance"] = min(4, steps - 1) / 4
    return [values.get(name, 0) for name in PAIR_FEATURES]


def _event_features(mention: EventMention) -> list[float]:
    event = mention.event
    words = [word for word in event.words if isinstance(word, str)]
    people = (word for word in event.words if isinstance(word, Mention))
    values: dict[str, float] = dict.fromkeys(mention.features, 1) | {
        "thing": event.subject == "thing",
        "third": event.subject == "other",
        "confidence": mention.confidence,
        "words": min(12, len(words)) / 6,
        "vague": not _VAGUE.isdisjoint(words),
        "names other": any(person.party != event.subject for person in people),
        f"after {LEAD.get(mention.lead)}": True,
    }
    return [values.get(name, 0) for name in EVENT_FEATURES]


@model_type("extractor", task="triples of a reply", settings=ExtractorSettings)
def extractor(
    folder: ModelFolder, settings: ExtractorSettings, loader: ModelLoader
) -> TripleExtractor:
    """Open an extractor with the tagger that finds its events."""
    from grice.models.spans import SpanHead

    tagger = loader.dependency(folder, encoder_reference(folder.card), SpanHead, "events")
    return TripleExtractor(folder, settings, tagger)
