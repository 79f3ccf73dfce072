"""Thresholds on the interval, on shares and on statuses; what a build is told."""

import json
import random
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest
from score_files import line, write

from grice.cli import main
from grice.data import Score
from grice.errors import InputError
from grice.evaluation.gate import EVERY, Rules, ShareBelow, gate, gate_file


def scores(conversations, mean, spread=0.1, replies=4):
    draw = random.Random(5)
    return [
        line(f"c{c}", t, draw.gauss(mean, spread))
        for c in range(conversations)
        for t in range(replies)
    ]


@pytest.fixture
def good(tmp_path):
    return write(tmp_path / "out.jsonl", scores(50, 0.7))


def verdicts(file, rules):
    return [check.verdict for check in gate_file(file, rules).checks]


def test_the_low_end_is_held_against_the_bar_not_the_point(good):
    [check] = gate_file(good, Rules({"relevance": 0.6})).checks
    assert check.verdict == "passed"
    assert verdicts(good, Rules({"relevance": check.low})) == ["passed"]
    assert verdicts(good, Rules({"relevance": check.value})) == ["uncertain"]
    between = {"relevance": (check.low + check.value) / 2}
    above = {"relevance": check.value + 0.001}
    assert verdicts(good, Rules(between)) == ["uncertain"]
    assert verdicts(good, Rules(above)) == ["failed"]
    assert not gate_file(good, Rules(between)).passed
    assert gate_file(good, Rules(between, allow_uncertain=True)).passed
    assert not gate_file(good, Rules(above, allow_uncertain=True)).passed


@pytest.mark.parametrize(("conversations", "few"), [
    (1, "1 conversation is"), (2, "2 conversations are"), (9, "9 conversations are"),
])  # fmt: skip
def test_a_small_sample_says_so(tmp_path, conversations, few):
    file = write(tmp_path / "out.jsonl", scores(conversations, 0.9, 0.01))
    [check] = gate_file(file, Rules({"relevance": 0.1})).checks
    assert check.verdict == "uncertain"
    assert f"{few} too few" in check.says
    enough = write(tmp_path / "enough.jsonl", scores(10, 0.9, 0.01))
    assert verdicts(enough, Rules({"relevance": 0.1})) == ["passed"]


def test_the_share_below_is_held_by_its_high_end(good):
    def rules(share):
        return Rules(share_below=(ShareBelow("relevance", 0.6, share),))

    [check] = gate_file(good, rules(0.5)).checks
    assert check.verdict == "passed"
    assert 0.1 < check.value < 0.25  # a normal deviate lies below -1 in 16 % of cases
    assert verdicts(good, rules(check.high)) == ["passed"]
    assert verdicts(good, rules((check.value + check.high) / 2)) == ["uncertain"]
    assert verdicts(good, rules(check.value)) == ["uncertain"]
    assert verdicts(good, rules(check.value / 2)) == ["failed"]


def test_failed_and_abstained_scores_are_counted_as_they_are(tmp_path):
    rows = scores(25, 0.7)
    rows[3] = line("c0", 3, None, status="failed")
    rows[4] = line("c1", 0, 0.5, status="abstained")
    file = write(tmp_path / "out.jsonl", rows)
    given = [msgspec.convert(row, Score) for row in rows]  # scores in memory are checked alike
    rules = Rules({"relevance": 0.5}, max_failed={EVERY: 0.01}, max_abstained={"relevance": 0.02})
    assert gate(given, rules) == gate_file(file, rules)
    with pytest.raises(InputError, match="did you mean 'relevance'"):
        gate(given, Rules({"relevnce": 0.5}))
    what = [(check.metric, check.what, check.bar) for check in gate(given, rules).checks]
    assert what[1:] == [(EVERY, "share failed", 0.01), ("relevance", "share abstained", 0.02)]
    assert verdicts(file, Rules(max_failed={EVERY: 0.01})) == ["passed"]
    assert verdicts(file, Rules(max_failed={EVERY: 0.009})) == ["failed"]
    assert verdicts(file, Rules(max_abstained={"relevance": 0.0})) == ["failed"]


