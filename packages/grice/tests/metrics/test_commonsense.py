"""Commonsense: pooling of triples, the reply as a whole, evidence and reasons, with known parts."""

from __future__ import annotations

import math

import numpy as np
import pytest

from grice.data import (
    FeatureEvidence,
    KnownTail,
    Response,
    Span,
    Triple,
    TripleEvidence,
    Turn,
)
from grice.knowledge.events import Place
from grice.knowledge.extraction import ExtractedTriple, Extraction
from grice.knowledge.plausibility import TripleHead
from grice.metrics.commonsense import (
    CONTEXT_RELEVANCE,
    cautious_score,
    commonsense,
    mean_score,
    nearest_known,
)
from grice.models.loader import ModelLoader

KNOWN = KnownTail("PersonX is late", "sorry", 0.9, 0.8, "made")
LATE = "I missed the bus, I feel awful."
WHY = "Why are you late?"


def triple(head, relation, tail, first=None, second=None, *, whole=True):
    """Return a triple; places are offsets of the reply, or of the turn before if negative."""
    places = [
        None if at is None else Place("reply" if at >= 0 else "previous", abs(at), abs(at) + 1)
        for at in (first, second)
    ]
    return ExtractedTriple(
        head=head, relation=relation, tail=tail, confidence=0.9, kind="single",
        head_place=places[0], tail_place=places[1], whole=whole,
    )  # fmt: skip


MISSED = triple("PersonX misses the bus", "xReact", "PersonX feels awful", 0, 18)


class Extractor:
    """Gives each reply the same triples, and one event without any; keeps the calls."""

    def __init__(self, *triples, own=1, reason="no two events are related"):
        self.extraction = Extraction(triples, len(triples), own, "" if triples else reason)
        self.asked = []

    def extract(self, exchanges, *, kinds, least=None):
        self.asked.append((exchanges, kinds, least))
        return [self.extraction for _ in exchanges]


class Plausibility(TripleHead):
    """Gives plausibilities by the tail."""

    identity = "plausibility"

    def __init__(self, **by_tail):
        self.by_tail = by_tail

    def plausibility(self, triples, known=None):
        assert known is not None
        return [self.by_tail.get(triple.tail.split()[-1], 0.8) for triple in triples]


class Everything:
    """Knows one tail of everything."""

    identity = "everything"

    def best_known(self, triples, *, encoder, tails):
        return [KNOWN for _ in triples]

    def tails(self, heads, relations, k):
        return [[KNOWN] for _ in heads]

    def plausibility(self, triples):
        return [0.25 for _ in triples]


class Blank:
    """Tells no text from another."""

    identity = "blank"

    def encode(self, texts):
        return [None for _ in texts]


class Relevance:
    """Finds every reply as relevant as it is told to."""

    identity = "relevance"

    def __init__(self, value=0.9):
        self.value = value
        self.pairs = []

    def classify(self, pairs):
        self.pairs += pairs
        return [self.value for _ in pairs]


class Flaws:
    """Finds nonsense, by log odds, where the reply says so."""

    identity = "flaws"
    flaws = ("any", "contradiction", "nonsense")

    def log_odds(self, responses):
        return np.array(
            [[9, 9, 2 if "moon" in reply.text else -2] for reply in responses], np.float32
        )

    def truncated(self, texts):
        return [False for _ in texts]


def judge(responses, *triples, extractor=None, plausibility=None, aggregation="mean", **given):
    models = {
        "extractor": extractor or Extractor(*triples),
        "plausibility": plausibility or Plausibility(),
        "knowledge": Everything(),
        "encoder": Blank(),
        "relevance": Relevance(),
    }
    return commonsense.function(responses, aggregation=aggregation, **models | given)


def response(text, *history, speakers="ABABAB"):
    turns = tuple(Turn(speakers[i], utterance) for i, utterance in enumerate(history))
    return Response("c", len(turns), text, speakers[len(turns)], turns, tuple(range(len(turns))))


