"""Links as evidence: the shipped heads read replies, and the commonsense metric judges them."""

from __future__ import annotations

import json

import pytest

from grice.cli import main
from grice.errors import InputError
from grice.knowledge.extraction.protocol import Exchange, Place, TripleExtractor
from grice.models.models import Models

BUS = "I missed the bus so I had to walk to the office."
CAR = "I will buy a car if I find a job."


@pytest.fixture(scope="module")
def links():
    models = Models(mode="exact", workers=1, cache=None)
    yield models.open("bundle:links")
    models.close()


def read(links, reply, *history, **options):
    (extraction,) = links.extract([Exchange(history, reply)], **options)
    return extraction


@pytest.mark.parametrize(
    ("reply", "wanted"),
    [
        (BUS, ("PersonX misses the bus", "xEffect", "PersonX has to walk to the office")),
        (CAR, ("PersonX buys a car", "xNeed", "PersonX finds a job")),
        ("I wanted to call you but I could not find my phone.",
         ("PersonX wants to call PersonY", "HinderedBy", "PersonX can't find PersonX's phone")),
        ("I brushed my teeth before I went to bed.",
         ("PersonX goes to bed", "isAfter", "PersonX brushes PersonX's teeth")),
        ("I lost my wallet so I was sad about it.",
         ("PersonX loses PersonX's wallet", "xReact", "PersonX feels sad about it")),
    ],
)  # fmt: skip
def test_a_link_becomes_a_triple_of_events_in_atomics_words(links, reply, wanted):
    triples = read(links, reply).triples
    assert wanted in [(triple.head, triple.relation, triple.tail) for triple in triples]


def test_a_triple_says_where_its_events_were_said(links):
    extraction = read(links, BUS, "You are late.")
    (triple,) = (link for link in extraction.triples if link.relation == "xEffect")
    assert (triple.head_place, triple.kind) == (Place("reply", 0, 16), "single")
    assert BUS[triple.tail_place.start : triple.tail_place.end] == "I had to walk to the office"
    assert 0.5 < triple.confidence <= 1
    assert extraction.own <= extraction.events


def test_a_triple_about_a_thing_is_not_whole(links):
    (rain,) = read(links, "I stayed at home because it was raining.").triples
    assert (rain.head, rain.tail, rain.whole) == ("it rains", "PersonX stays at home", False)
    assert all(triple.whole for triple in read(links, BUS).triples)


def test_links_are_an_extractor_as_any_other(links):
    assert isinstance(links, TripleExtractor)
    exchanges = [Exchange(("You are late.",), BUS), Exchange((), CAR), Exchange(("Hi",), "")]
    together = links.extract(exchanges)
    assert together == [extraction for each in exchanges for extraction in links.extract([each])]
    with pytest.raises(InputError, match="no triples of kind 'pairs'; did you mean 'pair'"):
        links.extract(exchanges, kinds=("pairs",))


def test_what_was_said_before_gives_no_triple_of_the_reply(links):
    assert read(links, "Good to know.", BUS).triples == ()
    alone = read(links, CAR, BUS, kinds=("single",))
    assert {triple.kind for triple in alone.triples} == {"single"}
    assert alone == read(links, CAR, kinds=("single",))


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("Tables.", "no event was found in the reply"),
        ("I like it here.", "no two events are linked"),
        ("Je ne sais pas pourquoi tu dis toujours cela", "holds few words that are English"),
        ("", "the reply"),
    ],
)
def test_a_reply_without_a_link_says_why(links, reply, reason):
    extraction = read(links, reply, "Where are you?")
    assert extraction.triples == ()
    assert reason in extraction.reason


def test_a_larger_bound_leaves_fewer_triples(links):
    assert read(links, BUS, least=1.0).triples == ()
    assert set(read(links, BUS).triples) <= set(read(links, BUS, least=0.3).triples)


def test_the_commonsense_metric_judges_links(tmp_path, capsys):
    talk = {"id": "late", "turns": [{"speaker": "A", "text": "You are late."},
                                    {"speaker": "B", "text": BUS}], "targets": [1]}  # fmt: skip
    (tmp_path / "talk.jsonl").write_text(json.dumps(talk) + "\n")
    out = tmp_path / "scores.jsonl"
    assert main(["score", "-m", "commonsense", "--commonsense-extractor", "bundle:links",
                 str(tmp_path / "talk.jsonl"), "-o", str(out)]) == 0  # fmt: skip
    (score,) = map(json.loads, out.read_text("utf-8").splitlines())
    assert score["status"] == "ok"
    assert "extractor:links@" in score["signature"]
    triple = score["evidence"][0]
    assert triple["triple"]["relation"] == "xEffect"
    assert triple["triple"]["tail_span"]["turn"] == 1
    assert 0 < triple["plausibility"] < 1
