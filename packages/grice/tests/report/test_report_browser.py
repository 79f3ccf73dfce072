"""The page in a browser, if one is installed."""

import re
from html import unescape

import pytest

from grice.data import Conversation, FeatureEvidence, Span, Turn
from report_trial import BROWSER, COHERENCE, RELEVANCE, browsed, cooking_scores, score, write

OWNED = "document.documentElement.className='owned';alert(1)"


pytestmark = pytest.mark.skipif(BROWSER is None, reason="no chromium on the path")


def opened(path, address=""):
    """The page as the browser has built it, its list of conversations and the open one."""
    page = browsed(path.as_uri() + address, path.parent).stdout
    rows = page[page.index('id="g-rows"') : page.index('id="g-pages"')]
    return page, rows, page[page.index('id="g-view"') : page.index('id="g-print"')]


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
    page, rows, view = opened(path)
    assert "owned" not in re.search(r"<html[^>]*>", page)[0]
    assert re.findall(r"<b>([\d.]+)</b>", rows) == ["0.01", "0.05"]
    assert "<bdi>&lt;b&gt;evil&lt;/b&gt;</bdi>" in rows
    assert "off the topic" in view
    (mark,) = re.findall(r"<mark[^>]*span-feature[^>]*>(.*?)</mark>", view)
    assert unescape(mark) == text[start : start + 4]


REPLY = """**Good** *news*, `a*b*`: see [the <b>page](javascript:alert(1)).

1. Ring <img src=x onerror="OWNED"> her **bell at last**
- Wait

```
**code** <script>OWNED</script>
```
> quoted"""


def test_markdown_is_set_safely_with_marks_in_it(tmp_path):
    reply = REPLY.replace("OWNED", OWNED)
    talk = Conversation("c", (Turn("A", "**Where** is it?"), Turn("B", reply)))
    start = reply.index("bell")
    span = FeatureEvidence("word", 1.0, span=Span(1, start, start + 4))
    path = tmp_path / "r.html"
    write(path, [(talk, [score(talk, 1, RELEVANCE, 0.1, evidence=(span,))])], RELEVANCE)
    page, rows, view = opened(path)
    assert "owned" not in re.search(r"<html[^>]*>", page)[0]
    assert "<img" not in page
    assert "Where is it?" in rows, "the first words of a user, without marks"
    for shown in (
        "<strong>Good</strong>", "<em>news</em>", "<code>a*b*</code>",
        '<span class="link">the &lt;b&gt;page</span><span class="address">javascript:alert(1)',
        '<span class="marker">1.</span>', '<span class="marker">•</span>',
        '<pre class="md-pre" dir="auto">**code** &lt;script&gt;',
        '<blockquote class="md-quote" dir="auto">quoted</blockquote>',
    ):  # fmt: skip
        assert shown in view, shown
    assert re.search(r"<strong><mark [^>]*>bell</mark> at last</strong>", view)
    assert "javascript:" not in "".join(re.findall(r'href="[^"]*"', page))


def test_an_address_opens_a_turn_with_its_evidence_and_calls_of_tools_are_shown(tmp_path, talk):
    calls = [{"function": {"name": "look_up", "arguments": '{"order": "A-1"}'}}]
    support = Conversation(
        "a/b c",
        (
            Turn("user", "Where is my parcel?", role="user"),
            Turn("bot", "", role="assistant", meta={"tool_calls": calls}),
            Turn("bot", "<think>Be kind.</think>At your door.", role="assistant"),
        ),
    )
    scores = [score(support, 2, RELEVANCE, 0.9, reason="turn 0 supports it")]
    path = tmp_path / "r.html"
    write(path, [(talk, cooking_scores(talk)), (support, scores)], RELEVANCE, COHERENCE)
    _, _, view = opened(path, "#a%2Fb%20c/2")
    assert "Where is my parcel?</h2>" in view
    assert "turn 0 supports it" in view, "the evidence of the turn is unfolded"
    assert 'href="#a%2Fb%20c/1"' in view
    assert "not judged" in view
    assert "<code><bdi>look_up</bdi></code>" in view
    assert "A-1" in view
    assert re.search(r"<summary>Thinking, not judged</summary><p[^>]*>&lt;think&gt;Be kind", view)
    assert "Where is my parcel?</h2>" in opened(path, "#a/b%20c")[2], "typed by hand"
