"""Plain clauses for keywords that no seen sentence holds together.

Each keyword has a role by its context or by the kind of its noun (WordNet 3.0); the clauses were
written by hand after those of the training statements. Every keyword stands in its clause once.
"""

from __future__ import annotations

import gzip
import re
from typing import TYPE_CHECKING, NamedTuple

from grice.text.lexicon import look_up
from grice_tasks.situatedgen.words import noun_lemma

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

LAND = "land"
PARTS_OF_LAND = (
    "city country state continent province region county town capital island village district "
    "kingdom nation area coast republic territory"
)
AREAS = frozenset(PARTS_OF_LAND.split())  # Words for places that a place's name follows with "of"
WIDE = "wild north south east west hemisphere outdoors world ground zone"
OPEN = frozenset(WIDE.split())  # Words for grounds that WordNet has elsewhere
SHARES = frozenset(("role", "part", "place"))  # Nouns that one plays or takes in something else
NUMBERS = frozenset(("hundreds", "thousands", "millions", "billions", "dozens", "lots"))
ON = frozenset(("continent", "island", "coast", "border"))
SEASONS = frozenset(("winter", "summer", "spring", "autumn", "fall"))
MONTH = "(?:january|february|march|april|may|june|july|august|september|october|november|december)"
MONTHS = re.compile(MONTH, re.IGNORECASE)
DAYS = re.compile(
    rf"(?:mon|tues|wednes|thurs|fri|satur|sun)day|\bday\b|\beve\b|{MONTH} \d{{1,2}}(?!\d)",
    re.IGNORECASE,
)
LENGTH = re.compile(
    r"\b(?:hours?|days|weeks?|months|years|minutes?|seconds?|decades|centuries)$", re.IGNORECASE
)
AGE = re.compile(r"\byears? old$", re.IGNORECASE)
PAST = re.compile(r"\b(?:1\d\d\d|20[01]\d)\b|century\b", re.IGNORECASE)
ARTICLE = re.compile(r"(?:the|an?) |\d", re.IGNORECASE)
THE = re.compile(
    r"united|netherlands|philippines|bahamas|u\.?s\.?(?:a\.?)?$|u\.?k\.?$|"
    r".*(?:states|republic|kingdom|islands|isles|union|empire|century|"
    r"ages|war|olympics|holocaust|renaissance)|\d+s$|.*\d0s$",
    re.IGNORECASE,
)


class Part(NamedTuple):
    """The keywords of one clause by what they do in it."""

    names: list[str]
    persons: list[str]
    things: list[str]
    grounds: list[str]
    ideas: list[str]
    areas: list[str]
    places: list[str]
    times: list[str]


class Frames:
    """Writes clauses."""

    def __init__(self, classes: Path) -> None:
        lines = gzip.decompress(classes.read_bytes()).decode().split("\n")
        kinds = [line.split() for line in lines]
        self._kinds = {word: kind for kind, *words in kinds if kind != LAND for word in words}
        self._lands = {
            word.replace("_", " ") for kind, *words in kinds if kind == LAND for word in words
        }

    def write(self, keywords: Sequence[str], contexts: Mapping[str, str]) -> str:
        """Return a clause without its period."""
        part = self.sort(keywords, contexts)
        opening = _of_whom(part) or _of_what(part) or _of_times(part)
        when = [_at(time) for time in part.times if time not in opening.used]
        return " ".join(filter(None, (opening.text, _where(part, opening.used), *when)))

    def sort(self, keywords: Sequence[str], contexts: Mapping[str, str]) -> Part:
        """Return the keywords by what they do in a clause."""
        part = Part([], [], [], [], [], [], [], [])
        for word in keywords:
            getattr(part, self._role(word, contexts.get(word, ""))).append(word)
        # A city is in a land, and not the other way round.
        part.places.sort(key=lambda word: word.lower().removeprefix("the ") in self._lands)
        return part

    def is_place(self, word: str) -> bool:
        """Say whether a keyword may be a place's name: no living thing, food or act."""
        lemma = noun_lemma(word.lower())
        common = self._kinds.get(lemma, "") in ("animal", "plant", "food", "person", "act")
        return not common or (lemma in self._lands and word[:1].isupper())

    def _role(self, word: str, context: str) -> str:
        if context:
            return "places" if context == "GEO" else "times"
        lemma = noun_lemma(word.lower())
        if lemma in OPEN:
            return "grounds"
        if lemma in AREAS:
            return "areas"
        if lemma in SEASONS:
            return "times"
        if named(word):
            return "names"
        kind = self._kinds.get(lemma, "")
        if kind == "person":
            return "persons"
        if kind in ("ground", "place"):
            return "grounds"
        return "things" if kind in ("animal", "plant", "thing") else "ideas"


