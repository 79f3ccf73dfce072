"""The clause of an event: its subject, its verb, and whether it asks, orders or describes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.text.people import OBJECTS, OWNERS, POSSESSIVES, SUBJECTS
from grice.text.verbs import (
    base_form,
    is_adjective,
    is_noun,
    is_past,
    is_verb,
    simple_present,
)
from grice.text.wordlists import (
    ADVERBS,
    AUXILIARIES,
    BE,
    DETERMINERS,
    FEELINGS,
    MODALS,
    NOT_VERBS,
    QUESTIONS,
    THINGS,
)

if TYPE_CHECKING:
    from grice.text.people import Party

_PLURAL_THINGS = frozenset({"these", "those"})


def statement(words: list[str]) -> list[str]:
    """Put the subject of a question before its auxiliary: "do you play" is "you do play"."""
    if len(words) > 2 and words[0].lower() == "which" and words[2].lower() not in SUBJECTS:
        return ["it", *words[1:]]  # "which is cool", said of what went before
    while words and words[0].lower() in QUESTIONS and len(words) > 2:
        words = words[1:]
    if len(words) < 3 or words[0].lower() not in AUXILIARIES:
        return words
    second = words[1].lower()
    if second in SUBJECTS or (second in THINGS and words[0].lower() not in {"do", "have"}):
        return [words[1], words[0], *words[2:]]
    if second == "not" and words[2].lower() in THINGS | SUBJECTS.keys():
        return [words[2], words[0], "not", *words[3:]]
    noun = second in DETERMINERS or words[1][0].isupper()
    if words[0].lower() in {"does", "did"} | MODALS and noun:
        verb = next((i for i in range(2, len(words)) if is_verb(words[i].lower())), 0)
        if verb:
            return [*words[1:verb], words[0], *words[verb:]]
    return words


def predicate(words: list[str], *, plural: bool) -> list[str]:
    """Return a predicate in the simple present."""
    verb, rest = simple_present(words)
    return [*(_plural(verb) if plural else verb), *rest]


def _plural(verb: list[str]) -> list[str]:
    if not verb:
        return []
    *before, last = verb
    agreed = {"is": "are", "doesn't": "don't", "has": "have"}
    return [agreed.get(w, w) for w in before] + [
        agreed.get(last, base_form(last) if is_verb(last) else last)
    ]


def thing_predicate(words: list[str], subject: str) -> list[str]:
    """Return what is said of a thing, in the plural if the subject or its verb is."""
    plural = subject in _PLURAL_THINGS or (
        subject in {"here", "there"} and bool(words) and words[0].lower() in {"are", "were"}
    )
    return predicate(words, plural=plural)


def subject_end(words: list[str]) -> int:
    """Return the index of the verb behind a subject of several words, 0 if there is none.

    Only sure signs count: an auxiliary, or a past form, behind at least one word that may be a
    noun.
    """
    first = words[0].lower()
    if first in AUXILIARIES | ADVERBS | {"not", "to"}:
        return 0
    determined = first in OWNERS or first in NOT_VERBS
    if len(words) > 1 and words[1].lower() in AUXILIARIES and not determined:
        return 1
    if len(words) > 2 and words[2].lower() in BE - {"be", "being"} and is_noun(words[1].lower()):
        return 2  # "house cats are"
    if is_verb(first) and not determined and not words[0][0].isupper():
        return 0
    for i, word in enumerate(words[1:], start=1):
        lower = word.lower()
        if lower in {"to", "that", "who", "which"} or (lower in OBJECTS and i == 1):
            return 0
        if lower in AUXILIARIES and (lower in BE or not determined or i > 1):
            return i
        if i > int(determined) and is_past(lower):
            return i
        if determined and i > 1 and is_verb(lower) and not _is_noun_like(words, i):
            return i
    return 0


def is_verbal(word: str) -> bool:
    """Say whether a word is a verb, an auxiliary or an adverb."""
    return word in AUXILIARIES | ADVERBS or is_verb(word)


def _is_noun_like(words: list[str], i: int) -> bool:
    """Say whether the word at ``i`` is more likely a noun: it ends the clause or "of" follows."""
    word = words[i].lower()
    if base_form(word) != word and not word.endswith(("s", "ing")):
        return False
    return i + 1 >= len(words) or words[i + 1].lower() in AUXILIARIES | {"of", "and", "or"}


def is_plural(subject: list[str]) -> bool:
    """Say whether a subject of several words takes a plural verb."""
    nouns = [word.lower() for word in subject if word.lower() not in ADVERBS]
    if not nouns or nouns[0] in {"one", "each"}:
        return False
    if "and" in nouns:
        return True
    if subject[-1][0].isupper() and nouns[0] != "the":
        return False  # a name
    lower = nouns[-1]
    return (lower.endswith("s") and not lower.endswith(("ss", "us", "is", "'s"))) or lower in {
        "people",
        "children",
        "men",
        "women",
        "kids",
        "parents",
    }


def describes(word: str, inherited: Party | None) -> bool:
    """Say whether a first word is an adjective; behind another event it is rather a past form."""
    form = base_form(word) != word and not word.endswith("ing") and inherited is None
    return is_adjective(word) and (form or word in {"busy", "free", "perfect", "ready"})


def is_finite(word: str) -> bool:
    """Say whether a first verb has its own tense, so that it shares the subject before it."""
    inflected = is_verb(word) and base_form(word) != word and not word.endswith("ing")
    return word in AUXILIARIES or inflected


def is_order(words: list[str]) -> bool:
    """Say whether a clause without a subject begins with the base form of a verb."""
    first = words[0].lower()
    if first in FEELINGS or first in AUXILIARIES - {"do", "be"} or not is_verb(first):
        return False
    return base_form(first) == first


def uncapitalised(words: list[str]) -> list[str]:
    """Return the words with the first in lower case unless it may be a name."""
    first = words[0].lower()
    common = first in NOT_VERBS or first in POSSESSIVES or is_verb(first)
    return [first, *words[1:]] if common else words
