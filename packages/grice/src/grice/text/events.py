"""Events as ATOMIC writes them: "I just got fired" becomes "PersonX gets fired".

In ATOMIC (Sap et al., 2019; Hwang et al., 2021) PersonX is the subject of the head of a triple, and
everyone else is PersonY. So an event is read once (:func:`read_event`), and its people are named
when it is put into a triple (:func:`triple_texts`).

The clause is brought to the simple present, without auxiliaries and modal verbs; negation stays
("doesn't like"), questions become statements ("do you play" is "PersonX plays"). Nothing is parsed;
the rules know the closed word classes and the lexicon.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Literal, TypeAlias

import msgspec

from grice.text import cached
from grice.text import wordlists as en
from grice.text.lexicon import (
    base_form,
    is_adjective,
    is_inflected,
    is_noun,
    is_past,
    is_verb,
    past_participle,
    present,
    simple_present,
)
from grice.text.wordlists import words_of

Speaker: TypeAlias = Literal["responder", "previous"]
"""The speaker of a text: the speaker of the judged response, or the speaker of the turn before."""
Party: TypeAlias = Literal["responder", "previous", "other", "thing"]
"""The subject of an event; ``thing`` if it is not a known person."""
PersonName: TypeAlias = Literal["PersonX", "PersonY"]
_OTHER_NAME = {"PersonX": "PersonY", "PersonY": "PersonX"}
_CONTRACTED = {
    "im": "i am", "ive": "i have", "youre": "you are", "youve": "you have", "theyre": "they are",
    "hes": "he is", "shes": "she is", "thats": "that is", "theres": "there is", "dont": "do not",
    "doesnt": "does not", "didnt": "did not", "cant": "can not", "cannot": "can not",
    "wont": "will not", "isnt": "is not", "arent": "are not", "wasnt": "was not",
    "werent": "were not", "havent": "have not", "hasnt": "has not", "couldnt": "could not",
    "wouldnt": "would not", "shouldnt": "should not", "can't": "can not", "won't": "will not",
    "lets": "let us", "let's": "let us", "gonna": "going to", "wanna": "want to",
    "gotta": "have to", "ain't": "is not", "aint": "is not", "shan't": "will not", "y'all": "you",
}  # fmt: skip
_ENDINGS = {"'m": "am", "'re": "are", "'ve": "have", "'ll": "will", "'d": "would"}
_TRAILING = words_of(", ; : actually also either please then though too")
_LEADING = words_of(", ; : please to")
_PLURAL_NOUNS = words_of("people children men women kids parents")
_AGREED = {"is": "are", "doesn't": "don't", "has": "have"}


def _by_person(**words: str) -> dict[str, str]:
    return {word: person for person, listed in words.items() for word in listed.split()}


SUBJECTS = _by_person(i="i we", you="you u ya", he="he she they who")
OWNERS = _by_person(i="my our", you="your ur", he="his her")
OBJECTS = _by_person(
    i="me us myself ourselves i we", you="you u ya yourself", he="him himself herself he she"
)
POSSESSIVES = OWNERS | _by_person(i="mine ours", you="yours", he="hers")


class Mention(msgspec.Struct, frozen=True):
    """A place where a person is named, such as ``PersonX`` or ``PersonX's``."""

    party: Party
    possessive: bool = False


class Event(msgspec.Struct, frozen=True):
    """A clause in the simple present, its people still open."""

    words: tuple[str | Mention, ...]
    subject: Party  # who it is about, of "my dog barks" the owner
    explicit: bool  # whether the subject was said

    def text(self, person_x: Party) -> str:
        """Return the clause with one party as PersonX and all other people as PersonY."""
        words = (
            word
            if isinstance(word, str)
            else ("PersonX" if word.party == person_x else "PersonY") + "'s" * word.possessive
            for word in self.words
        )
        return re.sub(r" ([,;:])", r"\1", " ".join(words))


