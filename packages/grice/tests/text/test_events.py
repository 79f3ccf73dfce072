"""Events come out as ATOMIC writes them, with the right person in each place."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grice.text.events import event_text, reaction, read_event, triple_texts


@pytest.mark.parametrize(
    ("text", "written"),
    [
        # tense, auxiliaries, agreement
        ("I just got fired", "PersonX gets fired"),
        ("i'd eat it for days", "PersonX eats it for days"),
        ("i am learning so much", "PersonX learns so much"),
        ("I've been working all day", "PersonX works all day"),
        ("I've been to Japan", "PersonX goes to Japan"),
        ("im going to the store", "PersonX goes to the store"),
        ("I'm gonna call her", "PersonX calls PersonY"),
        ("i will be moving to australia", "PersonX moves to australia"),
        ("I found this hole", "PersonX finds this hole"),
        ("he has done some good things", "PersonX does some good things"),
        ("i have to call another taxi", "PersonX has to call another taxi"),
        ("I used to be in a poetry club", "PersonX used to be in a poetry club"),
        ("I'm really excited about it", "PersonX is really excited about it"),
        ("it was quite a long flight", "it is quite a long flight"),
        # negation
        ("i do not work in public", "PersonX doesn't work in public"),
        ("dont tell me that", "PersonX doesn't tell PersonY that"),
        ("I can't even get an adoption", "PersonX can't get an adoption"),
        ("I am not a pharmacist", "PersonX is not a pharmacist"),
        ("I never like missing a deadline", "PersonX never likes missing a deadline"),
        # questions and orders
        ("do you have a favorite quarterback", "PersonX has a favorite quarterback"),
        ("May I have a look at the invoice", "PersonX has a look at the invoice"),
        ("what do you do for a living", "PersonX does for a living"),
        ("does it have a soul", "it has a soul"),
        ("buy a passport", "PersonX buys a passport"),
        ("Let me take your blood pressure", "PersonX takes PersonY's blood pressure"),
        # no subject, no verb
        ("will do that", "PersonX does that"),
        ("hate seeing people hurt", "PersonX hates seeing people hurt"),
        ("tired of it", "PersonX is tired of it"),
        ("sorry to hear that", "PersonX is sorry to hear that"),
        # people
        ("You look anemic", "PersonX looks anemic"),
        ("I can send you a message", "PersonX sends PersonY a message"),
        ("My kids are allergic to dogs", "PersonX's kids are allergic to dogs"),
        ("my dad was a pianist", "PersonX's dad is a pianist"),
        ("bob's my best friend", "bob is PersonX's best friend"),
        ("I gave her her book back", "PersonX gives PersonY PersonY's book back"),
        ("she quit because of her boss", "PersonX quits because of PersonX's boss"),
        ("i cut myself", "PersonX cuts PersonX"),
        ("I was told that he left", "PersonX is told that PersonY leaves"),
        # other subjects
        ("people try to give me pleasure", "people try to give PersonX pleasure"),
        ("house cats are the number one predator", "house cats are the number one predator"),
        ("One of my old favorites was Janis", "one of PersonX's old favorites is Janis"),
        ("which is pretty cool", "it is pretty cool"),
        ("does your donation provide food", "PersonX's donation provides food"),
        ("did the Patriots win", "the Patriots win"),
        ("its a serious organization", "it is a serious organization"),
        ("James Early Jones is great", "James Early Jones is great"),
        ("Isn't that something", "that is not something"),
        ("to make better plays", "PersonX makes better plays"),
        # adverbs
        ("I didn't quite get you", "PersonX doesn't quite get PersonY"),
        ("I say that I can sing", "PersonX says that PersonX can sing"),
        ("please refer the link", "PersonX refers the link"),
        ("the team did well", "the team does well"),
        ("ready to move", "PersonX is ready to move"),
        ("here are three helmets", "here are three helmets"),
        ("I've got a cold", "PersonX has a cold"),
        ("I live in the us", "PersonX lives in the us"),
        # typing
        ("I don’t like it , you know", "PersonX doesn't like it, PersonY know"),
        ("i do n't like it", "PersonX doesn't like it"),
        ("I LOVE chicken!!", "PersonX loves chicken"),
        ("people don't vote", "people don't vote"),
        ("The material is so abstract", "the material is so abstract"),
    ],
)
def test_an_event_in_atomic_form(text, written):
    assert event_text(text) == written


@pytest.mark.parametrize(
    ("text", "by", "subject", "explicit"),
    [
        ("I left", "responder", "responder", True),
        ("I left", "previous", "previous", True),
        ("you left", "responder", "previous", True),
        ("you left", "previous", "responder", True),
        ("she left", "responder", "other", True),
        ("your dog left", "previous", "responder", True),
        ("it rained", "responder", "thing", True),
        ("bring your own board", "responder", "previous", False),
        ("went home early", "previous", "previous", False),
    ],
)
def test_who_an_event_is_about(text, by, subject, explicit):
    event = read_event(text, said_by=by)
    assert (event.subject, event.explicit) == (subject, explicit)


@pytest.mark.parametrize(
    ("head", "tail", "tail_subject", "expected"),
    [
        (("previous", "I have no family"), ("responder", "you can stay with me"), None,
         ("PersonX has no family", "PersonX stays with PersonY")),
        (("responder", "you can stay with me"), ("previous", "I have no family"), None,
         ("PersonX stays with PersonY", "PersonX has no family")),
        (("responder", "you passed the interview"), ("responder", "I will call you"), None,
         ("PersonX passes the interview", "PersonY calls PersonX")),
        # a head about a thing leaves PersonX to the tail
        (("responder", "the material is so abstract"), ("responder", "you have trouble with it"),
         None, ("the material is so abstract", "PersonX has trouble with it")),
        # a relation can say who the tail is about, unless it is about a thing
        (("previous", "I lost my dog"), ("responder", "I feel sorry for you"), "PersonY",
         ("PersonX loses PersonX's dog", "PersonY feels sorry for PersonX")),
        (("previous", "I lost my dog"), ("responder", "I feel sorry for you"), "PersonX",
         ("PersonX loses PersonX's dog", "PersonX feels sorry for PersonY")),
        (("previous", "I lost my dog"), ("responder", "that is sad for you"), "PersonY",
         ("PersonX loses PersonX's dog", "that is sad for PersonX")),
    ],
)  # fmt: skip
def test_a_triple_names_the_same_person_alike_on_both_sides(head, tail, tail_subject, expected):
    first, second = (read_event(text, said_by=by) for by, text in (head, tail))
    assert triple_texts(first, second, tail_subject=tail_subject) == expected


@pytest.mark.parametrize(
    ("text", "felt"),
    [
        ("that's so sad", "PersonX feels sad"),
        ("thats cool", "PersonX feels cool"),
        ("it was awful to hear", "PersonX feels awful"),
        ("That sounds really exciting", "PersonX feels excited"),
        ("it is late", None),
        ("that is not nice", None),
        ("it is a cat", None),
        ("my job is boring", None),
        ("that", None),
        ("...", None),
    ],
)
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


VOCABULARY = """
I you my your her not n't don't 's is was have been going to do can will let me us what
who fired happy quickly , . dog dogs bark the that and
"""
WORDS = st.sampled_from(VOCABULARY.split())


@given(st.lists(WORDS, max_size=8).map(" ".join))
def test_no_first_or_second_person_is_left(text):
    left = event_text(text).lower().split()
    assert not {"i", "my", "your", "me"} & set(left)
