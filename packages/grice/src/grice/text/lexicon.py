"""Readings and verb forms of English words, from a table that ships; the simple present.

The table is made from LemmInflect's by the recipe ``lexicon.build``.
"""

from __future__ import annotations

import gzip
from functools import cache
from importlib import resources
from typing import NamedTuple

from grice.text import cached
from grice.text import wordlists as en

_ABLE = frozenset({"can", "could"})

# Past forms that are also the lemma of another verb, which is said far more rarely.
_RARE_LEMMAS = {
    "bound": "bind", "fell": "fall", "felt": "feel", "found": "find", "rose": "rise", "saw": "see",
    "shot": "shoot", "wound": "wind",
}  # fmt: skip


class Word(NamedTuple):
    """Entry of a word in the table; all fields are empty for an unknown word."""

    readings: str = ""  # any of ``n`` noun, ``v`` verb, ``a`` adjective, ``r`` adverb
    lemmas: tuple[str, ...] = ()  # the usual lemma as a verb comes first
    third: str = ""  # of a verb lemma, as the participles are
    participles: tuple[str, ...] = ()


@cached
def look_up(word: str) -> Word:
    """Return what is known of a word, as it is written."""
    line = _table().get(word)
    if line is None:
        return Word()
    readings, lemmas, third, participles, *_ = *line.split("\t"), "", "", ""
    return Word(readings, _parts(lemmas), third, _parts(participles))


@cached
def begins_word(beginning: str) -> bool:
    """Return whether any word of the table is longer than a beginning that it starts with."""
    longer = (word for word in _table() if word.startswith(beginning))
    return any(len(word) > len(beginning) for word in longer)


@cache
def antonym_table() -> dict[tuple[str, str], str]:
    """Return antonyms, joined by blanks, by lemma and part of speech: n, v, a or r."""
    rows = (line.split("\t") for line in packaged_text("antonyms.tsv.gz").splitlines())
    return {(word, pos): others for word, pos, others in rows}


def _parts(text: str) -> tuple[str, ...]:
    return tuple(text.split("/")) if text else ()


@cache
def _table() -> dict[str, str]:
    # Lines are taken apart when a word is asked for: a run asks for few of sixty thousand.
    lines = packaged_text("lexicon.tsv.gz").splitlines()
    return dict(line.split("\t", 1) for line in lines if "\t" in line)


def packaged_text(name: str) -> str:
    """Return the text of a packed file of the package's data."""
    return gzip.decompress((resources.files("grice") / "data" / name).read_bytes()).decode()


def is_verb(word: str) -> bool:
    """Return whether a word has a reading as a verb."""
    return word not in en.NOT_VERBS and "v" in look_up(word).readings


def is_adjective(word: str) -> bool:
    """Return whether a word has a reading as an adjective."""
    return "a" in look_up(word).readings


def is_noun(word: str) -> bool:
    """Return whether a word has a reading as a noun."""
    return "n" in look_up(word).readings


def _is_adverb(word: str) -> bool:
    manner = word.endswith("ly") and "r" in look_up(word).readings and not is_verb(word)
    return word in en.ADVERBS or word == "quite" or manner


def is_past(word: str) -> bool:
    """Return whether a word can only be a past form: "moved", but not "felt" or "cut"."""
    known = look_up(word)
    return (
        word not in en.NOT_VERBS
        and bool(known.lemmas)
        and word not in known.lemmas
        and not word.endswith(("ing", "s"))
        and "n" not in known.readings
        and "a" not in known.readings
    )


def base_form(word: str) -> str:
    """Return the lemma of a verb form, the word itself if it is none."""
    lemmas = look_up(word).lemmas
    if word in _RARE_LEMMAS:
        return _RARE_LEMMAS[word]
    return word if not lemmas or word in lemmas else lemmas[0]


def is_inflected(word: str) -> bool:
    """Return whether a word is a verb form with a tense of its own, no lemma or -ing form."""
    return base_form(word) != word and not word.endswith("ing")


