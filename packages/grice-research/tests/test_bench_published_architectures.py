"""The bench of published architectures reads what recipes left."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from grice_research.benches import published_architectures
from grice_research.context import Skipped


def _context(folder):
    return SimpleNamespace(weights=lambda recipe: folder / recipe)


def test_the_seed_in_the_middle_stands_beside_the_printed_figure(tmp_path):
    (tmp_path / "ruber").mkdir()
    with (tmp_path / "ruber/grid_research.jsonl").open("w") as log:
        for seed, value in enumerate((0.5, 0.1, 0.3)):
            figure = {"value": value, "low": value - 0.1, "high": value + 0.1, "n": 300}
            record = {"cell": "contextual, max, cross-entropy", "seed": seed, "pairs": 8000}
            record |= {"epochs": 12, "pearson": figure, "spearman": figure}
            log.write(json.dumps(record) + "\n")
    rows = list(published_architectures.measure(_context(tmp_path)))
    pearson, spearman = [row for row in rows if row.kind == "ours"]
    assert (pearson.estimate.value, pearson.published) == (0.3, 0.55)
    assert (spearman.estimate.low, spearman.published) == (pytest.approx(0.2), 0.45)
    assert "three seeds: 0.100, 0.300, 0.500" in pearson.why


def _lines(path, rows):
    path.parent.mkdir(parents=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_trained_systems_stand_with_what_differs_and_their_floors(tmp_path):
    figure = {"value": 0.31, "low": 0.27, "high": 0.35, "n": 882}
    about = {"system": "cider relations alone", "seed": 0, "examples": 3154, "epochs": 20}
    about |= {"changes": ["learning_rate=5e-5"], "differs": ""}
    floor = {"system": "cider relations alone", "floor": "always Causes", "measure": "accuracy"}
    rows = [about | {"measure": "accuracy"} | figure, floor | figure]
    _lines(tmp_path / "published/figures.jsonl", rows)
    ours, beside = published_architectures.measure(_context(tmp_path))
    assert (ours.kind, ours.estimate.value, ours.published) == ("ours", 0.31, 0.3946)
    for words in ("3,154 examples", "20 epochs", "learning_rate 5e-5", "one seed"):
        assert words in ours.why
    assert (beside.kind, beside.row) == ("baseline", "cider relations alone: always Causes")


def test_a_system_that_writes_names_the_decoder_it_was_trained_on(tmp_path):
    figure = {"value": 0.3, "low": 0.2, "high": 0.4, "n": 40, "examples": 330, "epochs": 1}
    row = {"system": "accent extractor", "seed": 0, "changes": [], "differs": "greedy"} | figure
    _lines(tmp_path / "published/figures.jsonl", [row | {"measure": "f1"}])
    (ours,) = published_architectures.measure(_context(tmp_path))
    assert ours.published == 0.4
    assert "a decoder alone" in ours.why


def test_a_measure_on_a_set_names_the_set_in_the_row(tmp_path):
    figure = {"value": 0.2, "low": 0.0, "high": 0.4, "n": 125, "examples": 800, "epochs": 3}
    row = {"system": "deam", "seed": 0, "changes": [], "differs": "on the words"} | figure
    row["measure"] = "spearman, fed_dialogue:coherent"
    _lines(tmp_path / "published/figures.jsonl", [row])
    (ours,) = published_architectures.measure(_context(tmp_path))
    assert (ours.row, ours.measure) == ("deam, fed_dialogue:coherent, trained here", "spearman")


def test_two_systems_on_one_set_have_its_floors_in_common(tmp_path):
    figure = {"value": 0.2, "low": 0.0, "high": 0.4, "n": 125, "examples": 800, "epochs": 3}
    figure["measure"] = "spearman, fed_dialogue:coherent"
    rows = []
    for name in ("deam", "deam amr"):
        rows.append({"system": name, "seed": 0, "changes": [], "differs": ""} | figure)
        rows.append({"system": name, "floor": "turn_count"} | figure)
    _lines(tmp_path / "published/figures.jsonl", rows)
    given = list(published_architectures.measure(_context(tmp_path)))
    assert [row.row for row in given] == [
        "deam, fed_dialogue:coherent, trained here",
        "fed_dialogue:coherent: turn_count",
        "deam amr, fed_dialogue:coherent, trained here",
    ]


def test_floors_of_engagement_are_rows_of_their_own(tmp_path):
    figure = {"value": 0.73, "low": 0.66, "high": 0.79, "n": 300}
    rows = [
        {"on": "human replies", "seed": 0} | figure,
        {"on": "human replies", "floor": "log characters"} | figure,
    ]
    _lines(tmp_path / "engagement/published.jsonl", rows)
    ours, floor = published_architectures.measure(_context(tmp_path))
    assert (ours.published, ours.measure) == (0.52, "spearman")
    assert (floor.kind, floor.row) == ("baseline", "engagement human replies: log characters")


def test_nothing_is_measured_where_no_recipe_ran(tmp_path):
    with pytest.raises(Skipped, match="no figures of the recipes"):
        next(published_architectures.measure(_context(tmp_path)))
