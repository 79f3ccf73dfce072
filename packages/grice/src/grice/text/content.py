"""Content words, sentences and questions of a text with their places, and its new content."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from grice.text import cached
from grice.text.tokens import PLAIN_WORDS_AND_NUMBERS, SENTENCES_WITH_MARKS, WORD_CHARACTER, WORDS
from grice.text.wordlists import (
    ABBREVIATIONS,
    BEFORE_NUMBERS,
    BEHIND_TIMES,
    DOMAINS,
    NEVER_LAST,
    OF_NO_CONTENT,
    STARTERS,
    words_of,
)

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

MOST_SENTENCES = 16  # maximum number of sentences of a text that are compared
COUNTRIES = STARTERS & words_of("it is my no so")
NO_ENDS = NEVER_LAST | ABBREVIATIONS | {"a.m", "p.m"}
WRAPPED, SEEN = 50, 60  # characters of a line that may be wrapped, and those that are looked back
_OPENING = "\"'“‘([{*_<-–—"
_MARKS = re.compile(
    r"(?:https?://|www\.)\S*[^\s.,!?…:;\"'”’)\]*_]|"
    r"(?P<marks>[.!?…]+)(?P<closing>[\"'”’)\]*_]*)(?P<blank>\s*)|(?P<line>\n\s*)"
)
_NEXT = re.compile(r"[\"'“‘(\[*_]*((?:[^\W_]{1,20}(?:['’][^\W_]{1,9})?)?)")
_QUERY = re.compile(r"[\w-]{1,40}=")
_PLAIN_END = re.compile(r"[^\W_]{2}$|\d$")
_PLAIN_WORD = re.compile(r"[A-Za-z][a-z]+(?:['’][a-z]+)?")
_INSIDE = re.compile(r"[@/\\_(=]|\.\w")
_DOTTED = re.compile(r"(?:[A-Za-z]\.)+[A-Za-z]")


class Stretch(NamedTuple):
    """A stretch of a text: ``text[start:end]``, and what stands there."""

    start: int
    end: int
    text: str


def without_blanks(start: int, text: str) -> Stretch:
    """Return the stretch of a text that begins at an offset, without the blanks around it."""
    start += len(text) - len(text.lstrip())
    return Stretch(start, start + len(text.strip()), text.strip())


@cached
def sentences(text: str) -> tuple[Stretch, ...]:
    """Return the first sixteen sentences with a word, without the blanks around them.

    A line break ends a sentence, unless it wraps a long line.

    >>> [sentence.text for sentence in sentences("Yes! ... It costs 4.2M, e.g. at posteo.se.")]
    ['Yes!', 'It costs 4.2M, e.g. at posteo.se.']
    """
    with_word = (part for part in _sentences(text) if WORD_CHARACTER.search(part.text))
    return tuple(islice(with_word, MOST_SENTENCES))


def _sentences(text: str) -> Iterator[Stretch]:
    # Rejected: sentencex joins "OK. Done." and cuts "approx. 5"; pysbd is slow, blingfire 42 MB.
    start = 0
    for mark in _MARKS.finditer(text):
        if _ends_sentence(text, start, mark):
            yield without_blanks(start, text[start : mark.end()])
            start = mark.end()
    yield without_blanks(start, text[start:])


def _ends_sentence(text: str, start: int, mark: re.Match[str]) -> bool:
    """Return whether a sentence that begins at ``start`` ends behind a mark or line break."""
    marks, closing, blank, line = mark.group("marks", "closing", "blank", "line")
    if "\n" in (blank or line or "") and not _wraps(text, mark):
        return True
    if not marks:  # a web address, or a line that is wrapped
        return False
    if mark.start() == start or mark.end() == len(text):
        return True
    match = _NEXT.match(text, mark.end())
    following = match[1] if match else ""
    if not blank:
        return not closing and _ends_unspaced(text, mark, following)
    goes_on = following[:1].islower()
    if "?" in marks or "!" in marks or (closing and goes_on):
        return not (closing and goes_on)
    if len(marks) > 1 or marks == "…":
        return _ends_behind_ellipsis(text, start, mark, following)
    return _ends_behind_period(text, start, mark, following)


def _wraps(text: str, mark: re.Match[str]) -> bool:
    """Return whether a line break stands inside a sentence that is wrapped."""
    end = mark.end()
    line = text[max(0, mark.start() - WRAPPED) : mark.start()]
    return (
        text[mark.start() : end].count("\n") == 1
        and text[end : end + 1].islower()
        and len(line) == WRAPPED
        and "\n" not in line
    )


def _ends_unspaced(text: str, mark: re.Match[str], following: str) -> bool:
    """Return whether a mark that no blank follows ends a sentence: "Nice.I like it"."""
    before = _last_token(text, mark)
    lower = following.lower()
    if not text[mark.end()].isalpha() or before.lower() in NO_ENDS:
        return False
    if not before:  # "wait .Who", but no ".NET"
        return lower in STARTERS
    if "?" in mark[0] or "!" in mark[0]:
        return not _QUERY.match(text, mark.end())
    if lower in STARTERS and _PLAIN_END.search(before):
        return lower not in COUNTRIES or following[0].isupper()
    after = text[mark.end() + len(following) : mark.end() + len(following) + 2]
    return (
        len(mark[0]) == 1
        and _PLAIN_WORD.fullmatch(before) is not None
        and len(following) > 1
        and following.istitle()
        and lower not in DOMAINS
        and not _INSIDE.match(after)
    )


def _ends_behind_ellipsis(text: str, start: int, mark: re.Match[str], following: str) -> bool:
    lower = following.lower()
    if lower[:1] != "i" and following[:1].isupper():
        return True
    said = text[max(start, mark.start() - SEEN) : mark.start()]
    return lower in STARTERS and len(said.split()) > 1


def _ends_behind_period(text: str, start: int, mark: re.Match[str], following: str) -> bool:
    token = _last_token(text, mark)
    short = token.lower()
    capital, number = following[:1].isupper(), following[:1].isdigit()
    starter = following.lower() in STARTERS
    if token.isdecimal():
        return not _begins_item(text, start, mark.start() - len(token), token)
    if short in NEVER_LAST or (number and short in BEFORE_NUMBERS):
        return False
    if short in ("a.m", "p.m"):
        return capital and following.lower() not in BEHIND_TIMES
    if len(token) == 1 and token.isalpha():
        return starter if token.isupper() else not number
    if short == "etc":
        return capital
    if short in ABBREVIATIONS or _DOTTED.fullmatch(token):
        return capital and starter
    return True


def _begins_item(text: str, start: int, place: int, number: str) -> bool:
    """Return whether a number stands before the text of an item of a list."""
    before = text[max(start, place - SEEN) : place].strip(" \t\n-*•>")
    first = not before and (number == "1" or start > 0)
    return len(number) < 3 and (first or before.endswith(":"))


def _last_token(text: str, mark: re.Match[str]) -> str:
    """Return what stands before a mark, back to a blank; of something long the end."""
    before = text[max(0, mark.start() - SEEN) : mark.start()]
    return "" if before[-1:].isspace() else before.split()[-1].lstrip(_OPENING) if before else ""


@cached
def content_words(text: str) -> tuple[Stretch, ...]:
    """Return the words of open classes, in lower case; a number such as 4.2M is one word.

    >>> [word.text for word in content_words("I don't like the green tea for $4.50.")]
    ['green', 'tea', '4.50']
    """
    matches = PLAIN_WORDS_AND_NUMBERS.finditer(text)
    words = (Stretch(match.start(), match.end(), match[0].lower()) for match in matches)
    return tuple(
        word for word in words if word.text not in OF_NO_CONTENT and not {"'", "’"} & {*word.text}
    )


@cached
def questions(text: str) -> tuple[Stretch, ...]:
    """Return the questions and requests of a text, verbatim.

    >>> [sentence.text for sentence in questions("I see. Where is it? Tell me about the sea.")]
    ['Where is it?', 'Tell me about the sea.']
    """
    return tuple(
        sentence
        for sentence in sentences(text)
        if sentence.text.rstrip(" .!\"'”’)").endswith("?")
        or _ASKS.search(sentence.text.lower())
        or _REQUESTS.search(sentence.text.lower())
    )


_RATINGS = re.compile(
    r"\b(?:out of|of|/)\s*(?:5|10|100|five|ten)\b|\b(?:stars?|points?|marks?|ratings?|scores?)\b"
)
_ASKING = re.compile(
    r"\b(?:give|rate|score|grade|mark|award|deserves?)\s+(?:this|it|me|my|us|the|a|an|full|top)\b"
)
_FEW = 2


@cached
def strip_repetition(reply: str, earlier: tuple[str, ...]) -> str:
    """Return a reply without repeated sentences and without requests for a good score.

    Sentences of one or two words are kept. Case and punctuation are ignored.

    >>> strip_repetition("I love tea. I love tea! Do you?", ("Hello.",))
    'I love tea. Do you?'
    >>> strip_repetition("I see. Please give me 5 out of 5.", ())
    'I see. '
    """
    known = set().union(*map(_sentences_of, earlier))
    kept: list[str] = []
    for sentence in SENTENCES_WITH_MARKS.findall(reply):
        words = _words(sentence)
        repeated = len(words) > _FEW and words in known
        known.add(words)
        lower = sentence.lower()
        if not repeated and not (_ASKING.search(lower) and _RATINGS.search(lower)):
            kept.append(sentence)
    return "".join(kept)


class Novelty(NamedTuple):
    """A reply without repetition (all of it if nothing is left), and the share of words left."""

    text: str
    novel_fraction: float


def novelty(reply: str, earlier: Iterable[str]) -> Novelty:
    """Return the new sentences of a reply, and their fraction of its words.

    >>> novelty("I love tea. I love tea!", [])
    Novelty(text='I love tea. ', novel_fraction=0.5)
    """
    text = strip_repetition(reply, tuple(earlier))
    words = len(reply.split())
    # Marks that are left out may part what they joined: never more words than there were.
    left = min(1.0, len(text.split()) / max(1, words))
    return Novelty(text, left) if text.strip() else Novelty(reply, 0.0)


@cached
def _sentences_of(text: str) -> frozenset[tuple[str, ...]]:
    return frozenset(map(_words, SENTENCES_WITH_MARKS.findall(text)))


def _words(sentence: str) -> tuple[str, ...]:
    return tuple(WORDS.findall(sentence.lower()))
