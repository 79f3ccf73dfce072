from __future__ import annotations

import re

import pytest

from grice.errors import BundleError, InputError
from grice.knowledge.extraction.cues import CueExtractor, CueSettings, not_english, read_cues
from grice.knowledge.extraction.protocol import RELATIONS, Exchange, TripleExtractor
from grice.models.bundle import open_bundle
from grice.models.loader import ModelLoader, read_settings
from grice.models.protocols import TaggedSpan

CLAUSE = re.compile(r"[A-Z\w][^.!?]*?(?= (?:because|so|but|and)\b|[.!?]|$)")


class ClauseTagger:
    """Takes for an event whatever stands between full stops and connectives."""

    identity = "clauses"

    def __init__(self):
        self.seen = []

    def tag(self, texts):
        self.seen += texts
        return [self._spans(text) for text in texts]

    def _spans(self, text):
        spans = []
        for sentence in re.finditer(r"[^.!?]+", text):
            start = sentence.start()
            for part in re.split(r"(\b(?:because|so|but|and)\b)", sentence[0]):
                words = part.strip()
                if len(words.split()) > 1:
                    begin = text.index(words, start)
                    spans.append(TaggedSpan(begin, begin + len(words), "event", 0.9))
                start += len(part)
        return tuple(spans)


def extractor_of(bundle, tagger):
    return CueExtractor(bundle, read_settings(bundle, CueSettings), tagger)


@pytest.fixture(scope="module")
def shipped():
    return ModelLoader(mode="exact", workers=1, cache=None).load("bundle:extraction")


@pytest.fixture
def tagger():
    return ClauseTagger()


@pytest.fixture
def extractor(tagger):
    return extractor_of(open_bundle("extraction"), tagger)


def extracted(extractor, reply, *history, least=0.0, **options):
    (extraction,) = extractor.extract([Exchange(history, reply)], least=least, **options)
    return extraction


def triples(extraction):
    return {t.relation: (t.head, t.tail) for t in extraction.triples}


def test_it_is_what_the_metric_asks_for(extractor, tagger):
    assert isinstance(extractor, TripleExtractor)
    assert extractor.identity.startswith("extraction@")
    assert extractor.identity.endswith(tagger.identity)


def test_because_gives_the_cause_first(shipped):
    extraction = extracted(shipped, "I went swimming because it was hot.", least=None)
    effect = triples(extraction)["xEffect"]
    assert effect == ("it is hot", "PersonX goes swimming")


@pytest.mark.parametrize(
    ("history", "reply", "relation", "expected"),
    [
        ((), "I studied hard so I passed the exam.", "xEffect",
         ("PersonX studies hard", "PersonX passes the exam")),
        ((), "I bought flour to bake a cake.", "xIntent",
         ("PersonX buys flour", "PersonX bakes a cake")),
        (("My dog died last week.",), "Oh, that is so sad.", "oReact",
         ("PersonX's dog dies last week", "PersonY feels sad")),
        (("I finally got the job.",), "How awesome!", "oReact",
         ("PersonX gets the job", "PersonY feels awesome")),
        ((), "I want to buy a house but I have no money.", "HinderedBy",
         ("PersonX wants to buy a house", "PersonX has no money")),
        (("I found a hole in the sheet.",), "I want to see the invoice.", "oWant",
         ("PersonX finds a hole in the sheet", "PersonY wants to see the invoice")),
        ((), "I moved to Spain. I am very lonely.", "xReact",
         ("PersonX moves to Spain", "PersonX feels lonely")),
    ],
)  # fmt: skip
def test_what_a_person_would_read(shipped, history, reply, relation, expected):
    assert triples(extracted(shipped, reply, *history))[relation] == expected


