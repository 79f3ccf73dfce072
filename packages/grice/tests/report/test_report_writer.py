"""The report's file: what it holds, that it is safe, what writing it costs, and in a browser."""

import json
import random
import re
import tracemalloc
from html import unescape
from importlib import resources

import msgspec
import pytest

from grice.data import Conversation, FeatureEvidence, Span, Turn, TurnEvidence
from grice.errors import OutputError
from grice.report.writer import ReportWriter
from report_trial import (
    BROWSER,
    COHERENCE,
    LENGTH,
    RELEVANCE,
    Page,
    browsed,
    column,
    cooking_scores,
    score,
    summary,
    write,
)

HOSTILE = [
    "</script><script>alert(1)</script>", "<img src=x onerror=alert(1)>", "javascript:alert(1)",
    '"><svg onload=alert(1)>', "<!-- <script> -->", "line\u2028and\u2029paragraph",
    "lone \ud800 surrogate", "\u202eoverride\u202c", "nul \x00 and bell \x07",
    "{{ 7 * 7 }} {% raw %}", "x" * 100_000,
]  # fmt: skip


def talks(count: int, *, turns: int = 4, seed: int = 0):
    """Yield conversations with relevance scores drawn at random."""
    draw = random.Random(seed)
    for i in range(count):
        texts = (Turn("AB"[t % 2], f"turn {t} of talk {i}") for t in range(turns))
        conversation = Conversation(f"talk-{i}", tuple(texts))
        yield conversation, [
            score(
                conversation, t, RELEVANCE, draw.random(),
                evidence=tuple(TurnEvidence(k, draw.random()) for k in range(t)),
            )
            for t in range(turns)
        ]  # fmt: skip


@pytest.fixture
def page(tmp_path, talk):
    """Return the page of one conversation with a score of each status and kind of evidence."""
    problems = ("chat.jsonl:7: not JSON",)
    return write(
        tmp_path / "r.html", [(talk, cooking_scores(talk))], RELEVANCE, COHERENCE, skipped=3,
        problems=problems, command="grice score chat.jsonl", version="9.9",
    )  # fmt: skip


def shown(tmp_path, conversation, *scores):
    """Return the line of one conversation in its page."""
    page = write(tmp_path / "r.html", [(conversation, scores)], RELEVANCE)
    assert b"NaN" not in page.chunks[0]
    return page.lines[0]


def test_the_page_holds_what_was_added(page, talk):
    (line,) = page.lines
    assert msgspec.convert(line["conversation"], Conversation) == talk
    given = [(s["metric"], s.get("turn"), s["status"], s.get("value")) for s in line["scores"]]
    assert given == [(s.metric, s.turn, s.status, s.value) for s in cooking_scores(talk)]
    triple, feature = line["scores"][3]["evidence"]
    assert triple["triple"]["head"] == "I love to cook"
    assert triple["known"]["head_similarity"] == 0.7123
    assert feature["span"] == {"turn": 3, "start": 4, "end": 9}
    assert line["scores"][3]["flags"] == ["truncated"]
    assert line["scores"][0]["reason"] == "the first turn"
    # What stands elsewhere in the page is not said again.
    assert all("signature" not in s and "meta" not in s for s in line["scores"])


def test_chunks_decode_to_all_conversations_in_order_and_every_value_is_counted(tmp_path):
    items = list(talks(137))
    page = write(tmp_path / "r.html", items, RELEVANCE)
    assert [line["conversation"]["id"] for line in page.lines] == [c.id for c, _ in items]
    assert page.index["ids"] == [c.id for c, _ in items]
    assert page.settings["starts"] == [0, 50, 100]
    assert page.settings["places"] is None
    values = [s.value for _, scores in items for s in scores]
    assert sum(map(int, re.findall(r"([\d,]+) replies \(", page.text))) == 2 * len(values)
    expected = sum(0.25 <= value < 0.3 for value in values)
    assert f"0.25 to 0.30: {expected} replies" in page.text


def test_the_head_states_the_run(page):
    for text in (
        "3 records skipped", "chat.jsonl:7: not JSON", "… 2 more", "grice score chat.jsonl",
        "grice 9.9", "Does the reply answer what was said?", "relevance@1|<exact>",
        "0 to 1; higher is better; 0.5 if abstained", "Tao et al. 2018", "whole conversations",
        "need JavaScript", "0.500", "0.450 to 0.560",
    ):  # fmt: skip
        assert text in page.text, text


def test_the_assets_of_the_page_load_and_build_nothing_from_text():
    for asset in (resources.files("grice.report") / "assets").iterdir():
        text = asset.read_text(encoding="utf-8")
        assert not re.search(r"https?:|//[a-z]+\.[a-z]", text), asset.name
        for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
            assert word not in text, asset.name


