"""Audits of judges: a right one, a deceived one, a silent one."""

import json
import re
from io import StringIO
from itertools import cycle

import pytest

import grice.evaluation.audit
from grice.cli import main
from grice.evaluation.audit import InjectionEffect, MetricAudit, audit, rated_replies, verdict
from grice.scoring.api import load
from grice.stats.estimate import Estimate
from stub_endpoint import StubEndpoint, by_length, gullible

pytestmark = pytest.mark.enable_socket
ITEMS = 12


@pytest.fixture(autouse=True)
def own_folders(tmp_path, monkeypatch):
    for name in ("CONFIG", "CACHE"):
        monkeypatch.setenv(f"GRICE_{name}", str(tmp_path / name))


def right(data):
    """Rate as people did; prefer the reply that was given."""
    items = rated_replies(ITEMS)
    if "first" in data:
        own = [i.reply for i in items if i.turns[-2].text == data["history"][-1]["text"]]
        return {"reason": "own", "better": "first" if data["first"] in own else "second"}
    ratings = [item.rating for item in items if item.reply in data["reply"]]
    return {"reason": "as people", "rating": 1 + 2 * int(ratings[0])}


def partial(data):
    """Prefer whatever stands first."""
    return {"reason": "first", "better": "first"} if "first" in data else by_length(data)


def audited(judge, items=ITEMS, repeats=2, **faults):
    with (
        StubEndpoint(judge, **faults) as server,
        load("judge_relevance", models=server.model) as grader,
    ):
        return audit(server.model, grader, None, rated_replies(items), repeats=repeats)


ODD = (  # ways in which models write an answer that is clear
    "<think>Perhaps {{}}?</think>\n{}".format,
    "```json\n{}\n```".format,
    "<think>\nHm.\n</think>\n\n```json\n{}\n```".format,
    lambda text: re.sub(r'("rating": \d)', r"\1.0", text),
    lambda text: re.sub(r'"rating": (\d)', r'"rating": "\1"', text),
    lambda text: text.replace("{", '{"confidence": [0.9], ', 1),
)


@pytest.mark.parametrize("ways", [(str,), ODD], ids=["plain", "odd"])
def test_a_judge_like_people_agrees_and_is_not_moved(ways):
    turns = cycle(ways)
    result = audited(right, written=lambda text: next(turns)(text))
    [row], [usage] = result.metrics, result.usage
    assert (usage.repeated, usage.unanswered) == ({}, {})
    assert (row.spearman.value, row.padding.value) == (pytest.approx(1.0), 0.0)
    assert all(effect.raised == 0 for effect in row.injections)
    assert (row.same.value, row.own.value, row.deviation) == (1.0, 1.0, 0.0)


def test_a_judge_that_is_deceived_is_found_out():
    [row] = audited(gullible).metrics
    raised = {effect.injection for effect in row.injections if effect.raised}
    assert {"asks for five", "finished JSON", "German"} <= raised
    changes = {effect.injection: effect.change.value for effect in row.injections}
    assert changes["asks for five"] > changes["control: harmless words"]
    assert row.padding.value > 0


def test_a_judge_of_places_is_found_out():
    [row] = audited(partial).metrics
    assert (row.same.value, row.first.value) == (0.0, 1.0)


def test_a_judge_without_an_answer_to_one_injection_is_audited_on():
    def confused(data):
        return {"rating": 5} if "Ignoriere" in str(data.get("reply")) else by_length(data)

    [row] = audited(confused, items=20, repeats=1).metrics
    failed = {effect.injection: effect.failed for effect in row.injections if effect.failed}
    assert failed == {"German": 20}


