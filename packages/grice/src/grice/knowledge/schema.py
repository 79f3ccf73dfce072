"""Relations of triples (a schema is a TOML file), and their heads and tails as texts."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from grice.data import Triple
from grice.errors import InputError, did_you_mean

RELATIONS = (
    *("xNeed", "xAttr", "xReact", "xEffect", "xWant", "xIntent", "oEffect", "oReact", "oWant"),
    *("isAfter", "HasSubEvent", "HinderedBy"),
)
"""Relations of ACCENT (Ghazarian et al., 2023), in the order of its released code."""

TailForm: TypeAlias = Literal["infinitive", "state", "predicate", "clause", "concept"]
"""How a relation words its tails: ``to go home``, ``proud``, ``gets tired``,
``PersonX is late``, ``a kitchen``."""


class Relation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A relation of a schema; ``inverse`` and ``negation`` are relations of the same schema."""

    gloss: str  # the words between head and tail in a sentence
    tail: TailForm
    subject: Literal["X", "Y"] | None = None  # person of a tail that names nobody; None: a thing
    inverse: str | None = None
    symmetric: bool = False
    negation: str | None = None
    negative: bool = False  # whether this is the negated one of the two
    title: str = ""  # the paper's name, if files use another one
    category: str = ""  # the paper's category, such as ``Causal``
    prompt: str = ""  # the paper's prompt for models that read triples from text
    surface: str = ""  # the paper's words between head and tail in a hypothesis
    question: str = ""  # the paper's question for the tail, ``X`` being the head


class Alias(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Another name of a relation, and whether head and tail change places under it."""

    relation: str
    swapped: bool = False


class Schema(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A named set of relations, with named groups of them and other names in files."""

    name: str
    version: str  # it changes with the meaning of a relation
    source: str
    relations: dict[str, Relation]
    groups: dict[str, tuple[str, ...]] = {}
    aliases: dict[str, Alias] = {}

    def __getitem__(self, name: str) -> Relation:
        """Return a relation by name; an unknown one raises :class:`InputError`."""
        if name not in self.relations:
            hint = did_you_mean(name, self.relations)
            raise InputError(f"schema {self.name!r} has no relation {name!r}{hint}")
        return self.relations[name]

    def group(self, name: str) -> tuple[str, ...]:
        """Return the relations of a group; an unknown one raises :class:`InputError`."""
        if name not in self.groups:
            hint = did_you_mean(name, self.groups)
            raise InputError(f"schema {self.name!r} has no group {name!r}{hint}")
        return self.groups[name]

    def renamed(self, triple: Triple) -> Triple:
        """Return a triple under the schema's own name of its relation."""
        alias = self.aliases.get(triple.relation)
        if alias is None:
            return triple
        head, tail = (triple.tail, triple.head) if alias.swapped else (triple.head, triple.tail)
        return msgspec.structs.replace(triple, head=head, relation=alias.relation, tail=tail)


@cache
def load_schema(name: str | Path) -> Schema:
    """Read the schema ``atomic2020`` or ``conceptnet``, or another by the path of its file."""
    folder = files("grice.knowledge") / "schemas"
    place = name if isinstance(name, Path) else folder / f"{name}.toml"
    try:
        return msgspec.convert(tomllib.loads(place.read_text("utf-8")), Schema)
    except FileNotFoundError:
        names = [entry.name.removesuffix(".toml") for entry in folder.iterdir()]
        hint = did_you_mean(str(name), names)
        raise InputError(f"no relation schema {str(name)!r}{hint}") from None


# One wording of events for the encoder, however a source words them: knowledge bases write
# ``to go home``, ``proud`` or ``PersonY thanks PersonX``; annotators and parsers write ``PersonX
# wants to go home`` or ``PersonX be proud``. The encoder has read ordinary sentences, so all of
# these become clauses with pronouns: ``he go home``, ``he is proud``, ``she thanks he``.
PRONOUNS = {"x": ("he", "his"), "y": ("she", "her"), "z": ("they", "their")}
PERSON = re.compile(r"\bpe(?:r|)son ?([xyz])\b('s?)?", re.IGNORECASE)
PEOPLE = re.compile(r"\bpeople ?[xyz]\b('s?)?", re.IGNORECASE)
BLANK = re.compile(r"_+")
SUBJECT = re.compile(
    r"(?:he|she|they|i|we|you|it|this|that|there|people|others|everyone|everybody|someone"
    r"|somebody|no ?one|nobody|his|her|their)\b",
    re.IGNORECASE,
)
DETERMINER = re.compile(r"(?:the|an?|my|your|our|its|these|those|some|any)\s", re.IGNORECASE)
WISH = re.compile(
    r"(?:(?:will|would|had|has|have|was|were|is|are|be|also|just|really|only)\s+)*"
    r"(?:want|wants|wanted|need|needs|needed|like|likes|hope|hopes|decide|decides|plan|plans"
    r"|intend|intends)\s+to\s+",
    re.IGNORECASE,
)
COPULA = re.compile(
    r"^(?:is|feel|feels|felt|be|are|was|were|am|become|becomes|became|seem|seems|look|looks)\s+",
    re.IGNORECASE,
)


def event_text(event: str) -> str:
    """Return an event as a clause with pronouns.

    >>> event_text("PersonX takes PersonY's ___")
    'he takes her something'
    >>> event_text("play guitar")
    'he play guitar'
    """
    text = _pronouns(event)
    if not text or SUBJECT.match(text) or DETERMINER.match(text):
        return text
    return f"he {text}"


def head_text(head: str) -> str:
    """Return the head of a triple as the encoder reads it."""
    return event_text(head) if " " in head.strip() else _pronouns(head)


def tail_text(tail: str, relation: Relation) -> str:
    """Return the tail of a triple as the encoder reads it.

    What the relation says already (``wants to``, ``feels``) is taken out, so that a fragment
    and a full clause of the same event read alike.

    >>> schema = load_schema("atomic2020")
    >>> tail_text("PersonX wants to sleep", schema["xWant"]), tail_text("to sleep", schema["xWant"])
    ('he sleep', 'he sleep')
    >>> tail_text("PersonY feels proud", schema["oReact"]), tail_text("proud", schema["oReact"])
    ('she is proud', 'she is proud')
    """
    text = _pronouns(tail)
    if not text or relation.subject is None or relation.tail in ("clause", "concept"):
        return text
    named = SUBJECT.match(text) is not None
    if not named and relation.tail != "state" and DETERMINER.match(text):
        return text
    pronoun = PRONOUNS[relation.subject.lower()][0]
    subject, rest = (text + " ").split(" ", 1) if named else (pronoun, text)
    if relation.tail == "infinitive":
        rest = WISH.sub("", rest, count=1) if named else rest
        rest = re.sub(r"^to\s+", "", rest)
    elif relation.tail == "state":
        rest, copulas = COPULA.subn("", rest, count=1)
        if copulas or not named:
            rest = f"is {rest}"
    return f"{subject} {rest}".strip()


def _pronouns(text: str) -> str:
    text = PERSON.sub(lambda m: PRONOUNS[m[1].lower()][1 if m[2] else 0], text)
    text = PEOPLE.sub(lambda m: "people's" if m[1] else "people", text)
    return " ".join(BLANK.sub("something", text).split())
