"""Two files of scores, compared as a user compares them."""

import gzip
import json
import math
import random
from pathlib import Path

import pytest
from score_files import line, rows_of, write

from grice.cli import main
from grice.errors import InputError, RecordError
from grice.evaluation.compare import compare


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


@pytest.mark.parametrize(("other", "paired", "verdict", "words"), [
    (RISE, True, "first higher", "higher than the baseline"),
    (RISE[:36], True, "first higher", "fewer than 10 conversations: a rough guide"),
    (RISE[:40], True, "first higher", "higher than the baseline over 10 conversations"),
    (SAME, True, "no significant difference", "more conversations would be needed"),
    (run_of("y", 0.75, seed=2), False, "first higher", "unpaired"),
    (run_of("y", 0.6, seed=4), False, "no significant difference", "from the baseline"),
    (run_of("y", 0.6, 1), False, None, "no comparison"),
    (run_of("y", 0.6, status="abstained"), False, None, "no comparison"),
    (SHIFTED[:1], True, None, "no comparison"), (SHIFTED[:4], True, None, "no comparison"),
])  # fmt: skip
def test_runs_over_the_same_and_over_other_conversations(files, other, paired, verdict, words):
    result = compare(*files(a=SHIFTED, b=other))
    [metric] = result.metrics
    assert (result.paired, words in metric.says, "equal" in metric.says) == (paired, True, False)
    if verdict is None:
        assert metric.comparison is None
        return
    gap = metric.comparison.difference
    assert (metric.comparison.first, metric.comparison.second) == ("other", "baseline")
    assert metric.comparison.verdict == verdict
    assert "corrected over all metrics" not in metric.says
    assert gap.low < gap.value < gap.high
    assert (gap.low > 0) == (metric.comparison.p_value < 0.05) == (verdict == "first higher")
    assert (metric.pairs > 0) == paired
    if not paired:  # Zou and Donner 2008
        old, new = metric.baseline, metric.other
        below = math.hypot(new.value - new.low, old.high - old.value)
        ends = gap.value - below, gap.value + math.hypot(new.high - new.value, old.value - old.low)
        assert gap.interval == pytest.approx(ends)


def test_the_order_of_lines_does_not_matter(pair, tmp_path):
    rows = rows_of(pair[1])
    random.Random(0).shuffle(rows)
    others = compare(pair[0], write(tmp_path / "shuffled.jsonl", rows)).metrics
    for metric, other in zip(compare(*pair).metrics, others, strict=True):
        assert (metric.comparison, metric.moved) == (other.comparison, other.moved)


def test_moved_conversations_come_with_what_changed_in_the_evidence(files):
    def triple(value, tail):
        triple = {"head": "X is tired", "relation": "xWant", "tail": tail}
        return {"kind": "triple", "triple": triple, "plausibility": value}

    pieces = [triple(0.5, "sleep")]
    before = [line(f"c{c}", t, 0.5, evidence=pieces) for c in range(12) for t in range(4)]
    pieces = [
        triple(0.1, "sleep"),
        triple(0.2, "a car"),
        *(triple(n / 99, "?" * n) for n in range(5)),
    ]
    after = [
        *before[:28],
        *(line("c7", t, 0.1 + t / 10, evidence=pieces) for t in range(4)),
        *before[32:],
    ]
    [metric] = compare(*files(a=before, b=after)).metrics
    [moved] = metric.moved
    assert (moved.conversation, moved.difference) == ("c7", pytest.approx(-0.25))
    assert [item.turn for item in moved.items] == [0, 1, 2]
    changes = [(change.what, change.baseline, change.other) for change in moved.items[0].changes]
    assert changes[:2] == [
        ("X is tired —xWant→ sleep", 0.5, 0.1),
        ("X is tired —xWant→ a car", None, 0.2),
    ]
    assert len(changes) == 5


