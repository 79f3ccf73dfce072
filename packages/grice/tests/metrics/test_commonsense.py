from __future__ import annotations

import math
import re

import numpy as np
import pytest

from event_pairs import EventPairs
from grice.errors import InputError
from grice.knowledge.events import MAX_EVENTS
from grice.knowledge.extraction import Exchange, ExtractedTriple, Extraction, Place
from grice.knowledge.generative import Likelihood
from grice.knowledge.plausibility import TripleHead
from grice.metrics.commonsense import (
    CONTEXT_RELEVANCE,
    cautious_score,
    commonsense,
    find_scorer,
    mean_score,
)
from grice.models.protocols import TaggedSpan
from grice.records import FeatureEvidence, KnownTail, Response, TripleEvidence, Turn

KNOWN = KnownTail("PersonX is late", "sorry", 0.9, 0.8, "made")


class Clauses:
    """Tags every clause between marks as an event, the first ones with more confidence."""

    identity = "clauses"

    def tag(self, texts):
        return [
            tuple(
                TaggedSpan(m.start(), m.end(), "event", 1 - i / 100)
                for i, m in enumerate(re.finditer(r"[^.,!?\s][^.,!?]*", text))
            )
            for text in texts
        ]


class Judge(TripleHead):
    """Believes in one relation for pairs that share a word, and rates by length of the tail."""

    identity = "judge"
    typed = ("xReact", "oReact", "HinderedBy")

    def __init__(self, relation="xReact"):
        self.relation = relation
        self.pairs = []

    def relations(self, pairs):
        self.pairs += pairs
        return [
            {name: 0.9 - i / 100 if name == self.relation else 0.01 for name in self.typed}
            | {"none": 0.1}
            for i, _ in enumerate(pairs)
        ]

    def plausibility(self, triples, known=None):
        assert known is not None
        return [min(1.0, len(triple.tail) / 100) for triple in triples]


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


class Fit:
    """Finds every reply as fitting as it is told to."""

    identity = "fit"

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


def judge(
    responses,
    plausibility=None,
    *,
    extractor=None,
    relevance=None,
    relevance_weight=0.0,
    aggregation="mean",
    knowledge=None,
    **options,
):
    return commonsense.function(
        responses,
        extractor=extractor or EventPairs(Clauses(), plausibility or Judge()),
        plausibility=plausibility or Judge(),
        knowledge=knowledge or Everything(),
        encoder=Blank(),
        embedder=None,
        relevance=relevance or Fit(),
        relevance_weight=relevance_weight,
        aggregation=aggregation,
        **options,
    )


def response(text, *history, speakers="ABABAB"):
    turns = tuple(Turn(speakers[i], utterance) for i, utterance in enumerate(history))
    return Response("c", len(turns), text, speakers[len(turns)], turns, tuple(range(len(turns))))


def test_triples_carry_the_places_they_were_said():
    reply = response("I missed the bus, I feel awful.", "Why are you late?")
    (score,) = judge([reply])
    texts = [*(turn.text for turn in reply.history), reply.text]
    (evidence,) = score.evidence
    assert isinstance(evidence, TripleEvidence)
    for span in (evidence.triple.head_span, evidence.triple.tail_span):
        assert texts[span.turn][span.start : span.end] in (
            "I missed the bus",
            "I feel awful",
            "Why are you late",
        )
    assert evidence.known == KNOWN
    assert score.value == evidence.plausibility


def test_a_pair_needs_an_event_of_the_reply():
    asked = Judge()
    judge([response("I sleep.", "We eat, we drink.")], asked)
    assert len(asked.pairs) == 4
    assert all("sleep" in head + tail for head, tail in asked.pairs)


def test_the_first_turn_is_judged_by_itself():
    (score,) = judge([response("I missed the bus, I feel awful.")])
    assert score.status == "ok"
    assert {e.triple.head_span.turn for e in score.evidence} == {0}


def test_one_event_alone_abstains_with_the_reason():
    (alone, silent) = judge([response("I sleep."), response("?!")])
    assert (alone.value, alone.status, alone.reason) == (
        0.5,
        "abstained",
        "no two events are related",
    )
    assert (silent.value, silent.status, silent.reason) == (0.5, "abstained", "no event was found")


def test_improbable_relations_are_not_believed():
    exchange = Exchange((), "I missed the bus, I feel awful.")
    (sure,) = EventPairs(Clauses(), Judge()).extract([exchange], least=0.5)
    (extraction,) = EventPairs(Clauses(), Judge()).extract([exchange], least=0.95)
    assert sure.triples
    assert (extraction.triples, extraction.reason) == ((), "no two events are related")


