from __future__ import annotations

import re

import pytest

from grice.knowledge.extraction.patterns import PatternExtractor, persons
from grice.knowledge.extraction.protocol import Exchange, TripleExtractor
from grice.models.protocols import TaggedSpan


class Clauses:
    """Tags what stands between marks and connectives."""

    identity = "clauses"
    split = re.compile(r"[.,!?]|\b(?:because|so|but|before|after|if|and then)\b", re.IGNORECASE)

    def tag(self, texts):
        return [tuple(self.spans(text)) for text in texts]

    def spans(self, text):
        begin = 0
        for mark in [*self.split.finditer(text), re.search("$", text)]:
            inner = text[begin : mark.start()]
            if inner.strip():
                start = begin + len(inner) - len(inner.lstrip())
                yield TaggedSpan(start, start + len(inner.strip()), "event", 1.0)
            begin = mark.end()


def read(reply, *before, **options):
    (extraction,) = PatternExtractor(Clauses()).extract([Exchange(before, reply)], **options)
    return extraction


def bare(extraction):
    return [(triple.head, triple.relation, triple.tail) for triple in extraction.triples]


@pytest.mark.parametrize(
    ("reply", "triple"),
    [
        ("I stayed because I was ill", ("PersonX stayed", "isAfter", "PersonX was ill")),
        ("I ate before I left", ("PersonX left", "isAfter", "PersonX ate")),
        ("I won so I feel great", ("PersonX won", "xReact", "PersonX feel great")),
        ("I lost so I want to train", ("PersonX lost", "xWant", "PersonX want to train")),
        ("you lost my key so I wait", ("PersonX lost PersonY's key", "oEffect", "PersonY wait")),
        ("I would go but I have to work",
         ("PersonX would go", "HinderedBy", "PersonX have to work")),
    ],
)  # fmt: skip
def test_the_word_between_two_events_tells_the_relation(reply, triple):
    assert bare(read(reply)) == [triple]


def test_a_reply_may_begin_with_the_word():
    extraction = read("Because you never call", "Why do you look sad?")
    assert [(triple.kind, triple.relation) for triple in extraction.triples] == [
        ("pair", "isAfter")
    ]
    assert extraction.triples[0].head_place.turn == "previous"
    assert read("Because you never call", "Why do you look sad?", kinds=("single",)).triples == ()


def test_events_without_a_word_between_are_not_related():
    extraction = read("I eat, I drink")
    assert (extraction.triples, extraction.events) == ((), 2)
    assert "no two events" in extraction.reason


def test_each_relation_once_the_first_one_stays():
    extraction = read("I stayed because I was ill because I froze")
    assert [triple.tail for triple in extraction.triples] == ["PersonX was ill"]


def test_persons_are_named_by_who_the_tail_is_about():
    assert persons("I call you", "you call me", "single") == (
        "PersonX call PersonY",
        "PersonY call PersonX",
    )
    assert persons("I call you", "you wait", "single") == ("PersonY call PersonX", "PersonX wait")
    assert persons("I call you", "I wait", "pair") == ("PersonY call PersonX", "PersonX wait")
    assert persons("we're here", "it rains", "single") == ("we be here", "it rains")


def test_it_is_an_extractor():
    assert isinstance(PatternExtractor(Clauses()), TripleExtractor)
    assert read("I stayed because I was ill", least=0.9).triples == ()
