"""Trivial baselines: what a metric must beat before it means anything.

They are metrics like any other, so that every table can hold them as rows.
"""

from __future__ import annotations

import math
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

from grice.metrics.declaration import Example, metric
from grice.models.protocols import Encoder
from grice.readers.roles import user_turns
from grice.records import Conversation, FeatureEvidence, Judgement, Response
from grice.text.tokens import WORDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice.records import Turn

SOURCE = "A trivial baseline."
baseline = partial(metric, source=SOURCE, neutral=0.0)
cosine_baseline = partial(
    baseline, models={"encoder": "bundle:encoder"}, protocols={"encoder": Encoder}, low=-1.0
)


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
    """Return the cosine of the two sentence vectors; abstain where no turn stands before."""
    from grice.numeric import dot_cosine  # metrics are listed without numpy

    texts = [text for r in responses if r.history for text in (r.history[-1].text, r.text)]
    vectors = iter(encoder.encode(texts))
    return [
        Judgement(dot_cosine(next(vectors), next(vectors)))
        if response.history
        else Judgement(0.0, "abstained", "no turn before it")
        for response in responses
    ]


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
    summary="How many words of the reply stand in the turn before it? (a trivial baseline)",
    judges="response",
    example=Example(["Do you like tea?", "I like tea."], low=0.66, high=0.67),
)
def overlap_last_turn(responses: Sequence[Response]) -> list[Judgement]:
    """Return the share of the reply's different words that the turn before it holds."""
    return [_overlap(response) for response in responses]


def _overlap(response: Response) -> Judgement:
    words = set(_words(response.text))
    if not words:
        return Judgement(0.0, "abstained", "the reply has no word")
    if not response.history:
        return Judgement(0.0, "abstained", "no turn before it")
    return Judgement(len(words.intersection(_words(response.history[-1].text))) / len(words))


def _words(text: str) -> list[str]:
    return WORDS.findall(text.lower())


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
    pairs = [list(pairwise(conversation.turns)) for conversation in conversations]
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

    The user is known by role, then by the speaker's name (user, customer, client and such);
    otherwise it is the first speaker.
    """
    pairs = []
    for conversation in conversations:
        by_user = user_turns(conversation.turns)
        marked = pairwise(zip(conversation.turns, by_user, strict=True))
        pairs.append([(user, reply) for (user, a), (reply, b) in marked if a and not b])
    return _mean_cosines(pairs, encoder, "no system turn follows a user turn")


def _mean_cosines(
    pairs: Sequence[Sequence[tuple[Turn, Turn]]], encoder: Encoder, nothing: str
) -> list[Judgement]:
    """Return the mean cosine of the pairs of turns of each conversation."""
    from grice.numeric import dot_cosine

    texts = [turn.text for group in pairs for pair in group for turn in pair]
    vectors = iter(encoder.encode(texts))
    judgements = []
    for group in pairs:
        cosines = [dot_cosine(next(vectors), next(vectors)) for _ in group]
        if cosines:
            judgements.append(Judgement(math.fsum(cosines) / len(cosines)))
        else:
            judgements.append(Judgement(0.0, "abstained", nothing))
    return judgements


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

    The user is known by role, then by the speaker's name (user, customer, client and such);
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


@baseline(
    "distinct_words",
    version="3",
    summary="How many of the system's words are new ones? (a trivial baseline)",
    judges="conversation",
    example=Example(["Are you there?", "Yes, yes, yes, I am."], low=0.6, high=0.6),
)
def distinct_words(conversations: Sequence[Conversation]) -> list[Judgement]:
    """Return the share of different words among all words of the system's turns."""
    judgements = []
    for conversation in conversations:
        words = [word for text in _texts(conversation, user=False) for word in _words(text)]
        if words:
            judgements.append(Judgement(len(set(words)) / len(words)))
        else:
            judgements.append(Judgement(0.0, "abstained", "the system says no word"))
    return judgements


def _mean_words(texts: Sequence[str]) -> Judgement:
    if not texts:
        return Judgement(0.0, "abstained", "no turn of this speaker")
    return Judgement(sum(len(text.split()) for text in texts) / len(texts))


def _texts(conversation: Conversation, *, user: bool) -> list[str]:
    by_user = user_turns(conversation.turns)
    return [
        turn.text
        for turn, is_user in zip(conversation.turns, by_user, strict=True)
        if is_user is user
    ]