def test_nothing_judged_never_passes(tmp_path):
    file = write(tmp_path / "o", [line(f"c{c}", 0, 0.5, status="abstained") for c in range(20)])
    below = (ShareBelow("relevance", 0.1, 1.0),)
    checks = gate_file(file, Rules({"relevance": 0.1}, share_below=below, allow_uncertain=True))
    checks = checks.checks
    facts = [(check.verdict, check.n, check.conversations) for check in checks]
    assert facts == [("failed", 0, 0)] * 2
    assert all("no score with status ok (20 abstained)" in check.says for check in checks)


def test_scores_of_a_conversation_need_not_be_adjacent(tmp_path):
    rows = [line("a", 0, 0.1), line("b", 0, 0.1), line("a", 1, 0.1)]
    [check] = gate_file(write(tmp_path / "out.jsonl", rows), Rules({"relevance": 0})).checks
    assert (check.n, check.conversations) == (3, 2)


def test_junit_markdown_and_json_tell_the_same(tmp_path, capsys):
    evil = 'rele<b>|vance"\x1b'
    file = write(tmp_path / "out.jsonl", [line(f"c{c}", 0, 0.5, evil) for c in range(12)])
    xml, md = tmp_path / "r.xml", tmp_path / "r.md"
    words = ["--min", f"{evil}=0.4", "--max-share-below", f"{evil}:0.6=0.2"]
    words += ["--junit", str(xml), "--markdown", str(md), "--json"]
    assert main(["gate", file, *words]) == 1
    [suite] = ElementTree.fromstring(xml.read_text())
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    assert [case.find("failure") is not None for case in suite] == [False, True]
    table = md.read_text().splitlines()
    assert "failed" in table[0]
    assert [row.split("|")[-2].strip() for row in table[4:]] == ["passed", "failed"]
    result = json.loads(capsys.readouterr().out)
    assert [check["verdict"] for check in result["checks"]] == ["passed", "failed"]
    assert result["passed"] is False


def test_a_file_on_another_scale_is_checked_and_one_on_the_scale_by_its_ends(tmp_path):
    file = write(tmp_path / "out.jsonl", [line(f"c{i}", 0, v) for i, v in enumerate((1.0, 5.0))])
    [check] = gate_file(file, Rules({"relevance": 2.0})).checks
    assert check.low < check.value == 3.0 < check.high
    file = write(tmp_path / "out.jsonl", [line(f"c{i}", 0, i % 2) for i in range(12)])
    below = (ShareBelow("relevance", 1.0, 0.9),)
    assert gate_file(file, Rules(share_below=below)).checks[0].value == 0.5  # 1 is not below 1
    with pytest.raises(InputError, match="its scores lie between 0 and 1, a threshold of 2"):
        gate_file(file, Rules({"relevance": 2.0}))


