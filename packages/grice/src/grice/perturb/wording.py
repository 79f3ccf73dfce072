"""Words of a turn with their part of speech, replacement of words, and negation.

There is no parser: a word has a kind only if the words around it leave no doubt (a word that is
only ever a noun, a verb after "to", an adjective after "is"). LemmInflect (MIT) inflects.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, lru_cache
from itertools import pairwise
from typing import Literal, NamedTuple, TypeAlias

from grice.text import wordlists as en
from grice.text.lexicon import antonym_table, base_form, is_past, is_verb, look_up
from grice.text.tokens import WORDS_NUMBERS_AND_MARKS
from grice.text.wordlists import words_of

Kind: TypeAlias = Literal["noun", "verb", "adjective", "name"]

_END = re.compile(r"(?<![\s.][A-Za-z])(?:[.!?…]+[\"')\]]*)(?=\s|$)")
_SUBJECTS = frozenset(["i", "you", "he", "she", "it", "we", "they", "who"])


_CLOSED = frozenset().union(
    en.MODIFIERS, en.AUXILIARIES, en.BE, en.DO, en.HAVE, en.MODALS, en.DETERMINERS, en.INDEFINITE,
    en.THINGS, en.QUESTIONS, en.PREPOSITIONS, en.NOT_VERBS, _SUBJECTS,
    words_of(
        "me him her us them mine yours hers ours theirs myself yourself yes yeah no nope ok okay "
        "oh wow hi hello hey thanks thank please sorry lol haha um well let lot lots kind bit "
        "yourself himself herself itself ourselves themselves whose whom either neither else "
        "while since until although though because whether upon per except like going"
    ),
)  # fmt: skip
_ARTICLES = en.DETERMINERS - {"all", "that"}
_READING = {"noun": "NOUN", "verb": "VERB", "adjective": "ADJ"}
_TAGS = {
    "noun": ("NN", "NNS"),
    "verb": ("VB", "VBP", "VBZ", "VBD", "VBN", "VBG"),
    "adjective": ("JJ", "JJR", "JJS"),
}


class Word(NamedTuple):
    """A word of a text."""

    text: str
    start: int
    end: int
    kind: Kind | None = None  # if the context leaves no doubt
    frame: str = ""  # of a verb: whether an object or a preposition follows

    @property
    def lower(self) -> str:
        """In lower case, with a straight apostrophe."""
        return self.text.lower().replace("’", "'")


def sentences(text: str) -> list[tuple[int, int]]:
    """Return where the sentences of a text begin and end, without the blanks between them.

    >>> [text[a:b] for text in ["In the U.S. it rains. Why?"] for a, b in sentences(text)]
    ['In the U.S. it rains.', 'Why?']
    """
    ends = [match.end() for match in _END.finditer(text)]
    places = []
    for start, end in pairwise([0, *ends, len(text)]):
        part = text[start:end]
        if part.strip():
            places.append((start + len(part) - len(part.lstrip()), start + len(part.rstrip())))
    return places


@lru_cache(maxsize=1024)  # several perturbations read the turns of one conversation
def words(text: str) -> tuple[Word, ...]:
    """Return the words and marks of a text; a word has a kind where there is no doubt."""
    plain = [
        Word(match[0], match.start(), match.end())
        for match in WORDS_NUMBERS_AND_MARKS.finditer(text)
    ]
    return tuple(
        Word(word.text, word.start, word.end, _kind(plain, i), _frame(plain, i))
        for i, word in enumerate(plain)
    )


def _kind(context: list[Word], i: int) -> Kind | None:
    word = context[i].lower
    if not word.isalpha() or len(word) < 3 or word in _CLOSED:
        return None
    before = context[i - 1].lower if i else ""
    if context[i].text[0].isupper() and i and before.isalpha() and not look_up(word).readings:
        return "name"
    if context[i].text[0].isupper() and i and before not in '.!?"':
        return None
    readings = look_up(word).readings
    after = context[i + 1].lower if i + 1 < len(context) else ""
    ends = not after.isalpha() or after in _CLOSED
    if before == "to" and "n" in readings and (not after.isalpha() or after in {"and", "or"}):
        return None  # "to bed" and "to work"
    if before in _SUBJECTS | en.MODALS | {"to", "don't", "doesn't", "didn't", "can't", "won't"}:
        return "verb" if "v" in readings and word not in en.FEELINGS else None
    if readings == "n":
        return "noun"
    if readings == "v" and (is_past(word) or word.endswith("ing")):
        return "verb"
    if readings == "a" or (
        before in en.BE | en.DEGREES and "a" in readings and "n" not in readings
    ):
        return "adjective"
    if before in _ARTICLES and "n" in readings and "a" not in readings and ends:
        return "noun"
    return None


def _frame(context: list[Word], i: int) -> str:
    """Say what follows a word: ``object``, ``preposition`` or ``nothing``."""
    after = context[i + 1].lower if i + 1 < len(context) else ""
    if after in en.PREPOSITIONS or after in {"that", "not"}:
        return f"preposition {after}"
    if not after.isalpha() or after in {"and", "but", "because", "when", "so", "or"}:
        return "nothing"
    return "object"


@cache
def lemma(word: str, kind: Kind) -> str:
    """Return the lemma of a word of some kind."""
    from lemminflect import getLemma

    if kind == "name":
        return word
    lemmas = getLemma(word.lower(), upos=_READING[kind])
    return str(lemmas[0]) if lemmas else word.lower()


@cache
def _tag(word: str, kind: Kind, before: str) -> str:
    """Return the inflection a word has, Penn's tag."""
    base = lemma(word, kind)
    matching = [tag for tag in _TAGS[kind] if word in _inflected(base, tag)]
    if kind == "verb" and "VBN" in matching and before in en.HAVE | en.BE:
        return "VBN"
    return matching[0] if matching else _TAGS[kind][0]