def test_read_says_which_triples_are_looked_for():
    reply = response("I sleep, I snore.", "We eat.", "I run.", speakers="ABA")
    both, single, pair = Judge(), Judge(), Judge()
    judge([reply], both)
    judge([reply], single, scope="single")
    judge([reply], pair, scope="pair")
    assert [len(asked.pairs) for asked in (both, single, pair)] == [6, 2, 4]
    assert not any("eat" in head + tail for head, tail in both.pairs)


def test_a_reaction_of_others_is_about_persony_and_ones_own_about_personx():
    reply = response("I shout, you cry.")
    for relation, person in (("xReact", "PersonX"), ("oReact", "PersonY")):
        (score,) = judge([reply], Judge(relation))
        assert all(e.triple.tail.startswith(person) for e in score.evidence)
    assert score.evidence


def test_each_relation_and_each_pair_of_events_is_read_once():
    (score,) = judge([response("I eat, I drink, I sing, I sleep.")])
    relations = [e.triple.relation for e in score.evidence]
    assert len(relations) == len(set(relations)) == 1


def test_very_many_events_are_cut_and_flagged():
    asked = Judge()
    text = ", ".join(f"I eat {fruit}" for fruit in "abcdefghijkl")
    (score,) = judge([response(text)], asked)
    assert "truncated" in score.flags
    assert len(asked.pairs) == MAX_EVENTS * (MAX_EVENTS - 1)


def test_an_empty_batch_gives_nothing():
    assert judge([]) == []


def test_the_mean_is_over_all_triples():
    class Two(Judge):
        def relations(self, pairs):
            return [{"xReact": 0.8, "oReact": 0.0, "HinderedBy": 0.7, "none": 0.1} for _ in pairs]

    (score,) = judge([response("I eat, I drink, I sing.")], Two())
    values = [e.plausibility for e in score.evidence]
    assert len(values) == 2
    assert score.value == pytest.approx(sum(values) / 2)


class Steady(Judge):
    """Finds every triple as plausible as it is told to."""

    def __init__(self, value):
        super().__init__()
        self.value = value

    def plausibility(self, triples, known=None):
        return [self.value for _ in triples]


def test_the_reason_is_a_triple_on_the_side_of_the_value():
    reply = response("I missed the bus, I feel awful.", "Why are you late?")
    for value, name in ((0.5, "most"), (0.49, "least")):
        (score,) = judge([reply], Steady(value))
        assert score.value == pytest.approx(value)
        assert score.reason.startswith(f"{name} plausible: ")
    (low,) = judge([reply], Steady(0.9), relevance=Fit(0.05), relevance_weight=0.6)
    assert low.value < 0.5
    assert low.reason == "context relevance is low (0.05)"


def test_the_fit_of_the_reply_has_its_share_and_stands_among_the_evidence():
    reply = response("I missed the bus, I feel awful.", "Why are you late?")
    (alone,) = judge([reply])
    (score,) = judge([reply], relevance=Fit(0.9), relevance_weight=0.25)
    *triples, fit = score.evidence
    assert tuple(triples) == alone.evidence
    assert score.value == pytest.approx(0.75 * alone.value + 0.25 * 0.9)
    assert fit == FeatureEvidence(CONTEXT_RELEVANCE, 0.9, score.value - alone.value)


def test_the_fit_is_asked_only_where_something_was_said_and_triples_are_read():
    asked = Fit()
    replies = [
        response("I missed the bus, I feel awful."),
        response("?!", "Why are you late?"),
        response("I missed the bus, I feel awful.", *"abcde", speakers="ABABABA"),
    ]
    first, second, third = judge(replies, relevance=asked, relevance_weight=0.5)
    assert [pair.left for pair in asked.pairs] == [("b", "c", "d", "e")]
    assert all(isinstance(piece, TripleEvidence) for piece in first.evidence)
    assert (second.value, second.status) == (0.5, "abstained")
    assert isinstance(third.evidence[-1], FeatureEvidence)


def test_what_was_said_before_does_not_fit_again():
    text = "I missed the bus. I feel awful now."
    asked = Fit(0.8)
    whole, half, none = judge(
        [
            response(text, "Why are you late?"),
            response(text, "I missed the bus."),
            response(text, text),
        ],
        relevance=asked,
        relevance_weight=0.5,
    )
    fits = [score.evidence[-1].value for score in (whole, half, none)]
    assert fits == pytest.approx([0.8, 0.4, 0.0])
    assert [pair.right for pair in asked.pairs] == [text, "I feel awful now.", text]


def test_the_sense_of_a_language_model_can_have_the_share():
    replies = [
        response("I missed the bus, I feel awful.", "Why are you late?"),
        response("I missed the moon, I feel awful.", "Why are you late?"),
        response("?!", "Why are you late?"),
    ]
    good, bad, nothing = judge(replies, relevance=Flaws(), relevance_weight=0.5)
    assert good.evidence[-1].name == bad.evidence[-1].name == "sense"
    assert good.evidence[-1].value == pytest.approx(1 / (1 + math.exp(-2)))
    assert bad.evidence[-1].value == pytest.approx(1 / (1 + math.exp(2)))
    assert nothing.status == "abstained"


