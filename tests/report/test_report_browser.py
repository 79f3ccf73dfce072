"""The page in a browser, if one is installed."""

from __future__ import annotations

import re
import shutil
import subprocess
from html import unescape

import pytest
from report_trial import COHERENCE, RELEVANCE, cooking_scores, score, write

from grice.records import Conversation, FeatureEvidence, Span, Turn

BROWSER = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
OWNED = "document.documentElement.className='owned';alert(1)"


@pytest.mark.skipif(BROWSER is None, reason="no chromium on the path")
def test_the_lowest_reply_stands_first_and_text_does_not_run(tmp_path, talk):
    text = f'😀 <img src=x onerror="{OWNED}"></script><script>{OWNED}</script> 👍🏽 fine'
    start = text.index("fine")
    evil = Conversation("<b>evil</b>", (Turn("A", "Hello."), Turn("<i>B</i>", text)))
    span = FeatureEvidence("last word", 1.0, span=Span(1, start, start + 4))
    scores = [
        score(evil, 0, RELEVANCE, 0.8),
        score(evil, 1, RELEVANCE, 0.01, reason="off the topic", evidence=(span,)),
    ]
    path = tmp_path / "r.html"
    write(path, [(talk, cooking_scores(talk)), (evil, scores)], RELEVANCE, COHERENCE)
    done = subprocess.run(
        [
            BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--disable-sync",
            "--disable-dev-shm-usage", f"--user-data-dir={tmp_path / 'profile'}",
            "--virtual-time-budget=2000", "--dump-dom", path.as_uri(),
        ],
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    page = done.stdout
    assert "owned" not in re.search(r"<html[^>]*>", page)[0]
    rows = page[page.index('id="g-rows"') : page.index('id="g-pages"')]
    assert re.findall(r"<b>([\d.]+)</b>", rows) == ["0.01", "0.05"]
    assert "<bdi>&lt;b&gt;evil&lt;/b&gt;</bdi>" in rows
    view = page[page.index('id="g-view"') : page.index('id="g-print"')]
    assert "off the topic" in view
    (mark,) = re.findall(r"<mark[^>]*span-feature[^>]*>(.*?)</mark>", view)
    assert unescape(mark) == text[start : start + 4]
