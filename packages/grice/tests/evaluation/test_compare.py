"""Two files of scores, compared as a user compares them."""

from __future__ import annotations

import gzip
import json
import random
import re
from pathlib import Path

import numpy as np
import pytest
from score_files import line, rows_of, write

from grice.cli import main
from grice.errors import InputError, RecordError
from grice.evaluation.compare import compare
from grice.stats.comparison import compare_unpaired


@pytest.fixture
def pair(tmp_path):
    """Two files: relevance rises by 0.1 everywhere but for noise, length hardly at all."""
    draw = random.Random(3)
    sides = ([], [])
    for c in range(20):
        for t in range(3):
            value, noise = draw.random() * 0.8, draw.gauss(0, 0.03)
            sides[0].append(line(f"c{c}", t, value))
            sides[1].append(line(f"c{c}", t, value + 0.1 + noise))
            length, step = draw.random(), draw.gauss(0, 0.3)
            sides[0].append(line(f"c{c}", t, length, "log_length"))
            sides[1].append(line(f"c{c}", t, length + step, "log_length"))
    return [write(tmp_path / f"{name}.jsonl", rows) for name, rows in zip("AB", sides, strict=True)]


def by_name(result):
    return {metric.metric: metric for metric in result.metrics}


def run_of(name, mean, conversations=40, replies=4, seed=0, **more):
    draw = random.Random(seed)
    return [
        line(f"{name}{c}", t, min(1.0, max(0.0, quality + draw.gauss(0, 0.05))), **more)
        for c in range(conversations)
        for quality in [draw.gauss(mean, 0.1)]
        for t in range(replies)
    ]


@pytest.fixture
def files(tmp_path):
    def written(**runs):
        return [write(tmp_path / f"{name}.jsonl", rows) for name, rows in runs.items()]

    return written


SHIFTED, SAME = run_of("c", 0.6, seed=1), run_of("c", 0.6, seed=3)
RISE = [{**row, "value": 0.9 * row["value"] + 0.1} for row in SHIFTED]


@pytest.mark.parametrize(
    ("other", "paired", "verdict", "words"),
    [
        (RISE, True, "first higher", "higher than the baseline"),
        (SAME, True, "no significant difference", "more conversations would be needed"),
        (run_of("y", 0.75, seed=2), False, "first higher", "unpaired"),
        (run_of("y", 0.6, seed=4), False, "no significant difference", "from the baseline"),
        (run_of("y", 0.6, 1), False, None, "no comparison"),
    ],
)
def test_runs_over_the_same_and_over_other_conversations(files, other, paired, verdict, words):
    result = compare(*files(a=SHIFTED, b=other))
    [metric] = result.metrics
    assert (result.paired, words in metric.says, "equal" in metric.says) == (paired, True, False)
    if verdict is None:
        assert metric.comparison is None
        return
    gap = metric.comparison.difference
    assert metric.comparison.verdict == verdict
    assert gap.low < gap.value < gap.high
    assert (gap.low > 0) == (metric.comparison.p_value < 0.05) == (verdict == "first higher")


def test_p_values_are_corrected_over_the_metrics(pair):
    metrics = compare(*pair).metrics
    single = sorted(m.comparison.p_single for m in metrics)
    corrected = sorted(m.comparison.p_value for m in metrics)
    assert corrected[0] == pytest.approx(2 * single[0])


def test_the_order_of_lines_does_not_matter(pair, tmp_path):
    rows = rows_of(pair[1])
    random.Random(0).shuffle(rows)
    shuffled = write(tmp_path / "shuffled.jsonl", rows)
    for metric, other in zip(
        compare(*pair).metrics, compare(pair[0], shuffled).metrics, strict=True
    ):
        assert metric.comparison == other.comparison
        assert metric.moved == other.moved


