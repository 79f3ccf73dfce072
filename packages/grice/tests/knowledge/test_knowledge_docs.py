from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).parents[4] / "docs"
PAGE = DOCS / "knowledge.md"


def test_the_snippet_of_the_page_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (block,) = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    exec(compile(block, PAGE.name, "exec"), {})
    assert capsys.readouterr().out == "to water it\n"
