"""The core names no other distribution and no task, not even as a string."""

from __future__ import annotations

import re
from pathlib import Path

import grice

NAMES = re.compile(
    r"\b(grice_tasks|grice_annotate|grice_research|cider|explagraphs|situatedgen|nado|steering)\b",
    re.IGNORECASE,
)
ALLOWED = {"data/commands.toml", "data/former.toml"}
"""Tables of data that say which package brings a command, and what replaces a former one."""
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


def test_a_name_is_found_in_code_comments_and_data(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "former.toml").write_text('graph = "use grice explagraphs"\n')
    (tmp_path / "data" / "sets.toml").write_text('[rated]\nfolder = "SituatedGen"\n')
    (tmp_path / "serve.py").write_text(
        "def load():\n    from grice_tasks.cider.find import Link\n\n    # as NADO does\n"
    )
    (tmp_path / "fine.py").write_text("STEERING_MARKS = 1  # decider, consider, tasks\n")
    assert list(named(tmp_path)) == [
        "data/sets.toml:2: SituatedGen",
        "serve.py:2: grice_tasks",
        "serve.py:2: cider",
        "serve.py:4: NADO",
    ]
