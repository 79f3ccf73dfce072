"""Events as ATOMIC writes them: "I just got fired" becomes "PersonX gets fired".

In ATOMIC (Sap et al., 2019; Hwang et al., 2021) PersonX is the subject of the head of a triple, and
everyone else is PersonY. So an event is read once (:func:`read_event`), and its people are named
when it is put into a triple (:func:`triple_texts`).

The clause is brought to the simple present: auxiliaries, modal verbs and tense are dropped,
negation stays ("doesn't like"), questions are read as statements ("do you play" is "PersonX
plays"). Nothing is parsed; the rules know the closed word classes and the lexicon.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal, TypeAlias

import msgspec

from grice.text.verbs import (
    base_form,
    is_adjective,
    is_noun,
    is_past,
    is_verb,
    past_participle,
    present,
    simple_present,
)
from grice.text.wordlists import (
    ADVERBS,
    AFTER_OBJECT,
    AUXILIARIES,
    BE,
    CLAUSE_STARTS,
    DEGREES,
    DETERMINERS,
    FEELINGS,
    HOLDS_IS,
    INDEFINITE,
    MODALS,
    NOT_FEELINGS,
    NOT_VERBS,
    PARTICIPIAL_ADJECTIVES,
    PLURAL_INDEFINITE,
    PREPOSITIONS,
    QUESTIONS,
    SHOWS_IS,
    THINGS,
)

Speaker: TypeAlias = Literal["responder", "previous"]
"""The speaker of a text: the speaker of the judged response, or the speaker of the turn before."""
Party: TypeAlias = Literal["responder", "previous", "other", "thing"]
"""The subject of an event; ``thing`` if it is not a known person."""
PersonName: TypeAlias = Literal["PersonX", "PersonY"]
_PLURAL_THINGS = frozenset({"these", "those"})
_PLURAL_NOUNS = frozenset({"people", "children", "men", "women", "kids", "parents"})
_OTHER_NAME = {"PersonX": "PersonY", "PersonY": "PersonX"}
_CONTRACTED = {
    "im": ("i", "am"), "ive": ("i", "have"), "youre": ("you", "are"),
    "youve": ("you", "have"), "theyre": ("they", "are"), "hes": ("he", "is"),
    "shes": ("she", "is"), "thats": ("that", "is"), "theres": ("there", "is"),
    "dont": ("do", "not"), "doesnt": ("does", "not"), "didnt": ("did", "not"),
    "cant": ("can", "not"), "cannot": ("can", "not"), "wont": ("will", "not"),
    "isnt": ("is", "not"), "arent": ("are", "not"), "wasnt": ("was", "not"),
    "werent": ("were", "not"), "havent": ("have", "not"), "hasnt": ("has", "not"),
    "couldnt": ("could", "not"), "wouldnt": ("would", "not"), "shouldnt": ("should", "not"),
    "can't": ("can", "not"), "won't": ("will", "not"), "lets": ("let", "us"),
    "let's": ("let", "us"), "gonna": ("going", "to"), "wanna": ("want", "to"),
    "gotta": ("have", "to"), "ain't": ("is", "not"), "aint": ("is", "not"),
    "shan't": ("will", "not"), "y'all": ("you",),
}  # fmt: skip
_ENDINGS = {"'m": "am", "'re": "are", "'ve": "have", "'ll": "will", "'d": "would"}
_TRAILING = frozenset(
    {",", ";", ":", "actually", "also", "either", "please", "then", "though", "too"}
)
_LEADING = frozenset({",", ";", ":", "please", "to"})


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

    def name(self, person_x: Party) -> str:
        """Return the name of the person."""
        name = "PersonX" if self.party == person_x else "PersonY"
        return f"{name}'s" if self.possessive else name


class Event(msgspec.Struct, frozen=True):
    """A clause in the simple present, its people still open.

    The subject is who it is about, of "my dog barks" the owner; ``explicit`` if it was said.
    """

    words: tuple[str | Mention, ...]
    subject: Party
    explicit: bool

    def text(self, person_x: Party) -> str:
        """Return the clause with one party as PersonX and all other people as PersonY."""
        words = (word if isinstance(word, str) else word.name(person_x) for word in self.words)
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


def reaction(text: str, *, said_by: Speaker) -> Event | None:
    """Read a judgement as what its speaker feels: "that's so sad" is "PersonX feels sad"."""
    words = [word.lower() for word in statement(written_out(text))]
    if len(words) < 3 or words[0] not in {"it", "that", "this"}:
        return None
    verb, rest = simple_present(words[1:])
    if verb[-1:] not in (["is"], ["sounds"], ["seems"]) or "not" in verb:
        return None
    while rest and rest[0] in DEGREES:
        rest = rest[1:]
    judged = bool(rest) and is_adjective(rest[0]) and rest[0] not in NOT_FEELINGS
    if not judged or (len(rest) > 1 and rest[1] not in CLAUSE_STARTS):
        return None
    feeling = past_participle(rest[0]) if rest[0] in PARTICIPIAL_ADJECTIVES else rest[0]
    return Event((Mention(said_by), "feels", feeling), said_by, explicit=False)


def read_event(text: str, *, said_by: Speaker, inherited: Party | None = None) -> Event:
    """Read one event."""
    words = statement(written_out(text))
    if not words:
        return Event((), inherited or said_by, explicit=False)
    return _with_subject(words, said_by) or _without_subject(words, said_by, inherited)


def _with_subject(words: list[str], said_by: Speaker) -> Event | None:
    """Read a clause that says who it is about, or None."""
    parties = parties_of(said_by)
    first = words[0].lower()

    def rest(verb: int, *, plural: bool = False) -> list[str | Mention]:
        return mark_people(predicate(words[verb:], plural=plural), parties)

    if first in SUBJECTS:
        party = parties[SUBJECTS[first]]
        return Event((Mention(party), *rest(1)), party, explicit=True)
    if (
        first in INDEFINITE
        and len(words) > 1
        and (words[1].lower() in AUXILIARIES | ADVERBS or is_verb(words[1].lower()))
    ):
        plural = first in PLURAL_INDEFINITE
        return Event((first, *rest(1, plural=plural)), "thing", explicit=True)
    if first in THINGS:
        about_thing = mark_people(thing_predicate(words[1:], first), parties)
        return Event((first, *about_thing), "thing", explicit=True)
    if first == "let" and len(words) > 2 and words[1].lower() in {"me", "us"}:
        return Event((Mention(said_by), *rest(2)), said_by, explicit=True)
    verb = subject_end(words)
    if not verb:
        return None
    owner = parties[OWNERS[first]] if first in OWNERS else "thing"
    subject = mark_people(uncapitalised(words[:verb]), parties)
    plural = is_plural(words[:verb])
    return Event((*subject, *rest(verb, plural=plural)), owner, explicit=True)


def _without_subject(words: list[str], said_by: Speaker, inherited: Party | None) -> Event:
    """Read a clause that takes its subject from the event before, or is an order."""
    parties = parties_of(said_by)
    first = words[0].lower()
    if len(words) > 1 and describes(first, inherited) and words[1].lower() in PREPOSITIONS:
        words = ["is", *words]  # "tired of it"
    if inherited == "thing" and is_finite(first):
        rest = mark_people(predicate(words, plural=False), parties)
        return Event(("it", *rest), "thing", explicit=False)
    listener = parties["you"] if is_order(words) else said_by
    party = listener if inherited in (None, "thing") else inherited
    if not is_verb(first) and first not in AUXILIARIES | ADVERBS | {"not", "to"}:
        words = ["is", *words]  # "sorry to hear that"
    rest = mark_people(predicate(uncapitalised(words), plural=False), parties)
    return Event((Mention(party), *rest), party, explicit=False)


def _split(text: str) -> list[str]:
    """Split into words and inner marks; a clitic that stands apart joins its word."""
    text = text.replace("’", "'").replace("`", "'")
    text = re.sub(r"\s+(n't|'(?:m|re|ve|ll|d|s))\b", r"\1", text, flags=re.IGNORECASE)
    return re.findall(r"[^\s,.;:!?()\"“”]+(?:[.,:](?=\w)[^\s,.;:!?()\"“”]+)*|[,;:]", text)


def written_out(text: str) -> list[str]:
    """Return the words of a clause: "I'm" is "I am"; marks at its edges and "too" are dropped."""
    return list(_written_out(text))


@lru_cache(maxsize=4096)  # every question about a clause begins with its words
def _written_out(text: str) -> tuple[str, ...]:
    words = _split(text)
    out: list[str] = []
    for i, word in enumerate(words):
        lower = word.lower()
        stem, mark, ending = lower.rpartition("'")
        following = words[i + 1].lower() if i + 1 < len(words) else ""
        if lower == "got" and out and out[-1].lower() in {"has", "have"}:
            continue
        if lower in _CONTRACTED:
            out += _CONTRACTED[lower]
        elif lower == "its" and following in SHOWS_IS:
            out += ["it", "is"]
        elif lower.endswith("n't"):
            out += [word[:-3], "not"]
        elif mark and stem and mark + ending in _ENDINGS:
            out += [word[: len(stem)], _ENDINGS[mark + ending]]
        elif mark and ending == "s" and (stem in HOLDS_IS or _means_is(following)):
            out += [word[: len(stem)], "has" if following in {"been", "got"} else "is"]
        else:
            out.append(word)
    while out and out[-1].lower() in _TRAILING:
        out.pop()
    while out and out[0].lower() in _LEADING:
        out.pop(0)
    return tuple(word for word in out if word)


def _means_is(following: str) -> bool:
    return following in SHOWS_IS or (following.endswith("ing") and is_verb(following))


def parties_of(said_by: Speaker) -> dict[str, Party]:
    """Return who is meant by ``i``, ``you`` and ``he``, the values of the tables above."""
    return {
        "i": said_by,
        "you": "previous" if said_by == "responder" else "responder",
        "he": "other",
    }


def mark_people(words: list[str], parties: dict[str, Party]) -> list[str | Mention]:
    """Replace the words for people by mentions."""
    out: list[str | Mention] = []
    for i, word in enumerate(words):
        lower = word.lower()
        following = words[i + 1].lower() if i + 1 < len(words) else ""
        before = out[-1] if out else None
        if lower == "her" and (not following or following in AFTER_OBJECT):
            out.append(Mention(parties["he"]))
        elif lower in POSSESSIVES:
            out.append(Mention(parties[POSSESSIVES[lower]], possessive=True))
        elif lower in OBJECTS and (lower != "us" or before != "the"):
            out.append(Mention(parties[OBJECTS[lower]]))
        elif isinstance(before, Mention) and words[i - 1].lower() in {"i", "he", "she", "we"}:
            agrees = (is_verb(lower) or lower in AUXILIARIES) and lower not in MODALS
            out.append(present(lower) if agrees else word)
        else:
            out.append(word)
    return out


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
    """Return the predicate of a thing, in the plural if the subject or its verb is."""
    plural = subject in _PLURAL_THINGS or (
        subject in {"here", "there"} and bool(words) and words[0].lower() in {"are", "were"}
    )
    return predicate(words, plural=plural)


def subject_end(words: list[str]) -> int:
    """Return the index of the verb behind a subject of several words, 0 if none is sure."""
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


def _is_noun_like(words: list[str], i: int) -> bool:
    """Return whether the word at ``i`` is rather a noun: it ends the clause or "of" follows."""
    word = words[i].lower()
    if base_form(word) != word and not word.endswith(("s", "ing")):
        return False
    return i + 1 >= len(words) or words[i + 1].lower() in AUXILIARIES | {"of", "and", "or"}


def is_plural(subject: list[str]) -> bool:
    """Return whether a subject of several words takes a plural verb."""
    nouns = [word.lower() for word in subject if word.lower() not in ADVERBS]
    if not nouns or nouns[0] in {"one", "each"}:
        return False
    if "and" in nouns:
        return True
    if subject[-1][0].isupper() and nouns[0] != "the":
        return False  # a name
    lower = nouns[-1]
    is_regular = lower.endswith("s") and not lower.endswith(("ss", "us", "is", "'s"))
    return is_regular or lower in _PLURAL_NOUNS


def describes(word: str, inherited: Party | None) -> bool:
    """Return whether a first word is an adjective; behind another event it is a past form."""
    form = base_form(word) != word and not word.endswith("ing") and inherited is None
    return is_adjective(word) and (form or word in {"busy", "free", "perfect", "ready"})


def is_finite(word: str) -> bool:
    """Return whether a first verb has its own tense, so that it shares the subject before it."""
    inflected = is_verb(word) and base_form(word) != word and not word.endswith("ing")
    return word in AUXILIARIES or inflected


def is_order(words: list[str]) -> bool:
    """Return whether a clause without a subject begins with the base form of a verb."""
    first = words[0].lower()
    if first in FEELINGS or first in AUXILIARIES - {"do", "be"} or not is_verb(first):
        return False
    return base_form(first) == first


def uncapitalised(words: list[str]) -> list[str]:
    """Return the words with the first in lower case unless it may be a name."""
    first = words[0].lower()
    common = first in NOT_VERBS or first in POSSESSIVES or is_verb(first)
    return [first, *words[1:]] if common else words
