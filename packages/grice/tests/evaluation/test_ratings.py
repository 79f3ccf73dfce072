"""A few ratings: the mean of everything that was scored, and maps to the human scale."""

import json
import re

import numpy as np
import pytest
from score_files import line, rows_of, write

from grice.cli import main
from grice.errors import InputError, RecordError
from grice.evaluation.ratings import apply, calibrate, estimate, read_calibration
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
    assert not result.remarks, "no scale is assumed, for not all ratings lie from 0 to 1"
    [remark] = estimate(*files(tmp_path, ratings, scores, range(49))).remarks
    assert "fewer than 50 rated conversations may lack rare high or low ratings" in remark
    labels, out = files(tmp_path, ratings, scores, range(49))
    assert not estimate(labels, out, scale=(-5, 11)).remarks
    assert metric.labels_saved > 50
    widths = [each.high - each.low for each in (metric.mean, result.labels_only)]
    assert widths[0] < 0.7 * widths[1]
    assert metric.mean.low <= ratings.mean() <= metric.mean.high
    assert result.labels_only.value == pytest.approx(mean(ratings[:50]).value)
    assert "is worth" in metric.says[0]


def test_labels_that_are_no_random_sample_are_named(tmp_path):
    ratings, scores = world(100)
    lowest = [int(c) for c in np.argsort([value for [value] in scores])[:20]]
    [metric] = estimate(*files(tmp_path, ratings, scores, lowest)).metrics
    assert "probably not a random sample" in " ".join(metric.says)


def test_replies_of_one_conversation_count_as_one_cluster(tmp_path):
    ratings, scores = world(60, replies=3)
    labels, out = files(tmp_path, ratings, scores, range(20))
    rows = [{**row, "turn": turn} for row in rows_of(labels) for turn in range(3)]
    result = estimate(write(tmp_path / "l", rows), out)
    assert (result.labels_only.groups, result.labels_only.n) == (20, 60)
    assert result.metrics[0].mean.groups == 20


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


def test_estimate_prints_both_means(tmp_path, capsys):
    ratings, scores = world(100)
    labels, out = files(tmp_path, ratings, scores, range(30))
    assert main(["estimate", labels, out]) == 0
    shown = capsys.readouterr().out
    assert "labels alone" in shown
    assert "with relevance" in shown
    assert main(["estimate", labels, out, "--scale", "9", "12"]) == 2
    assert "9 to 12" in capsys.readouterr().err
    for labelled, problem in ((range(9), "9 items are rated"), (range(100), "every item")):
        with pytest.raises(InputError, match=problem):
            estimate(*files(tmp_path, ratings, scores, labelled))
    [metric] = estimate(*files(tmp_path, ratings[::-1], scores, range(10))).metrics
    assert "saves no labels" in metric.says[0]
    labels, out = files(tmp_path, ratings, scores, range(30))
    assert main(["estimate", labels, out, "--json"]) == 0
    result = json.loads(capsys.readouterr().out, parse_constant=lambda word: pytest.fail(word))
    assert (result["labelled"], result["unlabelled"]) == (30, 70)


def rated(tmp_path, n=80, *, seed=0, names=("relevance", "commonsense")):
    """Files of labels and scores: the rating follows the first metric."""
    rng = np.random.default_rng(seed)
    labels, scores = [], []
    for c in range(n):
        values = rng.random(2)
        rating = float(np.clip(np.round(1 + 4 * (values[0] + rng.normal(0, 0.15))), 1, 5))
        labels.append({"conversation": f"c{c}", "turn": 1, "rating": rating})
        scores += [line(f"c{c}", 1, float(v), m) for v, m in zip(values, names, strict=True)]
    return write(tmp_path / "labels.jsonl", labels), write(tmp_path / "out.jsonl", scores)


def test_a_map_rises_and_a_band_is_narrower_than_the_scale(tmp_path):
    relevance, commonsense = calibrate(*rated(tmp_path), scale=(1, 5)).maps
    assert (relevance.metric, commonsense.metric) == ("relevance", "commonsense")
    assert list(relevance.map.ratings) == sorted(relevance.map.ratings)
    assert relevance.map.ratings[-1] - relevance.map.ratings[0] > 2
    assert 0 < relevance.map.radius < 2
    assert relevance.correlation.low > 0.7
    assert relevance.n == 80


def test_whole_conversations_take_the_mean_of_their_replies(tmp_path):
    labels = [{"conversation": f"c{c}", "rating": 1 + c % 5} for c in range(30)]
    scores = [line("c0", 5, 0.5, status="abstained")] + [
        line(f"c{c}", t, 0.1 * (c % 5) + s) for c in range(30) for t, s in ((1, 0.1), (3, 0.3))
    ]
    files = [write(tmp_path / "l", labels), write(tmp_path / "s", scores)]
    calibration = calibrate(*files, scale=(1, 5))
    assert calibration.unit == "conversation"
    given = {predicted.conversation: predicted for predicted in apply(calibration, files[1])}
    assert given["c0"].score == pytest.approx(0.2)
    assert given["c0"].turn is None
    assert given["c3"].value == pytest.approx(4, abs=0.01)


