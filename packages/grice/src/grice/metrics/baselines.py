"""Trivial baselines, which a useful metric must beat.

They are declared as metrics, so that every table can contain them as rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise

from grice.data import Conversation, FeatureEvidence, Judgement, Response
from grice.metrics.declaration import Example, metric
from grice.models.protocols import Encoder, encode_distinct
from grice.readers.roles import user_turns
from grice.text.tokens import WORDS

SOURCE = "A trivial baseline."
baseline = partial(metric, source=SOURCE, neutral=0.0)
cosine_baseline = partial(
    baseline, models={"encoder": "builtin:encoder"}, protocols={"encoder": Encoder}, low=-1.0
)


def _mean(values: Sequence[float], reason_against: str) -> Judgement:
    if not values:
        return Judgement(0.0, "abstained", reason_against)
    return Judgement(math.fsum(values) / len(values))


def _mean_cosines(
    pairs: Sequence[Sequence[tuple[str, str]]], encoder: Encoder, reason_against: str
) -> list[Judgement]:
    """Return the mean cosine of the pairs of texts of each item."""
    vectors = encode_distinct(encoder, [text for each in pairs for pair in each for text in pair])
    cosines = [[float(vectors[a] @ vectors[b]) for a, b in each] for each in pairs]
    return [_mean([max(-1.0, min(1.0, c)) for c in each], reason_against) for each in cosines]


def _words(text: str) -> list[str]:
    return WORDS.findall(text.lower())


def _texts(conversation: Conversation, *, user: bool) -> list[str]:
    sides = zip(conversation.turns, user_turns(conversation.turns), strict=True)
    return [turn.text for turn, by_user in sides if by_user is user]


@baseline(
    "log_length",
    version="2",
    summary="How long is the reply? (a trivial baseline)",
    judges="response",
    high=math.inf,
    example=Example(["How was it?", "It was fine."], low=1.09, high=1.10),
)
def log_length(responses: Sequence[Response]) -> list[Judgement]:
    """Return the natural logarithm of the number of words; 0 for an empty reply."""
    counts = [len(response.text.split()) for response in responses]
    return [Judgement(math.log(max(1, n)), evidence=(FeatureEvidence("words", n),)) for n in counts]


@cosine_baseline(
    "cosine_last_turn",
    version="2",
    summary="How alike are the reply and the turn before it? (a trivial baseline)",
    judges="response",
    example=Example(["Do you like tea?", "I like green tea."], low=0.5, high=0.9),
)
def cosine_last_turn(responses: Sequence[Response], *, encoder: Encoder) -> list[Judgement]:
    """Return the cosine of the two sentence vectors; abstain if there is no turn before."""
    pairs = [[(turn.text, r.text) for turn in r.history[-1:]] for r in responses]
    return _mean_cosines(pairs, encoder, "no turn before the reply")


@baseline(
    "turn_count",
    version="1",
    summary="How many turns has the conversation? (a trivial baseline)",
    judges="conversation",
    high=math.inf,
    example=Example(["Hi.", "Hello.", "Bye."], low=3.0, high=3.0),
)
def turn_count(conversations: Sequence[Conversation]) -> list[Judgement]:
    """Return the number of turns."""
    return [Judgement(float(len(conversation.turns))) for conversation in conversations]


@baseline(
    "overlap_last_turn",
    version="2",
    summary="How many words of the reply occur in the turn before it? (a trivial baseline)",
    judges="response",
    example=Example(["Do you like tea?", "I like tea."], low=0.66, high=0.67),
)
def overlap_last_turn(responses: Sequence[Response]) -> Iterator[Judgement]:
    """Return the share of the reply's distinct words that occur in the turn before it."""
    for response in responses:
        words = set(_words(response.text))
        before = [set(_words(turn.text)) for turn in response.history[-1:]]
        shared = [float(word in held) for held in before for word in words]
        yield _mean(shared, "no turn before the reply" if words else "the reply contains no word")


@cosine_baseline(
    "mean_adjacent_cosine",
    version="2",
    summary="How alike are neighbouring turns? (a trivial baseline)",
    judges="conversation",
    example=Example(["Do you like tea?", "I like green tea.", "Green tea is good."], 0.5, 0.9),
)
def mean_adjacent_cosine(
    conversations: Sequence[Conversation], *, encoder: Encoder
) -> list[Judgement]:
    """Return the mean cosine of each turn with the turn before it."""
    pairs = [
        list(pairwise(turn.text for turn in conversation.turns)) for conversation in conversations
    ]
    return _mean_cosines(pairs, encoder, "no turn has one before it")


@cosine_baseline(
    "mean_cosine_to_user",
    version="3",
    summary="How alike are system turns and the user turn before them? (a trivial baseline)",
    judges="conversation",
    example=Example(["Do you like tea?", "I like green tea."], low=0.5, high=0.9),
)
def mean_cosine_to_user(
    conversations: Sequence[Conversation], *, encoder: Encoder
) -> list[Judgement]:
    """Return the mean cosine of each system turn with the user turn right before it.

    The user is identified by role, then by the speaker's name (user, customer, client and such);
    otherwise it is the first speaker.
    """
    pairs = []
    for conversation in conversations:
        turns = pairwise(zip(conversation.turns, user_turns(conversation.turns), strict=True))
        pairs.append([(user.text, reply.text) for (user, a), (reply, b) in turns if a and not b])
    return _mean_cosines(pairs, encoder, "no system turn follows a user turn")


@baseline(
    "mean_user_words",
    version="3",
    summary="How long are the user's turns? (a trivial baseline)",
    judges="conversation",
    high=math.inf,
    example=Example(["How was your day?", "Fine.", "Good to hear."], low=3.5, high=3.5),
)
def mean_user_words(conversations: Sequence[Conversation]) -> list[Judgement]:
    """Return the mean number of words of the user's turns.

    The user is identified by role, then by the speaker's name (user, customer, client and such);
    otherwise it is the first speaker.
    """
    return [_mean_words(_texts(conversation, user=True)) for conversation in conversations]


@baseline(
    "mean_system_words",
    version="3",
    summary="How long are the system's turns? (a trivial baseline)",
    judges="conversation",
    high=math.inf,
    example=Example(["How was your day?", "Fine."], low=1.0, high=1.0),
)
def mean_system_words(conversations: Sequence[Conversation]) -> list[Judgement]:
    """Return the mean number of words of the system's turns, which are all but the user's."""
    return [_mean_words(_texts(conversation, user=False)) for conversation in conversations]


def _mean_words(texts: Sequence[str]) -> Judgement:
    return _mean([len(text.split()) for text in texts], "no turn of this speaker")


@baseline(
    "distinct_words",
    version="3",
    summary="How many of the system's words are new ones? (a trivial baseline)",
    judges="conversation",
    example=Example(["Are you there?", "Yes, yes, yes, I am."], low=0.6, high=0.6),
)
def distinct_words(conversations: Sequence[Conversation]) -> Iterator[Judgement]:
    """Return the share of different words among all words of the system's turns."""
    for conversation in conversations:
        words = [word for text in _texts(conversation, user=False) for word in _words(text)]
        if words:
            yield Judgement(len(set(words)) / len(words))
        else:
            yield Judgement(0.0, "abstained", "the system turns contain no word")
