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
    assert "0.100, 0.300, 0.500" in pearson.why
    assert any(row.kind == "baseline" for row in rows)


def test_nothing_is_measured_where_no_recipe_ran(tmp_path):
    with pytest.raises(Skipped, match="no figures of the recipes"):
        next(published_architectures.measure(_context(tmp_path)))
