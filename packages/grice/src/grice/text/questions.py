"""Which sentences ask for something: questions, with or without their mark, and requests."""

from __future__ import annotations

import re
from functools import lru_cache

from grice.text.content import Stretch, sentences

_OPENING = r"^\W*(?:(?:and|but|hey|now|oh|ok|okay|so|then|well)\b\W*)*"
_AUXILIARY = (
    r"(?:am|is|are|was|were|do|does|did|have|has|had|can|could|will|would|shall|should|may|might)"
    r"(?:n['’]?t)?"
)
_SUBJECT = (
    r"(?:i|you|he|she|it|we|they|there|this|that|these|those|my|your|his|her|our|their|the|any|"
    r"anyone|anybody|someone|everyone)"
)
_NO_PRONOUN = r"(?!(?:i|you|he|she|it|we|they)\b)\w+"
_ASKS = re.compile(
    rf"{_OPENING}(?:{_AUXILIARY} {_SUBJECT}|"
    r"(?:who|what|when|where|why|how)['’](?:s|re)|"
    rf"(?:who|what|which|when|where|why|how) (?:{_AUXILIARY}|about|come)|"
    rf"(?:whose|what|which|how) {_NO_PRONOUN} {_AUXILIARY})\b"
)
_REQUESTS = re.compile(
    rf"{_OPENING}(?:please|tell (?:me|us)|let (?:me|us) know|give me|show me|explain|describe|"
    r"help me)\b|\bplease\b|\btell (?:me|us)\b|\blet (?:me|us) know\b|"
    r"\bi(?:['’]d| would) (?:like|love) to (?:know|hear)\b"
)


@lru_cache(maxsize=4096)
def questions(text: str) -> tuple[Stretch, ...]:
    """Return the sentences of a text that ask for something, as they stand there.

    >>> [sentence.text for sentence in questions("I see. Where is it? Tell me about the sea.")]
    ['Where is it?', 'Tell me about the sea.']
    """
    return tuple(sentence for sentence in sentences(text) if _is_question(sentence.text))


def _is_question(sentence: str) -> bool:
    lower = sentence.lower()
    return (
        lower.rstrip(" .!\"'”’)").endswith("?")
        or bool(_ASKS.search(lower))
        or bool(_REQUESTS.search(lower))
    )