def test_triples_carry_their_places_and_the_nearest_known_tail():
    pair = triple("PersonX misses the bus", "xEffect", "PersonX is late", 0, -4)
    (score,) = judge([response(LATE, WHY)], MISSED, pair)
    first, second = score.evidence
    assert isinstance(first, TripleEvidence)
    assert (first.triple.head_span, first.triple.tail_span) == (Span(1, 0, 1), Span(1, 18, 19))
    assert (second.triple.head_span, second.triple.tail_span) == (Span(1, 0, 1), Span(0, 4, 5))
    assert first.known == KNOWN
    (placeless,) = judge([response("a b c")], triple("a", "xWant", "b"))
    assert placeless.evidence[0].triple.head_span is None


def test_the_extractor_is_given_the_options_and_the_turn_before():
    extractor = Extractor()
    reply = response("I sleep.", "We eat.", "I run.", speakers="ABA")
    judge([reply], extractor=extractor)
    judge([reply], extractor=extractor, scope="pair", min_confidence=0.9)
    ([exchange], kinds, least), (_, pair, high) = extractor.asked
    assert exchange.reply == "I sleep."
    assert exchange.history == ("I run.",)
    assert (kinds, least, pair, high) == (("single", "pair"), 0.5, ("pair",), 0.9)


def test_without_a_triple_it_abstains_with_the_reason():
    (score,) = judge([response("I sleep.")])
    assert (score.value, score.status, score.reason) == (
        0.5, "abstained", "no two events are related",
    )  # fmt: skip
    assert judge([]) == []


def test_the_mean_and_the_harmonic_mean_are_over_all_triples():
    triples = (triple("a", "xWant", "b"), triple("c", "xReact", "d"))
    head = Plausibility(b=0.9, d=0.3)
    (mean,) = judge([response("a")], *triples, plausibility=head)
    (cautious,) = judge([response("a")], *triples, plausibility=head, aggregation="cautious")
    assert mean.value == pytest.approx(0.6)
    assert cautious.value == cautious_score([0.9, 0.3]) < mean.value
    assert cautious.evidence == mean.evidence


def test_the_reason_is_a_triple_on_the_side_of_the_value():
    for value, name in ((0.5, "most"), (0.49, "least")):
        (score,) = judge([response(LATE)], MISSED, plausibility=Plausibility(awful=value))
        assert score.value == pytest.approx(value)
        assert score.reason == (
            f"{name} plausible: PersonX misses the bus — xReact — PersonX feels awful"
        )
    (low,) = judge([response(LATE, WHY)], MISSED, relevance=Relevance(0.05), relevance_weight=0.6)
    assert low.value < 0.5
    assert low.reason == "context relevance is low (0.05)"


def test_relevance_has_its_weight_and_stands_among_the_evidence():
    asked = Relevance(0.9)
    (alone,) = judge([response(LATE, WHY)], MISSED, relevance=asked)
    assert asked.pairs == []
    (score,) = judge([response(LATE, WHY)], MISSED, relevance=asked, relevance_weight=0.25)
    assert score.value == pytest.approx(0.75 * alone.value + 0.25 * 0.9)
    *triples, whole = score.evidence
    assert tuple(triples) == alone.evidence
    assert whole == FeatureEvidence(CONTEXT_RELEVANCE, 0.9, score.value - alone.value)


def test_relevance_is_asked_only_where_there_is_history():
    asked = Relevance()
    replies = [response(LATE), response(LATE, *"abcde", speakers="ABABABA")]
    first, second = judge(replies, MISSED, relevance=asked, relevance_weight=0.5)
    assert [pair.left for pair in asked.pairs] == [("b", "c", "d", "e")]
    assert all(isinstance(piece, TripleEvidence) for piece in first.evidence)
    assert isinstance(second.evidence[-1], FeatureEvidence)
    eventless = Extractor(own=0, reason="no event was found")
    (none,) = judge([response("?!", WHY)], extractor=eventless, relevance_weight=0.5)
    assert (none.value, none.status, none.reason) == (0.5, "abstained", "no event was found")


def test_repeated_sentences_are_not_relevant():
    text = "I missed the bus. I feel awful now."
    asked = Relevance(0.8)
    replies = [response(text, before) for before in (WHY, "I missed the bus.", text)]
    scores = judge(replies, MISSED, relevance=asked, relevance_weight=0.5)
    assert [score.evidence[-1].value for score in scores] == pytest.approx([0.8, 0.4, 0.0])
    assert [pair.right for pair in asked.pairs] == [text, "I feel awful now.", text]


