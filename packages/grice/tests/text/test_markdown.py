"""Visible text of turns with Markdown, tags and reasoning."""

import time

import pytest

from grice.text.markdown import as_read, marks


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("Click on **Forgot password**.", "Click on Forgot password."),
        ("**a *b* c** __d__ _e_ ~~f~~", "a b c d e f"),
        ("See [the page](https://a.example/b?c=1) or ![a cat](cat.png).", "See the page or a cat."),
        ("[Leeds](https://a.example/Leeds_(city)), or", "Leeds, or"),
        ("# Weather\n> It *snows*.\n- tea\n* milk", "Weather\nIt snows.\ntea\nmilk"),
        ("1. Ring\n2. Wait", "1. Ring\n2. Wait"),
        ("Use `a*b*c` here.", "Use a*b*c here."),
        ("```python\nprint('**x**')\n```\n**y**", "print('**x**')\n\ny"),
        ("snake_case_name, 2 * 3 * 4, *laughs", "snake_case_name, 2 * 3 * 4, *laughs"),
        ("<think>Policy **7**.</think>**Hi**, use <b>", " Hi, use <b>"),
        ("", ""),
    ],
)
def test_marks_that_no_page_would_show_are_left_out(text, read):
    assert as_read(text) == read


def test_a_stretch_of_a_link_is_read_without_the_address():
    text = "Please [open a claim](https://a.example/claim) today."
    assert as_read(text, text.index("open"), text.index("/claim")) == "open a claim"


def test_every_mark_is_a_stretch_in_order():
    text = "**a** `b` <i>c</i>\n> d"
    spans = marks(text)
    assert spans == sorted(spans)
    assert [text[start:end] for start, end in spans] == ["**", "**", "`", "`", "> "]


@pytest.mark.parametrize(
    "text", ["*", "`", "[a]", "**a", "_a", "> ", "[a](", "[a]((", "`a", "``a`a", "~~a ", "```\n"]
)
def test_hostile_text_takes_no_time(text):
    start = time.process_time()
    as_read(text * 100_000)
    assert time.process_time() - start < 1
