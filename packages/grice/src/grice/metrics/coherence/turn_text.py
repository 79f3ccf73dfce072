"""What is read of the text of a turn out of context."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from grice.metrics.coherence.bigrams import bigrams_of
from grice.text.tokens import CONTRACTED_WORDS, SENTENCES

MOST_SENTENCES = 12
"""Sentences of a turn that are compared: a turn of a thousand must not cost a million."""
FEWEST_WORDS = 3
CONTENT = 4
"""Letters of the shortest word that says what a turn is about."""
_DENIAL = re.compile(r"not|never|no|cannot|.*n['’]t")
_LOST = re.compile(
    r"^\W*(?:what|huh|pardon|sorry)\W*\?|what do you mean|(?:makes?|making) no sense|"
    r"n['’]?t (?:make (?:any )?sense|understand|get it)|do not understand|"
    r"not what i (?:said|asked)|i (?:just )?(?:said|asked|told)|already (?:said|asked|told)|"
    r"answer my question|are you (?:a )?(?:bot|robot|human|ok|drunk)|confus|random|nonsense|"
    r"weird|off topic|(?:bot|stupid)\b"
)
"""What people say to a turn that made no sense to them."""
_GREETS = re.compile(
    r"^\W*(?:hi|hello|hey|greetings|good (?:morning|afternoon|evening)|how are you|nice to meet)\b"
)
_CLOSES = re.compile(
    r"\b(?:(?:good ?)?bye|see (?:you|ya)|have a (?:good|great|nice|wonderful|lovely)|take care|"
    r"(?:nice|great|good|lovely) (?:talking|chatting|speaking|chat)|good ?night|farewell|"
    r"(?:talk|speak) to you (?:later|soon))\b"
)
_ANSWERS = re.compile(r"^\W*(?:yes|yeah|yep|yup|no|nope|nah|sure|of course|certainly|not really)\b")
_PERSONS = (
    frozenset(("i", "me", "my", "mine", "myself", "i'm", "i'd", "i'll", "i've")),
    frozenset(("you", "your", "yours", "yourself", "you're", "you'd", "you'll", "you've")),
    frozenset(("he", "him", "his", "she", "her", "hers", "he's", "she's", "himself", "herself")),
    frozenset(("it", "its", "it's", "itself")),
    frozenset(("we", "us", "our", "ours", "we're", "we'd", "we'll", "we've")),
    frozenset(("they", "them", "their", "theirs", "they're", "they'd", "they'll", "they've")),
    frozenset(("the",)),
)
"""Whom a turn speaks of, and "the"."""


class TurnText(NamedTuple):
    """What is read of a text by itself."""

    words: tuple[str, ...]
    content: frozenset[str]
    sentences: tuple[tuple[frozenset[str], bool], ...]
    bigrams: tuple[tuple[int, int, int], ...]
    asks: bool
    lost: bool
    persons: tuple[int, ...]
    greets: bool
    closes: bool
    answers: bool


@lru_cache(maxsize=4096)
def read_turn(text: str) -> TurnText:
    """Return what is read of a text by itself."""
    lower = text.lower()
    words: list[str] = []
    sentences = []
    pairs: list[tuple[int, int, int]] = []
    for part in SENTENCES.findall(lower)[:MOST_SENTENCES]:
        own = CONTRACTED_WORDS.findall(part)
        if not own:
            continue
        words += own
        pairs += bigrams_of(own)
        denials = [word for word in own if _DENIAL.fullmatch(word)]
        rest = frozenset(own).difference(denials)
        if len(rest) >= FEWEST_WORDS:
            sentences.append((rest, bool(denials)))
    content = frozenset(word for word in words if len(word) >= CONTENT)
    lost = bool(_LOST.search(lower))
    straight = [word.replace("’", "'") for word in words]
    persons = tuple(sum(word in forms for word in straight) for forms in _PERSONS)
    return TurnText(
        tuple(words),
        content,
        tuple(sentences),
        tuple(pairs),
        "?" in text,
        lost,
        persons,
        *(bool(pattern.search(lower)) for pattern in (_GREETS, _CLOSES, _ANSWERS)),
    )
