from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[4] / "docs"


def module(name):
    spec = importlib.util.spec_from_file_location(f"docs_{name}", DOCS / f"{name}.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    return script


@pytest.mark.data
def test_the_page_on_perturbations_shows_what_they_do(data_folder):
    page = module("perturbations").page(data_folder)
    assert page == (DOCS / "perturbations.md").read_text("utf-8")


def test_the_heat_map_draws_the_recorded_figures():
    coherence = module("coherence")
    table = json.loads(coherence.FIGURES.read_text("utf-8"))
    assert coherence.drawing(table) == (DOCS / "coherence-cross.svg").read_text("utf-8")
