"""Relation schemas: TOML files, shipped ones by name and others by path."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar

import msgspec

from grice.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from grice.data import Triple

T = TypeVar("T")

RELATIONS = (
    *("xNeed", "xAttr", "xReact", "xEffect", "xWant", "xIntent", "oEffect", "oReact", "oWant"),
    *("isAfter", "HasSubEvent", "HinderedBy"),
)
"""Relations of ACCENT (Ghazarian et al., 2023), in the order of its released code."""

TailForm: TypeAlias = Literal["infinitive", "state", "predicate", "clause", "concept"]
"""How a relation words its tails: ``to go home``, ``proud``, ``gets tired``,
``PersonX is late``, ``a kitchen``."""


class Relation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A relation of a schema.

    Attributes:
        gloss: The words between head and tail in a sentence.
        subject: The person of a tail that names nobody; None for things.
        inverse: The relation from tail to head, if the schema has it.
        negation: The opposite relation, if the schema has it.
        negative: Whether this is the negated one of the two.
        title: The paper's name, if files use another one.
        category: The paper's category, such as ``Causal``.
        prompt: The paper's prompt for models that read triples from text.
        surface: The paper's words between head and tail in a hypothesis.
        question: The paper's question for the tail, ``X`` being the head.
    """

    gloss: str
    tail: TailForm
    subject: Literal["X", "Y"] | None = None
    inverse: str | None = None
    symmetric: bool = False
    negation: str | None = None
    negative: bool = False
    title: str = ""
    category: str = ""
    prompt: str = ""
    surface: str = ""
    question: str = ""


class Alias(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Another name of a relation, and whether head and tail change places under it."""

    relation: str
    swapped: bool = False


class Schema(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A named set of relations, with named groups of them and other names in files.

    The version changes with the meaning of a relation.
    """

    name: str
    version: str
    source: str
    relations: dict[str, Relation]
    groups: dict[str, tuple[str, ...]] = {}
    aliases: dict[str, Alias] = {}

    def __getitem__(self, name: str) -> Relation:
        """Return a relation by name; an unknown one raises :class:`InputError`."""
        return _named(f"schema {self.name!r} has no relation", self.relations, name)

    def group(self, name: str) -> tuple[str, ...]:
        """Return the relations of a group; an unknown one raises :class:`InputError`."""
        return _named(f"schema {self.name!r} has no group", self.groups, name)

    def renamed(self, triple: Triple) -> Triple:
        """Return a triple under the schema's own name of its relation."""
        alias = self.aliases.get(triple.relation)
        if alias is None:
            return triple
        head, tail = (triple.tail, triple.head) if alias.swapped else (triple.head, triple.tail)
        return msgspec.structs.replace(triple, head=head, relation=alias.relation, tail=tail)

    def problems(self, triple: Triple) -> tuple[str, ...]:
        """Return the problems of a triple under this schema.

        >>> from grice.data import Triple
        >>> load_schema("atomic2020").problems(Triple("PersonX runs", "xWants", "to rest"))
        ("unknown relation 'xWants'; did you mean 'xWant'?",)
        """
        empty = [f"empty {side}" for side in ("head", "tail") if not getattr(triple, side).strip()]
        return (*_unknown(triple.relation, self.relations), *empty)


def _named(problem: str, table: Mapping[str, T], name: str) -> T:
    if name not in table:
        raise InputError(f"{problem} {name!r}{did_you_mean(name, table)}")
    return table[name]


def _unknown(relation: str, relations: Mapping[str, Relation]) -> tuple[str, ...]:
    if relation in relations:
        return ()
    return (f"unknown relation {relation!r}{did_you_mean(relation, relations)}",)


def schema_names() -> tuple[str, ...]:
    """Return the names of the shipped schemas.

    >>> schema_names()
    ('atomic2020', 'conceptnet')
    """
    names = (entry.name for entry in (files("grice.knowledge") / "schemas").iterdir())
    return tuple(sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml")))


@cache
def load_schema(name: str | Path) -> Schema:
    """Read a shipped schema by name, or any other by the path of its TOML file."""
    try:
        if isinstance(name, str) and name in schema_names():
            text = (files("grice.knowledge") / "schemas" / f"{name}.toml").read_text("utf-8")
        else:
            text = Path(name).read_text("utf-8")
        schema = msgspec.convert(tomllib.loads(text), Schema)
    except FileNotFoundError:
        hint = did_you_mean(str(name), schema_names())
        raise InputError(f"no relation schema {str(name)!r}{hint}") from None
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise InputError(f"schema {str(name)!r}: {error}") from error
    for problem in _reference_problems(schema):
        raise InputError(f"schema {schema.name!r}: {problem}")
    return schema


def _reference_problems(schema: Schema) -> Iterator[str]:
    """Yield groups, aliases, inverses and negations that name no relation or disagree."""
    for group, members in schema.groups.items():
        for member in members:
            yield from (f"groups.{group}: {p}" for p in _unknown(member, schema.relations))
    for name, alias in schema.aliases.items():
        if name in schema.relations:
            yield f"aliases.{name}: is a relation itself"
        yield from (f"aliases.{name}: {p}" for p in _unknown(alias.relation, schema.relations))
    for name, relation in schema.relations.items():
        for field in ("inverse", "negation"):
            named = getattr(relation, field)
            other = schema.relations.get(named)
            if named is not None and (other is None or getattr(other, field) != name):
                problem = "unknown" if other is None else f"not its {field} in turn"
                yield f"relations.{name}: {field} {named!r} is {problem}"
