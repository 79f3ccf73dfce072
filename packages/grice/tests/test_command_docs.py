"""Every command has a page, every tutorial is run, and what their words say holds."""

from __future__ import annotations

import doctest
import importlib
import json
import re
import shutil
import sys
from pathlib import Path

import pytest

from grice import cli
from grice.distributions import extras
from grice.models.cache import LIMIT

pytestmark = pytest.mark.docs

ROOT = Path(__file__).parents[3]
DOCS, EXAMPLES = ROOT / "docs", ROOT / "examples"
COMMANDS = sorted(name for names in cli.COMMANDS.values() for name in names)
TUTORIALS = sorted((DOCS / "tutorials").glob("*.md"))


def tool(name):
    """A module of docs/, which is no package."""
    sys.path.insert(0, str(DOCS))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(DOCS))


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_a_page_with_a_session(command):
    page = (DOCS / "commands" / f"{command}.md").read_text("utf-8")
    assert page.startswith(f"# grice {command}\n")
    sessions = re.findall(r"^```console\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    assert any(f"$ grice {command}" in session for session in sessions)
    assert f"({command}.md)" in (DOCS / "commands" / "README.md").read_text("utf-8")


def test_no_page_is_about_a_command_that_is_gone():
    pages = {path.stem for path in (DOCS / "commands").glob("*.md")} - {"README"}
    assert pages == {*COMMANDS, *extras()}


def test_options_stand_on_the_page_as_the_parser_has_them():
    pages = tool("command_pages")
    table = pages.options(pages.parser_of("gate"))
    assert "| `--min METRIC=VALUE` | fail if the mean may be below VALUE" in table
    assert "--debug" not in table
    actions = pages.options(pages.parser_of("models"))
    assert "### grice models get" in actions
    assert "| `--from FILE` |" in actions


def test_the_page_of_the_cache_has_its_limit_and_variables():
    page = (DOCS / "commands" / "doctor.md").read_text("utf-8")
    assert f"{LIMIT / 2**30:g} GiB" in page
    for name in ("GRICE_CACHE", "GRICE_MODELS", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        assert name in page


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda path: path.stem)
def test_python_of_tutorials_gives_what_it_shows(page, tmp_path, monkeypatch):
    shutil.copytree(EXAMPLES, tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    assert doctest.testfile(str(page), module_relative=False).failed == 0


def rows(name):
    return [json.loads(line) for line in (EXAMPLES / name).read_text("utf-8").splitlines()]


def test_the_example_of_the_tutorials_is_what_they_say():
    chats, ratings = rows("convai.jsonl"), rows("convai-ratings.jsonl")
    sample = rows("convai-50-ratings.jsonl")
    page = (DOCS / "tutorials" / "ratings-to-mean.md").read_text("utf-8")
    assert f"{len(chats)} chats" in page
    assert f"50 of the {len(ratings)} ratings" in page
    assert len(sample) == 50
    assert all(rating in ratings for rating in sample)
    assert f"{len(chats)} real chats" in (DOCS / "tutorials" / "log-to-gate.md").read_text("utf-8")


def test_every_reply_of_the_example_is_rated_and_every_third_is_replaced_in_the_next():
    ratings = {(row["conversation"], row["turn"]) for row in rows("convai-ratings.jsonl")}
    for chat, later in zip(rows("convai.jsonl"), rows("convai-next.jsonl"), strict=True):
        pairs = zip(chat["messages"], later["messages"], strict=True)
        replies = [(i, *pair) for i, pair in enumerate(pairs) if pair[0]["role"] == "assistant"]
        assert {(chat["id"], i) for i, *_ in replies} <= ratings
        replaced = [later["content"] for _, _, later in replies[2::3]]
        assert set(replaced) <= {"Sorry, I did not get that."}
        kept = [pair for number, pair in enumerate(replies) if number % 3 != 2]
        assert all(before == after for _, before, after in kept)


def test_the_mean_of_all_ratings_lies_in_the_intervals_of_the_tutorial():
    page = (DOCS / "tutorials" / "ratings-to-mean.md").read_text("utf-8")
    mean = float(re.search(r"^0\.\d{3}$", page, re.MULTILINE)[0])
    intervals = re.findall(
        r"^ (?:labels alone|with \S+) .*?(0\.\d+) – (0\.\d+)", page, re.MULTILINE
    )
    assert len(intervals) == 3
    assert all(float(low) <= mean <= float(high) for low, high in intervals)


@pytest.mark.parametrize("page", tool("console").written_pages(), ids=lambda path: path.name)
def test_links_lead_to_files(page):
    targets = re.findall(r"\]\((?!https?:)([^)#\s]+)[^)]*\)", page.read_text("utf-8"))
    assert [target for target in targets if not (page.parent / target).exists()] == []
