"""Events come out as ATOMIC writes them, with the right person in each place."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grice.text.events import event_text, reaction, read_event, triple_texts

EVENTS = Path(__file__).with_name("events.tsv").read_text("utf-8").splitlines()
"""Events as they are said and as ATOMIC writes them."""
TRIPLES = Path(__file__).with_name("triples.jsonl").read_text("utf-8")
"""Speakers and texts of a head and a tail, whom the relation names, and both in the same form."""


@pytest.mark.parametrize("case", [line for line in EVENTS if not line.startswith("#")])
def test_an_event_in_atomic_form(case):
    text, written = case.split("\t")
    assert event_text(text) == written


@pytest.mark.parametrize(("text", "by", "subject", "explicit"), [
    ("I left", "responder", "responder", True), ("I left", "previous", "previous", True),
    ("you left", "responder", "previous", True), ("you left", "previous", "responder", True),
    ("she left", "responder", "other", True), ("your dog left", "previous", "responder", True),
    ("it rained", "responder", "thing", True),
    ("bring your own board", "responder", "previous", False),
    ("went home early", "previous", "previous", False),
])  # fmt: skip
def test_who_an_event_is_about(text, by, subject, explicit):
    event = read_event(text, said_by=by)
    assert (event.subject, event.explicit) == (subject, explicit)


@pytest.mark.parametrize("case", TRIPLES.splitlines())
def test_a_triple_names_the_same_person_alike_on_both_sides(case):
    head, tail, subject, texts = json.loads(case).values()
    first, second = (read_event(text, said_by=by) for by, text in (head, tail))
    assert triple_texts(first, second, tail_subject=subject) == tuple(texts)


@pytest.mark.parametrize(("text", "felt"), [
    ("that's so sad", "PersonX feels sad"), ("thats cool", "PersonX feels cool"),
    ("it was awful to hear", "PersonX feels awful"),
    ("That sounds really exciting", "PersonX feels excited"),
    ("it is late", None), ("that is not nice", None), ("it is a cat", None),
    ("my job is boring", None), ("that", None), ("...", None),
])  # fmt: skip
def test_a_judgement_is_a_reaction_of_its_speaker(text, felt):
    event = reaction(text, said_by="previous")
    assert (event.text("previous") if event else None) == felt


def test_an_event_without_subject_takes_that_of_the_event_before():
    event = read_event("put the car in neutral", said_by="responder", inherited="other")
    assert event.subject == "other"
    event = read_event("is still standing", said_by="responder", inherited="thing")
    assert event.text("responder") == "it still stands"


@given(st.text(max_size=60))
def test_any_text_can_be_read(text):
    assert bool(event_text(text)) == bool(event_text(text, said_by="previous"))
    assert reaction(text, said_by="previous") is None or text.strip()


WORDS = st.sampled_from([
    "I", "you", "my", "your", "her", "not", "n't", "don't", "'s", "is", "was", "have", "been",
    "going", "to", "do", "can", "will", "let", "me", "us", "what", "who", "fired", "happy", ",",
    "quickly", ".", "dog", "dogs", "bark", "the", "that", "and",
])  # fmt: skip


@given(st.lists(WORDS, max_size=8).map(" ".join))
def test_no_first_or_second_person_is_left(text):
    assert not {"i", "my", "your", "me"} & set(event_text(text).lower().split())
