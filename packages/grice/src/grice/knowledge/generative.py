"""Tails written by a small encoder-decoder, in place of tails that somebody wrote down.

The mechanism is that of COMET (Bosselut et al., ACL 2019; Hwang et al., AAAI 2021): a model that
has learned the tails of many events continues any event and relation.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from grice.errors import InputError
from grice.knowledge.lookup import KnowledgeBase
from grice.knowledge.schema import load_schema
from grice.knowledge.wording import COPULA, WISH
from grice.models.loader import Settings, model_type
from grice.numeric import sigmoid
from grice.records import KnownTail
from grice.text.tokens import PLAIN_WORDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice.knowledge.schema import Relation, Schema
    from grice.models.bundle import Bundle
    from grice.models.loader import ModelLoader
    from grice.models.protocols import Generated
    from grice.records import Triple

NOTHING, UNKNOWN, START, END_OF_TEXT = "<pad>", "<unk>", "<s>", "</s>"
"""Pieces of a generator's vocabulary that stand for no text."""
SPARE = 2
"""Tails written beyond those wanted, for those that say the same once they are spelled out."""
NO_HEAD = ""
"""What the generator has learned to read as "whatever happens"."""

PERSON = re.compile(r"(?<![\w'-])(?:(?:per?son|people)[ -]?([xyz])|([xy]))(?![\w-])", re.IGNORECASE)
FOR_OTHERS = re.compile(r"^(?:wants?|wanted|needs?|needed)\s+(?!to\b)")
END = " .,;!?"
NAMES = re.compile(r"\bperson([xyz])\b")
CLITIC = re.compile(r" ' (?=(?:s|t|d|m|re|ve|ll)\b)")


class TailGenerator(Protocol):
    """Continues and scores texts, told by a first piece what kind of text is wanted."""

    identity: str

    def generate(
        self, prompts: Sequence[str], *, count: int, begin: Sequence[str] | None = None
    ) -> list[tuple[Generated, ...]]:
        """Return texts per prompt; see :class:`~grice.models.embedded.EmbeddedGenerator`."""
        ...

    def log_probabilities(
        self, prompts: Sequence[str], texts: Sequence[str], *, begin: Sequence[str] | None = None
    ) -> list[float]:
        """Return mean log probabilities; see :class:`~grice.models.protocols.TextScorer`."""
        ...


class Likelihood(NamedTuple):
    """Mean log probability of a tail's pieces, at most 0.

    Attributes:
        given: Under the relation and the head.
        usual: Under the relation alone, whatever the head: how common the tail is.
    """

    given: float
    usual: float


class GenerativeSettings(Settings, frozen=True):
    """Of a bundle of kind ``generative-knowledge``.

    Attributes:
        given: What the likelihood given the head counts for a plausibility.
        usual: What the likelihood without it counts.
    """

    schema: str
    given: float
    usual: float
    bias: float


class GenerativeKnowledge:
    """A :class:`~grice.knowledge.lookup.KnowledgeBase` that writes its tails."""

    def __init__(
        self, bundle: Bundle, settings: GenerativeSettings, generator: TailGenerator
    ) -> None:
        self.identity = generator.identity
        self._source = bundle.card.name
        self._settings = settings
        self._generator = generator
        self.schema: Schema = load_schema(settings.schema)

    def tails(
        self, heads: Sequence[str], relations: Sequence[str], k: int
    ) -> list[list[KnownTail]]:
        """Return the ``k`` most probable tails, by beam search; fewer if some say the same."""
        if len(heads) != len(relations):
            raise InputError(f"{len(heads)} heads and {len(relations)} relations: as many needed")
        if k < 1:
            raise InputError(f"{k} tails: at least one is needed")
        asked = [
            (plain_event(head), self._token(relation))
            for head, relation in zip(heads, relations, strict=True)
        ]
        distinct = list(dict.fromkeys(event for event in asked if _says_something(event[0])))
        written = self._generator.generate(
            [head for head, _ in distinct],
            count=k + SPARE,
            begin=[token for _, token in distinct],
        )
        tails_of = dict(zip(distinct, (_different(texts, k) for texts in written), strict=True))
        return [
            [KnownTail(head, tail, 1.0, 0.0, self._source) for tail in tails_of.get(event, ())]
            for head, event in zip(heads, asked, strict=True)
        ]

    def plausibility(self, triples: Sequence[Triple]) -> list[float]:
        """Return how well each tail follows from its head, 0 to 1.

        A logistic function of both likelihoods, fitted on the development part of CSKB Population
        (labels of people), without regard to the relation. Nothing said gives 0.
        """
        weights = self._settings
        likelihoods = self.likelihoods(triples)
        scores = [
            0.0
            if likelihood is None
            else weights.given * likelihood.given + weights.usual * likelihood.usual + weights.bias
            for likelihood in likelihoods
        ]
        shares = sigmoid(np.array(scores, np.float32)).tolist()
        return [
            0.0 if likelihood is None else share
            for likelihood, share in zip(likelihoods, shares, strict=True)
        ]

    def likelihoods(self, triples: Sequence[Triple]) -> list[Likelihood | None]:
        """Return how probable each tail is; None for a triple without a head or a tail.

        ``exp`` of ``given`` is the test that ACCENT calls COMET (neural).
        """
        asked = [
            (
                plain_event(triple.head),
                self._token(triple.relation),
                as_fragment(triple.tail, self.schema[triple.relation]),
            )
            for triple in triples
        ]
        whole = [
            triple for triple in asked if _says_something(triple[0]) and _says_something(triple[2])
        ]
        distinct = list(
            dict.fromkeys([*whole, *((NO_HEAD, token, tail) for _, token, tail in whole)])
        )
        values = self._generator.log_probabilities(
            [head for head, _, _ in distinct],
            [tail for _, _, tail in distinct],
            begin=[token for _, token, _ in distinct],
        )
        logs = dict(zip(distinct, values, strict=True))
        return [
            Likelihood(logs[triple], logs[NO_HEAD, triple[1], triple[2]])
            if triple in logs
            else None
            for triple in asked
        ]

    def _token(self, relation: str) -> str:
        _ = self.schema[relation]
        return relation_token(relation)