def test_a_gate_fails_where_the_mean_dropped(tmp_path, capsys):
    old, same = (write(tmp_path / name, scores(40, 0.7)) for name in ("old", "same"))
    worse = write(tmp_path / "worse", scores(40, 0.6, 0.12))

    def dropped(file, **most):
        [check] = gate_file(file, Rules(max_drop=most), old).checks
        return check

    kept, lost = (dropped(file, relevance=0.02) for file in (same, worse))
    assert (kept.verdict, lost.verdict) == ("passed", "failed")
    same = dropped(same, relevance=0)
    assert (same.verdict, round(same.high, 3)) == ("passed", 0.072)
    assert "no score differs, so nothing dropped in these conversations" in same.says
    few = write(tmp_path / "few", scores(9, 0.7))
    [check] = gate_file(few, Rules(max_drop={"relevance": 0}), few).checks
    assert check.verdict == "uncertain"
    assert dropped(worse, relevance=-lost.low).verdict == "passed"
    assert dropped(worse, relevance=-lost.value).verdict == "uncertain"
    assert f"against {old}, a drop of at most 0.02 allowed" in lost.says
    partly = write(tmp_path / "partly", scores(40, 0.7)[:80] + scores(60, 0.1)[160:])
    unsure = dropped(partly, relevance=0.02)
    assert unsure.verdict == "uncertain", "new replies are bad, and those in both files are equal"
    assert "only 80 of 160 scores are in both files" in unsure.says
    assert main(["gate", old, "--baseline", old, "--max-drop", "0.02", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["passed"]
    assert main(["gate", worse, "--baseline", old, "--max-drop", "relevance=0.02"]) == 1


@pytest.mark.parametrize(("words", "status", "says"), [
    (["0.5"], 0, "passed any rule: replies with a finding: 5.0% ["),
    (["0.01"], 1, "failed any rule:"), (["0.06"], 1, "uncertain any rule:"),
    (["T=0", "leaked-tokens=0"], 1, "failed T: replies with a finding: 5.0% ["),
    (["P=0"], 0, "passed P: no finding in 20 replies"), (["X=0"], 2, "no rule 'X'"),
    (["2"], 2, "any rule: a share lies between 0 and 1"),
    (["0", "--min", "relevance=0.5"], 2, "--max-findings checks conversations, the others scores"),
])  # fmt: skip
def test_a_gate_counts_the_replies_with_findings_in_conversations(
    tmp_path, capsys, monkeypatch, words, status, says
):
    replies = ["Dear {{name}}, hello.", *(f"It is number {i}." for i in range(19))]
    talks = [{"id": f"c{i}", "turns": ["Which?", reply]} for i, reply in enumerate(replies)]
    file = write(tmp_path / "talks.jsonl", [{**talk, "targets": [1]} for talk in talks])
    given = [part if part[0] in "-r" else f"--max-findings={part}" for part in words]
    assert main(["gate", file, *given]) == status
    shown = " ".join("".join(capsys.readouterr()).split())
    assert says in shown
    assert ('c0 1 T105 a template field is not filled in: "{{name}}"' in shown) == (status == 1)
    with Path(file).open() as stream:
        monkeypatch.setattr("sys.stdin", stream)
        assert main(["gate", "-", *given]) == status


@pytest.mark.parametrize(("words", "problem"), [
    ([], "nothing to check"), (["--min", "relevnce=0.6"], "did you mean 'relevance'"),
    (["--max-failed", "1.5"], "every metric: a share lies between 0 and 1, found 1.5"),
    (["--max-failed", "7", "--max-abstained", "0.1"], "between 0 and 1, found 7"),
    (["--min", "relevance=nan"], "relevance: a threshold is a finite number"),
    (["--min", "relevance=0.2", "--min", "relevance=0.6"], "two thresholds for relevance"),
    (["--min", "relevance"], "--min relevance: write METRIC=VALUE"),
    (["--max-share-below", "relevance=0.3"], "write METRIC:VALUE=SHARE"),
    (["--min", "relevance=1.5"], "its scores lie between 0 and 1"),
    (["--max-share-below", "relevance:-1=0.1"], "its scores lie between 0 and 1"),
    (["--max-drop", "0.1"], "--baseline and --max-drop belong together"),
    (["--baseline", "{old}", "--min", "relevance=0.5"], "belong together"),
    (["--baseline", "{old}", "--max-drop", "-0.1"], "a drop is 0 or more"),
    (["--baseline", "{old}", "--max-drop", "coherence=0.1"], "no scores of metric 'coherence'"),
    (["--baseline", "{other}", "--max-drop", "0.1"], "is not comparable"),
])  # fmt: skip
def test_thresholds_that_are_wrong_or_decide_nothing_are_refused(tmp_path, capsys, words, problem):
    rows = [{**row, "value": min(1.0, max(0.0, row["value"]))} for row in scores(40, 0.7)]
    old, new = write(tmp_path / "old", rows), write(tmp_path / "new", rows)
    other = write(tmp_path / "other", [{**row, "signature": "relevance:0"} for row in rows])
    assert main(["gate", new, *[word.format(old=old, other=other) for word in words]]) == 2
    assert problem in capsys.readouterr().err
