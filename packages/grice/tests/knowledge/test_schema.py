"""Schemas of relations: those that ship, and the names that they hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from grice.errors import InputError
from grice.knowledge.schema import load_schema

PACKAGES = Path(__file__).parents[3]


def test_atomic_has_its_relations_and_those_of_accent():
    schema = load_schema("atomic2020")
    assert len(schema.relations) == 23
    assert schema.group("accent") == (
        "xNeed", "xAttr", "xReact", "xEffect", "xWant", "xIntent",
        "oEffect", "oReact", "oWant", "isAfter", "HasSubEvent", "HinderedBy",
    )  # fmt: skip
    assert schema["isAfter"].inverse == "isBefore"


def test_conceptnet_has_its_relations():
    schema = load_schema("conceptnet")
    assert len(schema.group("cn100k")) == 34
    assert {name for name, relation in schema.relations.items() if relation.symmetric} == {
        "Antonym", "DistinctFrom", "EtymologicallyRelatedTo", "LocatedNear", "RelatedTo",
        "SimilarTo", "Synonym",
    }  # fmt: skip


@pytest.mark.parametrize(
    "name", ["atomic2020", "conceptnet", *PACKAGES.glob("grice-tasks/src/**/relations.toml")]
)
def test_groups_aliases_inverses_and_negations_are_relations_of_the_schema(name):
    schema = load_schema(name)
    known = schema.relations.keys()
    assert all(set(members) <= known for members in schema.groups.values())
    assert {alias.relation for alias in schema.aliases.values()} <= known
    assert known.isdisjoint(schema.aliases)
    for name, relation in schema.relations.items():
        assert relation.inverse is None or schema[relation.inverse].inverse == name
        assert relation.negation is None or schema[relation.negation].negation == name


def test_unknown_names_are_met_with_the_nearest_known():
    with pytest.raises(InputError, match="did you mean 'atomic2020'"):
        load_schema("atomic2000")
    with pytest.raises(InputError, match="no relation 'xwant'; did you mean 'xWant'"):
        _ = load_schema("atomic2020")["xwant"]
    with pytest.raises(InputError, match="no group 'acent'; did you mean 'accent'"):
        load_schema("atomic2020").group("acent")
