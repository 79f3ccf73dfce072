"""Commonsense: pooling of triples, the reply as a whole, evidence and reasons, with known parts."""

import numpy as np
import pytest

from grice.data import KnownTail, Response, Span, Triple, TripleEvidence, Turn
from grice.knowledge.events import Place
from grice.knowledge.extraction import ExtractedTriple, Extraction
from grice.knowledge.plausibility import TripleHead
from grice.metrics.commonsense import commonsense, harmonic_mean_score, mean_score, nearest_known

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

    def __init__(self, *triples, reason="no related events found"):
        self.extraction = Extraction(triples, "" if triples else reason)
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

    def best_known(self, triples):
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


def judge(responses, *triples, extractor=None, plausibility=None, aggregation="mean", **given):
    models = {
        "extractor": extractor or Extractor(*triples),
        "plausibility": plausibility or Plausibility(),
        "knowledge": Everything(),
        "encoder": Blank(),
    }
    return list(commonsense.function(responses, aggregation=aggregation, **models | given))


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
    extractor, reply = Extractor(), response("I sleep.", "We eat.", "I run.", speakers="ABA")
    judge([reply], extractor=extractor)
    judge([reply], extractor=extractor, scope="pair", min_confidence=0.9)
    ([exchange], kinds, least), (_, pair, high) = extractor.asked
    assert (exchange.reply, exchange.previous) == ("I sleep.", "I run.")
    assert (kinds, least, pair, high) == (("single", "pair"), 0.5, ("pair",), 0.9)


def test_without_a_triple_it_abstains_with_the_reason():
    (score,) = judge([response("I sleep.")])
    assert (score.value, score.status, score.reason) == (
        0.5, "abstained", "no related events found",
    )  # fmt: skip
    assert list(judge([])) == []


def test_the_mean_and_the_harmonic_mean_are_over_all_triples():
    triples = (triple("a", "xWant", "b"), triple("c", "xReact", "d"))
    head = Plausibility(b=0.9, d=0.3)
    (mean,) = judge([response("a")], *triples, plausibility=head)
    (harmonic,) = judge([response("a")], *triples, plausibility=head, aggregation="harmonic-mean")
    assert mean.value == pytest.approx(0.6)
    assert harmonic.value == harmonic_mean_score([0.9, 0.3]) < mean.value
    assert harmonic_mean_score([0.0, 1.0]) == pytest.approx(2 / (1 / 0.01 + 1))
    assert harmonic.evidence == mean.evidence


def test_the_reason_is_a_triple_on_the_side_of_the_value():
    for value, name in ((0.5, "most"), (0.49, "least")):
        (score,) = judge([response(LATE)], MISSED, plausibility=Plausibility(awful=value))
        assert score.value == pytest.approx(value)
        events = "PersonX misses the bus — xReact — PersonX feels awful"
        assert score.reason == f"{name} plausible: {events} ({value:.2f})"


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
    assert none.reason.startswith("no related events in whole clauses")


def test_knowledge_may_score_triples_in_place_of_the_networks():
    (score,) = judge([response(LATE)], MISSED, plausibility=Everything())
    assert score.value == pytest.approx(0.25)


class Senseless:
    """Finds every reply senseless, and no other flaw; keeps what it was asked."""

    flaws = ("any", "nonsense")

    def log_odds(self, responses):
        self.asked = responses
        return np.array([[-9.0, 2.0] for _ in responses])


def test_a_model_of_flaws_is_weighed_with_triples_and_judges_replies_without():
    after, alone = response("I sleep.", WHY), response("I sleep.")
    (none, abstained) = judge([after, alone], judge=Senseless())
    assert (none.status, abstained.status) == ("ok", "abstained")
    (better,) = judge([after], MISSED, judge=Senseless(), plausibility=Plausibility(awful=0.9))
    assert none.value < better.value < 0.5
    assert better.reason.startswith("senseless as a whole: 0.88, though most plausible: PersonX")
    (both,) = judge([after], MISSED, judge=Senseless(), plausibility=Plausibility(awful=0.1))
    assert both.reason.startswith("senseless as a whole: 0.88; least plausible: PersonX misses")
    first, *others = judge([alone, after, response(" ")], opening_judge=(opening := Senseless()))
    assert (first.value < 0.2, [each.status for each in others]) == (True, ["abstained"] * 2)
    assert [(reply.text, reply.history) for reply in opening.asked] == [("I sleep.", ())]


def test_a_known_opposite_lowers_a_triple_and_is_the_evidence(exact_models):
    def scored(tail):
        umbrella = triple("PersonX takes an umbrella", "xEffect", f"PersonX {tail}")
        knowledge = exact_models.load("builtin:atomic")
        encoder = exact_models.load("builtin:encoder")
        return judge([response("a")], umbrella, knowledge=knowledge, encoder=encoder)[0]

    dry, wet = scored("stays dry"), scored("gets wet")
    assert (dry.value, wet.value) == (0.8, pytest.approx(0.16))
    assert not dry.evidence[0].known.opposes
    assert (wet.evidence[0].known.tail, wet.evidence[0].known.opposes) == ("stays dry", True)
    assert scored("plays the piano").evidence[0].known is None, "nothing known is near"


class Tails:
    """Knowledge that generates the tails it was made with."""

    def __init__(self, *tails):
        self.given = tails

    def tails(self, heads, relations, k):
        assert k == 10, "as many as ACCENT has COMET write"
        known = [KnownTail("a head", tail, 0.5, 0.0, "made") for tail in self.given]
        return [known for _ in heads]


def test_the_nearest_of_the_generated_tails_is_the_evidence(exact_models):
    tired = Triple("PersonX is tired", "xWant", "PersonX wants to sleep")
    encoder = exact_models.load("builtin:encoder")
    (near,) = nearest_known([tired], Tails("to eat", "to sleep"), encoder)
    assert (near.tail, near.tail_similarity) == ("to sleep", pytest.approx(1.0, abs=1e-3))
    assert nearest_known([tired], Tails(), encoder) == [None]
    assert nearest_known([], Tails("to eat"), encoder) == []


@pytest.mark.parametrize(("scores", "printed"), [
    ([0.33, 0.12, 0.18], 0.21), ([0.63, 0.68, 0.66], 0.66), ([0.06, 0.53, 0.95, 1.63], 0.79),
    ([0.59, 0.39, 0.55, 0.69], 0.56), ([], 0.5),
])  # fmt: skip
def test_a_reply_has_the_mean_of_its_triples_as_in_table_12_of_accent(scores, printed):
    assert mean_score(scores) == pytest.approx(printed, abs=0.0051)
