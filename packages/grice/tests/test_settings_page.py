"""The page of settings names every variable that the code reads."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_every_variable_of_grice_is_on_the_page():
    page = (ROOT / "docs/settings.md").read_text("utf-8")
    sources = [*(ROOT / "packages").glob("*/src/**/*.py"), *(ROOT / "bench").rglob("*.py")]
    read = {
        name
        for source in sources
        for name in re.findall(r'"((?:GRICE|HF|UV)_[A-Z_]+)"', source.read_text("utf-8"))
    }
    assert {name for name in read if f"`{name}`" not in page} == set()