def test_unlike_signatures_are_refused_unless_asked_for(pair, tmp_path):
    rows = [{**row, "signature": row["signature"] + "|new"} for row in rows_of(pair[1])]
    other = write(tmp_path / "new.jsonl", rows)
    with pytest.raises(InputError, match=r"is not comparable[\s\S]*--across-signatures"):
        compare(pair[0], other)
    metrics = compare(pair[0], other, across_signatures=True).metrics
    [relevance] = [each for each in metrics if each.metric == "relevance"]
    assert relevance.signatures == (("relevance:1",), ("relevance:1|new",))


def test_items_of_one_file_only_and_other_statuses_are_named_not_counted(files):
    a = [line(f"c{c}", 1, c / 20) for c in range(12)]
    b = [line(f"c{c}", 1, c / 20 + 0.01) for c in range(6, 17)]
    b[3] = line("c9", 1, 0.5, status="abstained")
    paths = files(a=[*a, line("c0", 1, 0.5, "coherence")], b=b)
    result = compare(*paths)
    assert result.left_out == (f"coherence: only in {paths[0]}",)
    [metric] = result.metrics
    assert (metric.pairs, metric.only_baseline, metric.only_other) == (5, 6, 5)
    assert metric.unpaired == {"ok/abstained": 1}
    assert [name.split("'")[1] for name in metric.named] == [
        f"c{c}" for c in (0, 1, 2, 3, 4, 12, 13, 14, 15, 16)
    ]
    assert metric.named[5].startswith("conversation 'c12', turn 1 only in")


def test_a_file_against_itself_shows_no_difference_and_no_nan(pair, capsys):
    assert main(["compare", pair[0], pair[0], "--json"]) == 0
    out = capsys.readouterr().out
    for metric in json.loads(out)["metrics"]:
        assert metric["comparison"]["difference"]["value"] == 0
        assert (metric["comparison"]["p_value"], metric["moved"]) == (1, [])
    assert "NaN" not in out


@pytest.mark.parametrize(("bad", "message"), [
    ("not json", r"b.jsonl:2: not a JSON object on one line"),
    ('{"conversation": 3}', r"b.jsonl:2: conversation: Expected `str`, got `int`"),
    (json.dumps(line("c", 1, None)), r"b.jsonl:2: value: .*needs a value"),
    (json.dumps(line("c", -1, 0.1)), r"b.jsonl:2: turn: a turn is counted from 0"),
    (json.dumps(line("c", 2**32 - 1, 0.1)), r"b.jsonl:2: turn: .*, found 4294967295"),
    (json.dumps(line("c", 0, 0.4)), r"scores conversation 'c', turn 0 more than once"),
])  # fmt: skip
def test_a_broken_file_is_named_with_line_and_field(tmp_path, bad, message):
    good = write(tmp_path / "a.jsonl", [line("c", 0, 0.4)])
    (tmp_path / "b.jsonl").write_text(json.dumps(line("c", 0, 0.4)) + "\n" + bad + "\n")
    with pytest.raises((RecordError, InputError), match=message):
        compare(good, str(tmp_path / "b.jsonl"))


@pytest.mark.parametrize(("other", "message"), [
    ([line("c", 0, 0.4, "coherence")], "no metric in common: .* has relevance, .* coherence"),
    ([line("c", 1, 0.4)], "1 conversation, .*no turn"), ([], "no line"),
])  # fmt: skip
def test_files_that_do_not_belong_together_are_refused(files, other, message):
    with pytest.raises(InputError, match=message):
        compare(*files(a=[line("c", 0, 0.4)], b=other))


