"""Every page: one file, and a policy by which a browser runs nothing that came with a text."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest

import grice
from grice.cli import main

BROWSER = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
EVIL = "</script><script>document.documentElement.className='owned'</script><b onclick=x>"


class Page(HTMLParser):
    """What of a page its policy is about."""

    def __init__(self, text):
        super().__init__()
        self.policy = {}
        self.sources = {"style": [], "script": []}
        self.inline = []
        self.loaded = []
        self._open = None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        if given.get("http-equiv") == "Content-Security-Policy":
            parts = (part.split() for part in given["content"].split(";"))
            self.policy = {name: values for name, *values in parts}
        if tag in self.sources:
            kind = given.get("type", "text/javascript")
            self._open = tag if kind == "text/javascript" else None
        self.inline += [name for name in given if name == "style" or name.startswith("on")]
        self.loaded += [name for name in given if name in {"src", "srcset", "href", "action"}
                        and not given[name].startswith("#")]  # fmt: skip

    def handle_data(self, data):
        if self._open:
            self.sources[self._open].append(data)

    def handle_endtag(self, tag):
        self._open = None


def source_hash(text):
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """What the pages are made of, hostile where a stranger may write."""
    folder = tmp_path_factory.mktemp("pages")
    turns = [
        "I missed the bus because I overslept.",
        "So you were late for work?",
        f"Yes, I was late. {EVIL}",
    ]
    talk = {"id": EVIL, "turns": [{"speaker": "AB"[i % 2], "text": t} for i, t in enumerate(turns)]}
    rated = {
        "id": EVIL, "context": talk["turns"][:2], "response": turns[2], "system": EVIL,
        "ratings": {EVIL: [1, 2], "overall": [3]},
    }  # fmt: skip
    for name, rows in {
        "talk": [talk],
        "rated": [{**rated, "id": str(i), "ratings": {"overall": [i % 5]}} for i in range(12)],
    }.items():
        path = folder / f"{name}.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    assert main(["score", str(folder / "talk.jsonl"), "-m", "log_length,turn_count", "-o",
                 str(folder / "scores.jsonl")]) == 0  # fmt: skip
    return folder


COMMANDS = {
    "report": "score {talk} -m log_length --no-cache -o {out} --report {page}",
    "difference": "compare {scores} {scores} --report {page}",
    "meta-evaluation": "meta-eval log_length --on {rated} --no-cache --report {page}",
}


@pytest.fixture(scope="module")
def made(files, tmp_path_factory):
    """Return the pages by name."""
    folder = tmp_path_factory.mktemp("made")
    pages = {}
    for name, command in COMMANDS.items():
        places = {path.stem: path for path in files.iterdir()}
        places |= {"page": folder / f"{name}.html", "out": folder / f"{name}.jsonl"}
        assert main([word.format(**places) for word in command.split()]) == 0
        pages[name] = places["page"]
    return pages


@pytest.mark.parametrize("name", COMMANDS)
def test_a_page_allows_by_hash_what_is_in_it_and_nothing_else(made, name):
    page = Page(made[name].read_text("utf-8"))
    assert page.policy["default-src"] == page.policy["base-uri"] == ["'none'"]
    assert page.policy["form-action"] == ["'none'"]
    for kind, sources in page.sources.items():
        hashes = {source_hash(source) for source in sources} or {"'none'"}
        assert set(page.policy[f"{kind}-src"]) == hashes
    assert page.inline == []
    assert page.loaded == []


@pytest.mark.skipif(BROWSER is None, reason="no chromium on the path")
@pytest.mark.parametrize("name", COMMANDS)
def test_a_browser_runs_our_script_and_no_other(made, name, tmp_path):
    done = subprocess.run(
        [
            BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--disable-sync",
            "--disable-dev-shm-usage", f"--user-data-dir={tmp_path / 'profile'}",
            "--virtual-time-budget=2000", "--enable-logging=stderr", "--dump-dom",
            made[name].as_uri(),
        ],
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    assert "Content Security Policy" not in done.stderr
    assert "owned" not in re.search(r"<html[^>]*>", done.stdout)[0]


def test_every_page_begins_with_the_one_head():
    package = Path(grice.__file__).parent
    sources = [path for path in package.rglob("*") if path.suffix in (".py", ".j2")]
    begin = [path.name for path in sources if "<!doctype html>" in path.read_text("utf-8").lower()]
    assert begin == ["html.py"]
