"""Every metric keeps the rules, and the check notices one that does not."""

import itertools
import sys
from pathlib import Path

import pytest

from grice.data import Judgement, Span, Triple, TripleEvidence, TurnEvidence
from grice.metrics import Example, metric
from grice.metrics.declaration import find_metrics
from grice.metrics.judges import JUDGES
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


def broken(judge):
    example = Example(["a", "b"], 0.0, 1.0)
    about = {"version": "1", "summary": "Broken on purpose.", "judges": "response"}
    return metric("broken", **about, source="none", example=example)(judge)


def each(*fields, **more):
    """Return a judge that gives every response the same judgement."""
    return lambda responses: [Judgement(*fields, **more) for _ in responses]


def abstaining(value, *reason):
    """Return a judge that abstains where nothing was said before."""
    return lambda responses: [
        Judgement(0.5) if r.history else Judgement(value, "abstained", *reason) for r in responses
    ]


TICKS = itertools.count()
TRIPLE = Triple("a", "xWant", "b", Span(0, 0, 10**6), Span(0, 0, 1))


@pytest.mark.parametrize(("judge", "rule"), [
    (lambda responses: [Judgement(0.5) for _ in responses[1:]], "judgements for 1 item"),
    (each(2.0), "value 2.0 outside 0 to 1"), (each(float("nan")), "value nan outside 0 to 1"),
    (abstaining(0.5), "abstained without a reason"), (abstaining(0.1, "x"), "abstained with 0.1"),
    (lambda responses: [Judgement(1 / len(responses)) for _ in responses],
     "another score alone than in a batch"),
    (lambda responses: [Judgement(next(TICKS) / 1000) for _ in responses], "another score"),
    (each(0.5, evidence=(TripleEvidence(TRIPLE, 0.5),)), "outside its text"),
    (each(0.5, evidence=(TurnEvidence(99, 0.1),)), "no turn 99"),
])  # fmt: skip
def test_a_broken_rule_is_named(judge, rule):
    with pytest.raises(AssertionError, match=rule):
        check_metric(broken(judge))
