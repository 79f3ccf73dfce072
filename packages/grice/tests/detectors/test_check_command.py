"""The check of whole files: selection, counts, the baseline, and forms for other programs."""

import json
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

import grice
from grice.cli import main
from grice.data import Conversation, Turn
from grice.detectors import ALL
from grice.detectors.check import read_baseline
from grice.detectors.rules import selected
from grice.errors import InputError
from grice.report import findings

LOGS = "logs: a%b.jsonl"
TALKS = {
    "first": ["Where is it?", "Dear {{name}}, look."],
    "second, <b>&]]>:": ["And now?", ""],
    "third": ["Thanks!", "You are welcome."],
}


@pytest.fixture(autouse=True)
def logs(tmp_path, monkeypatch):
    """A file of three conversations, two with a flaw; no settings apply."""
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GRICE_CONFIG", str(tmp_path / "config"))
    with Path(LOGS).open("w") as file:
        for name, texts in TALKS.items():
            said = zip(("user", "assistant"), texts, strict=True)
            messages = [{"role": role, "content": text} for role, text in said]
            file.write(json.dumps({"id": name, "messages": messages}) + "\n")


def run(capsys, *words):
    status = main(["check", "--quiet", LOGS, *words])
    return status, capsys.readouterr().out


def talk(*texts, name="x"):
    roles = ("user", "assistant")
    turns = (Turn(roles[i % 2], text, role=roles[i % 2]) for i, text in enumerate(texts))
    return Conversation(name, tuple(turns))


def test_findings_are_listed_one_a_line_with_their_words_and_counted(capsys):
    status, out = run(capsys)
    assert status == 1
    assert out.splitlines()[:2] == [
        f'{LOGS}:first 1 T105 a template field is not filled in: "{{{{name}}}}"',
        f"{LOGS}:second, <b>&]]>: 1 T101 the reply is empty",
    ]
    assert re.search(r"T105 +template left in +1 +1 +[01]\.\d\d \[", out)
    assert "2 findings in 3 replies of 3 conversations, by " in out
    assert run(capsys, "--limit", "1")[1].count(LOGS) == 1
    assert main(["score", LOGS, "-m", "log_length", "-o", "out.jsonl"]) == 0
    summary = capsys.readouterr().out
    assert "2 replies have a finding of a rule, of 3" in summary
    assert re.search(r"T105 +template left in +1 +1 +[01]\.\d\d \[", summary)


def test_groups_of_three_or_more_are_listed_below_the_findings_and_in_the_json(capsys):
    assert "similar meaning" not in run(capsys, LOGS, "--group")[1]
    _, out = run(capsys, LOGS, LOGS, "--group")
    assert '\n  "Dear {{name}}, look." 3 replies in 1 conversation (T105 3)\n' in out
    groups = json.loads(run(capsys, LOGS, LOGS, "--group", "--json")[1])["groups"]
    assert [group["codes"] for group in groups] == [{"T101": 3}, {"T105": 3}]


def test_the_exit_status_is_0_without_a_finding_and_2_for_wrong_use(capsys):
    assert run(capsys, "--ignore", "T101,template-left-in")[0] == 0
    for words in (["--select", "X9"], ["--ignore", "all"], ["--min-confidence", "2"],
                  ["--baseline", LOGS], ["--json", "--format", "sarif"]):  # fmt: skip
        assert run(capsys, *words) == (2, "")
    Path("broken.jsonl").write_text('{"turns": 1}\n{"turns": ["a", "b"]}\n')
    assert main(["check", "broken.jsonl", "--input-format", "turns"]) == 4


def test_rules_that_read_scores_need_the_models_of_a_preset(capsys):
    said = "The dsl light is red", "Bananas elect seven moons under quiet invoices.", "??? what"
    talk = [{"role": ("user", "assistant")[i % 2], "content": t} for i, t in enumerate(said)]
    Path("talk.json").write_text(json.dumps({"messages": talk}))
    for words, status in ((["--models", "small", "--select", "D3"], 1), (["--models", "small"], 0),
                          (["--select", "D31"], 2), (["--scores", "x"], 2),
                          (["--select", "T", "--models", "small"], 2)):  # fmt: skip
        got, (out, err) = main(["check", "talk.json", *words]), capsys.readouterr()
        listed, refused = "talk.json:talk:1 1 D311 makes no" in out, "D31 reads scores: give" in err
        assert (got, listed, refused) == (status, status == 1, "D31" in words)
    assert "models small: no selected rule reads scores: leave the models out" in err
    main(["check", "talk.json", "--models", "small", "--select", "D3", "--json", "-o", "by.json"])
    assert grice.check("talk.json", models="small", select=["D3"]) == read_baseline("by.json")