def present(word: str) -> str:
    """Return the third person singular: "is", "has", "goes"."""
    lower = word.lower()
    if lower in en.BE:
        return "is"
    return look_up(base_form(lower)).third or word


def past_participle(word: str) -> str:
    """Return "surprised" for "surprising", the word itself if it is no verb form."""
    forms = look_up(base_form(word)).participles if is_verb(word) else ()
    return forms[0] if forms else word


def simple_present(words: list[str]) -> tuple[list[str], list[str]]:
    """Bring a predicate to the simple present, third person."""
    adverbs: list[str] = []
    negated = able = False
    i = 0
    while i < len(words):
        word = words[i].lower()
        following = _next_verb(words, i + 1)
        if word == "not":
            negated = True
        elif _is_adverb(word) and i + 1 < len(words):
            adverbs += [] if word in en.FILLERS else [word]
        elif word in en.MODALS and i + 1 < len(words):
            able = able or word in _ABLE
        elif _is_auxiliary(word, following) or (
            word in en.BE and (_is_progressive(words, i) or _is_going_to(words, i))
        ):
            pass
        elif word == "going" and i > 0 and _is_going_to(words, i):
            i += 1
        else:
            break
        i += 1
    return _verb_group(words, i, adverbs, negated=negated, able=able)


def _verb_group(
    words: list[str], i: int, adverbs: list[str], *, negated: bool, able: bool
) -> tuple[list[str], list[str]]:
    if i >= len(words):
        return [*adverbs, *(["doesn't"] if negated else [])], []
    word = words[i].lower()
    rest = words[i + 1 :]
    if word == "been" and rest[:1] == ["to"] and not _is_base(rest, 1):
        return [*(["doesn't"] if negated else []), *adverbs, "go" if negated else "goes"], rest
    if word in en.BE:
        while rest and rest[0].lower() in {"not"} | en.FILLERS and len(rest) > 1:
            negated = negated or rest[0].lower() == "not"
            rest = rest[1:]
        return ["is", *(["not"] if negated else []), *adverbs], rest
    if not is_verb(word):
        return [*(["not"] if negated else []), *adverbs, words[i]], rest
    if word == "used" and rest[:1] == ["to"]:
        return [*adverbs, "used"], rest
    if negated:
        return ["can't" if able else "doesn't", *adverbs, base_form(word)], rest
    return [*adverbs, present(word)], rest


def _next_verb(words: list[str], i: int) -> str:
    """Return the next word that is no adverb or negation, in lower case; empty at the end."""
    while i < len(words) and (_is_adverb(words[i].lower()) or words[i].lower() == "not"):
        i += 1
    return words[i].lower() if i < len(words) else ""


def _is_auxiliary(word: str, following: str) -> bool:
    if word in en.DO:
        return following in {"be", "have"} or (
            is_verb(following) and base_form(following) == following
        )
    if word in en.HAVE:
        return following in {"been", "had", "got", "gotten"} or (
            is_verb(following) and _is_participle(following)
        )
    return False


def _is_participle(word: str) -> bool:
    known = look_up(word)
    return any(word in look_up(lemma).participles for lemma in known.lemmas) and (
        base_form(word) != word or "n" not in known.readings
    )


def _is_progressive(words: list[str], i: int) -> bool:
    following = _next_verb(words, i + 1)
    return (
        following.endswith("ing")
        and following not in en.PARTICIPIAL_ADJECTIVES
        and is_verb(following)
        and base_form(following) != following
    )


def _is_going_to(words: list[str], i: int) -> bool:
    """Return whether the future "am going to" begins here."""
    while i < len(words) and (words[i].lower() in en.BE | en.ADVERBS | {"not"}):
        i += 1
    going = [word.lower() for word in words[i : i + 2]] == ["going", "to"]
    return going and _is_base(words, i + 2)


def _is_base(words: list[str], i: int) -> bool:
    return i < len(words) and (words[i].lower() == "be" or is_verb(words[i].lower()))