def test_the_sense_of_a_language_model_can_have_the_weight():
    replies = [response(LATE, WHY), response("I missed the moon.", WHY), response("?!", WHY)]
    good, bad, unread = judge(replies, MISSED, relevance=Flaws(), relevance_weight=0.5)
    assert good.evidence[-1].name == bad.evidence[-1].name == "sensibleness"
    assert good.evidence[-1].value == pytest.approx(1 / (1 + math.exp(-2)))
    assert bad.evidence[-1].value == pytest.approx(1 / (1 + math.exp(2)))
    assert isinstance(unread.evidence[-1], TripleEvidence)


def test_an_event_without_another_is_judged_by_relevance_alone():
    (score,) = judge([response("I sleep.", WHY)], relevance_weight=0.5)
    assert score.value == pytest.approx(0.7)
    assert score.evidence == (
        FeatureEvidence(CONTEXT_RELEVANCE, 0.9, score.value - mean_score([])),
    )
    assert score.reason == "no two events are related: judged by context relevance alone"


def test_the_surest_whole_triples_are_judged_and_the_same_two_events_once():
    triples = (
        triple("the only thing", "xWant", "b", whole=False),
        triple("a", "xWant", "b", 0, 2),
        triple("b", "xNeed", "a", 2, 0),
        triple("a", "xNeed", "c", 0, 4),
    )
    (score,) = judge([response("a b c")], *triples)
    assert [piece.triple.tail for piece in score.evidence] == ["b", "c"]
    (limited,) = judge([response("a b c")], *triples, max_triples=1)
    assert limited.evidence == score.evidence[:1]
    (none,) = judge([response("a b c")], *triples, max_triples=0)
    assert (none.status, none.evidence) == ("abstained", ())
    assert none.reason.startswith("no two events are related that were read as whole")


def test_knowledge_may_score_triples_in_place_of_the_networks():
    (score,) = judge([response(LATE)], MISSED, plausibility=Everything())
    assert score.value == pytest.approx(0.25)


class Tails:
    """Knowledge that generates the tails it was made with."""

    def __init__(self, *tails):
        self.given = tails

    def tails(self, heads, relations, k):
        known = [KnownTail("a head", tail, 0.5, 0.0, "made") for tail in self.given[:k]]
        return [known for _ in heads]


def test_the_nearest_of_the_generated_tails_is_the_evidence():
    tired = Triple("PersonX is tired", "xWant", "PersonX wants to sleep")
    with ModelLoader(mode="exact", workers=1, cache=None) as models:
        encoder = models.load("builtin:encoder")
        (near,) = nearest_known([tired], Tails("to eat", "to sleep"), encoder)
        assert near.tail == "to sleep"
        assert near.tail_similarity == pytest.approx(1.0, abs=1e-3)
        assert nearest_known([tired], Tails(), encoder) == [None]
        assert nearest_known([], Tails("to eat"), encoder) == []


@pytest.mark.parametrize(
    ("scores", "printed"),
    [
        ([0.33, 0.12, 0.18], 0.21),
        ([0.63, 0.68, 0.66], 0.66),
        ([0.06, 0.53, 0.95, 1.63], 0.79),
        ([0.59, 0.39, 0.55, 0.69], 0.56),
        ([], 0.5),
    ],
)
def test_a_reply_has_the_mean_of_its_triples_as_in_table_12_of_accent(scores, printed):
    assert mean_score(scores) == pytest.approx(printed, abs=0.0051)


def test_one_senseless_triple_weighs_more_than_a_sensible_one():
    assert mean_score([0.5, 0.5]) == mean_score([0.9, 0.1])
    assert cautious_score([0.5, 0.5]) > cautious_score([0.9, 0.1])
    assert cautious_score([0.9, 0.8]) > cautious_score([0.9, 0.8, 0.7])
    assert cautious_score([]) == 0.5
    assert 0 < cautious_score([0.0, 0.0]) < 0.05
