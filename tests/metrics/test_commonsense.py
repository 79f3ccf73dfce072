from __future__ import annotations

import re

import pytest

from grice.metrics.commonsense import EVENTS, commonsense
from grice.records import KnownTail, Response, TripleEvidence, Turn
from grice.runtime.protocols import TaggedSpan

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


class Judge:
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
    def best_known(self, triples, *, encoder):
        return [KNOWN for _ in triples]


def judge(responses, plausibility=None, **options):
    return commonsense.function(
        responses,
        tagger=Clauses(),
        plausibility=plausibility or Judge(),
        knowledge=Everything(),
        encoder=None,
        **options,
    )


def response(text, *history, speakers="ABABAB"):
    turns = tuple(Turn(speakers[i], said) for i, said in enumerate(history))
    return Response("c", len(turns), text, speakers[len(turns)], turns, tuple(range(len(turns))))


def test_triples_carry_the_places_they_were_said():
    said = response("I missed the bus, I feel awful.", "Why are you late?")
    (found,) = judge([said])
    texts = [*(turn.text for turn in said.history), said.text]
    (evidence,) = found.evidence
    assert isinstance(evidence, TripleEvidence)
    for span in (evidence.triple.head_span, evidence.triple.tail_span):
        assert texts[span.turn][span.start : span.end] in (
            "I missed the bus",
            "I feel awful",
            "Why are you late",
        )
    assert evidence.known == KNOWN
    assert found.value == evidence.plausibility


def test_a_pair_needs_an_event_of_the_reply():
    asked = Judge()
    judge([response("I sleep.", "We eat, we drink.")], asked)
    assert len(asked.pairs) == 4
    assert all("sleep" in head + tail for head, tail in asked.pairs)


def test_the_first_turn_is_judged_by_itself():
    (found,) = judge([response("I missed the bus, I feel awful.")])
    assert found.status == "ok"
    assert {e.triple.head_span.turn for e in found.evidence} == {0}


def test_one_event_alone_abstains_with_the_reason():
    (alone, silent) = judge([response("I sleep."), response("?!")])
    assert (alone.value, alone.status, alone.reason) == (
        0.5,
        "abstained",
        "no two events are related",
    )
    assert (silent.value, silent.status, silent.reason) == (0.5, "abstained", "no event was found")


def test_improbable_relations_are_not_believed():
    said = response("I missed the bus, I feel awful.")
    (found,) = judge([said], threshold=0.95)
    assert found.status == "abstained"


def test_history_says_how_many_turns_are_read():
    said = response("I sleep.", "We eat.", "I run.", speakers="ABA")
    one, two, none = Judge(), Judge(), Judge()
    judge([said], one, history=1)
    judge([said], two, history=2)
    judge([said], none, history=0)
    assert [len(asked.pairs) for asked in (one, two, none)] == [2, 4, 0]


def test_a_reaction_of_others_is_about_persony_and_ones_own_about_personx():
    said = response("I shout, you cry.")
    for relation, person in (("xReact", "PersonX"), ("oReact", "PersonY")):
        (found,) = judge([said], Judge(relation))
        assert all(e.triple.tail.startswith(person) for e in found.evidence)
    assert found.evidence


def test_each_relation_and_each_pair_of_events_is_read_once():
    (found,) = judge([response("I eat, I drink, I sing, I sleep.")])
    relations = [e.triple.relation for e in found.evidence]
    assert len(relations) == len(set(relations)) == 1


def test_very_many_events_are_cut_and_flagged():
    asked = Judge()
    text = ", ".join(f"I eat {fruit}" for fruit in "abcdefghijkl")
    (found,) = judge([response(text)], asked)
    assert "truncated" in found.flags
    assert len(asked.pairs) == EVENTS * (EVENTS - 1)


def test_an_empty_batch_gives_nothing():
    assert judge([]) == []


def test_the_mean_is_over_all_triples():
    class Two(Judge):
        def relations(self, pairs):
            return [{"xReact": 0.8, "oReact": 0.0, "HinderedBy": 0.7, "none": 0.1} for _ in pairs]

    (found,) = judge([response("I eat, I drink, I sing.")], Two())
    values = [e.plausibility for e in found.evidence]
    assert len(values) == 2
    assert found.value == pytest.approx(sum(values) / 2)