def event_text(text: str, *, said_by: Speaker = "responder") -> str:
    """Return an event in ATOMIC's form, with its subject as PersonX.

    >>> event_text("I just got fired for a mistake I made")
    'PersonX gets fired for a mistake PersonX makes'
    >>> event_text("I can send you a message")
    'PersonX sends PersonY a message'
    """
    event = read_event(text, said_by=said_by)
    return event.text(said_by if event.subject == "thing" else event.subject)


def triple_texts(
    head: Event, tail: Event, *, tail_subject: PersonName | None = None
) -> tuple[str, str]:
    """Return the texts of a head and a tail with the people named alike in both.

    The head's subject is PersonX; if the head is about a thing, the tail's subject is, and if
    both are, the responder.

    >>> head = read_event("i applied for gifted with calden", said_by="previous")
    >>> tail = read_event("I hope you get in", said_by="responder")
    >>> triple_texts(head, tail)
    ('PersonX applies for gifted with calden', 'PersonY hopes PersonX get in')
    """
    person_x = tail.subject if head.subject == "thing" else head.subject
    person_x = "responder" if person_x == "thing" else person_x
    second = tail.text(person_x)
    named = "PersonX" if tail.subject == person_x else "PersonY"
    if tail_subject not in {None, named} and tail.subject != "thing":
        second = re.sub("Person[XY]", lambda m: _OTHER_NAME[m[0]], second)
    return head.text(person_x), second


def feels(feeling: str, said_by: Speaker) -> Event:
    """Return a feeling as an event: "exciting" is "PersonX feels excited"."""
    felt = past_participle(feeling) if feeling in en.PARTICIPIAL_ADJECTIVES else feeling
    return Event((Mention(said_by), "feels", felt), said_by, explicit=False)


def reaction(text: str, *, said_by: Speaker) -> Event | None:
    """Read a judgement as what its speaker feels: "that's so sad" is "PersonX feels sad"."""
    words = [word.lower() for word in statement(written_out(text))]
    if len(words) < 3 or words[0] not in {"it", "that", "this"}:
        return None
    verb, rest = simple_present(words[1:])
    if verb[-1:] not in (["is"], ["sounds"], ["seems"]) or "not" in verb:
        return None
    while rest and rest[0] in en.DEGREES:
        rest = rest[1:]
    judged = bool(rest) and is_adjective(rest[0]) and rest[0] not in en.NOT_FEELINGS
    if not judged or (len(rest) > 1 and rest[1] not in en.CLAUSE_STARTS):
        return None
    return feels(rest[0], said_by)


def read_event(text: str, *, said_by: Speaker, inherited: Party | None = None) -> Event:
    """Read one event; ``inherited`` is the subject of the event before it in the sentence."""
    words = statement(written_out(text))
    if not words:
        return Event((), inherited or said_by, explicit=False)
    return _with_subject(words, said_by) or _without_subject(words, said_by, inherited)


def _with_subject(words: list[str], said_by: Speaker) -> Event | None:
    """Read a clause that says who it is about, or None."""
    parties = parties_of(said_by)
    first, second = words[0].lower(), words[1].lower() if len(words) > 1 else ""
    subject: list[str | Mention] = [first]
    party: Party = "thing"
    verb, plural = 1, False
    if first in SUBJECTS:
        party = parties[SUBJECTS[first]]
        subject = [Mention(party)]
    elif first in en.INDEFINITE and (second in en.ADVERBS or is_verb(second)):
        plural = first in en.PLURAL_INDEFINITE
    elif first in en.THINGS:
        there = first in {"here", "there"} and second in {"are", "were"}
        plural = there or first in {"these", "those"}
    elif first == "let" and len(words) > 2 and second in {"me", "us"}:
        party, subject, verb = said_by, [Mention(said_by)], 2
    elif verb := subject_end(words):
        party = parties[OWNERS[first]] if first in OWNERS else "thing"
        subject = mark_people(uncapitalised(words[:verb]), parties)
        plural = is_plural(words[:verb])
    else:
        return None
    rest = mark_people(predicate(words[verb:], plural=plural), parties)
    return Event((*subject, *rest), party, explicit=True)


