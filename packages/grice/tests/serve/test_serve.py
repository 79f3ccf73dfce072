"""The service: the values of the library, refusals that say what to do, and nothing lost."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
import threading
import time

import pytest

import grice
from grice.cli import main
from grice.errors import InputError
from grice.records import Conversation, Turn
from grice.serve import Limits, check_installed, engine

pytest.importorskip("fastapi")
pytest.importorskip("prometheus_client")
pytest.importorskip("uvicorn")
from prometheus_client import generate_latest

from grice.serve.app import application
from grice.serve.check import Request, check, exchange

TALK = {"turns": ["Is it far?", "Ten minutes on foot.", "Ten minutes on foot."]}
METRICS = ("log_length", "repetition")
HEADERS = {"content-type": "application/json"}


@pytest.fixture(scope="module")
def grader():
    with grice.load(*METRICS, workers=1) as loaded:
        yield loaded


def asked(app, *requests):
    replies = asyncio.run(exchange(app, requests))
    return [(reply.status, json.loads(reply.body)) for reply in replies]


def post(path, body, **headers):
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Request("POST", path, data, {**HEADERS, **headers})


def test_scores_are_those_of_the_library_also_beside_other_requests(grader):
    talk = Conversation("talk", tuple(Turn("AB"[i % 2], t) for i, t in enumerate(TALK["turns"])))
    expected = json.loads(json.dumps(grader.score(talk).to_json()))
    replies = asked(application(grader), *[post("/score", TALK)] * 7)
    assert all(reply == (200, {"scores": expected}) for reply in replies)


def test_requests_that_come_together_are_scored_together(grader):
    reply = asyncio.run(
        exchange(application(grader), [*[post("/score", TALK)] * 7, Request("GET", "/metrics")])
    )
    app = application(grader)
    asyncio.run(exchange(app, [post("/score", TALK)] * 7))
    counts = generate_latest(app.state.service.counts).decode()
    assert reply[-1].status == 200
    assert "grice_batched_requests_total 7" in counts
    assert int(re.search(r"^grice_batches_total (\d+)", counts, re.MULTILINE)[1]) < 7
    assert "grice_waiting_turns 0" in counts


def test_several_conversations_and_a_choice_of_metrics(grader):
    body = {"conversations": [{**TALK, "id": "x"}, TALK], "metrics": ["log_length"]}
    [(status, answer)] = asked(application(grader), post("/score", body))
    assert status == 200
    assert {score["metric"] for score in answer["scores"]} == {"log_length"}
    assert {score["conversation"] for score in answer["scores"]} == {"x", "talk 2"}


def test_explain_judges_one_reply_and_tries_changes(grader):
    body = {**TALK, "turn": 2, "what_if": True, "metrics": ["repetition"]}
    [(status, answer)] = asked(application(grader), post("/explain", body))
    assert status == 200
    assert [score["turn"] for score in answer["scores"]] == [2]
    assert list(answer["changes"]) == ["repetition"]


def test_review_and_rerank_give_what_the_library_gives(grader):
    candidates = {"turns": TALK["turns"][:2], "candidates": ["Ten minutes on foot.", "", "Thanks!"]}
    [(_, review), (_, ranked)] = asked(
        application(grader), post("/review", {**TALK, "top": 1}), post("/rerank", candidates)
    )
    assert review["items"][0]["turn"] == 2
    assert [candidate["index"] for candidate in ranked["candidates"]][-1] == 1


WRONG = {
    "not JSON": (b'{"turns": [', 400, "body"),
    "no object": (b"[]", 400, "body"),
    "not UTF-8": (b'{"turns": ["\xe9"]}', 400, "body"),
    "a lone surrogate": (b'{"turns": ["\\ud800"]}', 400, "body"),
    "nested": (b"[" * 100_000, 400, "body"),
    "nested inside": (b'{"meta":' * 2000 + b"1" + b"}" * 2000, 400, "body"),
    "an open text of backslashes": (b'"' + b'\\"' * 200_000, 400, "body"),
    "no turn": ({"turns": []}, 400, "turns"),
    "a number as text": ({"turns": [{"text": 4}]}, 400, "turns[0].text"),
    "one of several": ({"conversations": [TALK, {"turns": 3}]}, 400, "conversations[1].turns"),
    "no list of them": ({"conversations": 3}, 400, "conversations"),
    "too many turns": ({"turns": ["a"] * 3000}, 413, "conversations"),
    "too long": (b" " * (1 << 21), 413, "body"),
    "an unknown metric": ({**TALK, "metrics": ["log_lenght"]}, 400, "metrics[0]"),
    "metrics as a number": ({**TALK, "metrics": 3}, 400, "metrics"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_used_is_refused_with_its_place(name, grader):
    body, status, where = WRONG[name]
    [(code, answer)] = asked(application(grader), post("/score", body))
    assert code == status
    assert answer["error"]["where"].startswith(where)
    assert answer["error"]["what"]
    assert answer["error"]["do"]


@pytest.mark.parametrize(
    ("path", "options"),
    [
        ("/explain", {"turn": 9}),
        ("/explain", {"turn": True}),
        ("/explain", {"what_if": 1}),
        ("/explain", {"conversations": [TALK]}),
        ("/review", {"top": 0}),
        ("/rerank", {}),
        ("/rerank", {"candidates": 5}),
        ("/rerank", {"candidates": ["a"], "weights": {"repetition": "x"}}),
        ("/rerank", {"candidates": ["a"], "blend": "middle"}),
        ("/rerank", {"candidates": ["a"], "vetoes": {"nothing": 0.5}}),
    ],
)
def test_options_that_cannot_be_used_are_refused(path, options, grader):
    [(status, answer)] = asked(application(grader), post(path, {**TALK, **options}))
    assert status == 400
    assert answer["error"]["what"]


def test_other_kinds_of_content_other_paths_and_long_heads_are_refused(grader):
    replies = asked(
        application(grader),
        Request("POST", "/score", b"{}", {"content-type": "text/plain"}),
        Request("GET", "/score"),
        Request("GET", "/nothing"),
        post("/score", TALK, **{"x-long": "a" * 20_000}),
    )
    assert [status for status, _ in replies] == [415, 405, 404, 431]
    assert all(answer["error"]["do"] for _, answer in replies)


def test_a_body_that_does_not_come_is_given_up_and_others_are_answered(grader):
    app = application(grader, limits=Limits(body_seconds=0.05))

    endless = post("/score", b"{")._replace(whole=False)
    assert [status for status, _ in asked(app, endless, post("/score", TALK))] == [408, 200]


class Slow:
    """A metric that waits until it is let go."""

    def __init__(self, loaded):
        self.loaded = loaded
        self.metric, self.column = loaded.metric, loaded.column
        self.go = threading.Event()

    def score(self, conversations, speakers=()):
        self.go.wait(5)
        return self.loaded.score(conversations, speakers)


@pytest.fixture
def held(grader, monkeypatch):
    """A grader that scores nothing until its event is set."""
    metric = Slow(grader.scorer.metrics[0])
    monkeypatch.setattr(grader, "scorer", grader.scorer._replace(metrics=[metric]))
    return grader, metric.go


def test_too_much_at_once_is_put_off_and_what_was_accepted_is_answered(held):
    grader, go = held
    app = application(grader, limits=Limits(concurrency=1))
    threading.Timer(0.1, go.set).start()
    replies = asyncio.run(exchange(app, [post("/score", {**TALK, "metrics": ["log_length"]})] * 4))
    assert sorted(reply.status for reply in replies) == [200, 429, 429, 429]
    put_off = next(reply for reply in replies if reply.status == 429)
    assert int(put_off.headers["retry-after"]) >= 1


def test_what_could_not_be_scored_in_time_is_put_off_at_once(held):
    grader, go = held
    app = application(grader, limits=Limits(seconds=2))  # 400 turns, until a rate is measured
    threading.Timer(0.1, go.set).start()
    long = {"turns": ["Yes."] * 60, "metrics": ["log_length"]}
    replies = asyncio.run(exchange(app, [post("/score", long)] * 8))
    assert sorted(reply.status for reply in replies) == [200] * 6 + [429] * 2
    assert all("retry-after" in reply.headers for reply in replies if reply.status == 429)


class Paced(Slow):
    """A metric that takes a hundredth of a second a turn."""

    def score(self, conversations, speakers=()):
        time.sleep(sum(len(talk.turns) for talk in conversations) / 100)
        return self.loaded.score(conversations, speakers)


def test_no_batch_is_longer_than_is_known_to_fit_the_seconds_of_one(grader, monkeypatch):
    monkeypatch.setattr(engine, "BATCH_SECONDS", 0.05)  # 5 turns, once the rate is known
    monkeypatch.setattr(engine, "HALF_LIFE", 0.001)
    paced = Paced(grader.scorer.metrics[0])
    monkeypatch.setattr(grader, "scorer", grader.scorer._replace(metrics=[paced]))
    app = application(grader)
    asyncio.run(exchange(app, [post("/score", {**TALK, "metrics": ["log_length"]})] * 12))
    counts = generate_latest(app.state.service.counts).decode()
    assert int(re.search(r"^grice_batches_total (\d+)", counts, re.MULTILINE)[1]) >= 4


def test_what_takes_too_long_is_said(held):
    grader, go = held
    app = application(grader, limits=Limits(seconds=0.05))
    threading.Timer(0.3, go.set).start()
    [(status, answer)] = asked(app, post("/score", {**TALK, "metrics": ["log_length"]}))
    assert status == 503
    assert "0.05 seconds" in answer["error"]["what"]


KEY = "3f1c"


def test_requests_without_the_key_are_refused(grader):
    app = application(grader, key=KEY)
    replies = asked(
        app,
        post("/score", TALK),
        post("/score", TALK, authorization="Bearer wrong"),
        post("/score", TALK, authorization=f"Basic {KEY}"),
        post("/score", TALK, authorization=f"Bearer {KEY}"),
        Request("GET", "/metrics"),
        Request("GET", "/openapi.json"),
    )
    assert [status for status, _ in replies] == [401, 401, 401, 200, 401, 200]
    assert "Bearer" in replies[0][1]["error"]["do"]
    assert replies[5][1]["components"]["securitySchemes"]["key"]["scheme"] == "bearer"


@pytest.mark.parametrize("key", ["", " ", "a b\n", "schlüssel"])
def test_a_variable_that_holds_no_key_is_refused(key, monkeypatch, capsys):
    monkeypatch.setenv("GRICE_SERVE_KEY", key)
    assert main(["serve", "--check", "-m", "log_length", "--no-cache"]) == 2
    assert "GRICE_SERVE_KEY holds no key" in capsys.readouterr().err


def test_a_fault_of_one_request_is_its_own(grader, monkeypatch):
    score = type(grader.scorer).score

    def broken(self, conversations):
        if any(talk.id == "bad" for talk in conversations):
            raise RuntimeError("broken")
        return score(self, conversations)

    monkeypatch.setattr(type(grader.scorer), "score", broken)
    app = application(grader)
    with pytest.raises(RuntimeError):  # for the log; the answer is 500
        asked(app, post("/score", {**TALK, "id": "bad"}))
    assert asked(app, post("/score", TALK))[0][0] == 200


def test_pages_ask_for_nothing_from_elsewhere(grader):
    replies = asyncio.run(
        exchange(application(grader), [Request("GET", path) for path in ("/", "/docs")])
    )
    for reply in replies:
        page = reply.body.decode()
        assert reply.status == 200
        assert "default-src 'none'" in page
        assert not re.search(r"(?:src|href)=\"(?:https?:)?//", page)


def test_the_description_names_every_path_and_resolves(grader):
    [(_, about)] = asked(application(grader), Request("GET", "/openapi.json"))
    assert {"/score", "/explain", "/review", "/rerank", "/metrics"} <= about["paths"].keys()
    references = re.findall(r'"#/components/schemas/(\w+)"', json.dumps(about))
    assert set(references) <= about["components"]["schemas"].keys()


def test_the_check_asks_every_path(grader):
    assert {reply.status for reply in check(application(grader))} == {200}


def test_health_says_what_is_loaded(grader):
    [(_, live), (_, ready)] = asked(
        application(grader), Request("GET", "/health/live"), Request("GET", "/health/ready")
    )
    assert live == {"live": True}
    assert ready["metrics"] == grader.signatures


def test_without_fastapi_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "fastapi", None)
    with pytest.raises(InputError, match=r'pip install "grice\[serve\]"'):
        check_installed()


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")
def test_the_command_says_its_address_and_ends_well_when_told_to():
    words = ["serve", "--port", "0", "-m", "log_length", "--no-cache"]
    service = subprocess.Popen(
        [sys.executable, "-m", "grice", *words], stderr=subprocess.PIPE, text=True
    )
    with service:
        assert re.search(r"http://127\.0\.0\.1:\d+ \(the live page\)", service.stderr.readline())
        service.terminate()
        assert service.wait(20) == 0


SLOW_CLIENT = """
import os, signal, socket, threading
from starlette.applications import Starlette
from grice.serve import Limits
from grice.serve.server import serve

def ask(port):
    with socket.create_connection(("127.0.0.1", port), 10) as connection:
        connection.sendall(b"POST /sc")
        print(connection.recv(64).split(b"\\r")[0].decode(), connection.recv(64))
    os.kill(os.getpid(), signal.SIGTERM)

def begun(address):
    threading.Thread(target=ask, args=[int(address.rpartition(":")[2])]).start()

serve(Starlette(), host="127.0.0.1", port=0, limits=Limits(head_seconds=0.1), begun=begun)
"""


def test_who_sends_the_head_too_slowly_is_told_so():
    script = [sys.executable, "-c", SLOW_CLIENT]
    ended = subprocess.run(script, capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.startswith("HTTP/1.1 408 Request Timeout")


def test_the_check_of_the_command_is_a_line_a_path(capsys):
    words = ["--host", "127.0.0.1", "--check", "--json", "-m", "log_length", "--no-cache"]
    assert main(["serve", *words]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {row["status"] for row in rows} == {200}
    assert {"/score", "/docs", "/"} <= {row["path"] for row in rows}
