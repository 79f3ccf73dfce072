"""Groundedness: share of a reply's content words that occur in its knowledge."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.data import Judgement
from grice.metrics.common import feature_at, unscorable_reply
from grice.metrics.declaration import Example, metric
from grice.text import cached
from grice.text.content import content_words
from grice.text.language import unreadable
from grice.text.lexicon import base_form
from grice.text.tokens import PLAIN_WORDS_AND_NUMBERS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grice.data import Response

NEUTRAL = 1.0  # value of a reply without claims, or without a source
SHOWN = 8  # words shown as evidence
SHORT = 3  # a word of no more letters has no ending


def _reason_against(response: Response) -> str | None:
    if reason := unscorable_reply(response):
        return reason
    if all(unreadable(text) for text in response.knowledge):
        return "no knowledge is given"
    return None if content_words(response.text) else "the reply has no content word"


@metric(
    "groundedness",
    version="2",
    summary="Is this reply supported by the knowledge it was given?",
    judges="response",
    source="Word overlap, a baseline of BEGIN (Dziri et al., TACL 2022), on content words.",
    neutral=NEUTRAL,
    abstain=_reason_against,
    example=Example(
        ["Where is it?", "The tower stands in Lisbon."],
        0.0,
        0.7,
        knowledge=["The tower was built in Porto."],
    ),
)
def groundedness(responses: Sequence[Response]) -> Iterator[Judgement]:
    """Return the share of a reply's content words that occur in its knowledge, 0 to 1.

    Knowledge is the field ``knowledge`` of the turn, or of a record with a single reply (a text or
    a list of texts), and what tools answered since the turn before it. Forms of one
    word are the same. The evidence is the words that do not occur there.

    When to use it:
        To find statements that a chatbot with retrieval invented.

    When not to:
        Without knowledge: it abstains. A claim that rearranges the words of its source
        counts as grounded, and a paraphrase does not; opinions and greetings count as not
        grounded.
    """
    return map(_judgement, responses)


def _judgement(response: Response) -> Judgement:
    known = _roots(response.knowledge)
    words = content_words(response.text)
    foreign = [word for word in words if _root(word.text) not in known]
    value = 1 - len(foreign) / len(words)
    evidence = tuple(
        feature_at(f"not in the knowledge: {word.text!r}", 1.0, response.turn, word)
        for word in foreign[:SHOWN]
    )
    reason = f"{len(words) - len(foreign)} of {len(words)} content words occur in the knowledge"
    return Judgement(value, "ok", reason, (), evidence)


@cached
def _roots(texts: tuple[str, ...]) -> frozenset[str]:
    found = (PLAIN_WORDS_AND_NUMBERS.finditer(text.lower()) for text in texts)
    return frozenset(_root(word[0]) for words in found for word in words)


def _root(word: str) -> str:
    """Return a word without the ending of its number, tense or owner, as far as a table knows."""
    bare = word.removesuffix("'s")
    root = base_form(bare)
    return root[:-1] if len(root) > SHORT and root.endswith("s") and root[-2] != "s" else root