def _without_subject(words: list[str], said_by: Speaker, inherited: Party | None) -> Event:
    """Read a clause that takes its subject from the event before, or is an order."""
    parties = parties_of(said_by)
    first, second = words[0].lower(), words[1].lower() if len(words) > 1 else ""
    describes = first in {"busy", "free", "perfect", "ready"} or (
        is_inflected(first) and inherited is None
    )
    participle = is_adjective(first) and describes and second in en.PREPOSITIONS  # "tired of it"
    subject: str | Mention = "it"
    party: Party = "thing"
    if inherited != "thing" or not (is_inflected(first) or first in en.AUXILIARIES):
        base = is_verb(first) and base_form(first) == first
        order = base and not participle and first not in en.FEELINGS | en.AUXILIARIES - {"do"}
        listener = parties["you"] if order else said_by
        party = listener if inherited in (None, "thing") else inherited
        subject = Mention(party)
    if participle or not (is_verb(first) or first in en.ADVERBS | {"not", "to"}):
        words = ["is", *words]  # "sorry to hear that"
    rest = mark_people(predicate(uncapitalised(words), plural=False), parties)
    return Event((subject, *rest), party, explicit=False)


@cached
def written_out(text: str) -> tuple[str, ...]:
    """Return the words of a clause: "I'm" is "I am"; marks at its edges and "too" are dropped."""
    text = text.replace("’", "'").replace("`", "'")
    # A clitic that stands apart joins its word.
    text = re.sub(r"\s+(n't|'(?:m|re|ve|ll|d|s))\b", r"\1", text, flags=re.IGNORECASE)
    words = re.findall(r"[^\s,.;:!?()\"“”]+(?:[.,:](?=\w)[^\s,.;:!?()\"“”]+)*|[,;:]", text)
    out: list[str] = []
    for word, following in pairwise([*words, ""]):
        lower, after = word.lower(), following.lower()
        stem, mark, ending = lower.rpartition("'")
        if lower == "got" and out and out[-1].lower() in {"has", "have"}:
            continue
        if lower in _CONTRACTED:
            out += _CONTRACTED[lower].split()
        elif lower == "its" and after in en.SHOWS_IS:
            out += ["it", "is"]
        elif lower.endswith("n't"):
            out += [word[:-3], "not"]
        elif mark and stem and mark + ending in _ENDINGS:
            out += [word[: len(stem)], _ENDINGS[mark + ending]]
        elif ending == "s" and mark and (stem in en.HOLDS_IS or _means_is(after)):
            out += [word[: len(stem)], "has" if after in {"been", "got"} else "is"]
        else:
            out.append(word)
    while out and out[-1].lower() in _TRAILING:
        out.pop()
    while out and out[0].lower() in _LEADING:
        out.pop(0)
    return tuple(word for word in out if word)


def _means_is(following: str) -> bool:
    return following in en.SHOWS_IS or (following.endswith("ing") and is_verb(following))


def parties_of(said_by: Speaker) -> dict[str, Party]:
    """Return the referents of ``i``, ``you`` and ``he``, the values of the tables above."""
    you: Party = "previous" if said_by == "responder" else "responder"
    return {"i": said_by, "you": you, "he": "other"}


def mark_people(words: list[str], parties: dict[str, Party]) -> list[str | Mention]:
    """Replace the words for people by mentions."""
    out: list[str | Mention] = []
    for i, word in enumerate(words):
        lower = word.lower()
        following = words[i + 1].lower() if i + 1 < len(words) else ""
        before = out[-1] if out else None
        if lower == "her" and (not following or following in en.AFTER_OBJECT):
            out.append(Mention(parties["he"]))
        elif lower in POSSESSIVES:
            out.append(Mention(parties[POSSESSIVES[lower]], possessive=True))
        elif lower in OBJECTS and (lower != "us" or before != "the"):
            out.append(Mention(parties[OBJECTS[lower]]))
        elif isinstance(before, Mention) and words[i - 1].lower() in {"i", "he", "she", "we"}:
            agrees = is_verb(lower) and lower not in en.MODALS
            out.append(present(lower) if agrees else word)
        else:
            out.append(word)
    return out


