"""The examples of ``docs/formats.md`` by format, and the records that they are read as."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "formats.md"
SECTIONS = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", PAGE.read_text(), re.M | re.S))
_EXAMPLE = re.compile(r"```text\n(.*?)```\n\nis read as\n\n```json\n(.*?)```", re.DOTALL)
_FOUND = {name: found for name, text in SECTIONS.items() if (found := _EXAMPLE.search(text))}
EXAMPLES = {name: found[1] for name, found in _FOUND.items()}
"""Formats that are no text have none: ``readers/test_arrow.py``."""
READ_AS = {name: found[2].splitlines() for name, found in _FOUND.items()}
