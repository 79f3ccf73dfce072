"""Events that were misread from talk are found out, and people are kept apart."""

from __future__ import annotations

import pytest

from grice.knowledge.extraction.clauses import is_cut_off, is_unsound, with_people_apart
from grice.knowledge.extraction.cues import CueExtractor, CueSettings
from grice.knowledge.extraction.protocol import Exchange
from grice.models.bundle import open_bundle
from grice.models.loader import read_settings
from grice.models.protocols import TaggedSpan
from grice.text.events import read_event


def read(text):
    return read_event(text, said_by="responder")


@pytest.mark.parametrize(
    "text",
    [
        "I would do that",
        "The only thing",
        "dogs watched television",
        "I am not sure",
        "meet you there",
        "they do so to dry the grass",
        "I finally got it the chicken was underdone",
        "that sounds like fun",
        "I heard about",
        "I guess",
    ],
)
def test_what_no_person_would_write_down_is_found_out(text):
    event = read(text)
    assert is_cut_off(event) or is_unsound(event, text)


@pytest.mark.parametrize(
    "text",
    [
        "I bought a red car",
        "tired of waiting",
        "sorry to hear that",
        "bring your own skateboard",
        "my dog barked loudly",
        "the hotel has two restaurants",
        "I am sure he will come",
        "I hurt myself",
        "he likes to walk his dog",
        "going home now",
    ],
)
def test_a_whole_clause_is_sound(text):
    event = read(text)
    assert not is_cut_off(event)
    assert not is_unsound(event, text)


@pytest.mark.parametrize("text", ["what did you get", "I want", "I just need"])
def test_a_verb_without_what_it_asks_for_is_cut_off(text):
    assert is_cut_off(read(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("he is too scared to ask her", "PersonX is too scared to ask PersonY"),
        ("she told him a joke", "PersonX tells PersonY a joke"),
        ("he hurts himself", "PersonX hurts PersonX"),
        ("she doesn't get what she wants", "PersonX doesn't get what PersonX wants"),
        ("he loves his dog", "PersonX loves PersonX's dog"),
        ("I told her a joke", "PersonX tells PersonY a joke"),
    ],
)
def test_he_and_her_are_two_people(text, expected):
    event = with_people_apart(read(text), text, said_by="responder")
    assert event.text(event.subject) == expected


class Sentences:
    """Tags what stands between full stops."""

    identity = "sentences"

    def tag(self, texts):
        return [
            tuple(
                TaggedSpan(text.index(part), text.index(part) + len(part), "event", 0.9)
                for part in text.rstrip(".").split(". ")
            )
            for text in texts
        ]


def cues_of(bundle):
    return CueExtractor(bundle, read_settings(bundle, CueSettings), Sentences())


@pytest.mark.parametrize(
    ("reply", "whole"),
    [
        ("I lost my job. I am sad.", True),
        ("The only thing. I am sad.", False),
        ("The weather was awful. I am sad.", True),
        ("I was happy. The weather was nice.", False),
    ],
)
def test_triples_say_whether_people_would_write_them(reply, whole):
    extractor = cues_of(open_bundle("extraction"))
    (extraction,) = extractor.extract([Exchange((), reply)], least=0.0)
    first, second = (part.split()[-1] for part in reply.rstrip(".").split(". "))
    forward = [t for t in extraction.triples if first in t.head and second in t.tail]
    assert forward
    assert all(t.whole == whole for t in forward if t.relation.endswith("React") or not whole)


def test_what_came_before_is_of_the_same_person():
    extractor = cues_of(open_bundle("extraction"))
    asked = [
        Exchange((), "I lost my job. You sold the car."),
        Exchange((), "I lost it. I sold it."),
    ]
    others, own = (
        {triple.relation: triple.whole for triple in extraction.triples}
        for extraction in extractor.extract(asked, least=0.0)
    )
    assert (others["isAfter"], own["isAfter"]) == (False, True)
    assert others["HinderedBy"]


@pytest.mark.parametrize("text", ["please", "Then?", "too", "!", ""])
def test_an_event_of_no_word_is_cut_off(text):
    event = read(text)
    assert not event.words
    assert is_cut_off(event)
    assert is_unsound(event, text)


@pytest.mark.parametrize(
    "reply", ["We aim to please.", "Classic. I love Nancy Allen in that one. Please. Then. "]
)
def test_a_clause_of_no_word_is_left_out(reply):
    extractor = cues_of(open_bundle("extraction"))
    (extraction,) = extractor.extract([Exchange(("Great! Good work.",), reply)], least=0.0)
    assert extraction.own > 0
    assert all(triple.head and triple.tail for triple in extraction.triples)