def statement(words: Sequence[str]) -> list[str]:
    """Put the subject of a question before its auxiliary: "do you play" is "you do play"."""
    lower = [word.lower() for word in words]
    if len(words) > 2 and lower[0] == "which" and lower[2] not in SUBJECTS:
        return ["it", *words[1:]]  # "which is cool", said of what went before
    start = 0
    while start + 2 < len(words) and lower[start] in en.QUESTIONS:
        start += 1
    words, lower = list(words[start:]), lower[start:]
    if len(words) < 3 or lower[0] not in en.AUXILIARIES:
        return words
    first, second, third, *_ = lower
    if second in SUBJECTS or (second in en.THINGS and first not in {"do", "have"}):
        return [words[1], words[0], *words[2:]]
    if second == "not" and third in en.THINGS | SUBJECTS.keys():
        return [words[2], words[0], "not", *words[3:]]
    if first in {"does", "did"} | en.MODALS and (second in en.DETERMINERS or words[1][0].isupper()):
        verb = next((i for i in range(2, len(words)) if is_verb(lower[i])), 0)
        if verb:
            return [*words[1:verb], words[0], *words[verb:]]
    return words


def predicate(words: list[str], *, plural: bool) -> list[str]:
    """Return a predicate in the simple present."""
    verb, rest = simple_present(words)
    if plural and verb:
        *before, last = verb
        verb = [*(_AGREED.get(w, w) for w in before), _AGREED.get(last, base_form(last))]
    return [*verb, *rest]


def subject_end(words: list[str]) -> int:
    """Return the index of the verb behind a subject of several words, 0 if none is sure."""
    first = words[0].lower()
    if first in en.AUXILIARIES | en.ADVERBS | {"not", "to"}:
        return 0
    determined = first in OWNERS or first in en.NOT_VERBS
    if len(words) > 1 and words[1].lower() in en.AUXILIARIES and not determined:
        return 1
    if len(words) > 2 and words[2].lower() in en.BE - {"be", "being"} and is_noun(words[1].lower()):
        return 2  # "house cats are"
    if is_verb(first) and not determined and not words[0][0].isupper():
        return 0
    for i, word in enumerate(words[1:], start=1):
        lower = word.lower()
        if lower in {"to", "that", "who", "which"} or (lower in OBJECTS and i == 1):
            return 0
        if lower in en.AUXILIARIES and (lower in en.BE or not determined or i > 1):
            return i
        if i > int(determined) and is_past(lower):
            return i
        if determined and i > 1 and is_verb(lower) and not _is_noun_like(words, i):
            return i
    return 0


def _is_noun_like(words: list[str], i: int) -> bool:
    """Return whether the word at ``i`` is rather a noun: it ends the clause or "of" follows."""
    word = words[i].lower()
    if base_form(word) != word and not word.endswith(("s", "ing")):
        return False
    return i + 1 >= len(words) or words[i + 1].lower() in en.AUXILIARIES | {"of", "and", "or"}


def is_plural(subject: list[str]) -> bool:
    """Return whether a subject of several words takes a plural verb."""
    nouns = [word.lower() for word in subject if word.lower() not in en.ADVERBS]
    if not nouns or nouns[0] in {"one", "each"}:
        return False
    if "and" in nouns:
        return True
    if subject[-1][0].isupper() and nouns[0] != "the":
        return False  # a name
    last = nouns[-1]
    regular = last.endswith("s") and not last.endswith(("ss", "us", "is", "'s"))
    return regular or last in _PLURAL_NOUNS


def uncapitalised(words: list[str]) -> list[str]:
    """Return the words with the first in lower case unless it may be a name."""
    first = words[0].lower()
    common = first in en.NOT_VERBS or first in POSSESSIVES or is_verb(first)
    return [first, *words[1:]] if common else words
