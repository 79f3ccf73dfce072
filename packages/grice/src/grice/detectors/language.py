"""A reply in another language than the turns of the other speakers.

Scripts are identified by Unicode, languages in Latin letters by their most frequent words
(:mod:`grice.text.language`). A library such as lingua or langid names a language for any text, also
for "Ok lol"; this rule needs an uncertain result there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from grice.detectors.conversation import Flaw, Reply
from grice.text.language import ENGLISH, LANGUAGES, language_of, scripts, words_in
from grice.text.language import READ as LANGUAGE_READ
from grice.text.tokens import SHORT_FORMS

LEARNING = re.compile(
    r"\b(?:english|french|german|spanish|italian|portuguese|dutch|polish|russian|chinese|mandarin|"
    r"cantonese|japanese|korean|arabic|hindi|turkish|swedish|danish|norwegian|finnish|hungarian|"
    r"indonesian|malay|greek|hebrew|latin|thai|vietnamese|ukrainian|czech|romanian|persian|farsi|"
    r"urdu|bengali|tamil|swahili|languages?|translat\w*|pronounc\w*|bilingual|sprache|deutsch|"
    r"englisch|französisch|spanisch|übersetz\w*|français|anglais|espagnol|allemand|langue|tradu\w*|"
    r"español|inglés|francés|idioma|inglese|italiano|lingua|tedesco|português|inglês)\b"
    r"|英语|英文|中文|日语|翻译|英語|日本語|翻訳|английск|русск|перев[её]д",
    re.IGNORECASE,
)
"""A conversation about languages, in which a turn in another one is no flaw."""
FEWEST_LETTERS = {"Han": 4, "Kana": 4, "Hangul": 4}
OTHER_LETTERS = 10
"""Letters of a script that a text needs at least, where a letter is not a syllable or a word."""
SHARE = 0.8  # share of its letters that the script of a text has at least
FEWEST_WORDS = 5
LATIN_WORDS = re.compile(r"[A-Za-z]{2}\w{0,40}\W{1,10}[A-Za-z]{2}")
MOSTLY_LETTERS = 0.65
"""Share of letters among the characters of a text, without blanks; a log file has fewer."""


class Tongue(NamedTuple):
    """Script of a text, and its language if it is in Latin letters and certain."""

    script: str
    language: str | None

    @property
    def title(self) -> str:
        """The language, or else the script."""
        names = {"Kana": "Japanese", "Han": "Chinese characters", "Hangul": "Korean"}
        return self.language or names.get(self.script, f"{self.script} letters")


def other_language_in(reply: Reply) -> Flaw | None:
    """Find a reply in another language than all turns of the other speakers."""
    text = reply.prose
    if text.isascii() and text.count(" ") < FEWEST_WORDS - 1:
        return None
    tongue = tongue_of(text)
    if tongue is None or (tongue.script == "Latin" and tongue.language is None):
        return None
    others = _of_others(reply)
    if others is None or not _differ(tongue, others, text):
        return None
    if reply.asked_for(LEARNING) or LEARNING.search(reply.background.instructions):
        return None
    if reply.after(tongue, lambda text: _uses(text, tongue)):
        return None
    start = len(reply.text) - len(reply.text.lstrip())
    message = f"the reply is in {tongue.title}, the other turns are in {others.title}"
    return Flaw(message, ((start, len(reply.text.rstrip())),))


def tongue_of(text: str) -> Tongue | None:
    """Return script and language of a text, or None if it is short or mixed."""
    if text.isascii():
        return _latin(text)
    letters = scripts(text)
    if letters["Kana"] and 10 * letters["Kana"] >= letters["Han"]:
        letters["Kana"] += letters.pop("Han", 0)
    elif letters["Kana"]:
        return None
    script, most = (*letters.most_common(1), ("", 0))[0]
    if most < FEWEST_LETTERS.get(script, OTHER_LETTERS) or most < SHARE * sum(letters.values()):
        return None
    return _latin(text) if script == "Latin" else Tongue(script, None)


def _latin(text: str) -> Tongue | None:
    beginning = text[:LANGUAGE_READ]
    if beginning.count(" ") < FEWEST_WORDS - 1:
        return None
    letters = sum(map(str.isalpha, beginning))
    if letters < MOSTLY_LETTERS * (len(beginning) - beginning.count(" ")):
        return None
    return Tongue("Latin", language_of(beginning))


def _differ(tongue: Tongue, others: Tongue, text: str) -> bool:
    if {tongue.script, others.script} == {"Han", "Kana"}:
        return scripts(text)[tongue.script] > 2 * OTHER_LETTERS
    if tongue.script != others.script:
        # A Latin text beside another script may be the same language in other letters.
        return tongue.script != "Latin" or tongue.language is not None
    if tongue.language == others.language or None in (tongue.language, others.language):
        return False
    if "English" in (tongue.language, others.language):
        return True
    # Related languages share frequent words.
    own, theirs = (words_in(text, str(name)) for name in (tongue.language, others.language))
    return own >= 2 * theirs + 1


def _of_others(reply: Reply) -> Tongue | None:
    """Return script and language of the turns of all others; None if there are several.

    Some of them must come before the reply.
    """
    known, speaker = reply.background.tongues, reply.speaker
    if speaker not in known:
        known[speaker] = _common(
            (i, text) for i, name, text in reply.background.texts if name != speaker
        )
    first, tongue = known[speaker] or (reply.turn, None)
    return tongue if first < reply.turn else None


def _common(turns: Iterable[tuple[int, str]]) -> tuple[int, Tongue] | None:
    """Return the one script and language of turns, and where it is certain first."""
    certain: dict[Tongue, int] = {}
    texts, short_english = [], []
    written: set[str | None] = set()
    for index, text in turns:
        tongue = tongue_of(text)
        if tongue is not None and (tongue.language or tongue.script != "Latin"):
            certain.setdefault(tongue, index)
        elif _only_english(text):
            short_english.append(index)
        written.add(_script_of_short(text))
        texts.append(text)
    if Tongue("Kana", None) in certain:
        written.discard("Han")
        certain.pop(Tongue("Han", None), None)
    if not certain and short_english:
        certain = {Tongue("Latin", "English"): short_english[0]}
    if len(certain) != 1 or len(written - {None}) != 1:
        return None
    [(tongue, first)] = certain.items()
    if tongue.language not in (None, "English") and any(_english(text, tongue) for text in texts):
        return None
    return first, tongue


def _english(text: str, tongue: Tongue) -> bool:
    """Return whether a text that names no language is rather English than another one."""
    words = set(SHORT_FORMS.findall(text[:LANGUAGE_READ].lower()))
    return len(words & ENGLISH) > 1 and not words_in(text, str(tongue.language))


def _only_english(text: str) -> bool:
    """Return whether a short text has common words of English, and none of another language."""
    words = set(SHORT_FORMS.findall(text[:LANGUAGE_READ].lower()))
    return len(words & ENGLISH) > 2 and words.isdisjoint(LANGUAGES)


def _script_of_short(text: str) -> str | None:
    """Return the script of two words at least, also where they do not show the language."""
    if text.isascii():
        return "Latin" if LATIN_WORDS.search(text) else None
    letters = scripts(text)
    if letters["Kana"]:
        return "Kana"
    script, most = (*letters.most_common(1), ("", 0))[0]
    return script if most >= FEWEST_LETTERS.get(script, 6) else None


def _uses(text: str, tongue: Tongue) -> bool:
    """Return whether a text has anything of a language or script."""
    if tongue.script != "Latin":
        return not text.isascii() and scripts(text)[tongue.script] > 0
    if tongue.language in (None, "English"):
        return False
    foreign = words_in(text, str(tongue.language))
    return foreign > 1 or (foreign == 1 and len(text.split()) < FEWEST_WORDS)