def test_moved_conversations_come_with_what_changed_in_the_evidence(files):
    def triple(value, tail):
        triple = {"head": "X is tired", "relation": "xWant", "tail": tail}
        return {"kind": "triple", "triple": triple, "plausibility": value}

    before = [line(f"c{c}", 0, 0.5, evidence=[triple(0.5, "sleep")]) for c in range(12)]
    after = [dict(row) for row in before]
    after[7] = line("c7", 0, 0.1, evidence=[triple(0.1, "sleep"), triple(0.2, "a car")])
    [metric] = compare(*files(a=before, b=after)).metrics
    [moved] = metric.moved
    assert moved.conversation == "c7"
    assert moved.difference == pytest.approx(-0.4)
    [item] = moved.items
    assert [(c.what, c.baseline, c.other) for c in item.changes] == [
        ("X is tired —xWant→ sleep", 0.5, 0.1),
        ("X is tired —xWant→ a car", None, 0.2),
    ]


def test_unlike_signatures_are_refused_unless_asked_for(pair, tmp_path):
    rows = [{**row, "signature": row["signature"] + "|new"} for row in rows_of(pair[1])]
    other = write(tmp_path / "new.jsonl", rows)
    with pytest.raises(InputError, match=r"is not comparable[\s\S]*--across-signatures"):
        compare(pair[0], other)
    metric = by_name(compare(pair[0], other, across_signatures=True))["relevance"]
    assert metric.signatures == (("relevance:1",), ("relevance:1|new",))


def test_items_of_one_file_only_and_other_statuses_are_named_not_counted(files):
    a = [line(f"c{c}", 1, c / 20) for c in range(12)]
    b = [line(f"c{c}", 1, c / 20 + 0.01) for c in range(1, 13)]
    b[3] = line("c4", 1, 0.5, status="abstained")
    [metric] = compare(*files(a=a, b=b)).metrics
    assert (metric.pairs, metric.only_baseline, metric.only_other) == (10, 1, 1)
    assert metric.unpaired == {"ok/abstained": 1}
    assert metric.named[0].startswith("conversation 'c0', turn 1 only in")
    assert metric.named[1].startswith("conversation 'c12', turn 1 only in")


def test_a_file_against_itself_shows_no_difference_and_no_nan(pair, capsys):
    assert main(["compare", pair[0], pair[0], "--json"]) == 0
    out = capsys.readouterr().out
    for metric in json.loads(out)["metrics"]:
        assert metric["comparison"]["difference"]["value"] == 0
        assert metric["comparison"]["p_value"] == 1
        assert metric["moved"] == []
    assert "NaN" not in out


@pytest.mark.parametrize("turns", [1, 4])
def test_one_conversation_says_that_nothing_can_be_said(tmp_path, turns, capsys):
    files = [
        write(tmp_path / n, [line("c", t, 0.1 * t + s) for t in range(turns)])
        for n, s in (("a", 0), ("b", 0.2))
    ]
    [metric] = compare(*files).metrics
    assert metric.comparison is None
    assert "no comparison" in metric.says
    assert main(["compare", *files, "--report", str(tmp_path / "p.html")]) == 0
    assert "no comparison" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ("not json", r"b.jsonl:2: not a JSON object on one line"),
        ('{"conversation": 3}', r"b.jsonl:2: conversation: Expected `str`, got `int`"),
        (json.dumps(line("c", 1, None)), r"b.jsonl:2: value: .*needs a value"),
        (json.dumps(line("c", -1, 0.1)), r"b.jsonl:2: turn: a turn is counted from 0"),
        (json.dumps(line("c", 0, 0.4)), r"scores conversation 'c', turn 0 more than once"),
    ],
)
def test_a_broken_file_is_named_with_line_and_field(tmp_path, bad, message):
    good = write(tmp_path / "a.jsonl", [line("c", 0, 0.4)])
    (tmp_path / "b.jsonl").write_text(json.dumps(line("c", 0, 0.4)) + "\n" + bad + "\n")
    with pytest.raises((RecordError, InputError), match=message):
        compare(good, str(tmp_path / "b.jsonl"))


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ([line("c", 0, 0.4, "coherence")], "no metric in common: .* has relevance, .* coherence"),
        ([line("c", 1, 0.4)], "share 1 conversation, but no turn of them was judged in both"),
        ([], "contains no lines"),
    ],
)
def test_files_that_do_not_belong_together_are_refused(tmp_path, other, message):
    first = write(tmp_path / "a.jsonl", [line("c", 0, 0.4)])
    with pytest.raises(InputError, match=message):
        compare(first, write(tmp_path / "b.jsonl", other))


