"""The core names no other distribution and no task, not even as a string."""

from __future__ import annotations

import re
from pathlib import Path

import grice

NAMES = re.compile(
    r"\b(grice_tasks|grice_annotate|grice_research|cider|explagraphs|situatedgen|nado|steering)\b",
    re.IGNORECASE,
)
ALLOWED = {"data/commands.toml"}
"""The table of data that says which package brings a command."""
TEXTS = {".py", ".toml", ".json", ".html", ".j2", ".js", ".css", ".md", ".tsv", ".txt"}


def named(folder):
    """Yield each place of a folder that names a distribution or a task: file, line and name."""
    for path in sorted(folder.rglob("*")):
        place = path.relative_to(folder).as_posix()
        if path.suffix in TEXTS and place not in ALLOWED:
            for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
                yield from (f"{place}:{number}: {found[0]}" for found in NAMES.finditer(line))


def test_the_core_names_no_other_distribution_and_no_task():
    assert list(named(Path(grice.__file__).parent)) == []
