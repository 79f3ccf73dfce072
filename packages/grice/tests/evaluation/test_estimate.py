"""Few labels and a metric on everything: an unbiased mean, a tighter interval, an honest saving."""

from __future__ import annotations

import json

import numpy as np
import pytest
from score_files import line, rows_of, write

from grice.cli import main
from grice.errors import InputError
from grice.evaluation.ratings import estimate
from grice.stats import mean


def world(n=400, *, noise=0.5, seed=0, replies=1):
    """Ratings and a metric for n conversations; the metric is biased, which must not matter."""
    rng = np.random.default_rng(seed)
    quality = rng.normal(3, 1, n)
    ratings = quality + rng.normal(0, noise, n)
    scores = [
        [float(np.clip(q / 4 + 0.3 + rng.normal(0, 0.05), 0, 2)) for _ in range(replies)]
        for q in quality
    ]
    return ratings, scores


def files(tmp_path, ratings, scores, labelled):
    labels = [{"conversation": f"c{c}", "turn": 0, "rating": float(ratings[c])} for c in labelled]
    rows = [line(f"c{c}", t, v) for c, values in enumerate(scores) for t, v in enumerate(values)]
    return write(tmp_path / "labels.jsonl", labels), write(tmp_path / "out.jsonl", rows)


def test_a_good_metric_saves_labels_and_the_bias_of_the_metric_does_not_matter(tmp_path):
    ratings, scores = world()
    labels, out = files(tmp_path, ratings, scores, range(50))
    result = estimate(labels, out)
    [metric] = result.metrics
    assert (result.labelled, result.unlabelled) == (50, 350)
    assert metric.labels_saved > 50
    assert metric.mean.high - metric.mean.low < 0.7 * (
        result.labels_only.high - result.labels_only.low
    )
    assert metric.mean.low <= ratings.mean() <= metric.mean.high
    assert result.labels_only.value == pytest.approx(mean(ratings[:50]).value)
    assert "is worth" in metric.says[0]


def test_intervals_hold_the_mean_of_all(tmp_path):
    """95 % intervals of 40 random labels of 200."""
    inside, runs = 0, 80
    for seed in range(runs):
        ratings, scores = world(200, noise=0.8, seed=seed)
        drawn = [int(c) for c in np.random.default_rng(seed).permutation(200)[:40]]
        [metric] = estimate(*files(tmp_path, ratings, scores, drawn)).metrics
        inside += metric.mean.low <= 3 <= metric.mean.high
    assert inside / runs >= 0.9


def test_labels_that_are_no_random_sample_are_named(tmp_path):
    ratings, scores = world(100)
    lowest = [int(c) for c in np.argsort([value for [value] in scores])[:20]]
    [metric] = estimate(*files(tmp_path, ratings, scores, lowest)).metrics
    assert "hardly a random sample" in " ".join(metric.says)


def test_replies_of_one_conversation_count_as_one_cluster(tmp_path):
    ratings, scores = world(60, replies=3)
    labels = [
        {"conversation": f"c{c}", "turn": t, "rating": float(ratings[c])}
        for c in range(20)
        for t in range(3)
    ]
    _, out = files(tmp_path, ratings, scores, [])
    result = estimate(write(tmp_path / "l", labels), out)
    assert result.labels_only.groups == 20
    assert result.labels_only.n == 60
    assert result.metrics[0].mean.groups == 20


def test_a_scale_is_assumed_only_where_all_ratings_lie_from_0_to_1(tmp_path):
    ratings, scores = world()
    labels, out = files(tmp_path, ratings, scores, range(50))
    assert not estimate(labels, out).remarks
    with pytest.raises(InputError, match="lies beyond"):
        estimate(labels, out, scale=(0, 2))


def test_failed_and_abstained_items_still_count(tmp_path):
    ratings, scores = world(100)
    labels, out = files(tmp_path, ratings, scores, range(30))
    rows = rows_of(out)
    rows[0] = line("c0", 0, None, status="failed")
    rows[1] = line("c1", 0, 0.5, status="abstained")
    result = estimate(labels, write(tmp_path / "o", rows))
    assert (result.labelled, result.unlabelled) == (30, 70)
    assert result.metrics[0].mean.n == 30
    assert any("1 item on which relevance failed" in says for says in result.metrics[0].says)


@pytest.mark.parametrize(
    ("labelled", "message"),
    [(range(9), "9 items are rated"), (range(60), "every item of .* is rated")],
)
def test_too_few_or_too_many_labels_are_refused(tmp_path, labelled, message):
    ratings, scores = world(60)
    with pytest.raises(InputError, match=message):
        estimate(*files(tmp_path, ratings, scores, labelled))


def test_the_command_prints_both_means(tmp_path, capsys):
    ratings, scores = world(100)
    labels, out = files(tmp_path, ratings, scores, range(30))
    assert main(["estimate", labels, out]) == 0
    shown = capsys.readouterr().out
    assert "labels alone" in shown
    assert "with relevance" in shown
    assert main(["estimate", labels, out, "--scale", "9", "12"]) == 2
    assert "beyond" in capsys.readouterr().err
    assert main(["estimate", labels, out, "--json"]) == 0
    result = json.loads(capsys.readouterr().out, parse_constant=lambda word: pytest.fail(word))
    assert (result["labelled"], result["unlabelled"]) == (30, 70)
