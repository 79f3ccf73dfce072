from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grice.knowledge.schema import event_text, head_text, load_schema, tail_text

ATOMIC = load_schema("atomic2020")


@pytest.mark.parametrize(
    ("event", "clause"),
    [
        ("PersonX gives PersonY's dog a bone", "he gives her dog a bone"),
        ("PersonX's dog barks", "his dog barks"),
        ("person x thanks Person Y", "he thanks she"),
        ("PeopleX laugh", "people laugh"),
        ("PersonX forgets ___", "he forgets something"),
        ("play guitar", "he play guitar"),
        ("the material is so abstract", "the material is so abstract"),
        ("", ""),
    ],
)
def test_events_become_clauses_with_pronouns(event, clause):
    assert event_text(event) == clause


def test_the_head_of_a_thing_stays_a_thing():
    assert head_text("earthquake") == "earthquake"


@pytest.mark.parametrize(
    ("relation", "wordings", "clause"),
    [
        ("xWant", ["to sleep", "PersonX wants to sleep", "sleep", "he sleep"], "he sleep"),
        ("oWant", ["to sleep", "PersonY would like to sleep"], "she sleep"),
        ("xNeed", ["to find a job", "PersonX needs to find a job"], "he find a job"),
        ("xReact", ["proud", "feels proud", "PersonX feels proud"], "he is proud"),
        ("oReact", ["proud", "PersonY is proud", "PersonY be proud"], "she is proud"),
        ("xAttr", ["a good friend", "PersonX is a good friend"], "he is a good friend"),
        ("xEffect", ["gets tired", "PersonX gets tired"], "he gets tired"),
        ("oEffect", ["gets tired", "PersonY gets tired"], "she gets tired"),
        ("HinderedBy", ["PersonX is late"], "he is late"),
        ("AtLocation", ["kitchen"], "kitchen"),
    ],
)  # fmt: skip
def test_fragments_and_clauses_of_one_event_read_alike(relation, wordings, clause):
    assert {tail_text(tail, ATOMIC[relation]) for tail in wordings} == {clause}


def test_what_a_state_does_is_not_made_a_state():
    assert tail_text("PersonX thanks PersonY", ATOMIC["xReact"]) == "he thanks she"


@given(st.text(), st.sampled_from(sorted(ATOMIC.relations)))
def test_any_text_gets_a_wording_without_outer_blanks(text, relation):
    for wording in (event_text(text), head_text(text), tail_text(text, ATOMIC[relation])):
        assert wording == wording.strip()
        assert bool(wording) == bool(text.strip())