@pytest.mark.parametrize("text", ["fine", "lone \ud800 surrogate"])
@pytest.mark.parametrize("depth", [20, 500, 900])
def test_a_field_that_is_nested_deeply_is_cut_off_and_said_so(tmp_path, depth, text):
    nested: object = "core"
    for level in range(depth):
        nested = [nested] if level % 2 else {"in": nested}
    turns = (Turn("A", text, meta={"x": nested}),)
    conversation = Conversation("deep", turns, meta={"x": nested, "y": 1})
    # As a resumed run has it, read back from its file.
    meta = {"x": nested, "y": 1}
    scores = [score(conversation, 0, RELEVANCE, 0.5), score(conversation, 0, LENGTH, 1, meta=meta)]
    [line] = write(tmp_path / "r.html", [(conversation, scores)], RELEVANCE, LENGTH).lines
    marker = "… cut off: nested deeper than 32 levels"
    for shown in (line["conversation"], line["conversation"]["turns"][0]):
        assert (marker in json.dumps(shown["meta"], ensure_ascii=False)) == (depth > 32)
        assert ("core" in json.dumps(shown["meta"])) == (depth <= 32)
    assert line["conversation"]["meta"]["y"] == 1


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_stays_text(tmp_path, text):
    conversation = Conversation(text, (Turn(text, text),), meta={text: text})
    panel = column("m", text, source=text, signature=text)
    evidence = (FeatureEvidence(text, 1.0, span=Span(0, 0, len(text))),)
    scores = [score(conversation, 0, panel, 0.5, reason=text, flags=(text,), evidence=evidence)]
    plain, calm = Conversation("plain", (Turn("A", "B"),)), column("m", "calm")
    calm_scores = [(plain, [score(plain, 0, calm, 0.5)])]
    expected = write(tmp_path / "calm.html", calm_scores, calm, title="t")
    page = write(
        tmp_path / "r.html", [(conversation, scores)], panel, title=text, problems=(text,),
        skipped=1, command=text,
    )  # fmt: skip
    kinds = [tag for tag, _ in page.tags]
    for tag in ("script", "style", "img", "iframe", "link", "meta"):
        assert kinds.count(tag) == [tag for tag, _ in expected.tags].count(tag), tag
    assert not any(name.startswith("on") for _, attributes in page.tags for name in attributes)
    # Some of these texts are flaws, so that the page leads to them.
    links = [attributes for tag, attributes in page.tags if tag == "a"]
    assert all(attributes["class"] == "flagged" for attributes in links)
    assert page.sources["script"] == expected.sources["script"]
    shown = page.lines[0]["conversation"]
    assert (shown["id"], shown["turns"][0]["text"], shown["meta"]) == (text, text, {text: text})
    assert (page.index["ids"], page.index["speakers"]) == ([text], [text])


def test_numbers_that_json_or_a_browser_cannot_hold(tmp_path):
    conversation = Conversation(
        "c",
        (Turn("A", "\udfff", meta={"n": 2**60}),),
        meta={"tweet": 1234567890123456789, "small": 7, "odd": [float("nan"), float("-inf")]},
    )
    evidence = (FeatureEvidence("f", float("nan"), float("inf")),)
    line = shown(tmp_path, conversation, score(conversation, 0, RELEVANCE, 0.5, evidence=evidence))
    odd = {"tweet": "1234567890123456789", "small": 7, "odd": [None, None]}
    assert line["conversation"]["meta"] == odd
    assert line["conversation"]["turns"][0]["meta"] == {"n": str(2**60)}
    [piece] = line["scores"][0]["evidence"]
    assert piece == {"kind": "feature", "name": "f", "value": None, "effect": None}


class Quoted(msgspec.Struct, frozen=True, tag="judge", tag_field="kind"):
    """A kind of evidence that the report does not know."""

    answer: str
    votes: tuple[int, ...]


def test_an_unknown_kind_of_evidence_is_kept_and_of_many_the_strongest(tmp_path, talk):
    effects = [0.001 * i * (-1) ** i for i in range(60)]
    evidence = (*(TurnEvidence(0, effect) for effect in effects), Quoted("Yes.", (1, 0)))
    line = shown(tmp_path, talk, score(talk, 1, RELEVANCE, 0.5, evidence=evidence))["scores"][0]
    assert line["more"] == 61 - 24
    assert [piece["effect"] for piece in line["evidence"][:-1]] == [
        float(f"{effect:.4g}") for effect in effects[-23:]
    ]
    assert line["evidence"][-1] == {"kind": "judge", "answer": "Yes.", "votes": [1, 0]}


def test_of_a_long_run_the_lowest_are_kept_and_all_are_counted(tmp_path):
    items = list(talks(200))
    page = write(tmp_path / "r.html", items, RELEVANCE, keep=30)
    places = sorted(sorted(range(200), key=lambda i: min(s.value for s in items[i][1]))[:30])
    assert (page.settings["places"], page.settings["total"]) == (places, 200)
    assert page.index["ids"] == [f"talk-{i}" for i in places]
    assert [line["conversation"]["id"] for line in page.lines] == page.index["ids"]
    assert "Of 200 conversations the page holds the 30 with the lowest scores" in page.text
    assert sum(map(int, re.findall(r"([\d,]+) replies \(", page.text))) == 2 * 800


