"""The page on knowledge shows what its commands print."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "knowledge.md"


def console():
    spec = importlib.util.spec_from_file_location("console", DOCS / "console.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_shows_what_its_commands_print(monkeypatch):
    # The rates over DECO are no test's business: they take a minute, and change with every model.
    monkeypatch.delenv("GRICE_DATA", raising=False)
    page, tool = PAGE.read_text("utf-8"), console()
    assert tool.without_numbers(tool.refreshed(page)) == tool.without_numbers(page), (
        "run: python docs/console.py docs/knowledge.md"
    )


def test_the_snippet_of_the_page_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (block,) = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    exec(compile(block, PAGE.name, "exec"), {})
    assert capsys.readouterr().out == "to water it\n"
