from __future__ import annotations

import pytest

from grice.errors import InputError
from grice_research.triplets.cider import (
    average_precision,
    score_entailment,
    score_labels,
    score_span,
    score_spans,
)


def test_span_cases_are_the_recorded_ones(golden):
    recorded = golden("cider_metric_cases")
    for case in recorded["cases"]:
        score = score_span(case["gold"], case["pred"])
        assert score.bucket == case["bucket"], case
        assert score.f1 == pytest.approx(case["cider_f1"], abs=1e-6), case
        assert score.squad_em == case["squad_em"], case
        assert score.squad_f1 == pytest.approx(case["squad_f1"], abs=1e-6), case
    whole = score_spans(
        [[case["gold"]] for case in recorded["cases"]], [case["pred"] for case in recorded["cases"]]
    )
    wanted = recorded["aggregate"]
    score = [100 * figure for figure in whole[:5]]
    names = ("EM", "NM", "cider_F1", "squad_EM", "squad_F1")
    assert score == pytest.approx([wanted[name] for name in names], abs=1e-4)


def test_the_best_valid_tail_counts():
    scores = score_spans([["the bus", "late"], ["late"]], ["late", "early"])
    assert (scores.em, scores.nm, scores.f1, scores.n) == (0.5, 0.5, 0.5, 2)


@pytest.mark.parametrize(("positives", "negatives", "fold"), [(882, 7185, "1"), (871, 6947, "5")])
def test_saying_no_to_everything_scores_as_recorded(golden, positives, negatives, fold):
    gold = [True] * positives + [False] * negatives
    scores = score_entailment(gold, [False] * len(gold))
    recorded = golden("cider_baselines")["nli_paper_counts"]
    assert [100 * scores.macro_f1, 100 * scores.weighted_f1] == pytest.approx(
        recorded["all_negative"][fold], abs=1e-5
    )
    other = score_entailment(gold, [True] * len(gold))
    assert [100 * other.macro_f1, 100 * other.weighted_f1] == pytest.approx(
        recorded["all_positive"][fold], abs=1e-5
    )


def test_table_4_follows_from_its_counts(golden):
    for fold in golden("cider_baselines")["nli_table4_check"]["value"].values():
        positives, negatives = {
            684: (882, 7185), 688: (876, 6636), 681: (878, 6749), 687: (879, 6821), 631: (871, 6947)
        }[fold["tp"]]  # fmt: skip
        gold = [True] * positives + [False] * negatives
        predicted = [i < fold["tp"] for i in range(positives)]
        predicted += [i < fold["fp"] for i in range(negatives)]
        scores = score_entailment(gold, predicted)
        assert 100 * scores.macro_f1 == pytest.approx(fold["macro"], abs=1e-5)
        assert 100 * scores.weighted_f1 == pytest.approx(fold["weighted"], abs=1e-5)


def test_average_precision_does_not_depend_on_the_order_of_equal_scores():
    scores = [0.9, 0.5, 0.5, 0.5, 0.1]
    both_scores = {
        average_precision(gold, scores)
        for gold in (
            [True, True, False, False, True],
            [True, False, True, False, True],
            [True, False, False, True, True],
        )
    }
    assert len(both_scores) == 1
    assert average_precision([False, False], [1, 2]) == 0


def test_labels_that_occur_nowhere_do_not_count():
    scores = score_labels(["a", "a", "b"], ["a", "b", "b"])
    assert scores.accuracy == pytest.approx(2 / 3)
    assert scores.macro_f1 == pytest.approx(2 / 3)
    assert scores.macro_precision == pytest.approx(0.75)
    assert scores.macro_recall == pytest.approx(0.75)


def test_unequal_lengths_are_refused():
    with pytest.raises(InputError, match="2 gold and 1 predicted"):
        score_labels(["a", "b"], ["a"])
    with pytest.raises(InputError, match="without a right answer"):
        score_spans([[]], ["late"])
