"""Relation inventories as data, and the one checker that reads them.

An inventory is a TOML file: :func:`load_schema` finds the shipped ones by name and reads any
other by its path.
"""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from grice.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from grice.records import Triple

RELATIONS = (
    *("xNeed", "xAttr", "xReact", "xEffect", "xWant", "xIntent", "oEffect", "oReact", "oWant"),
    *("isAfter", "HasSubEvent", "HinderedBy"),
)
"""Relations of ACCENT (Ghazarian et al., 2023), in the order of its released code."""

TailForm: TypeAlias = Literal["infinitive", "state", "predicate", "clause", "concept"]
"""How a relation words its tails: ``to go home``, ``proud``, ``gets tired``,
``PersonX is late``, ``a kitchen``."""


class Relation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One relation of an inventory.

    Attributes:
        gloss: What stands between head and tail in a sentence.
        tail: How tails of this relation are worded.
        subject: Whose event the tail is when it names nobody; None for things.
        inverse: The relation that holds from tail to head, if the inventory has it.
        symmetric: Whether the relation holds in both directions.
        negation: The relation that says the opposite, if the inventory has it.
        negative: Whether this is the one of the two that denies.
        title: The paper's name, where files use another one; else empty.
        category: What the paper counts it under, such as ``Causal``; empty if it has no such.
        prompt: What the paper asks a model that reads triples from text; likewise.
        surface: What the paper writes between head and tail in a hypothesis; likewise.
        question: The paper's question for the tail, ``X`` being the head; likewise.
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
    """A named inventory of relations.

    Attributes:
        version: Moves whenever the meaning of a relation moves.
        groups: Named selections of relations, each in its own order.
        aliases: Other names that files use for relations.
    """

    name: str
    version: str
    source: str
    relations: dict[str, Relation]
    groups: dict[str, tuple[str, ...]] = {}
    aliases: dict[str, Alias] = {}

    def __getitem__(self, name: str) -> Relation:
        """Return a relation by name; an unknown one raises :class:`InputError`."""
        try:
            return self.relations[name]
        except KeyError:
            hint = did_you_mean(name, self.relations)
            raise InputError(f"schema {self.name!r} has no relation {name!r}{hint}") from None

    def group(self, name: str) -> tuple[str, ...]:
        """Return the relations of a named selection; an unknown one raises InputError."""
        try:
            return self.groups[name]
        except KeyError:
            hint = did_you_mean(name, self.groups)
            raise InputError(f"schema {self.name!r} has no group {name!r}{hint}") from None

    def renamed(self, triple: Triple) -> Triple:
        """Return a triple under the schema's own name of its relation.

        >>> from grice.records import Triple
        >>> from grice.knowledge.schema import Alias, Relation, Schema
        >>> causes = {"Causes": Relation("causes", "clause")}
        >>> aliases = {"AchievedBy": Alias("Causes", swapped=True)}
        >>> schema = Schema("own", "1", "none", causes, aliases=aliases)
        >>> found = schema.renamed(Triple("win", "AchievedBy", "train hard"))
        >>> found.head, found.relation, found.tail
        ('train hard', 'Causes', 'win')
        """
        alias = self.aliases.get(triple.relation)
        if alias is None:
            return triple
        head, tail = (triple.tail, triple.head) if alias.swapped else (triple.head, triple.tail)
        return msgspec.structs.replace(triple, head=head, relation=alias.relation, tail=tail)

    def problems(self, triple: Triple) -> tuple[str, ...]:
        """Return what is wrong with a triple under this schema; empty if nothing is.

        >>> from grice.records import Triple
        >>> load_schema("atomic2020").problems(Triple("PersonX runs", "xWants", "to rest"))
        ("unknown relation 'xWants'; did you mean 'xWant'?",)
        """
        wrong = []
        if triple.relation not in self.relations:
            hint = did_you_mean(triple.relation, self.relations)
            wrong.append(f"unknown relation {triple.relation!r}{hint}")
        wrong += [f"empty {side}" for side in ("head", "tail") if not getattr(triple, side).strip()]
        return tuple(wrong)


def schema_names() -> tuple[str, ...]:
    """Return the names of the shipped inventories.

    >>> schema_names()
    ('atomic2020', 'conceptnet')
    """
    folder = files("grice.knowledge") / "schemas"
    names = (entry.name for entry in folder.iterdir())
    return tuple(sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml")))


@cache
def load_schema(name: str | Path) -> Schema:
    """Read an inventory: a shipped one by name, any other by the path of its TOML file.

    Raises:
        InputError: If there is no such inventory, or the file breaks the format; the message
            names the field.
    """
    if isinstance(name, str) and name in schema_names():
        text = (files("grice.knowledge") / "schemas" / f"{name}.toml").read_text("utf-8")
    else:
        text = _read(Path(name))
    try:
        schema = msgspec.convert(tomllib.loads(text), Schema)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise InputError(f"schema {str(name)!r}: {error}") from error
    _check_references(schema)
    return schema


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except FileNotFoundError:
        hint = did_you_mean(str(path), schema_names())
        raise InputError(f"no relation schema {str(path)!r}{hint}") from None


def _check_references(schema: Schema) -> None:
    """Reject groups, aliases, inverses and negations that point outside or disagree."""
    for group, members in schema.groups.items():
        for member in members:
            if member not in schema.relations:
                hint = did_you_mean(member, schema.relations)
                raise InputError(
                    f"schema {schema.name!r}: groups.{group}: unknown relation {member!r}{hint}"
                )
    for name, alias in schema.aliases.items():
        if alias.relation not in schema.relations or name in schema.relations:
            wrong = (
                "is a relation itself"
                if name in schema.relations
                else f"unknown relation {alias.relation!r}"
                f"{did_you_mean(alias.relation, schema.relations)}"
            )
            raise InputError(f"schema {schema.name!r}: aliases.{name}: {wrong}")
    for name, relation in schema.relations.items():
        for field in ("inverse", "negation"):
            named = getattr(relation, field)
            if named is None:
                continue
            other = schema.relations.get(named)
            if other is None or getattr(other, field) != name:
                raise InputError(
                    f"schema {schema.name!r}: relations.{name}: {field} {named!r} is "
                    f"{'unknown' if other is None else f'not its {field} in turn'}"
                )
