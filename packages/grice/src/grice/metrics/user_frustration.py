"""User frustration: does the user's next turn show a problem with a turn?"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from grice.data import Conversation, Evidence, Judgement, TurnEvidence
from grice.errors import plural, shortened
from grice.metrics.common import feature_at
from grice.metrics.declaration import Example, metric
from grice.models.protocols import Encoder, encode_distinct
from grice.readers.roles import user_turns
from grice.text.content import Stretch, questions, without_blanks
from grice.text.language import unreadable
from grice.text.wordlists import pattern_of

if TYPE_CHECKING:
    from grice.numeric import Array

NEUTRAL = 0.5
SHOWN = 20  # number of turns in the evidence, those with the strongest signs
LONGEST = 60
"""Characters of the next turn that are quoted, and of a word at a sign that are looked for."""
AGAIN, SAME = (
    "repeats a question",
    0.75,
)  # a question is the same as the one before from this cosine on
WEIGHTS = {"complains": 1.0, "gives up": 0.4, "asks for clarification": 0.25, AGAIN: 0.15}
"""Relative frequency of breakdowns before such a turn, a complaint being 1."""
_WORD_BEFORE = re.compile(r"[^\W_]+(?:['’][^\W_]+)*['’]?$")
_WORD_AFTER = re.compile(r"[^\W_]{1,60}")


def _reason_against(conversation: Conversation) -> str | None:
    answered = any(_exchanges(conversation))
    return None if answered else "no user turn follows a turn that can be read"


@metric(
    "user_frustration",
    version="2",
    summary="Does the user go on without complaint?",
    judges="conversation",
    models={"encoder": "builtin:encoder"},
    protocols={"encoder": Encoder},
    source="Our own; weights by the breakdowns of DBDC3 (Higashinaka et al., 2017).",
    neutral=NEUTRAL,
    abstain=_reason_against,
    example=Example(["Do you like films?", "Yes, a lot.", "Which one?", "The sea."], 0.5, 1.0),
)
def user_frustration(
    conversations: Sequence[Conversation], *, encoder: Encoder
) -> Iterator[Judgement]:
    """Return 1 if no turn of the user shows frustration, and less for each that does.

    The user's next turn judges the turn before it: whether it complains, gives up, asks what was
    meant, or asks once more what was asked before. The value is the mean over the turns that the
    user speaks to. The evidence is the turns before such signs, each with its sign and the words of
    the next turn; the effect of a turn is how far it is below 1. The user is known by role, then by
    the speaker's name (user, customer, client and such); otherwise it is the first speaker.

    When to use it:
        To find the turns in logs at which users were frustrated.

    When not to:
        To judge a reply without a later user turn, or users who complain about other things than
        the chatbot. Most bad replies do not cause a complaint.
    """
    exchanges = [list(_exchanges(conversation)) for conversation in conversations]
    texts = [text for group in exchanges for exchange in group for text in _texts(exchange)]
    vectors = encode_distinct(encoder, texts)
    for group in exchanges:
        yield _judgement([(exchange, _sign(exchange, vectors)) for exchange in group])


class _Exchange(NamedTuple):
    """A turn, and the user's next turn with its index, its text and that of the turn before."""

    turn: int
    following: int
    text: str
    earlier: str


def _exchanges(conversation: Conversation) -> Iterator[_Exchange]:
    """Yield the turns right before a turn of the user, if both hold something to read."""
    earlier = ""
    before: int | None = None
    for place, by_user in enumerate(user_turns(conversation.turns)):
        text = conversation.turns[place].text
        if unreadable(text) is not None and text.strip(" \t\n?!") != "":
            before = None
        elif by_user and text.strip():
            if before is not None:
                yield _Exchange(before, place, text, earlier)
            earlier, before = text, None
        elif text.strip():
            before = place


def _texts(exchange: _Exchange) -> Iterator[str]:
    """Yield the questions of the next turn and of the user's turn before, if both ask."""
    both = questions(exchange.text), questions(exchange.earlier)
    if all(both):
        yield from (question.text for asked in both for question in asked)


def _sign(exchange: _Exchange, vectors: Mapping[str, Array]) -> tuple[str, Stretch] | None:
    """Return the strongest sign of frustration in the next turn, and its words."""
    for name in list(WEIGHTS)[:-1]:  # the strongest first
        if match := pattern_of(name).search(exchange.text):
            return name, _whole_words(exchange.text, *match.span())
    for question in questions(exchange.text):
        for other in questions(exchange.earlier):
            if float(vectors[question.text] @ vectors[other.text]) >= SAME:
                return AGAIN, _whole_words(exchange.text, question.start, question.end)
    return None


def _judgement(judged: Sequence[tuple[_Exchange, tuple[str, Stretch] | None]]) -> Judgement:
    signs = [(exchange, *sign) for exchange, sign in judged if sign is not None]
    signs.sort(key=lambda sign: -WEIGHTS[sign[1]])
    value = 1 - math.fsum(WEIGHTS[name] for _, name, _ in signs) / len(judged)
    if not signs:
        return Judgement(
            value, "ok", f"no sign of frustration in {plural(len(judged), 'user turn')}"
        )
    evidence: list[Evidence] = []
    for exchange, name, words in signs[:SHOWN]:
        label = f"the user {name} in the next turn"
        evidence.append(TurnEvidence(exchange.turn, -WEIGHTS[name]))
        evidence.append(feature_at(label, WEIGHTS[name], exchange.following, words))
    _, name, words = signs[0]
    reason = f"after turn {{turn}} the user {name}: {shortened(words.text, LONGEST)!r}"
    return Judgement(value, "ok", reason, (), tuple(evidence))


def _whole_words(text: str, start: int, end: int) -> Stretch:
    """Extend a stretch to whole words, without the blanks around it."""
    start, end, _ = without_blanks(start, text[start:end])
    before = _WORD_BEFORE.search(text[max(0, start - LONGEST) : start])
    after = _WORD_AFTER.match(text, end)
    if before and text[start].isalnum():
        start -= len(before[0])
    if after and text[end - 1].isalnum():
        end = after.end()
    return Stretch(start, end, text[start:end])