def test_what_was_not_judged_gets_no_rating(tmp_path):
    calibration = calibrate(*rated(tmp_path, 40), metrics=["relevance"], scale=(1, 5))
    rows = [line("x", 1, 0.5, status="abstained"), line("y", 1, None, status="failed")]
    predictions = list(apply(calibration, write(tmp_path / "new", rows)))
    given = [(predicted.status, predicted.value, predicted.low) for predicted in predictions]
    assert given == [("abstained", None, None), ("failed", None, None)]


def test_several_ratings_of_one_item_are_averaged_and_missing_ones_counted(tmp_path):
    labels, scores = rated(tmp_path, 40)
    rows = rows_of(labels)
    rows[3]["rating"] = None
    rows += [{**rows[0], "rating": rows[0]["rating"] + 1}]
    calibration = calibrate(write(tmp_path / "l2", rows), scores, metrics=["relevance"])
    assert calibration.maps[0].n == 39
    assert any("1 item of" in says and "without a rating" in says for says in calibration.says)
    assert any("the scale is taken to be" in says for says in calibration.says)


@pytest.mark.parametrize(("change", "message"), [
    (lambda rows: rows[:9], "9 items are rated; at least 10"),
    (lambda rows: [{**row, "rating": 3} for row in rows], "every rating is 3"),
    ({"conversation": "zzz"}, r"l:41: conversation: there is no score of conversation 'zzz'; sc"),
    ({"conversation": "c999"}, r"conversation 'c999'; did you mean 'c9'\?; score the conv"),
    ({"turn": 7}, r"l:41: turn: .*no score of conversation 'c0', turn 7; turns are "
     "counted from 0, and it holds only turns that were judged$"),
    ({"turn": None}, r"l:41: turn: line 1 rates a turn, this one a conversation"),
    ({"turn": -1}, r"l:41: turn: expected the number of a turn, counted from 0"),
    ({"rating": "good"}, r"l:41: rating: expected a number, found 'good'"),
    ({"rating": ...}, r"l:41: .*found conversation, turn; supported: "),
])  # fmt: skip
def test_labels_that_cannot_be_used_are_named(tmp_path, change, message):
    labels, scores = rated(tmp_path, 40)
    rows = rows_of(labels)
    if isinstance(change, dict):
        odd = {**rows[0], **change}
        rows.append({field: value for field, value in odd.items() if value is not ...})
    else:
        rows = change(rows)
    with pytest.raises((InputError, RecordError), match=message):
        calibrate(write(tmp_path / "l", rows), scores)


def test_a_metric_of_conversations_is_left_out_where_turns_were_rated(tmp_path):
    labels, scores = rated(tmp_path, 40)
    rows = [*rows_of(scores), line("c0", None, 4.0, "turn_count")]
    calibration = calibrate(labels, write(tmp_path / "s", rows), scale=(1, 5))
    assert {fitted_map.metric for fitted_map in calibration.maps} == {"relevance", "commonsense"}
    assert any(says.startswith("turn_count scores whole") for says in calibration.says)
    with pytest.raises(InputError, match="no metric scores single turns"):
        calibrate(labels, str(tmp_path / "s"), metrics=["turn_count"])


def test_calibrate_fits_a_file_and_applies_it(tmp_path, capsys):
    labels, scores = rated(tmp_path, 40)
    file, out = str(tmp_path / "map.json"), tmp_path / "rated.jsonl"
    assert main(["calibrate", labels, scores, "-o", file, "--scale", "1", "5"]) == 0
    assert "90% band" in capsys.readouterr().out
    assert read_calibration(file) == calibrate(labels, scores, scale=(1, 5))
    assert main(["calibrate", "--apply", file, scores, "-o", str(out)]) == 0
    rows = [json.loads(row) for row in out.read_text().splitlines()]
    assert len(rows) == 80
    assert all(1 <= row["low"] <= row["value"] <= row["high"] <= 5 for row in rows)
    assert re.fullmatch(r"relevance:1\|human:[0-9a-f]{8}", rows[0]["signature"])


def test_a_map_is_for_the_scores_it_was_made_of(tmp_path, capsys):
    labels, scores = rated(tmp_path, 40)
    file = str(tmp_path / "map.json")
    main(["calibrate", labels, scores, "-o", file, "-m", "relevance"])
    other = write(tmp_path / "o", [line("c", 1, 0.4, signature="relevance:2")])
    capsys.readouterr()
    assert main(["calibrate", "--apply", file, other]) == 2
    assert "computed with other settings" in capsys.readouterr().err
    assert main(["calibrate", "--apply", file, other, "--across-signatures"]) == 0
    lone = write(tmp_path / "p", [line("c", 1, 0.4, "coherence")])
    assert main(["calibrate", "--apply", file, lone]) == 2
    assert main(["calibrate", "--apply", scores, scores]) == 2
    assert "not a map of grice calibrate" in capsys.readouterr().err
    assert main(["calibrate", scores]) == 2
    assert "give two files" in capsys.readouterr().err