@cache
def _inflected(base: str, tag: str) -> tuple[str, ...]:
    from lemminflect import getInflection

    return tuple(getInflection(base, tag=tag))


def agreeing(other: str, context: Sequence[Word], i: int) -> str:
    """Return the lemma ``other`` inflected and capitalised as a word is whose place it takes."""
    word = context[i]
    assert word.kind is not None
    text = other
    if word.kind != "name":
        lead = (
            word.lower
            for word in reversed(context[:i])
            if word.lower not in en.ADVERBS and not word.lower.endswith("ly")
        )
        forms = _inflected(other, _tag(word.lower, word.kind, next(lead, "")))
        text = forms[0] if forms else other
    return cased_as(text, word)


def cased_as(text: str, word: Word) -> str:
    """Return a text with a capital where a word has one."""
    return text[0].upper() + text[1:] if word.text[0].isupper() else text


def replace(text: str, changes: dict[tuple[int, int], str]) -> str:
    """Return a text with other words at some places, "a" and "an" as they then must be."""
    for (start, end), new in sorted(changes.items(), reverse=True):
        lead = text[:start]
        article = re.search(r"\b([Aa])(n?)(\s+)$", lead)
        if article and new:
            vowel = "n" if new[0].lower() in "aeiou" else ""
            lead = lead[: article.start()] + article[1] + vowel + article[3]
        text = lead + new + text[end:]
    return text


def antonyms(word: str, kind: Kind) -> tuple[str, ...]:
    """Return the lemmas of opposite meaning, in order."""
    pos = {"noun": "n", "verb": "v", "adjective": "a", "name": ""}[kind]
    return tuple(antonym_table().get((lemma(word, kind), pos), "").split())


# Negation.

_SHORT = {
    verb: f"{verb}n't"
    for verb in words_of("is are was were do does did have has had would could should")
} | {verb: f"{verb} not" for verb in words_of("am shall must may might")}
_SHORT |= {"will": "won't", "can": "can't"}
_LONG = {"ca": "can", "wo": "will", "sha": "shall", "ai": "is"}
_CLITICS = ("'m", "'re", "'ll", "'ve", "'s", "'d")
_WRITTEN = {"'ll": "won't", "'ve": "haven't", "'d": "wouldn't"}
_DENIES = re.compile(r"not|never|no|.*n't|nothing|nobody|none")
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
    for i in range(len(context)):
        if edit := _turned(context, i):
            start, end, new = edit
            return sentence[:start] + new + sentence[end:]
    return None


def _turned(context: Sequence[Word], i: int) -> tuple[int, int, str] | None:
    """Return what is written where to turn a word round; None if that is not sure."""
    word, lower = context[i], context[i].lower
    place = word.start, word.end
    if lower.endswith("n't") and len(lower) > 3:
        stem = word.text[:-3]
        return *place, _LONG.get(stem.lower(), stem)
    if lower == "cannot":
        return *place, "can"
    if lower == "not" and i and context[i - 1].lower in en.AUXILIARIES:
        return context[i - 1].end, word.end, ""
    if lower == "never" and i + 1 < len(context):
        return *place, "always"
    near = context[max(i - 1, 0) : i + 3]
    if any(_DENIES.fullmatch(word.lower) for word in near):  # turning them round comes later
        return None
    clitic = _clitic(context, i)
    if clitic in _WRITTEN:
        return word.end - len(clitic), word.end, f" {_WRITTEN[clitic]}"
    if clitic:
        return word.end, word.end, " not"
    if lower in _SHORT and _is_auxiliary(context, i):
        return *place, cased_as(_SHORT[lower], word)
    before = _before(context, i)
    if before is None:
        return None
    if lower in _MAIN:
        return *place, _MAIN[lower]
    base = base_form(lower)
    if not is_verb(lower) or lower in en.AUXILIARIES:
        return None
    if is_past(lower) and before in _PERSONS | {"noun"}:
        return *place, f"didn't {base}"
    if before in _THIRD and lower == look_up(base).third:
        return *place, f"doesn't {base}"
    return (*place, f"don't {base}") if before in _PERSONS - _THIRD and lower == base else None


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
    if word in en.BE | en.MODALS:
        return context[i - 1].lower not in {"to", "that", "what", "how", "who", "where", "why"}
    following = context[i + 1].lower if i + 1 < len(context) else ""
    if word in en.HAVE:
        return following == "been" or (
            is_verb(following) and (is_past(following) or following.endswith("en"))
        )
    return word in en.DO and is_verb(following)


def _before(context: Sequence[Word], i: int) -> str | None:
    """Return the subject before a verb: a pronoun, or ``noun``; adverbs between are passed over."""
    k = i - 1
    while k >= 0 and context[k].lower in en.ADVERBS:
        k -= 1
    if k < 0:
        return None
    if context[k].lower in _PERSONS and (k == 0 or context[k - 1].lower not in {"to", "of", "for"}):
        return context[k].lower
    return "noun" if context[k].kind in ("noun", "name") else None
