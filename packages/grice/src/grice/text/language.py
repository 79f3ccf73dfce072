"""Detection of the writing system of a text, and of other languages in Latin letters.

A language is reported only if several words indicate it and English ones do not.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from itertools import islice

from grice.text import cached
from grice.text.lexicon import look_up
from grice.text.tokens import LATIN_ALPHANUMERIC, SHORT_FORMS, UNICODE_LETTERS
from grice.text.wordlists import SURELY_ENGLISH, packaged_lines, words_of

READ = 400  # characters that are read: the language of a text shows in its beginning
FEWEST = 3
PROPORTION = 0.2
"""So many of the different words of a text, at least, are among the commonest of its language."""
FEWEST_UNKNOWN = 3
UNKNOWN = 0.6
"""So many words that no English text has, at least, where fewer of its commonest words occur."""
LAUGH = 2  # a word of no more different letters may be a laugh
URL = re.compile(r"https?:\s?//\s?\S+(?:\s\S+$)?|www\.\S+", re.IGNORECASE)
UNNAMED = "another language"
"""Name for a text that is not English and may be in one of several languages."""
MARKED = re.compile("[\u00df-\u024f]")
"""A Latin letter that English words do not have, in a text without capitals."""


ENGLISH = words_of(
    "a about all am an and any are as at be been but by can could did do does for from get go "
    "got had has have he her hi him his how i i'm if in is it it's its just know like me my no "
    "not now of oh ok on one or our out she so some that that's the their them then there they "
    "this to too up us was we were what when where which who why will with would yeah yes you "
    "your"
)
LANGUAGES: dict[str, list[str]] = {}
"""The languages of which a word is one of the commonest, but for words that are English, too."""
for _line in packaged_lines("languages.txt"):
    _language, _, _words = _line.partition(": ")
    for _word in words_of(_words) - ENGLISH:
        LANGUAGES.setdefault(_word, []).append(_language)
LETTERS = 2000  # letters looked at: the script of a text shows in its beginning
LATIN_END = "\u0250"  # the first character behind the Latin blocks of Unicode
SCRIPTS = (
    (0x0250, "Latin"), (0x0370, ""), (0x0400, "Greek"), (0x0530, "Cyrillic"),
    (0x0590, "Armenian"), (0x0600, "Hebrew"), (0x0700, "Arabic"), (0x0900, ""),
    (0x0980, "Devanagari"), (0x0A00, "Bengali"), (0x0A80, "Gurmukhi"), (0x0B00, "Gujarati"),
    (0x0B80, ""), (0x0C00, "Tamil"), (0x0C80, "Telugu"), (0x0D00, "Kannada"),
    (0x0D80, "Malayalam"), (0x0E00, ""), (0x0E80, "Thai"), (0x10A0, ""),
    (0x1100, "Georgian"), (0x1200, "Hangul"), (0x1380, "Ethiopic"), (0x1E00, ""),
    (0x1F00, "Latin"), (0x2000, "Greek"), (0x3040, ""), (0x3100, "Kana"), (0x3400, ""),
    (0xA000, "Han"), (0xAC00, ""), (0xD7B0, "Hangul"),
)  # fmt: skip
"""First code point behind each range of Unicode blocks, and the script of its letters."""
_ENDS = tuple(end for end, _ in SCRIPTS)


@cached
def unreadable(text: str) -> str | None:
    """Return why a model of English cannot judge a text: no word, or another script; else None.

    >>> unreadable("Where is it?"), unreadable("..."), unreadable("Где это?")
    (None, 'contains no word', 'is not in Latin letters')
    """
    if text.isascii():
        return None if LATIN_ALPHANUMERIC.search(text) else "contains no word"
    letters = list(islice((c for c in text if c.isalpha()), LETTERS))
    if not letters:
        return None if any(c.isdigit() for c in text) else "contains no word"
    latin = sum(c < LATIN_END for c in letters)
    return None if 2 * latin >= len(letters) else "is not in Latin letters"


def scripts(text: str) -> Counter[str]:
    """Count the letters of a text by script; those of rare scripts and symbols are not counted.

    >>> scripts("Ok, \u0433\u0434\u0435?")
    Counter({'Cyrillic': 3, 'Latin': 2})
    """
    letters = islice((c for c in text if c.isalpha()), LETTERS)
    names = (bisect_right(_ENDS, ord(c)) for c in letters)
    found = Counter(SCRIPTS[name][1] for name in names if name < len(SCRIPTS))
    del found[""]
    return found


@cached
def other_language(text: str) -> str | None:
    """Return the language of a text that is surely not English; None if it may be.

    It is ``another language`` where too few words tell which.

    >>> other_language("Ich weiß nicht, ob das eine gute Idee ist.")
    'German'
    >>> other_language("Gracias!"), other_language("I know la vie en rose, le film.")
    (None, None)
    """
    beginning = text[:READ]
    words = set(UNICODE_LETTERS.findall(beginning.lower()))
    foreign = words & LANGUAGES.keys()
    english = len(words & ENGLISH)
    if not foreign or (text.isascii() and 0 < len(foreign) <= 2 * english):
        return None
    hits = Counter(language for word in foreign for language in LANGUAGES[word])
    (language, most), (_, second) = (*hits.most_common(2), ("", 0))[:2]
    # Letters that English has not speak against it, as a common word of the language does.
    signs = most + sum(MARKED.search(word) is not None for word in words - LANGUAGES.keys())
    fewest = max(FEWEST, PROPORTION * len(words), 2 * english + 1)
    if signs >= fewest:
        return language
    if english or not _unknown_to_english(beginning):
        return None
    return language if most > max(1, second) else UNNAMED


def foreign(text: str) -> str | None:
    """Return the language, or the script, of a text that is surely not English; else None.

    >>> foreign("Ich weiß nicht, ob das eine gute Idee ist."), foreign("Где это?"), foreign("...")
    ('German', 'Cyrillic letters', None)
    """
    if any(map(str.isalpha, text[:LETTERS])) and unreadable(text):
        named = scripts(text).most_common(1)
        return f"{named[0][0]} letters" if named else UNNAMED
    return other_language(text)


FEWEST_ENGLISH = 4


def language_of(text: str) -> str | None:
    """Return the language of a text in Latin letters, or None if it is not certain.

    >>> language_of("I do not know what you want from them."), language_of("Ok lol")
    ('English', None)
    """
    if other := other_language(text):
        certain = other != UNNAMED and words_in(text, other) >= FEWEST
        return other if certain else None
    words = set(SHORT_FORMS.findall(text[:READ].lower().replace("’", "'")))
    signs = len(words & SURELY_ENGLISH)
    if signs >= max(FEWEST, PROPORTION * len(words)):
        return "English"
    # Fewer of them do where nothing speaks for another language.
    few = signs > 1 and len(words & ENGLISH) >= max(FEWEST_ENGLISH, PROPORTION * len(words))
    return "English" if few and not words & LANGUAGES.keys() else None


def words_in(text: str, language: str) -> int:
    """Count the different frequent words of a language in a text that English does not have."""
    words = {word for word in UNICODE_LETTERS.findall(text[:READ].lower()) if len(word) > 1}
    return sum(language in LANGUAGES.get(word, ()) for word in words)


def _unknown_to_english(text: str) -> bool:
    """Whether most words are none of English; names and others with a capital do not count."""
    written = UNICODE_LETTERS.findall(URL.sub(" ", text))
    words = {word for word in written if word.islower() and len(set(word)) > LAUGH}
    unknown = sum(not look_up(word).readings for word in words)
    return unknown >= max(FEWEST_UNKNOWN, UNKNOWN * len(words))
