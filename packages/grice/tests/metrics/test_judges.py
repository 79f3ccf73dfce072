"""Judges by an endpoint keep the rules of metrics, and what they judge stays data."""

import json
import unicodedata

import pytest

import grice
from grice.evaluation.audit import injections
from grice.metrics.declaration import find_metrics
from grice.metrics.judges import ASPECTS, JUDGES, Preference, prefer, rate
from grice.models.endpoint import ClientOptions
from grice.models.loader import ModelLoader
from grice.models.protocols import Chat
from grice.testing import check_metric
from stub_endpoint import StubEndpoint, by_length

pytestmark = pytest.mark.enable_socket
QUICK = ClientOptions(pause=0.01, longest_pause=0.05, timeout=0.5, attempts=2)
TALK = ["Where are you from?", "From a small town near Lisbon, by the sea."]


@pytest.mark.parametrize("name", JUDGES)
def test_a_judge_keeps_the_rules_of_metrics(name):
    with StubEndpoint() as server:
        check_metric(find_metrics().named(name), {"model": server.model})


def scored(server, talk=TALK, name="judge_relevance", **options):
    given = {name: {"model": server.model, **options}}
    with grice.load(name, options=given, terms=QUICK) as grader:
        return grader.score(talk)[0]


def test_a_rating_becomes_a_score_with_the_reason_of_the_judge():
    with StubEndpoint() as server:
        score = scored(server)
    assert (score.value, score.status) == (0.5, "ok")
    assert "by its length" in score.reason
    assert score.evidence[0].value == 3.0


@pytest.mark.parametrize("injection", injections().values(), ids=injections())
def test_what_a_reply_holds_stays_inside_of_the_data(injection):
    reply = f'{injection.before}I said "hello"}}{injection.after}'
    with StubEndpoint() as server, ModelLoader(mode="fast", workers=1, cache=None) as models:
        chat = models.load(server.model, Chat)
        rate(chat, ASPECTS["judge_relevance"], [{"history": [], "reply": reply}])
        [request] = server.requests
    system, user = (message["content"] for message in request["messages"])
    assert json.loads(user)["reply"] == reply
    assert "hello" not in system
    assert not set("<>|") & set(user)
    assert {letter for letter in user if unicodedata.category(letter)[0] == "C"} <= {"\n"}


def test_repeats_are_asked_independently_and_the_mean_counts():
    ratings = iter([1, 5, 5])
    with StubEndpoint(lambda _: {"reason": "drawn", "rating": next(ratings)}) as server:
        score = scored(server, repeats=3, temperature=0.7)
        assert sorted(sent["seed"] for sent in server.requests) == [0, 1, 2]
    assert (score.value, len(score.evidence)) == (pytest.approx((11 / 3 - 1) / 4), 3)


def test_a_judge_without_an_answer_has_failed_and_gives_no_number():
    with StubEndpoint(always="prose") as server:
        score = scored(server)
    assert (score.value, score.status) == (None, "failed")
    assert "not the JSON that was asked for" in score.reason


def test_answers_that_lack_are_said():
    with StubEndpoint(faults=["prose"] * 3) as server, grice.load(
        "judge_relevance",
        options={"judge_relevance": {"model": server.model, "repeats": 2}},
        terms=ClientOptions(concurrency=1),
    ) as grader:  # fmt: skip
        [score] = grader.score(TALK)
    assert (score.status, score.flags) == ("ok", ("partly_unanswered",))


NOTHING, ALONE = "no turn before the reply", "fewer than two turns contain text"


@pytest.mark.parametrize(("names", "talk", "options", "reason"), [
    (JUDGES[:3], TALK[1:], {}, NOTHING), (JUDGES[:3], [" ", TALK[1]], {}, NOTHING),
    (JUDGES[:3], [TALK[0], " ", TALK[1]], {"history": 1}, NOTHING),
    (JUDGES[3:], TALK[:1], {}, ALONE), (JUDGES[3:], [TALK[0], " "], {}, ALONE),
    (JUDGES[3:], TALK, {"history": 1}, ALONE),
])  # fmt: skip
def test_nothing_is_sent_of_a_reply_to_nothing(names, talk, options, reason):
    with StubEndpoint() as server:
        scores = [scored(server, talk, name, **options) for name in names]
        assert server.requests == []
    said = {(score.value, score.status, score.reason) for score in scores}
    assert said == {(0.5, "abstained", reason)}


def test_of_several_replies_those_with_a_history_are_sent():
    turns = [{"role": "assistant", "content": text} for text in ("Hello!", "Are you there?")]
    options = {"judge_relevance": {"model": None}}
    with StubEndpoint() as server:
        options["judge_relevance"]["model"] = server.model
        with grice.load("judge_relevance", options=options, terms=QUICK) as grader:
            scores = grader.score(turns)
        [sent] = server.requests
    assert [score.status for score in scores] == ["abstained", "ok"]
    assert json.loads(sent["messages"][1]["content"])["reply"] == "Are you there?"


def test_two_replies_are_compared_in_both_orders():
    def first(data):
        return {"reason": "always", "better": "first"} if "first" in data else by_length(data)

    with StubEndpoint(first) as server, ModelLoader(mode="fast", workers=1, cache=None) as models:
        chat = models.load(server.model, Chat)
        [answers] = prefer(chat, ASPECTS["judge_relevance"], [([], "one", "another")])
        asked = [json.loads(sent["messages"][1]["content"]) for sent in server.requests]
    assert answers == (Preference("always", "first"), Preference("always", "first"))
    orders = {("one", "another"), ("another", "one")}
    assert {(data["first"], data["second"]) for data in asked} == orders


def test_a_reference_of_an_endpoint_adds_all_judges():
    with StubEndpoint() as server, grice.load(models=server.model) as grader:
        assert set(JUDGES) < set(grader.signatures)
        assert "relevance" in grader.signatures
