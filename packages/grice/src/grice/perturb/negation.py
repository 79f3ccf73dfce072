"""A statement turned round: "I am from Oslo." says "I am not from Oslo."."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from grice.perturb.wording import Word, cased_as, words
from grice.text.lexicon import look_up
from grice.text.verbs import base_form, is_past, is_verb
from grice.text.wordlists import ADVERBS, AUXILIARIES, BE, DO, HAVE, MODALS, words_of

if TYPE_CHECKING:
    from collections.abc import Sequence

_SHORT = {
    verb: f"{verb}n't"
    for verb in words_of("is are was were do does did have has had would could should")
} | {verb: f"{verb} not" for verb in words_of("am shall must may might")}
_SHORT |= {"will": "won't", "can": "can't"}
_LONG = {"ca": "can", "wo": "will", "sha": "shall", "ai": "is"}
_CLITICS = ("'m", "'re", "'ll", "'ve", "'s", "'d")
_WRITTEN = {"'ll": "won't", "'ve": "haven't", "'d": "wouldn't"}
_MAIN = {"have": "don't have", "has": "doesn't have", "had": "didn't have"}
_THIRD = frozenset(["he", "she", "it", "that", "this"])
_PERSONS = frozenset(["i", "you", "we", "they"]) | _THIRD


def negated(sentence: str) -> str | None:
    """Return a statement turned round: negated, or no longer negated.

    >>> negated("I walked home."), negated("She likes it."), negated("I don't know."), negated("Hm")
    ("I didn't walk home.", "She doesn't like it.", 'I do know.', None)
    """
    if sentence.rstrip().endswith("?"):
        return None
    context = words(sentence)
    for i, word in enumerate(context):
        changed = _unsaid(sentence, context, i) or _with_not(sentence, context, i, word)
        if changed is not None:
            return changed
    return None


def _unsaid(sentence: str, context: Sequence[Word], i: int) -> str | None:
    word = context[i]
    if word.lower.endswith("n't") and len(word.lower) > 3:
        stem = word.text[:-3]
        plain = _LONG.get(stem.lower(), stem)
        return sentence[: word.start] + plain + sentence[word.end :]
    if word.lower == "cannot":
        return sentence[: word.start] + "can" + sentence[word.end :]
    if word.lower == "not" and i and context[i - 1].lower in AUXILIARIES:
        return sentence[: context[i - 1].end] + sentence[word.end :]
    if word.lower == "never" and i + 1 < len(context):
        return sentence[: word.start] + "always" + sentence[word.end :]
    return None


def _with_not(sentence: str, context: Sequence[Word], i: int, word: Word) -> str | None:
    if _denied(context, i):
        return None
    clitic = _clitic(context, i)
    if clitic in _WRITTEN:
        stem = word.text[: -len(clitic)]
        return f"{sentence[: word.start]}{stem} {_WRITTEN[clitic]}{sentence[word.end :]}"
    if clitic:
        return f"{sentence[: word.end]} not{sentence[word.end :]}"
    if word.lower in _SHORT and _is_auxiliary(context, i):
        return sentence[: word.start] + cased_as(_SHORT[word.lower], word) + sentence[word.end :]
    before = _before(context, i)
    if word.lower in _MAIN and before is not None:
        return sentence[: word.start] + _MAIN[word.lower] + sentence[word.end :]
    if before is None or not is_verb(word.lower) or word.lower in AUXILIARIES:
        return None
    base = base_form(word.lower)
    if is_past(word.lower) and before in _PERSONS | {"noun"}:
        helper = "didn't"
    elif before in _THIRD and word.lower == look_up(base).third:
        helper = "doesn't"
    elif before in _PERSONS - _THIRD and word.lower == base:
        helper = "don't"
    else:
        return None
    return f"{sentence[: word.start]}{helper} {base}{sentence[word.end :]}"


def _clitic(context: Sequence[Word], i: int) -> str | None:
    """Return the contracted verb a word ends in, if what it stands for is sure."""
    lower = context[i].lower
    ending = next((clitic for clitic in _CLITICS if lower.endswith(clitic)), None)
    if ending == "'s":
        return ending if lower[:-2] in _PERSONS | {"there"} else None
    if ending == "'d":
        following = context[i + 1].lower if i + 1 < len(context) else ""
        return ending if is_verb(following) and base_form(following) == following else None
    return ending


def _is_auxiliary(context: Sequence[Word], i: int) -> bool:
    """Return whether a word is the verb of a statement, and not of "I do my best" or an order."""
    if i == 0:
        return False
    word = context[i].lower
    if word in BE | MODALS:
        return context[i - 1].lower not in {"to", "that", "what", "how", "who", "where", "why"}
    following = context[i + 1].lower if i + 1 < len(context) else ""
    if word in HAVE:
        return following == "been" or (
            is_verb(following) and (is_past(following) or following.endswith("en"))
        )
    return word in DO and is_verb(following)


def _before(context: Sequence[Word], i: int) -> str | None:
    """Return the subject before a verb: a pronoun, or ``noun``; adverbs between are passed over."""
    k = i - 1
    while k >= 0 and context[k].lower in ADVERBS:
        k -= 1
    if k < 0:
        return None
    if context[k].lower in _PERSONS and (k == 0 or context[k - 1].lower not in {"to", "of", "for"}):
        return context[k].lower
    return "noun" if context[k].kind in ("noun", "name") else None


def _denied(context: Sequence[Word], i: int) -> bool:
    """Return whether the next few words already deny: turning them round comes later."""
    return any(
        re.fullmatch(r"not|never|no|.*n't|nothing|nobody|none", word.lower)
        for word in context[max(i - 1, 0) : i + 3]
    )