def test_the_command_prints_reads_gzip_and_writes_a_page_that_loads_nothing(pair, tmp_path, capsys):
    packed = tmp_path / "B.jsonl.gz"
    packed.write_bytes(gzip.compress(Path(pair[1]).read_bytes()))
    page = tmp_path / "page.html"
    assert main(["compare", pair[0], str(packed), "--report", str(page)]) == 0
    shown = capsys.readouterr().out
    assert "moved most in relevance" in shown
    html = page.read_text("utf-8")
    assert "default-src 'none'" in html
    assert not re.search(r"<script|https?://|\bsrc=", html)
    assert "higher than the baseline" in html


def test_the_page_and_the_terminal_show_the_replies_that_moved(tmp_path, capsys):
    replies = [f"Reply {i} says <b>so</b>." for i in range(12)]
    evil = "<script>alert(1)</script>\x1b[31m"
    chats = tmp_path / "chats.jsonl"
    chats.write_text(
        "".join(
            json.dumps({"id": f"{evil}{i}", "turns": [{"speaker": "A", "text": "Well?"},
                                                  {"speaker": "B", "text": reply}]}) + "\n"
            for i, reply in enumerate(replies)
        ),
        "utf-8",
    )  # fmt: skip
    files = [
        write(tmp_path / name, [line(f"{evil}{i}", 1, value - 0.05 * i * up) for i in range(12)])
        for name, value, up in (("a.jsonl", 0.9, 0), ("b.jsonl", 0.8, 1))
    ]
    page = tmp_path / "page.html"
    assert main(["compare", *files, "--texts", str(chats), "--report", str(page)]) == 0
    shown, html = capsys.readouterr().out, page.read_text("utf-8")
    assert "“Reply 11 says <b>so</b>.”" in shown
    assert "\x1b" not in shown
    assert "Reply 11 says &lt;b&gt;so&lt;/b&gt;." in html
    assert "<script>" not in html
    result = compare(*files, texts=str(chats))
    moved = result.metrics[0].moved
    assert [metric.items[0].text for metric in moved] == replies[:-6:-1]
    assert compare(*files).metrics[0].moved[0].items[0].text == ""


def test_texts_of_other_conversations_are_refused(pair, tmp_path):
    chats = tmp_path / "chats.jsonl"
    chats.write_text('{"id": "elsewhere", "turns": [{"speaker": "A", "text": "Hi"}]}\n', "utf-8")
    with pytest.raises(InputError, match="none of the conversations that moved is in it"):
        compare(*pair, texts=str(chats))


def test_the_interval_covers_the_difference_and_agrees_with_its_p_value():
    covered, rng = 0, np.random.default_rng(7)
    for _ in range(200):
        a, b = rng.normal(0.0, 1.0, 30), rng.normal(0.5, 2.0, 20)
        [tested] = compare_unpaired({"b": b, "a": a}, {"b": range(20), "a": range(30)}).comparisons
        gap = tested.difference
        covered += gap.low <= 0.5 <= gap.high
        assert (tested.p_value < 0.05) == (gap.side(0) != "either")
    assert 181 <= covered <= 198


def test_a_corrected_verdict_says_why_it_leaves_the_interval(files):
    run_rows = run_of("c", 0.5, 30, 1, seed=1)
    draw = random.Random(2)
    # By t about 2.7 of 29 degrees of freedom: p is 0.01 by itself, 0.1 among ten.
    shifted = [
        {**row, "value": row["value"] + 0.025 + 0.05 * (-1) ** i} for i, row in enumerate(run_rows)
    ]
    names = [f"m{i}" for i in range(9)]
    same = [{**row, "metric": n, "signature": f"{n}:1"} for n in names for row in run_rows]
    noise = [{**row, "value": row["value"] + draw.gauss(0, 0.05)} for row in same]
    [metric, *_] = compare(*files(a=[*run_rows, *same], b=[*shifted, *noise])).metrics
    gap = metric.comparison.difference
    leaves_out = gap.low > 0 or gap.high < 0
    rejected = metric.comparison.verdict != "no significant difference"
    assert leaves_out
    assert not rejected
    assert "corrected over all metrics" in metric.says