def test_rules_are_selected_by_code_beginning_name_and_precision():
    chosen = [rule.code for rule in selected(ALL, ["t10", "raw-html"], ["T102", "cut-off"])]
    assert chosen == ["T101", "T103", "T104", "T105", "T106", "T107", "T109"]
    assert all(rule.precision >= 0.99 for rule in selected(ALL, min_confidence=0.99))
    with pytest.raises(InputError, match="did you mean 'cut-off'"):
        selected(ALL, ["cutoff"])
    assert len({rule.code for rule in ALL}) == len({rule.name for rule in ALL}) == len(ALL)


def test_only_findings_that_the_baseline_lacks_are_listed(capsys):
    old = grice.check(LOGS, select=["T105"])
    run(capsys, "--select", "T105", "--format", "json", "-o", "old.json")
    assert grice.check(LOGS, baseline="old.json") == grice.check(LOGS, baseline=old)
    status, out = run(capsys, "--baseline", "old.json")
    assert (status, "T105" in out, "T101" in out) == (1, False, True)
    assert "not listed: 1 finding of the baseline" in out
    once, twice = talk("Hi", "{{a}}"), talk("Hi", "{{a}}", "And?", "{{a}}")
    new = grice.check(twice, select=["T105"], baseline=grice.check(once)).findings
    assert [finding.turn for finding in new] == [3]
    Path("old.json").write_text(Path("old.json").read_text().replace(grice.__version__, "0.1.9", 1))
    main(["check", LOGS, "--baseline", "old.json"])
    assert "old.json: made by grice 0.1.9, and this is" in capsys.readouterr().err


def test_a_finding_of_nearly_all_replies_is_listed_once():
    check = grice.check(*[talk("Hi", "{{a}}", name=str(i)) for i in range(20)])
    assert [each.message[-22:] for each in check.findings] == [", as in 19 other replies"[-22:]]
    assert check.counts() == {"T105": 20}


def test_settings_of_check_come_from_their_own_table(capsys):
    file = Path("pyproject.toml")
    file.write_text('[tool.grice]\nseed = 3\n[tool.grice.check]\nselect = ["T101", "T105"]\n')
    assert run(capsys, "--ignore", "T105")[1].startswith(f"{LOGS}:second")
    for text, problem in [
        ('ignore = ["T101", "T2"]', "no rule 'T2'"), ("selekt = 1", "did you mean 'select'"),
        ('output = "/tmp/x"', "may not set this value"),
    ]:  # fmt: skip
        file.write_text(f"[tool.grice.check]\n{text}")
        assert main(["check", LOGS]) == 2
        assert problem in capsys.readouterr().err


def test_forms_for_other_programs_escape_what_logs_say(capsys):
    first, _ = run(capsys, "--format", "github")[1].splitlines()
    assert first == (
        "::error file=logs%3A a%25b.jsonl,title=T105 template-left-in::first, turn 1: "
        'a template field is not filled in: "{{name}}"'
    )
    hostile = grice.check(talk("Hi", "{{a}}", name="x\n::error::%0A\x1b[31m"))
    assert findings.github(hostile).count("\n") == 1
    (suite,) = ElementTree.fromstring(run(capsys, "--format", "junit")[1])
    failed = {case.get("name"): case[0].text for case in suite if len(case)}
    assert suite.get("tests") == str(len(suite)) == str(len(selected(ALL)))
    assert suite.get("failures") == str(len(failed)) == "2"
    assert "second, <b>&]]>: 1 T101" in failed["T101 empty reply"]
    table = run(capsys, "--format", "markdown")[1]
    assert r"second, \<b\>&\]\]\>" in table
    assert table.count("| T105 |") == 2


def test_sarif_has_the_fields_that_its_schema_demands(capsys):
    log = json.loads(run(capsys, "--format", "sarif")[1])
    assert (log["version"], log["$schema"].endswith("sarif-2.1.0.json")) == ("2.1.0", True)
    (made,) = log["runs"]
    rules = made["tool"]["driver"]["rules"]
    assert {"id", "name", "shortDescription"} <= rules[0].keys()
    assert len(made["results"]) == 2
    for result in made["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in ("error", "warning", "note")
        assert result["message"]["text"]
        (location,) = result["locations"]
        assert location["logicalLocations"][0]["fullyQualifiedName"].endswith("turn 1")
        assert location["physicalLocation"]["artifactLocation"] == {"uri": "logs:%20a%25b.jsonl"}
