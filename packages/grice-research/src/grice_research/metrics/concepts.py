"""The content words of a text, in their base forms.

The words that ACCENT's baselines look for in a knowledge graph (Ghazarian et al., Findings of ACL
2023).
"""

from __future__ import annotations

from functools import cache

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

FURTHER = "be few less lot me more most much one or other own same several then two us while you"
STOP = frozenset(FURTHER.split()).union(
    AUXILIARIES, DEGREES, DETERMINERS, FILLERS, KEPT_ADVERBS, PREPOSITIONS, QUESTIONS, THINGS
)
CONTENT = ("VERB", "NOUN", "ADJ")


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
