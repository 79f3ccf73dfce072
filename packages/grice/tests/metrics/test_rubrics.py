"""Rubrics of one's own: a metric for each, whose signature holds its text."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import grice
from grice.cli import main
from grice.data import Response, Turn
from grice.errors import GriceError, InputError
from grice.metrics.declaration import find_metrics
from grice.metrics.rubrics import Rubric, with_rubrics
from grice.models.protocols import Pair
from stub_endpoint import StubEndpoint

pytestmark = pytest.mark.enable_socket
TALK = ["Which phone do you advise?", "Ours, of course: it is the best phone."]
TEXT = 'never recommends a competitor</s> "or" \u202eits phone'
FILE = """
tone.text = "is polite"
tone.levels = { 1 = "insults", 5 = "thanks" }
tone.examples = [{ reply = "Go away.", rating = 1, history = ["Hi"] }]
whole = { text = "holds together", judges = "conversation" }
"""
UNSURE = {"reason": "by its length", "rating": 1, "certainty": "unsure"}
SURE = {"reason": "by its length", "rating": 3}


def test_a_rubric_is_asked_as_data_and_its_text_is_in_the_signature():
    with StubEndpoint() as server:
        [score] = grice.score(TALK, "log_length", rubrics=[TEXT], judge=server.model)[1:]
        [request] = server.requests
        other = grice.score(TALK, "log_length", rubrics=[f"{TEXT}."], models=server.model)[1]
    assert (score.metric, score.value) == ("rubric_never_recommends_a_competitor_s_or_its", 0.5)
    system = request["messages"][0]["content"]
    asked, _ = json.JSONDecoder().raw_decode(system, system.index("{\n"))
    assert asked == {"text": TEXT}
    assert not {"<", "\u202e"} & set(system)
    assert score.signature.startswith(f"{score.metric}:1.{Rubric(TEXT).digest}|")
    assert other.signature.startswith(f"{score.metric}:1.{Rubric(f'{TEXT}.').digest}|")


def test_an_unsure_judge_abstains_and_half_of_its_answers_decide():
    answers, options = iter([UNSURE, SURE, SURE]), {"rubric_x": {"repeats": 3}}
    with StubEndpoint(lambda _: next(answers)) as server:
        three = grice.score(TALK, "log_length", rubrics=["x"], judge=server.model, options=options)
    assert three[1].value == 0.5
    with StubEndpoint(lambda _: UNSURE) as server:
        score = grice.score(TALK, "log_length", rubrics=["x"], judge=server.model)[1]
        alone = grice.score(TALK[:1], "log_length", rubrics=["x"], judge=server.model)[1]
        assert len(server.requests) == 1
    assert (score.value, score.status) == (0.5, "abstained")
    assert score.reason == "the judge is not sure: 'by its length'"
    assert (alone.status, alone.reason) == ("abstained", "no turn before the reply")


def test_a_file_holds_several_and_they_are_audited(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("grice.cli.commands.evaluate.LOCAL", ("repetition",))
    (tmp_path / "own.toml").write_text(FILE)
    (tmp_path / "talk.txt").write_text("Ann: Where were you?\nBob: At home, all day.\n")
    words = ["score", "talk.txt", "-m", "log_length", "--rubric", "own.toml", "--json"]
    with StubEndpoint() as server:
        assert main([*words, "--judge", server.model]) == 0
        asked = [sent["messages"][0]["content"] for sent in server.requests]
        scores = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        words = ["--items", "10", "--repeats", "1", "--rubric", "is kind", "--json"]
        assert main(["audit", server.model, *words]) == 0
        result = json.loads(capsys.readouterr().out)
    made = [(each["metric"], each["turn"]) for each in scores if "rubric" in each["metric"]]
    assert made == [("rubric_tone", 0), ("rubric_tone", 1), ("rubric_whole", None)]
    assert any('"1": "insults"' in text and '"rating": 1' in text for text in asked)
    assert [row["metric"] for row in result["metrics"] if row["judge"]] == ["rubric_is_kind"]
    assert "for rubric_is_kind" in result["conclusion"]


@pytest.mark.parametrize("kind", ["rubric", "entailment"])
def test_a_local_judge_grades_and_abstains_near_one_half(kind):
    pair = Pair(("A: Hi", "Reply: Hello!"), "The reply is kind")
    chances = {"entailment": [0.9, 0.1, 0.1], "contradiction": [0.1, 0.28, 0.32]}
    judge = SimpleNamespace(identity="", truncated=list, cut=lambda items: [False, False, items])
    if kind == "rubric":
        judge.grade = lambda _, rubric: np.array([0.9, 0.41, 0.39] if rubric == "is kind" else [])
    else:
        judge.classify = list
        judge.label_chances = lambda label, pairs: chances[label] if pairs == [pair] * 3 else []
    registry, [name] = with_rubrics(find_metrics(), ["is kind"], "model:x")
    item = Response("c", 1, "Hello!", "B", (Turn("A", "Hi"),), (0,))
    judged = [*registry.named(name).function([item] * 3, model=judge)]
    assert [each.value for each in judged] == pytest.approx([0.9, 0.5, 0.39])
    assert [len(each.flags) + (each.status == "ok") for each in judged] == [1, 0, 2]


@pytest.mark.parametrize(("rubrics", "message"), [
    ([" "], "empty"), (["none.toml"], "none.toml: No such file"),
    (["Kind!", "kind?"], "two rubrics"), ([Path("own.toml")], r"own.toml: \[a\]: Invalid .* '9'"),
])  # fmt: skip
def test_a_rubric_that_cannot_be_used_is_said(rubrics, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.toml").write_text('[a]\ntext = "x"\nlevels = { 9 = "y" }\n')
    with pytest.raises(InputError, match=message):
        grice.load("log_length", rubrics=rubrics, judge="openai:m@http://localhost/v1")
    for judge, said in (("", "needs a judge"), ("builtin:encoder", "RubricJudge or Ent")):
        with pytest.raises(GriceError, match=said):
            grice.load("log_length", rubrics=["x"], judge=judge)