def _says_something(text: str) -> bool:
    return PLAIN_WORDS.search(text) is not None


def _different(texts: Sequence[Generated], k: int) -> list[str]:
    """Return at most ``k`` tails, no two of the same words; an article makes no difference."""
    distinct: dict[str, str] = {}
    for text in texts:
        # Apostrophes closed up, persons named as in ATOMIC.
        tail = CLITIC.sub("'", text.text)
        tail = NAMES.sub(lambda match: f"Person{match[1].upper()}", tail)
        words = [w for w in PLAIN_WORDS.findall(tail.lower()) if w not in ("a", "an", "the", "to")]
        if words:
            distinct.setdefault(" ".join(words), tail)
    return list(distinct.values())[:k]


def plain_event(text: str) -> str:
    """Return an event with one spelling of its persons, without the full stop.

    >>> plain_event("person x  calls Y's mother.")
    "PersonX calls PersonY's mother"
    """
    named = PERSON.sub(lambda m: f"Person{(m[1] or m[2]).upper()}", " ".join(text.split()))
    return named.strip(END)


def as_fragment(tail: str, relation: Relation) -> str:
    """Return a tail as ATOMIC words it, however it was said.

    A clause that names the subject which the relation implies loses it, and the verb that the
    relation says already.

    >>> from grice.knowledge.schema import load_schema
    >>> schema = load_schema("atomic2020")
    >>> as_fragment("PersonX wants to go home.", schema["xWant"])
    'to go home'
    >>> as_fragment("PersonY feels proud", schema["oReact"])
    'proud'
    >>> as_fragment("PersonX is late", schema["HinderedBy"])
    'PersonX is late'
    """
    text = plain_event(tail)
    if relation.subject is None or relation.tail in ("clause", "concept"):
        return text
    subject = f"Person{relation.subject} "
    bare = text.removeprefix(subject)
    if relation.tail == "state":
        return COPULA.sub("", bare) or text
    if relation.tail == "infinitive" and bare != text:
        others, wishes = FOR_OTHERS.subn("", bare)
        return others if wishes else f"to {WISH.sub('', bare, count=1).removeprefix('to ')}"
    return bare


def relation_token(relation: str) -> str:
    """Return the piece that tells a generator under which relation the tail shall stand."""
    return f"<{relation}>"


@model_type(
    "generative-knowledge",
    task="knowledge",
    protocol=KnowledgeBase,
    settings=GenerativeSettings,
)
def generative_knowledge(
    bundle: Bundle, settings: GenerativeSettings, loader: ModelLoader
) -> GenerativeKnowledge:
    """Open a generator whose answers are kept."""
    # Here, not above: the rules of wording need no engine.
    from grice.models.cache import CachedGenerator
    from grice.models.embedded import EmbeddedGenerator

    generator = EmbeddedGenerator(bundle, mode=loader.mode, threads=loader.workers)
    return GenerativeKnowledge(bundle, settings, CachedGenerator(generator, loader.cache))
