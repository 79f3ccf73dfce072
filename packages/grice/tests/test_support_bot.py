"""The log of a support bot in ``examples/``: its key, and what its page says of it."""

from __future__ import annotations

import csv
import importlib.util
import re
import sys
from pathlib import Path

import pytest

from grice.readers import read
from grice.scoring.loaded import responses

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def tool():
    """The script that writes the page."""
    sys.path.insert(0, str(ROOT / "docs"))
    try:
        spec = importlib.util.spec_from_file_location("support_bot", ROOT / "docs/support_bot.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(ROOT / "docs"))
    return module


@pytest.fixture(scope="module")
def key():
    with (ROOT / "examples/support-bot-flaws.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_key_names_replies_of_the_log(key):
    talks = list(read(str(ROOT / "examples/support-bot.jsonl")))
    replies = {(talk.id, reply.turn) for talk in talks for reply in responses(talk)}
    assert 12 <= len(talks) <= 20
    assert {(row["conversation"], int(row["turn"])) for row in key} <= replies
    assert {row["flaw"] for row in key} == {
        "irrelevant", "repeated", "contradiction", "empty", "ignored request", "wrong language",
        "nonsense", "rude"}  # fmt: skip
    assert len({talk.id for talk in talks} - {row["conversation"] for row in key}) >= 3


@pytest.mark.docs
@pytest.mark.parametrize("column", ["default", "small"])
def test_the_page_says_how_many_are_found_now(tool, key, column):
    page = (ROOT / "docs/support-bot.md").read_text("utf-8")
    assert all(f"{row['conversation']} #{row['turn']}" in page for row in key)
    place = list(tool.RUNS).index(column)
    items = tool.order(tool.RUNS[column])
    flaws = {(row["conversation"], int(row["turn"])) for row in key}
    for first in (len(key), 20):
        (row,) = re.findall(rf"\| \*\*among the first {first}\*\* \| \|(.*)\|", page)
        stated = int(row.split("|")[place].split()[0])
        hits = sum((item.conversation, item.turn) in flaws for item in items[:first])
        # On another processor two replies of nearly one probability may change places.
        assert abs(hits - stated) <= 1