def test_places_are_where_it_was_said(extractor):
    previous, reply = "You look tired today.", "I worked all night because I had to finish it."
    turns = {"previous": previous, "reply": reply}
    extraction = extracted(extractor, reply, "Hello.", previous)
    assert extraction.triples
    for triple in extraction.triples:
        places = (triple.head_place, triple.tail_place)
        assert all(turns[p.turn][p.start : p.end].strip() for p in places)
        assert triple.kind == ("single" if {p.turn for p in places} == {"reply"} else "pair")
        assert 0 <= triple.confidence <= 1
    words = {
        turns[t.tail_place.turn][t.tail_place.start : t.tail_place.end] for t in extraction.triples
    }
    assert "I worked all night" in words


def test_one_triple_for_a_relation_the_surest_first(extractor):
    extraction = extracted(
        extractor, "I ran home. I ate soup. I was tired. I went to bed.", "What then?"
    )
    names = [t.relation for t in extraction.triples]
    assert len(names) == len(set(names)) <= len(RELATIONS)
    assert [t.confidence for t in extraction.triples] == sorted(
        (t.confidence for t in extraction.triples), reverse=True
    )


def test_persons_fit_the_relation(extractor):
    extraction = extracted(
        extractor, "I will call you. You should rest.", "I broke my leg. I need help."
    )
    assert {triple.relation[0] for triple in extraction.triples} >= {"o", "x"}
    for triple in extraction.triples:
        if triple.relation.startswith("o"):
            assert triple.tail.startswith("PersonY")
        elif triple.relation.startswith("x"):
            assert triple.tail.startswith("PersonX")
        assert triple.head.startswith("PersonX")


def test_without_pair_the_turn_before_is_not_read(extractor, tagger):
    extraction = extracted(
        extractor, "I fell because I ran.", "Do you like snow?", kinds=("single",)
    )
    assert {t.kind for t in extraction.triples} == {"single"}
    assert tagger.seen == ["I fell because I ran."]


def test_without_single_each_triple_joins_both_turns(extractor):
    extraction = extracted(extractor, "I fell because I ran.", "I pushed you.", kinds=("pair",))
    assert {t.kind for t in extraction.triples} == {"pair"}
    with pytest.raises(InputError, match="single"):
        extracted(extractor, "I fell.", kinds=("singles",))


def test_who_spoke_before_tells_whose_event_it_is(extractor):
    (other, same) = extractor.extract(
        [Exchange(("I lost my keys.",), "I will find them.", same) for same in (False, True)],
        least=0.0,
    )
    assert triples(other)["oWant"] == ("PersonX loses PersonX's keys", "PersonY wants to find them")
    assert "xWant" not in triples(other)
    assert triples(same)["xWant"] == ("PersonX loses PersonX's keys", "PersonX finds them")


def test_the_least_confidence_is_kept(extractor):
    every = extracted(extractor, "I ran so I was tired.")
    bound = sorted(t.confidence for t in every.triples)[len(every.triples) // 2]
    some = extracted(extractor, "I ran so I was tired.", least=bound)
    assert some.triples == tuple(t for t in every.triples if t.confidence >= bound)
    none = extracted(extractor, "I ran so I was tired.", least=1.1)
    assert (none.triples, none.reason) == ((), "no two events are related")


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("", "the reply holds no word"),
        ("   \n", "the reply holds no word"),
        ("😀🎉", "the reply holds no word"),
        ("Это было вчера", "the reply is not in Latin letters"),
        ("昨日は雨でした。", "the reply is not in Latin letters"),
        ("Je ne sais pas pourquoi tu dis cela", "the reply holds few words that are English"),
        ("Yes.", "no event was found in the reply"),
    ],
)
def test_nothing_to_read_says_why(extractor, reply, reason):
    extraction = extracted(extractor, reply, "I ate soup.")
    assert (extraction.triples, extraction.reason) == ((), reason)


def test_a_turn_before_in_another_language_is_left_out(extractor):
    extraction = extracted(
        extractor, "I ran so I was tired.", "Ich habe heute leider keine Lust auf Arbeit."
    )
    assert extraction.triples
    assert {t.kind for t in extraction.triples} == {"single"}


