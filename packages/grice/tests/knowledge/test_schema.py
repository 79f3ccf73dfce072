"""Schemas of relations that ship, and events worded for the encoder."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grice.errors import InputError
from grice.knowledge.schema import event_text, head_text, load_schema, tail_text

ATOMIC = load_schema("atomic2020")
PACKAGES = Path(__file__).parents[3]


def test_atomic_and_conceptnet_have_their_relations():
    assert len(ATOMIC.relations) == 23
    assert ATOMIC.group("accent") == (
        "xNeed", "xAttr", "xReact", "xEffect", "xWant", "xIntent",
        "oEffect", "oReact", "oWant", "isAfter", "HasSubEvent", "HinderedBy",
    )  # fmt: skip
    assert ATOMIC["isAfter"].inverse == "isBefore"
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
        _ = ATOMIC["xwant"]
    with pytest.raises(InputError, match="no group 'acent'; did you mean 'accent'"):
        ATOMIC.group("acent")


@pytest.mark.parametrize(("event", "clause"), [
    ("PersonX gives PersonY's dog a bone", "he gives her dog a bone"),
    ("PersonX's dog barks", "his dog barks"), ("person x thanks Person Y", "he thanks she"),
    ("PeopleX laugh", "people laugh"), ("PersonX forgets ___", "he forgets something"),
    ("play guitar", "he play guitar"),
    ("the material is so abstract", "the material is so abstract"), ("", ""),
])  # fmt: skip
def test_events_become_clauses_with_pronouns(event, clause):
    assert (event_text(event), head_text("earthquake")) == (clause, "earthquake")


@pytest.mark.parametrize(("relation", "wordings", "clause"), [
    ("xWant", ["to sleep", "PersonX wants to sleep", "sleep", "he sleep"], "he sleep"),
    ("oWant", ["to sleep", "PersonY would like to sleep"], "she sleep"),
    ("xNeed", ["to find a job", "PersonX needs to find a job"], "he find a job"),
    ("xReact", ["proud", "feels proud", "PersonX feels proud"], "he is proud"),
    ("oReact", ["proud", "PersonY is proud", "PersonY be proud"], "she is proud"),
    ("xAttr", ["a good friend", "PersonX is a good friend"], "he is a good friend"),
    ("xEffect", ["gets tired", "PersonX gets tired"], "he gets tired"),
    ("oEffect", ["gets tired", "PersonY gets tired"], "she gets tired"),
    ("HinderedBy", ["PersonX is late"], "he is late"), ("AtLocation", ["kitchen"], "kitchen"),
    ("xReact", ["PersonX thanks PersonY"], "he thanks she"),
])  # fmt: skip
def test_fragments_and_clauses_of_one_event_read_alike(relation, wordings, clause):
    assert {tail_text(tail, ATOMIC[relation]) for tail in wordings} == {clause}


@given(st.text(), st.sampled_from(sorted(ATOMIC.relations)))
def test_any_text_gets_a_wording_without_outer_blanks(text, relation):
    for wording in (event_text(text), head_text(text), tail_text(text, ATOMIC[relation])):
        assert (wording, bool(wording)) == (wording.strip(), bool(text.strip()))
