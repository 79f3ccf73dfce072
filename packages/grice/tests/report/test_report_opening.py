"""The first screen of the report: replies to check first, reasons, names of conversations."""

from __future__ import annotations

import msgspec
from report_trial import COHERENCE, RELEVANCE, Page, cooking_scores, summary, write

from grice.data import Conversation, Turn
from grice.report.writer import ReportWriter
from grice.scoring.summary import CommonReason


def test_the_replies_to_look_at_first_open_the_page(tmp_path, talk):
    scores = cooking_scores(talk)
    page = write(tmp_path / "r.html", [(talk, scores)], RELEVANCE, COHERENCE)
    shown = page.text[page.text.index("To look at first") : page.text.index("higher is better")]
    worst = min((score for score in scores if score.turn), key=lambda score: score.value or 1.0)
    assert talk.turns[worst.turn].text[:20] in shown
    assert ("a", {"class": "flagged", "href": f"#cooking/{worst.turn}"}) in page.tags
    marked = [attributes for tag, attributes in page.tags if tag == "mark"]
    assert marked, "its words are marked"


def test_the_commonest_reason_stands_with_the_counts(tmp_path, talk):
    writer = ReportWriter(tmp_path / "r.html", title="t", metrics=[RELEVANCE])
    writer.add(talk, [])
    run_summary = summary(RELEVANCE)
    (totals,) = run_summary.metrics
    totals = msgspec.structs.replace(
        totals,
        counts={"ok": 1, "abstained": 2, "failed": 3},
        reasons={"failed": CommonReason("no <answer>", 2), "abstained": CommonReason("empty", 2)},
    )
    writer.close(msgspec.structs.replace(run_summary, metrics=(totals,)))
    text = Page((tmp_path / "r.html").read_text(encoding="utf-8")).text
    assert "failed, 2 of 3: no <answer>" in text
    assert "abstained: empty" in text


def test_the_page_knows_what_a_user_said_first_and_what_is_no_reply(tmp_path):
    talk = Conversation(
        "support",
        (
            Turn("system", "Be kind.", role="system"),
            Turn("bot", "Hello, I am a bot.", role="assistant"),
            Turn("user", "Where is my parcel?", role="user"),
            Turn("bot", "", role="assistant", meta={"tool_calls": [{"id": "1"}]}),
            Turn("lookup", "{}", role="tool"),
        ),
    )
    plain = Conversation("plain", (Turn("A", "Hello."), Turn("B", "Hi.")))
    silent = Conversation("silent", (Turn("A", " "),))
    page = write(tmp_path / "r.html", [(talk, []), (plain, []), (silent, [])], RELEVANCE)
    known = [(line.get("opening"), line.get("unspoken", [])) for line in page.lines]
    assert known == [(2, [0, 3, 4]), (0, []), (None, [])]