def test_the_same_input_gives_the_same_bytes(tmp_path, monkeypatch):
    for year, name in enumerate(("a.html", "b.html")):
        monkeypatch.setattr("time.time", lambda year=year: 3e7 * (year + 1))
        write(tmp_path / name, talks(60), RELEVANCE)
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_nothing_appears_before_close_and_nothing_is_left(tmp_path, talk, monkeypatch):
    path = tmp_path / "r.html"
    path.write_text("the report before")

    def full(stream, file, **rest):
        file.write(b"<!doctype")
        raise OSError(28, "No space left on device")

    for fails in (True, False):
        writer = ReportWriter(path, title="t", metrics=[RELEVANCE, COHERENCE])
        writer.add(talk, cooking_scores(talk))
        assert path.read_text() == "the report before"
        if fails:
            with monkeypatch.context() as patch:
                patch.setattr("jinja2.environment.TemplateStream.dump", full)
                with pytest.raises(OutputError, match=r"r\.html: cannot be written: No space"):
                    writer.close(summary(RELEVANCE, COHERENCE))
            assert path.read_text() == "the report before"
        else:
            writer.close(summary(RELEVANCE, COHERENCE))
        assert [entry.name for entry in tmp_path.iterdir()] == ["r.html"]
        writer.abort()
    assert Page(path.read_text(encoding="utf-8")).index["ids"] == ["cooking"]


def test_memory_grows_by_little_per_conversation(tmp_path):
    """A conversation here takes 50 kB as text; what stays of it is its lowest value."""
    writer = ReportWriter(tmp_path / "r.html", title="t", metrics=[RELEVANCE])

    def feed(first: int, last: int) -> int:
        for i in range(first, last):
            conversation = Conversation(f"c{i}", (Turn("A", f"{i} " * 10_000),))
            writer.add(conversation, [score(conversation, 0, RELEVANCE, 0.5)])
        return tracemalloc.get_traced_memory()[0]

    feed(0, 60)
    tracemalloc.start()
    try:
        grown = feed(74, 214) - feed(60, 74)
    finally:
        tracemalloc.stop()
        writer.abort()
    # Of 7 MB of text; the open chunk may hold up to 256 kB more or less at either end.
    assert abs(grown) < 350_000


def test_findings_by_rule_their_groups_and_the_replies_to_read_first_open_the_page(tmp_path, talk):
    scores = cooking_scores(talk)
    flawed = Conversation("x", tuple(Turn("AB"[i % 2], "Dear {{name}}!") for i in range(3)))
    items = [(talk, scores), (flawed, [score(flawed, i, RELEVANCE, 0.9) for i in range(3)])]
    page = write(tmp_path / "r.html", items, RELEVANCE, COHERENCE)
    shown = page.text[: page.text.index("higher is better")]
    worst = min((score for score in scores if score.turn), key=lambda score: score.value or 1.0)
    told = r"3 of 7 replies have a flaw that a rule finds.*template left in\s*3\s*[01]\.\d\d \["
    told += r".*Dear {{name}}!\s*3 replies in 1 conversation.*Read first.*T105.*not filled in"
    told += r".*turn\s1 \(2 times, also\s*x,\s*turn\s2"
    assert re.search(told, shown, re.DOTALL)
    assert talk.turns[worst.turn].text[:20] in shown
    for address in ("#x/0", f"#cooking/{worst.turn}"):
        assert ("a", {"class": "flagged", "href": address}) in page.tags
    assert [attributes for tag, attributes in page.tags if tag == "mark"], "its words are marked"


OWNED = "document.documentElement.className='owned';alert(1)"
IN_BROWSER = pytest.mark.skipif(BROWSER is None, reason="no chromium on the path")


def opened(path, address=""):
    """The page as the browser has built it, its list of conversations and the open one."""
    page = browsed(path.as_uri() + address, path.parent).stdout
    rows = page[page.index('id="g-rows"') : page.index('id="g-pages"')]
    return page, rows, page[page.index('id="g-view"') : page.index('id="g-print"')]


@IN_BROWSER
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


@IN_BROWSER
def test_markdown_is_set_safely_with_marks_in_it(tmp_path):
    reply = REPLY.replace("OWNED", OWNED)
    talk = Conversation("c", (Turn("A", "**Where** is it?"), Turn("B", reply)))
    start = reply.index("bell")
    span, path = FeatureEvidence("word", 1.0, span=Span(1, start, start + 4)), tmp_path / "r.html"
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


@IN_BROWSER
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
    scores = [score(support, 2, RELEVANCE, 0.9, reason="relevant to turn 0")]
    path = tmp_path / "r.html"
    write(path, [(talk, cooking_scores(talk)), (support, scores)], RELEVANCE, COHERENCE)
    _, _, view = opened(path, "#a%2Fb%20c/2")
    assert "Where is my parcel?</h2>" in view
    assert "relevant to turn 0" in view, "the evidence of the turn is unfolded"
    assert 'href="#a%2Fb%20c/1"' in view
    assert "not judged" in view
    assert "<code><bdi>look_up</bdi></code>" in view
    assert "A-1" in view
    assert re.search(r"<summary>Thinking, not judged</summary><p[^>]*>&lt;think&gt;Be kind", view)
    assert "Where is my parcel?</h2>" in opened(path, "#a/b%20c")[2], "typed by hand"
