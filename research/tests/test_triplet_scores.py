from __future__ import annotations

import pytest

from grice.errors import InputError
from grice_research.triplets.scores import (
    average_precision,
    score_entailment,
    score_labels,
    score_span,
    score_spans,
)


def test_span_cases_are_the_recorded_ones(golden):
    recorded = golden("cider_metric_cases")
    for case in recorded["cases"]:
        found = score_span(case["gold"], case["pred"])
        assert found.bucket == case["bucket"], case
        assert found.f1 == pytest.approx(case["cider_f1"], abs=1e-6), case
        assert found.squad_em == case["squad_em"], case
        assert found.squad_f1 == pytest.approx(case["squad_f1"], abs=1e-6), case
    whole = score_spans(
        [[case["gold"]] for case in recorded["cases"]], [case["pred"] for case in recorded["cases"]]
    )
    wanted = recorded["aggregate"]
    found = [100 * one for one in whole[:5]]
    names = ("EM", "NM", "cider_F1", "squad_EM", "squad_F1")
    assert found == pytest.approx([wanted[name] for name in names], abs=1e-4)


def test_the_best_valid_tail_counts():
    found = score_spans([["the bus", "late"], ["late"]], ["late", "early"])
    assert (found.em, found.nm, found.f1, found.n) == (0.5, 0.5, 0.5, 2)


@pytest.mark.parametrize(("positives", "negatives", "fold"), [(882, 7185, "1"), (871, 6947, "5")])
def test_saying_no_to_everything_scores_as_recorded(golden, positives, negatives, fold):
    gold = [True] * positives + [False] * negatives
    found = score_entailment(gold, [False] * len(gold))
    recorded = golden("cider_baselines")["nli_paper_counts"]
    assert [100 * found.macro_f1, 100 * found.weighted_f1] == pytest.approx(
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
        said = [i < fold["tp"] for i in range(positives)]
        said += [i < fold["fp"] for i in range(negatives)]
        found = score_entailment(gold, said)
        assert 100 * found.macro_f1 == pytest.approx(fold["macro"], abs=1e-5)
        assert 100 * found.weighted_f1 == pytest.approx(fold["weighted"], abs=1e-5)


def test_average_precision_does_not_depend_on_the_order_of_equal_scores():
    scores = [0.9, 0.5, 0.5, 0.5, 0.1]
    found = {
        average_precision(gold, scores)
        for gold in (
            [True, True, False, False, True],
            [True, False, True, False, True],
            [True, False, False, True, True],
        )
    }
    assert len(found) == 1
    assert average_precision([False, False], [1, 2]) == 0


def test_labels_that_occur_nowhere_do_not_count():
    found = score_labels(["a", "a", "b"], ["a", "b", "b"])
    assert found.accuracy == pytest.approx(2 / 3)
    assert found.macro_f1 == pytest.approx(2 / 3)
    assert found.macro_precision == pytest.approx(0.75)
    assert found.macro_recall == pytest.approx(0.75)


def test_unequal_lengths_are_refused():
    with pytest.raises(InputError, match="2 gold and 1 predicted"):
        score_labels(["a", "b"], ["a"])
    with pytest.raises(InputError, match="without a right answer"):
        score_spans([[]], ["late"])