def test_the_page_and_the_terminal_show_the_replies_that_moved(tmp_path, capsys):
    replies = [f"Reply {i} says <b>so</b>." for i in range(12)]
    evil = "<script>alert(1)</script>\x1b[31m"
    talks = [{"id": f"{evil}{i}", "turns": ["Well?", reply]} for i, reply in enumerate(replies)]
    chats = write(tmp_path / "chats.jsonl", talks)
    files = [
        write(tmp_path / name, [line(f"{evil}{i}", 1, value - 0.05 * i * up) for i in range(12)])
        for name, value, up in (("a.jsonl", 0.9, 0), ("b.jsonl", 0.8, 1))
    ]
    page, packed = tmp_path / "page.html", tmp_path / "b.jsonl.gz"
    packed.write_bytes(gzip.compress(Path(files[1]).read_bytes()))
    assert main(["compare", *[files[0], str(packed), "--texts", chats, "--report", str(page)]]) == 0
    shown, html = capsys.readouterr().out, page.read_text("utf-8")
    assert "moved most in relevance" in shown
    assert "lower than the baseline" in html
    assert "“Reply 11 says <b>so</b>.”" in shown
    assert "\x1b" not in shown
    assert "Reply 11 says &lt;b&gt;so&lt;/b&gt;." in html
    assert "<script>" not in html
    moved = compare(*files, texts=chats).metrics[0].moved
    assert [metric.items[0].text for metric in moved] == replies[:-6:-1]
    assert compare(*files).metrics[0].moved[0].items[0].text == ""
    other = write(tmp_path / "other.jsonl", [{"id": "elsewhere", "turns": ["Hi"]}])
    with pytest.raises(InputError, match=r"other\.jsonl.*none of the conversations"):
        compare(*files, texts=other)


def test_conversations_are_compared_by_their_findings(files, capsys, tmp_path):
    def talks(*flawed):
        replies = {i: f"It is number {i}." for i in range(30)} | dict.fromkeys(flawed, "{{name}}!")
        return [
            {"id": f"c{i}", "turns": ["?", text], "targets": [1]} for i, text in replies.items()
        ]

    old, new, page = *files(a=talks(*range(12)), b=talks(3, 20)), tmp_path / "page.html"
    result = compare(old, new)
    figures = {m.metric: (m.baseline.value, m.other.value) for m in result.metrics}
    assert figures == {"any rule": (0.4, pytest.approx(2 / 30)), "T105": figures["any rule"]}
    gap = result.metrics[1].comparison.difference
    assert gap.low < gap.value < gap.high < 0
    assert ([f.conversation for f in result.new], len(result.resolved)) == (["c20"], 11)
    assert main(["compare", old, new, "--moved", "1", "--report", str(page)]) == 0
    shown, html = capsys.readouterr().out, page.read_text("utf-8")
    assert "T105 template left in: lower than the baseline over 30 conversations" in shown
    assert '  c20 1 T105 a template field is not filled in: "{{name}}"' in shown
    assert "… and 10 more: --moved 11 lists all" in shown
    assert "Resolved: 11 findings" in html


def test_a_verdict_on_few_changed_replies_says_that_the_interval_includes_0(files):
    before = [line(f"c{i}", 0, 0.9) for i in range(20)]
    after = [{**row, "value": 0.9 - i / 10} for i, row in enumerate(before[:7])] + before[7:]
    [metric] = compare(*files(a=before, b=after)).metrics
    assert metric.comparison.verdict == "second higher"
    assert "lower than the baseline over 20 conversations; changes are rare" in metric.says


def test_a_corrected_verdict_says_why_it_leaves_the_interval(files):
    run_rows, draw = run_of("c", 0.5, 30, 1, seed=1), random.Random(2)
    # By t about 2.7 of 29 degrees of freedom: p is 0.01 by itself, 0.1 among ten.
    shifted = [
        {**row, "value": row["value"] + 0.025 + 0.05 * (-1) ** i} for i, row in enumerate(run_rows)
    ]
    names = [f"m{i}" for i in range(9)]
    same = [{**row, "metric": n, "signature": f"{n}:1"} for n in names for row in run_rows]
    noise = [{**row, "value": row["value"] + draw.gauss(0, 0.05)} for row in same]
    [metric, *_] = compare(*files(a=[*run_rows, *same], b=[*shifted, *noise])).metrics
    gap = metric.comparison.difference
    assert gap.low > 0 or gap.high < 0
    assert metric.comparison.verdict == "no significant difference"
    why = "; the interval excludes 0, but the p-value is corrected over all metrics"
    assert metric.says.endswith(why)
