from __future__ import annotations

import pytest

from grice.knowledge.extraction.protocol import Exchange, TripleExtractor
from grice.knowledge.extraction.search import SearchExtractor, concepts
from grice.metrics.registry import find_metrics
from grice.models.models import Models
from grice.records import Conversation, Triple, Turn
from grice.scoring.loaded import load_metric

KNOWN = (
    Triple("PersonX buys a dog", "xEffect", "gets barked at"),
    Triple("PersonX walks the dog", "xEffect", "the dog is happy"),
    Triple("PersonX walks the dog", "xNeed", "to buy a leash"),
    Triple("PersonX dogs PersonY's steps", "xIntent", "to bother a hotdog"),
    Triple("PersonX eats", "xReact", "full"),
    Triple("dog", "AtLocation", "where they bark"),
)


def read(reply, *before, **options):
    extractor = SearchExtractor(KNOWN, "six triples")
    assert isinstance(extractor, TripleExtractor)
    (extraction,) = extractor.extract([Exchange(before, reply)], **options)
    return extraction


def bare(extraction):
    return [(triple.kind, triple.relation, triple.tail) for triple in extraction.triples]


def test_two_different_words_must_stand_on_two_sides():
    # One word on both sides is not enough, and nor are two words on one side.
    assert bare(read("My dogs!")) == []
    assert bare(read("I buy a leash.")) == []
    assert bare(read("The dog barked.")) == [("single", "xEffect", "gets barked at")]


def test_the_other_word_may_be_said_before():
    extraction = read("I walked him.", "Do you have the leash?")
    assert bare(extraction) == [("pair", "xNeed", "to buy a leash")]
    assert bare(read("I walked him.", "Do you have the leash?", kinds=("single",))) == []
    # Nothing is read from the turn before alone.
    assert bare(read("Nonsense.", "The dog barked.")) == []


def test_the_triple_with_most_words_is_given_for_each_relation():
    assert bare(read("I am happy to walk the dog that barks")) == [
        ("single", "xEffect", "the dog is happy")
    ]


def test_a_reply_without_content_words_says_why():
    extraction = read("Me too!")
    assert (extraction.triples, extraction.reason) == (
        (),
        "nothing that is known joins two words of it",
    )
    assert read("The dog barked.", least=0.9).triples == ()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("I don't think so", ["think"]),
        ("", []),
        ("She went there after two days 😀", ["go", "day"]),
        ("日本語", []),
    ],
)
def test_concepts_are_base_forms_of_content_words(text, words):
    assert [word for word in concepts(text) if word != "she"] == words


def test_what_ships_is_searched_by_the_metric_of_its_own():
    models = Models(mode="exact", workers=1, cache=None)
    loaded = load_metric(find_metrics().named("commonsense_search"), models, {})
    turns = (Turn("A", "What did you do?"), Turn("B", "I walked my dog."))
    ((score,),) = loaded.score([Conversation("a", turns, (1,))])
    triples = [piece.triple for piece in score.evidence]
    assert score.status == "ok"
    assert triples
    texts = [f"{triple.head} {triple.tail}".lower() for triple in triples]
    assert [text for text in texts if "walk" not in text or "dog" not in text] == []
    assert "extractor:search@" in loaded.signature
