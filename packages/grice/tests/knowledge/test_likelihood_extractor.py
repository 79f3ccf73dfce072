from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grice.errors import InputError
from grice.knowledge.extraction.language_model import LikelihoodExtractor, LikelihoodSettings
from grice.knowledge.extraction.protocol import RELATIONS, Exchange, TripleExtractor
from grice.knowledge.generative import Likelihood
from grice.models.models import Models

FIRED = Exchange(("What do you do?",), "I got fired because I made a mistake. I feel so sad.")


class Scripted:
    """Knows how likely tails are: gains by relation."""

    identity = "scripted"

    def __init__(self, gains, missing=False):
        self.gains, self.missing = gains, missing

    def likelihoods(self, triples):
        return [
            None if self.missing else Likelihood(self.gains.get(t.relation, -9.0) - 5.0, -5.0)
            for t in triples
        ]


@pytest.fixture(scope="module")
def tagger():
    models = Models(mode="fast", workers=1, cache=None)
    yield models.open("bundle:events")
    models.close()


def extractor(tagger, gains, *, least=0.5, pairs=3, missing=False):
    stated = LikelihoodSettings(parts=("a", "b"), weight=1.0, bias=0.0, least=least, pairs=pairs)
    return LikelihoodExtractor(Scripted(gains, missing), tagger, stated, "tiny")


def test_a_relation_is_given_where_the_tail_gains_from_the_head(tagger):
    reader = extractor(tagger, {"xReact": 2.0, "xWant": -1.0})
    assert isinstance(reader, TripleExtractor)
    (extraction,) = reader.extract([FIRED])
    (triple,) = extraction.triples
    assert triple.relation == "xReact"
    assert triple.tail == "PersonX feels sad"
    assert triple.confidence == pytest.approx(0.8808, abs=1e-4)
    assert FIRED.reply[triple.tail_place.start : triple.tail_place.end].startswith("I feel so sad")


def test_only_pairs_asked_for_are_read(tagger):
    reader = extractor(tagger, dict.fromkeys(RELATIONS, 1.0), pairs=9)
    (single,) = reader.extract([FIRED], kinds=("single",))
    assert {triple.kind for triple in single.triples} == {"single"}
    with pytest.raises(InputError, match="no triples of kind 'twin'"):
        reader.extract([FIRED], kinds=("twin",))


def test_what_holds_no_event_says_why(tagger):
    reader = extractor(tagger, {})
    assert [item.reason for item in reader.extract([Exchange((), "Yes."), FIRED])] == [
        "no event was found in the reply",
        "no two events are related",
    ]
    assert "few words that are English" in (
        reader.extract([Exchange((), "Je ne sais pas pourquoi tu dis toujours cela")])[0].reason
    )


@settings(max_examples=25, deadline=None)
@given(
    st.dictionaries(st.sampled_from(RELATIONS), st.floats(-50, 50)),
    st.sampled_from([FIRED, Exchange((), "I ate bread and then I went home to sleep.")]),
    st.booleans(),
)
def test_whatever_the_model_likes_a_relation_has_one_triple_of_what_was_said(
    tagger, gains, exchange, missing
):
    (extraction,) = extractor(tagger, gains, least=0.0, missing=missing).extract([exchange])
    relations = [triple.relation for triple in extraction.triples]
    assert len(set(relations)) == len(relations)
    assert set(relations) <= set(RELATIONS)
    for triple in extraction.triples:
        assert 0 <= triple.confidence <= 1
        assert triple.head.strip()
        assert triple.tail.strip()
        assert triple.tail_place.end <= len(getattr(exchange, triple.tail_place.turn))
    confidences = [triple.confidence for triple in extraction.triples]
    assert confidences == sorted(confidences, reverse=True)