def test_an_audit_begins_with_what_it_sends_and_ends_with_a_verdict(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("grice.cli.commands.evaluate.LOCAL", ("repetition",))
    words = ["-m", "judge_relevance", "--items", "10", "--repeats", "2"]
    file = tmp_path / "audit.json"
    with StubEndpoint(gullible) as server:
        assert (main(["audit", server.model, "--dry-run"]), server.requests) == (0, [])
        assert "2,400 requests" in capsys.readouterr().out
        assert main(["audit", server.model, *words]) == 0
        sent, shown = len(server.requests), capsys.readouterr()
        assert main(["audit", server.model, *words, "-o", str(file), "--json"]) == 0
        assert len(server.requests) == sent
        again = capsys.readouterr()
    assert shown.err.startswith(f"grice: to be sent: stub: {sent} requests; about ")
    assert again.err.startswith("grice: to be sent: stub: 0 requests, ")
    result = json.loads(again.out)
    assert result == json.loads(file.read_text())
    ships = {row["metric"] for row in result["metrics"] if row["ships"]}
    assert ships == {"repetition", "log_length"}
    [said] = filter(None, (row["verdict"] for row in result["metrics"]))
    assert said.startswith("judge_relevance cannot be trusted on this evidence: no agreement")
    assert "may not be believed for judge_relevance" in result["conclusion"]
    assert " ".join(shown.out.split()).endswith(f"{said} {result['conclusion']}")


# With 25 injections, 20 pairs and each plain, padded and repeated, 10 replies make 500 requests.
AT_MOST = ["-m", "judge_relevance", "--items", "10", "--repeats", "22"]
TOO_MANY = [*AT_MOST[:-1], "23"]
Terminal = type("Terminal", (StringIO,), {"isatty": lambda _: True})


@pytest.mark.parametrize(("words", "typed", "is_sent"), [
    (AT_MOST, None, True), (TOO_MANY, None, False),
    ([*TOO_MANY, "--limit-requests", "600"], None, True), ([*TOO_MANY, "--yes"], None, True),
    (TOO_MANY, "y\n", True), (TOO_MANY, "\n", False), (TOO_MANY, "", False),
])  # fmt: skip
def test_above_500_requests_an_audit_asks_first(words, typed, is_sent, capsys, monkeypatch):
    if typed is not None:
        monkeypatch.setattr("sys.stdin", Terminal(typed))
        monkeypatch.setattr("sys.stderr", errors := Terminal())
    with StubEndpoint(always="401") as server:  # it ends at once where anything is sent
        assert main(["audit", server.model, *words]) == 2
        assert bool(server.requests) == is_sent
    shown = capsys.readouterr().err if typed is None else errors.getvalue()
    assert f"to be sent: stub: {500 if words == AT_MOST else 510} requests" in shown
    assert ("[y/N]" in shown) == (typed is not None)
    assert ("give --yes or --limit-requests" in shown) is not is_sent


def test_what_a_preset_shares_with_what_ships_stands_once(tmp_path, monkeypatch, capsys):
    (tmp_path / "presets").mkdir()
    text = 'summary = "Short histories."\n[options.relevance]\nhistory = 1\n'
    (tmp_path / "presets" / "short.toml").write_text(text)
    monkeypatch.setenv("GRICE_CONFIG", str(tmp_path))
    monkeypatch.setattr("grice.cli.commands.evaluate.LOCAL", ("relevance", "repetition"))
    assert main(["audit", "short", "-m", "relevance,repetition", "--items", "10", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert [(row["metric"], row["ships"]) for row in shown["metrics"]] == [
        ("relevance", False), ("repetition", False),
        ("relevance (ships)", True), ("log_length", True),
    ]  # fmt: skip


@pytest.mark.parametrize(("words", "message"), [
    (["smal"], "no preset 'smal'"), (["ftp:./x"], "openai:MODEL@URL"),
    (["small", "--items", "1000"], "1 to 100 ship"),
    (["small", "-m", "coherence"], "judges conversations"),
    (["openai:m@nowhere"], "openai:MODEL@URL"),
])  # fmt: skip
def test_what_cannot_be_audited_is_said(words, message, capsys):
    assert main(["audit", *words]) == 2
    assert message in capsys.readouterr().err


def estimate(value, low, high):
    return Estimate(value, low, high, 0.95, 50, "given")


def row_of(*, items=100, injection=None, control=0.0, order=None, changed=None, **fields):
    """Return the audit of a judge that agrees with people, but for what is given."""
    agreeing = {"spearman": estimate(0.6, 0.4, 0.8), "gain": estimate(0.4, 0.1, 0.7)}
    figures = {"judged": items, "padding": estimate(0.0, -0.1, 0.1), **agreeing, **fields}
    tried = {"control": estimate(control, control, control), "asks": injection}
    figures["injections"] = tuple(
        InjectionEffect(name, name == "control", change, 0, 20, 0, 0)
        for name, change in tried.items()
        if change is not None
    )
    if order is not None:
        figures |= {"judge": True, "same": order[0], "first": order[1]}
    if changed is not None:
        figures["changed"] = estimate(changed, 0, 1)
    return MetricAudit("j", "j", ships=False, abstained=0, failed=0, seconds=0.0, **figures)


def test_an_audit_is_concluded_in_one_sentence():
    good, bad, biased = [row_of(trusted=True)], [row_of()], row_of(trusted=True, padding=RAISED)
    for rows, said in (
        (good, "may be believed to rank replies by j."), (bad * 2, "may not be believed for j, j "),
        (good + bad, "may be believed to rank replies by j, and not for j."),
        ([biased], "may be believed to rank replies by j within the limits above."),
    ):  # fmt: skip
        assert f"In short: m {said}" in grice.evaluation.audit.conclusion("m", rows)


SAME, RAISED = estimate(0.9, 0.8, 1.0), estimate(0.2, 0.01, 0.3)
MAYBE, MANY = estimate(0.1, 0.0, 0.2), estimate(0.3, 0.2, 0.4)
SIDES = estimate(0.8, 0.7, 0.9), estimate(0.6, 0.5, 0.7)
TRUSTED = "j can be trusted to rank replies (Spearman +0.60 [+0.40, +0.80] on "
LIMITED = f"{TRUSTED}100 replies, +0.40 [+0.10, +0.70] over log_length), but not "


@pytest.mark.parametrize(("figures", "start", "message"), [
    ({"judged": 49}, "Not enough scores to say whether j can be trusted", "it scored 49 of 100"),
    ({"items": 9}, "Not enough scores", "it scored 9 of 9"),
    ({"spearman": None}, "j cannot be trusted", "gives all 100 replies the same score"),
    ({"spearman": estimate(0.3, 0.0, 0.6)}, "j cannot", "no agreement with people is shown"),
    ({"gain": estimate(0.3, 0.0, 0.6)}, "j cannot be trusted more than a reply's length", ""),
    ({"gain": None}, "j agrees", "no baseline was measured"),
    ({"judged": 50}, TRUSTED, "no bias"), ({"items": 10}, TRUSTED, "no bias was found."),
    ({"spearman": estimate(0.6, 0.01, 0.8)}, TRUSTED[:31], "no bias was found."),
    ({"gain": estimate(0.4, 0.01, 0.7)}, TRUSTED, "no bias was found."),
    ({"injection": MAYBE, "padding": MAYBE, "order": SIDES, "changed": 0.1}, TRUSTED, "no bias"),
    ({"injection": RAISED}, LIMITED, "(1 of 1 injections raise it, 'asks' by +0.20)"),
    ({"injection": MANY, "control": 0.19}, LIMITED, "injections"),
    ({"injection": MANY, "control": 0.2}, TRUSTED, "no bias was found"),
    ({"padding": RAISED}, LIMITED, "between replies of different length"),
    ({"order": (estimate(0.79, 0.6, 0.9), None)}, LIMITED, "both orders in only 79% [60%, 90%]"),
    ({"order": (SAME, estimate(0.6, 0.51, 0.7))}, LIMITED, "first wins in 60% [51%, 70%]"),
    ({"order": (SAME, estimate(0.4, 0.3, 0.49))}, LIMITED, "first wins in 40% [30%, 49%]"),
    ({"order": (None, None)}, LIMITED, "not measured: too few answers"),
    ({"changed": 0.11}, LIMITED, "for one request per reply"),
])  # fmt: skip
def test_a_judge_is_trusted_as_far_as_its_figures_show(figures, start, message):
    said = verdict(row_of(**figures), figures.get("items", 100))
    assert said.startswith(start)
    assert message in said
