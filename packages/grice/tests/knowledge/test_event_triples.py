"""Triples of events are read from replies as a person would read them."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from grice.errors import ModelFolderError
from grice.knowledge.events import clause_problem, with_people_apart
from grice.knowledge.extraction import (
    RELATIONS,
    ContextResponse,
    ExtractorSettings,
    TripleExtractor,
    not_english,
)
from grice.knowledge.generative import as_fragment, plain_event
from grice.knowledge.schema import load_schema
from grice.models.folder import open_folder
from grice.models.loader import ModelLoader, read_settings
from grice.models.protocols import TaggedSpan
from grice.models.reply_head import surface
from grice.text.content import novelty
from grice.text.events import event_text, reaction, read_event, written_out
from grice.text.language import unreadable

FOLDER = open_folder("extraction")
SCHEMA = load_schema("atomic2020")
CASES = json.loads(Path(__file__).with_name("event_triples.json").read_text("utf-8"))

CUT = re.compile(r"[.!?]|\b(?:because|so|but|and)\b")


class ClauseTagger:
    """Tags the text between full stops and connectives, or between given offsets."""

    identity = "clauses"

    def __init__(self, offsets=None):
        self.offsets = offsets
        self.seen = []

    def tag(self, texts):
        self.seen += texts
        return [tuple(self.spans(text)) for text in texts]

    def spans(self, text):
        places = sorted({min(offset, len(text)) for offset in self.offsets or ()})
        stretches = list(zip(places[::2], places[1::2], strict=False))
        if self.offsets is None:
            cuts = [0, *(i for match in CUT.finditer(text) for i in match.span()), len(text)]
            stretches = zip(cuts[::2], cuts[1::2], strict=True)
            stretches = [(a, b) for a, b in stretches if " " in text[a:b].strip()]
        for start, end in stretches:
            words = text[start:end].strip()
            if words:
                start = text.index(words, start)
                yield TaggedSpan(start, start + len(words), "event", 0.9)


def extractor_of(folder=FOLDER, tagger=None):
    return TripleExtractor(folder, read_settings(folder, ExtractorSettings), tagger)


@pytest.fixture(scope="module")
def shipped():
    return ModelLoader(mode="exact", workers=1, cache=None).load("builtin:extraction")


@pytest.fixture
def tagger():
    return ClauseTagger()


@pytest.fixture
def extractor(tagger):
    return extractor_of(tagger=tagger)


def extracted(extractor, reply, before="", least=0.0, **options):
    (extraction,) = extractor.extract([ContextResponse(before, reply)], least=least, **options)
    return extraction


def triples(extraction):
    return {t.relation: (t.head, t.tail) for t in extraction.triples}


@pytest.mark.parametrize(("history", "reply", "relation", "expected"), CASES["triples"])
def test_triples_are_those_that_a_person_would_read(shipped, history, reply, relation, expected):
    assert triples(extracted(shipped, reply, *history))[relation] == tuple(expected)


def test_places_kinds_and_order_of_triples(extractor):
    previous = "You look tired today."
    reply = "I worked all night because I had to finish it. I will call you. You should rest."
    found = extracted(extractor, reply, previous).triples
    names = [triple.relation for triple in found]
    assert len(names) == len(set(names)) <= len(RELATIONS)
    assert found == tuple(sorted(found, key=lambda triple: -triple.confidence))
    for triple in found:
        places = (triple.head_place, triple.tail_place)
        for place in places:
            text = reply if place.turn == "reply" else previous
            assert text[place.start : place.end].strip()
        assert triple.kind == ("single" if {p.turn for p in places} == {"reply"} else "pair")
        assert triple.head.startswith("PersonX")
        if triple.relation[0] in "xo":
            assert triple.tail.startswith("PersonY" if triple.relation[0] == "o" else "PersonX")


def test_each_kind_of_triple_alone(extractor, tagger):
    single = extracted(extractor, "I fell because I ran.", "You like snow?", kinds=("single",))
    assert {t.kind for t in single.triples} == {"single"}
    assert tagger.seen == ["I fell because I ran."]
    pair = extracted(extractor, "I fell because I ran.", "I pushed you.", kinds=("pair",))
    assert {t.kind for t in pair.triples} == {"pair"}


def test_the_speaker_of_the_turn_before_decides_whose_event_it_is(extractor):
    asked = [ContextResponse("I lost my keys.", "I will find them.", s) for s in (False, True)]
    other, same = map(triples, extractor.extract(asked, least=0.0))
    assert other["oWant"] == ("PersonX loses PersonX's keys", "PersonY wants to find them")
    assert "xWant" not in other
    assert same["xWant"] == ("PersonX loses PersonX's keys", "PersonX finds them")


def test_triples_of_the_given_confidence_are_returned(extractor):
    every = extracted(extractor, "I ran so I was tired.")
    bound = sorted(t.confidence for t in every.triples)[len(every.triples) // 2]
    some = extracted(extractor, "I ran so I was tired.", least=bound)
    assert some.triples == tuple(t for t in every.triples if t.confidence >= bound)
    none = extracted(extractor, "I ran so I was tired.", least=1.1)
    assert (none.triples, none.reason) == ((), "no related events found")


@pytest.mark.parametrize(("reply", "reason"), CASES["none"])
def test_a_reply_without_triples_has_a_reason(extractor, reply, reason):
    extraction = extracted(extractor, reply, "I ate soup.")
    assert (extraction.triples, extraction.reason) == ((), reason)


def test_a_turn_before_in_another_language_is_left_out(extractor):
    before = "Ich habe heute leider keine Lust auf Arbeit."
    extraction = extracted(extractor, "I ran so I was tired.", before)
    assert {t.kind for t in extraction.triples} == {"single"}


@pytest.mark.parametrize("text", ["I dont know lol", "ok", "gonna go to the store", "He's 42."])
def test_casual_english_is_english(text):
    assert not_english(text) is None


@pytest.mark.parametrize("reply", [
    " ".join(f"I bought a thing{i} and sold it." for i in range(50)), "I ran home. " * 400,
    "I went " + "to buy milk to bake a cake " * 30,
])  # fmt: skip
def test_long_replies_are_cut_with_a_flag(extractor, reply):
    assert extracted(extractor, reply, "Why?").flags == ("truncated",)


@pytest.mark.parametrize(("content", "settings", "problem"), CASES["cues"])
def test_damaged_cues_are_noticed(tmp_path, write_card, content, settings, problem):
    (tmp_path / "cues.toml").write_text(content, "utf-8")
    folder = open_folder(write_card(tmp_path, "extractor", settings))
    with pytest.raises(ModelFolderError, match=problem):
        extractor_of(folder, ClauseTagger())


@pytest.mark.parametrize(("history", "reply"), CASES["cut or repeated"])
def test_repetitions_and_clauses_that_are_cut_off_are_no_triples(extractor, history, reply):
    assert extracted(extractor, reply, *history).triples == ()


def test_a_property_has_no_reactions_or_effects(extractor):
    by_relation = triples(extracted(extractor, "I sold the house so my dog barked."))
    tails = [tail for name, (_, tail) in by_relation.items() if name[0] in "xo"]
    assert not any(tail.endswith("dog barks") for tail in tails)


@pytest.mark.parametrize(("problem", "texts"), CASES["clauses"])
def test_problems_of_clauses(problem, texts):
    found = {text: clause_problem(read_event(text, said_by="responder"), text) for text in texts}
    assert found == dict.fromkeys(texts, problem)


@pytest.mark.parametrize(("text", "expected"), CASES["people"])
def test_he_and_her_are_two_people(text, expected):
    event = with_people_apart(read_event(text, said_by="responder"), text, said_by="responder")
    assert event.text(event.subject) == expected


@pytest.mark.parametrize(("reply", "whole"), CASES["whole"])
def test_triples_that_people_would_not_write_are_marked(extractor, reply, whole):
    first, second = (part.split()[-1] for part in reply.rstrip(".").split(". "))
    found = extracted(extractor, reply).triples
    forward = [t for t in found if first in t.head and second in t.tail]
    assert forward
    assert all(t.whole == whole for t in forward if t.relation.endswith("React") or not whole)


ODD = str.maketrans({"i": "ı", "I": "İ", "s": "ſ", "k": "\u212a", " ": "\u00a0"})


def odd(word):
    return st.sampled_from([word, word.upper(), word.title(), word.translate(ODD), word + "\u200b"])


TEXT = st.lists(
    st.sampled_from(CASES["words"]).flatmap(odd) | st.text(st.characters(), max_size=4), max_size=14
).flatmap(lambda words: st.sampled_from([" ", "", "  ", "\n"]).map(lambda gap: gap.join(words)))


@given(TEXT)
@example("thankſ")
@example("ſorry, ſadly")
def test_words_are_read_from_any_text(text):
    assert 0 <= novelty(text, [text]).novel_fraction <= 1
    for read in (unreadable, written_out, event_text, plain_event):
        read(text)
    surface(text, text)
    reaction(text, said_by="previous")
    for relation in SCHEMA.relations.values():
        as_fragment(text, relation)


@given(TEXT, TEXT, st.lists(st.integers(0, 60), max_size=10))
@example("Great! Good work.", "We aim to please.", [0, 16])
@example("how is it going today ?", "It is going great. But ı am tires now.", [0, 17, 23, 37])
@example("We won!", "Thankſ for it. I ſtay ſince I loſt.", [15, 21, 28, 34])
@example("", "İ lost my job ıf i am so sad.", [0, 12, 17, 27])
@example("Great!", "Classic. I love Nancy Allen in that one. Please. Then. ", [0, 8, 9, 40, 41, 47])
def test_triples_are_read_from_any_text(before, text, offsets):
    extraction = extracted(extractor_of(tagger=ClauseTagger(offsets)), text, before)
    for triple in extraction.triples:
        assert triple.head
        assert triple.tail
        for place in (triple.head_place, triple.tail_place):
            whole = text if place.turn == "reply" else before
            assert whole[place.start : place.end].strip()
