"""The notebooks of the documentation run from top to bottom, and say something."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.docs

DOCS = Path(__file__).parents[3] / "docs"
NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.py"))


@pytest.fixture(scope="module")
def executed():
    sys.path.insert(0, str(DOCS))
    try:
        yield importlib.import_module("notebook").executed
    finally:
        sys.path.remove(str(DOCS))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_without_a_display_and_shows_what_it_printed(path, executed, monkeypatch):
    monkeypatch.delenv("DISPLAY", raising=False)
    page = executed(path)
    assert page.startswith("# ")
    assert page.count("```python\n") >= 2
    assert page.count("prints") == page.count("```text") >= 2


def test_every_notebook_stands_on_the_first_page():
    page = (DOCS / "README.md").read_text("utf-8")
    assert NOTEBOOKS
    assert [path.stem for path in NOTEBOOKS if f"notebooks/{path.name}" not in page] == []
