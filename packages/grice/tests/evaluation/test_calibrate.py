"""Maps to the human scale: bands that hold, a blend only where it pays, mistakes that are named."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from score_files import line, rows_of, write

from grice.cli import main
from grice.errors import InputError, RecordError
from grice.evaluation.calibrate import apply, calibrate, fit_blend, read_calibration
from grice.stats.inference import fit_human_scale


def rated(tmp_path, n=80, *, seed=0, second=0.0, level="turn", names=("relevance", "commonsense")):
    """Files of labels and scores: the rating follows the first metric, and the second somewhat."""
    rng = np.random.default_rng(seed)
    labels, scores = [], []
    for c in range(n):
        values = rng.random(2)
        quality = values[0] + second * values[1] + rng.normal(0, 0.15)
        rating = float(np.clip(np.round(1 + 4 * quality / (1 + second)), 1, 5))
        turn = 1 if level == "turn" else None
        labels.append({"conversation": f"c{c}", "rating": rating})
        if turn is not None:
            labels[-1]["turn"] = turn
        scores += [line(f"c{c}", 1, float(v), m) for v, m in zip(values, names, strict=True)]
    return write(tmp_path / "labels.jsonl", labels), write(tmp_path / "out.jsonl", scores)


def test_a_map_rises_and_a_band_is_narrower_than_the_scale(tmp_path):
    calibration = calibrate(*rated(tmp_path), scale=(1, 5))
    relevance, commonsense = calibration.maps
    assert (relevance.metric, commonsense.metric) == ("relevance", "commonsense")
    assert list(relevance.map.ratings) == sorted(relevance.map.ratings)
    assert relevance.map.ratings[-1] - relevance.map.ratings[0] > 2
    assert 0 < relevance.map.radius < 2
    assert relevance.correlation.low > 0.7
    assert relevance.n == 80


def test_bands_hold_ratings_of_new_items(tmp_path):
    """90 % bands, fitted and applied through files, 40 times."""
    inside = total = 0
    for seed in range(40):
        files = rated(tmp_path, 60, seed=seed)
        calibration = calibrate(*files, metrics=["relevance"], scale=(1, 5))
        labels, scores = rated(tmp_path, 60, seed=1000 + seed)
        truth = {r["conversation"]: r["rating"] for r in rows_of(labels)}
        for predicted in apply(calibration, scores):
            inside += predicted.low <= truth[predicted.conversation] <= predicted.high
            total += 1
    assert total == 40 * 60
    assert 0.88 <= inside / total <= 0.97


def test_a_blend_is_refused_where_the_second_metric_says_nothing(tmp_path):
    calibration = calibrate(*rated(tmp_path, 150), scale=(1, 5))
    assert calibration.blend is None
    [sentence] = [says for says in calibration.says if says.startswith("no blend")]
    assert "an interval that includes zero" in sentence
    assert "against relevance alone" in sentence


def test_a_blend_is_kept_where_it_pays_and_no_weight_is_negative(tmp_path):
    calibration = calibrate(*rated(tmp_path, 150, second=0.8), scale=(1, 5))
    assert calibration.blend.gain.low > 0
    assert set(calibration.blend.weights) == {"relevance", "commonsense"}
    assert all(weight > 0 for weight in calibration.blend.weights.values())
    scores = rated(tmp_path, 20, seed=5, second=0.8)[1]
    blended = [predicted for predicted in apply(calibration, scores) if predicted.metric == "blend"]
    assert len(blended) == 20
    assert all(predicted.low <= predicted.value <= predicted.high for predicted in blended)


def test_useless_metrics_seldom_get_a_blend():
    """Nothing is there: a gain above zero is claimed in few of 60 cases."""
    claimed = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        values, ratings = rng.random((60, 3)), rng.normal(3, 1, 60)
        blend = fit_blend(values, ratings, np.arange(60), seed=seed)
        assert (blend.linear.weights >= 0).all()
        claimed += blend.gain.low > 0
    assert claimed <= 4


def test_the_band_of_a_blend_holds_though_it_is_set_on_unseen_parts():
    """Cross-fitted sums stand in for those of the final blend: 90 % bands, 40 times."""
    inside = total = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        values = rng.random((160, 3))
        ratings = np.clip(2.5 * values[:, 0] + 2 * values[:, 1] + rng.normal(0, 0.4, 160), 0, 5)
        old = fit_blend(values[:60], ratings[:60], np.arange(60), seed=seed)
        human = fit_human_scale(old.out_of_fold, ratings[:60], scale=(0, 5), seed=seed)
        for value, rating in zip(old.linear.at(values[60:]), ratings[60:], strict=True):
            band = human.at(float(value))
            inside += band.low <= rating <= band.high
            total += 1
    assert 0.88 <= inside / total <= 0.96


def test_whole_conversations_take_the_mean_of_their_replies(tmp_path):
    labels = [{"conversation": f"c{c}", "rating": 1 + c % 5} for c in range(30)]
    scores = [
        line(f"c{c}", t, 0.1 * (c % 5) + s) for c in range(30) for t, s in ((1, 0.1), (3, 0.3))
    ] + [line("c0", 5, 0.5, status="abstained")]
    scores.sort(key=lambda row: row["conversation"])
    files = [write(tmp_path / "l", labels), write(tmp_path / "s", scores)]
    calibration = calibrate(*files, scale=(1, 5))
    assert calibration.unit == "conversation"
    given = {predicted.conversation: predicted for predicted in apply(calibration, files[1])}
    assert given["c0"].score == pytest.approx(0.2)
    assert given["c0"].turn is None
    assert given["c3"].value == pytest.approx(4, abs=0.01)


def test_what_was_not_judged_gets_no_rating(tmp_path):
    files = rated(tmp_path, 40)
    calibration = calibrate(*files, metrics=["relevance"], scale=(1, 5))
    rows = [line("x", 1, 0.5, status="abstained"), line("y", 1, None, status="failed")]
    predictions = list(apply(calibration, write(tmp_path / "new", rows)))
    assert [(predicted.status, predicted.value, predicted.low) for predicted in predictions] == [
        ("abstained", None, None),
        ("failed", None, None),
    ]


def test_several_ratings_of_one_item_are_averaged_and_missing_ones_counted(tmp_path):
    labels, scores = rated(tmp_path, 40)
    rows = rows_of(labels)
    rows[3]["rating"] = None
    rows += [{**rows[0], "rating": rows[0]["rating"] + 1}]
    calibration = calibrate(write(tmp_path / "l2", rows), scores, metrics=["relevance"])
    assert calibration.maps[0].n == 39
    assert any("1 item of" in says and "without a rating" in says for says in calibration.says)
    assert any("the scale is taken to be" in says for says in calibration.says)


def all_alike(rows):
    return [{**row, "rating": 3} for row in rows]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: rows[:9], "9 items are rated; at least 10"),
        (all_alike, "every rating is 3"),
        ({"conversation": "c999"}, r"l:41: conversation: there is no score"),
        ({"turn": 7}, r"l:41: turn: .*no score of conversation 'c0', turn 7"),
        ({"turn": None}, r"l:41: turn: line 1 rates a turn, this one a conversation"),
        ({"turn": -1}, r"l:41: turn: expected the number of a turn, counted from 0"),
        ({"rating": "good"}, r"l:41: rating: expected a number, found 'good'"),
        ({"rating": ...}, r"l:41: .*found conversation, turn; understood is"),
    ],
)
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


def test_the_command_fits_a_file_and_applies_it(tmp_path, capsys):
    labels, scores = rated(tmp_path, 40)
    file, out = str(tmp_path / "map.json"), tmp_path / "rated.jsonl"
    assert main(["calibrate", labels, scores, "-o", file, "--scale", "1", "5"]) == 0
    assert "no blend" in capsys.readouterr().out
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
    assert "computed otherwise" in capsys.readouterr().err
    assert main(["calibrate", "--apply", file, other, "--across-signatures"]) == 0
    lone = write(tmp_path / "p", [line("c", 1, 0.4, "coherence")])
    assert main(["calibrate", "--apply", file, lone]) == 2
    assert main(["calibrate", "--apply", scores, scores]) == 2
    assert "not a map of grice calibrate" in capsys.readouterr().err
    assert main(["calibrate", scores]) == 2
    assert "give two files" in capsys.readouterr().err