def test_an_emoji_stays_out_of_the_words(extractor):
    extraction = extracted(extractor, "😀 I went home because I had a cold 😀")
    assert triples(extraction)["xEffect"] == ("PersonX has a cold", "PersonX goes home")


@pytest.mark.parametrize(
    "reply",
    [
        " ".join(f"I bought a thing{i} and sold it." for i in range(50)),
        "I ran home. " * 400,
        "I went " + "to buy milk to bake a cake " * 30,
    ],
)
def test_too_much_is_bounded_and_said(extractor, reply):
    extraction = extracted(extractor, reply, "Why?")
    assert len(extraction.triples) <= len(RELATIONS)
    assert extraction.events <= 24
    assert extraction.flags == ("truncated",)


def test_a_reply_does_not_depend_on_its_neighbours(shipped):
    exchanges = [
        Exchange(("How are you?",), "I am sad because my dog died."),
        Exchange((), "I bought flour to bake a cake."),
        Exchange(("I won!",), "That is great. I want to celebrate."),
    ]
    alone = [shipped.extract([exchange])[0] for exchange in exchanges]
    assert shipped.extract(exchanges) == alone
    assert shipped.extract(exchanges[::-1]) == alone[::-1]
    assert shipped.extract([]) == []


@pytest.mark.parametrize(
    "text",
    ["I dont know lol", "ok", "Xylo Brumwick Vantor", "gonna go to the store w my bf", "He's 42."],
)
def test_casual_english_is_english(text):
    assert not_english(text) is None or text.startswith("Xylo")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("[weights.xEfect]\none = 1.0", "did you mean 'xEffect'"),
        ("[weights.xEffect]\n'tail wsh' = 1.0", "did you mean 'tail wish'"),
        ("[weights.all]\none = 'much'", "cannot be read"),
        ("[weights", "cannot be read"),
        ("[wights.all]", "cannot be read"),
    ],
)
def test_damaged_cues_are_noticed(tmp_path, write_card, tagger, content, problem):
    (tmp_path / "cues.toml").write_text(content, "utf-8")
    bundle = open_bundle(write_card(tmp_path, "extractor", {"least": 0.5}))
    with pytest.raises(BundleError, match=problem):
        extractor_of(bundle, tagger)


def test_cues_can_be_changed(tmp_path, write_card, tagger):
    cues = open_bundle("extraction").path("cues.toml").read_text("utf-8")
    assert read_cues(open_bundle("extraction").path("cues.toml")).weights["xEffect"]
    (tmp_path / "cues.toml").write_text(
        cues.replace("[weights.xEffect]", "[weights.xEffect]\none = -50.0"), "utf-8"
    )
    changed = extractor_of(open_bundle(write_card(tmp_path, "extractor", {"least": 0.3})), tagger)
    assert "xEffect" not in triples(extracted(changed, "I fell because I ran.", least=None))


def test_a_threshold_is_needed(tmp_path, write_card, tagger):
    (tmp_path / "cues.toml").write_text("", "utf-8")
    with pytest.raises(BundleError, match=r"settings\.least"):
        extractor_of(open_bundle(write_card(tmp_path, "extractor", {})), tagger)


@pytest.mark.parametrize(
    ("history", "reply"),
    [
        (("I love my old dog.",), "You love an old dog."),
        ((), "I was sad because I was so sad."),
    ],
)
def test_what_says_the_same_again_is_no_triple(extractor, history, reply):
    assert extracted(extractor, reply, *history).triples == ()


def test_a_clause_that_is_cut_off_is_no_event_of_a_triple(extractor):
    extraction = extracted(extractor, "I bought the red car because I need.")
    assert extraction.triples == ()
    assert extracted(extractor, "I bought the red car because I need it.").triples


def test_what_a_property_does_is_nobodys_reaction_or_effect(extractor):
    by_relation = triples(extracted(extractor, "I sold the house so my dog barked."))
    assert not {
        name
        for name in by_relation
        if name[0] in "xo" and by_relation[name][1].endswith("dog barks")
    }