def test_without_a_share_the_fit_is_not_asked():
    asked = Fit()
    judge([response("I eat, I drink.", "What?")], relevance=asked)
    assert asked.pairs == []


def test_triples_are_taken_together_with_caution():
    reply = response("I missed the bus, I feel awful.")
    (mean,) = judge([reply])
    (cautious,) = judge([reply], aggregation="cautious")
    assert cautious.evidence == mean.evidence
    assert cautious.value == cautious_score([piece.plausibility for piece in mean.evidence])


def test_an_event_without_another_is_judged_by_how_it_fits():
    reply = response("I sleep.", "Why are you late?")
    (fitting,) = judge([reply], relevance=Fit(0.9), relevance_weight=0.5, scope="single")
    (other,) = judge([reply], relevance=Fit(0.1), relevance_weight=0.5, scope="single")
    assert fitting.status == other.status == "ok"
    assert fitting.value - other.value == pytest.approx(0.4)
    assert "judged by context relevance" in fitting.reason
    assert fitting.evidence == (
        FeatureEvidence(CONTEXT_RELEVANCE, 0.9, fitting.value - mean_score([])),
    )


def test_the_same_two_events_are_judged_once():
    class Both(Judge):
        def extract(self, exchanges, *, kinds, least=None):
            place = [Place("reply", 0, 1), Place("reply", 2, 3), Place("reply", 4, 5)]
            ends = [("a", "xWant", "b", 0, 1), ("b", "xNeed", "a", 1, 0), ("a", "xNeed", "c", 0, 2)]
            triples = tuple(
                ExtractedTriple(
                    head=head, relation=relation, tail=tail, confidence=0.5, kind="single",
                    head_place=place[first], tail_place=place[second],
                )
                for head, relation, tail, first, second in ends
            )  # fmt: skip
            return [Extraction(triples, 3, 3) for _ in exchanges]

    (score,) = judge([response("a b c")], extractor=Both())
    assert [piece.triple.tail for piece in score.evidence] == ["b", "c"]


def test_what_no_person_would_write_is_not_judged():
    class Unsound(Judge):
        def extract(self, exchanges, *, kinds, least=None):
            triples = tuple(
                ExtractedTriple(
                    head=head, relation="xWant", tail="b", confidence=0.9, kind="single",
                    whole=whole,
                )
                for head, whole in (("the only thing", False), ("a", True), ("a", True))
            )  # fmt: skip
            return [Extraction(triples, 3, 3) for _ in exchanges]

    (score,) = judge([response("a b c")], extractor=Unsound())
    assert [piece.triple.head for piece in score.evidence] == ["a"]
    (none,) = judge([response("a b c")], extractor=Unsound(), max_triples=0)
    assert (none.status, none.evidence) == ("abstained", ())
    assert none.reason.startswith("no two events are related that were read as whole")


def test_the_extractor_is_asked_for_sure_triples():
    asked = []

    class Asked(Judge):
        def extract(self, exchanges, *, kinds, least=None):
            asked.append(least)
            return [Extraction(reason="nothing") for _ in exchanges]

    judge([response("a b c")], extractor=Asked())
    judge([response("a b c")], extractor=Asked(), min_confidence=0.9)
    assert asked == [0.5, 0.9]


def test_only_the_surest_triples_are_judged():
    class Two(Judge):
        def relations(self, pairs):
            return [{"xReact": 0.8, "oReact": 0.0, "HinderedBy": 0.7, "none": 0.1} for _ in pairs]

    reply = response("I eat, I drink, I sing.")
    (both,) = judge([reply], Two())
    (limited,) = judge([reply], Two(), max_triples=1)
    assert [e.triple.relation for e in both.evidence] == ["xReact", "HinderedBy"]
    assert limited.evidence == both.evidence[:1]


def test_every_scorer_is_an_option():
    (option,) = [setting for setting in commonsense.options if setting.name == "scorer"]
    assert all(find_scorer(str(name)) for name in option.choices)


def test_knowledge_that_generates_tails_may_judge_by_itself():
    class Likely(Everything):
        def likelihoods(self, triples):
            return [Likelihood(math.log(0.25), 0.0) for _ in triples]

    reply = response("I missed the bus, I feel awful.")
    (score,) = judge([reply], knowledge=Likely(), scorer="likelihood")
    assert score.value == pytest.approx(0.25)
    with pytest.raises(InputError, match="stores them"):
        judge([reply], scorer="likelihood")
