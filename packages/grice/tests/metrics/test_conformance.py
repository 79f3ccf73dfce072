"""Every metric keeps the rules, and the check notices one that does not."""

import itertools
import sys
from pathlib import Path

import pytest

from grice.data import Judgement, Span, Triple, TripleEvidence, TurnEvidence
from grice.metrics import Example, metric
from grice.metrics.judges import JUDGES
from grice.metrics.registry import find_metrics
from grice.testing import check_metric

PLUGIN = Path(__file__).parents[1] / "plugin_package"


FETCHED = ("likelihood",)
"""Metrics of models that do not ship."""


TRAINED = ("accent",)
"""Metrics of models that nobody ships: the tests of training score with tiny ones."""


@pytest.mark.parametrize(
    "name", sorted(find_metrics().metrics.keys() - {*FETCHED, *TRAINED, *JUDGES})
)
def test_built_in_metrics_keep_the_rules(name):
    check_metric(find_metrics().named(name))


@pytest.mark.parametrize("name", FETCHED)
def test_metrics_of_fetched_models_keep_the_rules(name, fetched_models):
    check_metric(find_metrics().named(name))


def test_a_foreign_metric_keeps_the_rules(monkeypatch):
    monkeypatch.syspath_prepend(str(PLUGIN))
    check_metric(find_metrics().named("calm"), {"weight": 0.9})
    sys.modules.pop("grice_shouting", None)


def broken(judge, **declaration):
    return metric(
        "broken",
        version="1",
        summary="Broken on purpose.",
        judges="response",
        source="none",
        example=Example(["a", "b"], 0.0, 1.0),
        **declaration,
    )(judge)


def forgetful(responses):
    return [Judgement(0.5) for _ in responses[1:]]


def too_large(responses):
    return [Judgement(2.0) for _ in responses]


def not_a_number(responses):
    return [Judgement(float("nan")) for _ in responses]


def silent_abstention(responses):
    return [Judgement(0.5, "abstained") if not r.history else Judgement(0.5) for r in responses]


def wrong_neutral(responses):
    return [
        Judgement(0.1, "abstained", "x") if not r.history else Judgement(0.5) for r in responses
    ]


def batch_dependent(responses):
    return [Judgement(1 / len(responses)) for _ in responses]


def wrong_span(responses):
    triple = Triple("a", "xWant", "b", Span(0, 0, 10**6), Span(0, 0, 1))
    return [Judgement(0.5, evidence=(TripleEvidence(triple, 0.5),)) for _ in responses]


def wrong_turn(responses):
    return [Judgement(0.5, evidence=(TurnEvidence(99, 0.1),)) for _ in responses]


@pytest.mark.parametrize(("judge", "rule"), [
    (forgetful, "judgements for 1 item"),
    (too_large, "value 2.0 outside 0 to 1"),
    (not_a_number, "value nan outside 0 to 1"),
    (silent_abstention, "abstained without a reason"),
    (wrong_neutral, "abstained with 0.1"),
    (batch_dependent, "another score alone than in a batch"),
    (wrong_span, "outside its text"),
    (wrong_turn, "no turn 99"),
])  # fmt: skip
def test_a_broken_rule_is_named(judge, rule):
    with pytest.raises(AssertionError, match=rule):
        check_metric(broken(judge))


def test_chance_is_noticed():
    ticks = itertools.count()

    def ticking(responses):
        return [Judgement(next(ticks) / 1000) for _ in responses]

    with pytest.raises(AssertionError, match="another score"):
        check_metric(broken(ticking))