def named(word: str) -> bool:
    """Say whether a keyword is written as a name and is no common word at a sentence's start."""
    if not word[:1].isupper():
        return False
    return " " in word or not look_up(word.lower()).readings


class _Opening(NamedTuple):
    """The first words of a clause, and those places and times that they hold."""

    text: str
    used: tuple[str, ...] = ()


def _of_whom(part: Part) -> _Opening | None:
    """Return what someone is, or takes part in; None where nobody is named or counted."""
    past = _past(part)
    single = [word for word in part.persons if not _plural(word)]
    many = [word for word in part.persons if _plural(word)]
    shares = [word for word in part.ideas if word.lower() in SHARES]
    actors = part.names or many or list(map(_some, single))
    other = _other(part, without=shares)
    if shares and actors:
        goal = [*other, *((*map(_some, single), *many) if part.names else ())]
        verb = "played" if past else "play" if _plural(actors[-1]) or len(actors) > 1 else "plays"
        inner = f" in {_and([_the(word) for word in goal])}" if goal else ""
        return _Opening(f"{_first(_and(actors))} {verb} {_and([_some(w) for w in shares])}{inner}")
    if part.names and single:
        known = f" known for {_and(other)}" if other else ""
        among = f" among {_and(many)}" if many else ""
        verb = "was" if past else "is"
        return _Opening(f"{_and(part.names)} {verb} {_and(list(map(_some, single)))}{known}{among}")
    if part.names and part.areas and not (other or many or part.grounds):
        return _Opening(f"{_and(part.names)} {'was' if past else 'is'}")
    if len(part.names) == 1 and not (other or many or single or part.areas):
        return _of_one(part)
    return None


def _of_one(part: Part) -> _Opening | None:
    """Return what one named thing is, how old, or that it was there in its time."""
    name, verb = _first(part.names[0]), "was" if _past(part) else "is"
    ages = [time for time in part.times if AGE.search(time)]
    if ages and not part.grounds:
        return _Opening(f"{name} {verb} {ages[0]}", (ages[0],))
    sites = [word for word in part.grounds if noun_lemma(word.lower()) not in OPEN]
    if len(sites) == 1 and not _plural(sites[0]):
        return _Opening(f"{name} {verb} {_some(sites[0])}", (sites[0],))
    if part.times and _past(part) and not part.grounds and not part.places:
        return _Opening(f"{name} was known")
    return None


def _of_what(part: Part) -> _Opening | None:
    """Return what one can find; None where nothing is to be found."""
    single = [word for word in part.persons if not _plural(word)]
    many = [word for word in part.persons if _plural(word)]
    goal = [*part.names, *_other(part), *map(_some, single)]
    finding = f"{'could' if _past(part) else 'can'} find {_and(goal)}"
    if many:
        there = f"There {'were' if _past(part) else 'are'} {_and(many)}"
        return _Opening(f"{_first(_and(many))} {finding}" if goal else there)
    return _Opening(f"One {finding}") if goal else None


