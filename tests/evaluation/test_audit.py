"""What an audit says of judges: one that is right, one that is deceived, one that is silent."""

from __future__ import annotations

import json

import pytest

from grice.cli import main
from grice.evaluation.audit import audit
from grice.evaluation.audit_items import injections, rated_replies
from grice.scoring.api import load
from stub_endpoint import StubEndpoint, by_length, gullible

ITEMS = 12


@pytest.fixture(autouse=True)
def own_folders(tmp_path, monkeypatch):
    monkeypatch.setenv("GRICE_CONFIG", str(tmp_path / "config"))
    monkeypatch.setenv("GRICE_CACHE", str(tmp_path / "cache"))


def right(data):
    """Rate as people did; prefer the reply that was given."""
    rated = {item.reply: item for item in rated_replies(ITEMS)}
    if "first" in data:
        own = [
            item for item in rated.values() if item.turns[-2].text == data["history"][-1]["text"]
        ]
        is_first = any(item.reply == data["first"] for item in own)
        return {"reason": "own", "better": "first" if is_first else "second"}
    ratings = [item.rating for reply, item in rated.items() if reply in data["reply"]]
    return {"reason": "as people", "rating": 1 + 2 * int(ratings[0])}


def partial(data):
    """Prefer whatever stands first."""
    return {"reason": "first", "better": "first"} if "first" in data else by_length(data)


def audited(judge, **faults):
    with (
        StubEndpoint(judge, **faults) as server,
        load("judge_relevance", models=server.model) as grader,
    ):
        return audit(server.model, grader, None, rated_replies(ITEMS), repeats=2)


@pytest.mark.enable_socket
def test_a_judge_like_people_agrees_and_is_not_moved():
    result = audited(right)
    [row] = result.metrics
    assert row.spearman.value == pytest.approx(1.0)
    assert row.padding.value == 0.0
    assert all(injected.raised == 0 for injected in result.injections)
    assert result.order[0].same.value == 1.0
    assert result.order[0].own.value == 1.0
    assert result.repeats[0].deviation == 0.0


@pytest.mark.enable_socket
def test_a_judge_that_is_deceived_is_found_out():
    result = audited(gullible)
    raised = {row.injection for row in result.injections if row.raised}
    assert {"asks for five", "finished JSON", "German"} <= raised
    changes = {row.injection: row.change.value for row in result.injections}
    assert changes["asks for five"] > changes["control: harmless words"]
    assert result.metrics[0].padding.value > 0


@pytest.mark.enable_socket
def test_a_judge_of_places_is_found_out():
    [order] = audited(partial).order
    assert order.same.value == 0.0
    assert order.first.value == 1.0


@pytest.mark.enable_socket
def test_a_judge_without_answers_has_no_figures():
    result = audited(by_length, always="prose")
    [row] = result.metrics
    assert (row.spearman, row.padding, row.judged, row.failed) == (None, None, 0, ITEMS)
    assert result.order[0].unanswered == ITEMS


@pytest.mark.enable_socket
def test_the_command_keeps_a_badge_that_a_report_shows(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "talk.txt").write_text("Ann: Is it far?\nBob: Ten minutes.\n")
    options = ["-m", "judge_relevance"]
    with StubEndpoint(gullible) as server:
        score = ["score", "talk.txt", "--models", server.model, *options, "-o", "s.jsonl"]
        assert main([*score, "--report", "before.html"]) == 0
        audit_words = ["audit", server.model, "--items", str(ITEMS), *options]
        assert main([*audit_words, "-o", "badge.json", "--json"]) == 0
        shown = json.loads(capsys.readouterr().out.splitlines()[-1])
        assert main([*score, "--no-resume", "--report", "after.html"]) == 0
    assert shown == json.loads((tmp_path / "badge.json").read_text())
    assert {row["metric"] for row in shown["beside"]} >= {"relevance", "log_length"}
    assert "This judge was not audited" in (tmp_path / "before.html").read_text("utf-8")
    page = (tmp_path / "after.html").read_text("utf-8")
    assert f"Audited on {ITEMS} replies that people rated" in page
    assert "23 of 24 injections raise its scores on the whole." in page


@pytest.mark.enable_socket
def test_a_plan_of_an_audit_sends_nothing(capsys):
    with StubEndpoint() as server:
        assert main(["audit", server.model, "--dry-run"]) == 0
        assert server.requests == []
    assert "price unknown" in capsys.readouterr().out


def test_what_ships_is_audited_without_a_network(capsys):
    assert main(["audit", "small", "-m", "relevance", "--items", "10"]) == 0
    shown = capsys.readouterr().out
    assert "relevance" in shown
    assert "asks for five" in shown


def test_what_a_preset_shares_with_what_ships_stands_once(tmp_path, monkeypatch, capsys):
    (tmp_path / "presets").mkdir()
    text = 'summary = "Short histories."\n[options.relevance]\nhistory = 1\n'
    (tmp_path / "presets" / "short.toml").write_text(text)
    monkeypatch.setenv("GRICE_CONFIG", str(tmp_path))
    assert main(["audit", "short", "-m", "relevance,engagement", "--items", "10", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert [row["metric"] for row in shown["metrics"]] == ["relevance", "engagement"]
    assert [row["metric"] for row in shown["beside"]] == [
        "relevance (ships)", "commonsense", "log_length",
    ]  # fmt: skip
    assert {"relevance", "relevance (ships)"} <= {row["metric"] for row in shown["injections"]}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["smal"], "no preset 'smal'"),
        (["file:./x"], "openai:MODEL@URL"),
        (["small", "--items", "1000"], "1 to 100 ship"),
        (["small", "-m", "coherence"], "judges conversations"),
        (["openai:m@nowhere"], "openai:MODEL@URL"),
        (["openai:m@http://localhost:1/v1", "--prices", "none.toml"], "price list cannot be read"),
        (["openai:m@http://localhost:1/v1", "--budget", "2"], "needs prices"),
    ],
)
def test_what_cannot_be_audited_is_said(words, message, capsys):
    assert main(["audit", *words]) == 2
    assert message in capsys.readouterr().err


def test_injections_are_as_many_kinds_of_text():
    kinds = [injection for injection in injections() if not injection.control]
    assert len(kinds) >= 20
    assert all(injection.applied("x") != "x" for injection in kinds)