def _of_times(part: Part) -> _Opening:
    """Return the first words of a clause of times and places alone."""
    lengths = [time for time in part.times if LENGTH.search(time)]
    points = [time for time in part.times if time not in lengths]
    if lengths and points:
        return _Opening(f"{_first(_and(points))} lasts {_and(lengths)}", tuple(part.times))
    if len(points) > 1:
        plain = [time for time in points if noun_lemma(time.lower()) not in SEASONS]
        first = (plain or points)[0]
        rest = [time for time in points if time is not first]
        return _Opening(f"{_first(first)} is during {_and(list(map(_the, rest)))}", tuple(points))
    if part.grounds and not part.places and not part.areas:
        text = f"There is {_and(list(map(_some, part.grounds)))}"
        return _Opening(text, tuple(part.grounds))
    if points and (part.places or part.grounds):
        return _Opening(f"{_first(_the(points[0]))} comes", tuple(points))
    if len(part.places) > 1 and not part.grounds:
        what = f" {_and(list(map(_some, part.areas)))}" if part.areas else ""
        return _Opening(f"{part.places[0]} is{what}", (part.places[0], *part.areas))
    return _Opening("One can live")


def _past(part: Part) -> bool:
    return any(PAST.search(time) for time in part.times)


def _other(part: Part, without: Sequence[str] = ()) -> list[str]:
    """Return the things and ideas, those that are counted behind their number."""
    counts = [word for word in part.ideas if word.lower() in NUMBERS]
    ideas = [word for word in part.ideas if word not in counts and word not in without]
    if counts and (part.things or ideas):
        return [f"{_and(counts)} of {_and([*part.things, *ideas])}"]
    shares = [_some(word) if word.lower() in SHARES else word for word in ideas]
    return [*map(_some, part.things), *shares, *counts]


def _where(part: Part, used: Sequence[str]) -> str:
    grounds = [word for word in part.grounds if word not in used]
    places = [word for word in part.places if word not in used]
    phrases = [f"{_in(word)} {_the(word)}" for word in grounds]
    names = _and(list(map(_the_name, places)))
    areas = [word for word in part.areas if word not in used]
    if areas:
        of = f" of {names}" if places else ""
        phrases.append(f"{_in(areas[0])} {_and(list(map(_the, areas)))}{of}")
    elif places:
        phrases.append(f"in {names}")
    return " ".join(phrases)


def _in(word: str) -> str:
    return "on" if noun_lemma(word.lower()) in ON else "in"


def _at(time: str) -> str:
    if LENGTH.search(time):
        return f"for {time}"
    lower = time.lower()
    if lower in ("night", "noon", "midnight"):
        return f"at {time}"
    if lower in ("today", "tomorrow", "yesterday", "tonight") or lower.startswith(
        ("every ", "each ", "last ", "next ", "this ", "all ", "in ", "on ", "during ", "since ")
    ):
        return time
    if DAYS.search(time):
        return f"on {time}"
    if PAST.search(time) or MONTHS.fullmatch(time) or (lower[:1].isdigit() and lower[-1:] == "s"):
        return f"in {_the_name(time)}"
    common = lower in SEASONS or time[:1].islower()
    return f"during {_the(time) if common else _the_name(time)}"


def _plural(word: str) -> bool:
    lower = word.lower()
    return lower == "people" or (noun_lemma(lower) != lower and lower.endswith(("s", "men", "en")))


def _some(word: str) -> str:
    """Return a noun with "a" or "an" where one can count it and it is one."""
    if _plural(word) or word[:1].isupper():
        return word
    return f"{'an' if word[:1].lower() in 'aeiou' else 'a'} {word}"


def _the(word: str) -> str:
    return word if ARTICLE.match(word) or word[:1].isupper() else f"the {word}"


def _the_name(word: str) -> str:
    return f"the {word}" if needs_article(word) else word


def needs_article(name: str) -> bool:
    """Say whether "the" is to stand before a name that comes without it."""
    return bool(THE.match(name)) and not re.match(r"the |\d{4}$", name, re.IGNORECASE)


def _first(text: str) -> str:
    return text[:1].upper() + text[1:]


def _and(words: Sequence[str]) -> str:
    if len(words) < 3:
        return " and ".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"
