"""The service: the values of the library, and refusals that say what to do."""

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

import grice
from grice.cli import main
from grice.data import Conversation, Turn, json_line
from grice.serve import Limits

pytest.importorskip("fastapi")
pytest.importorskip("prometheus_client")
pytest.importorskip("uvicorn")
from prometheus_client import generate_latest

from grice.serve.app import application
from grice.serve.server import check, client_of, serve

TALK = {"turns": ["Is it far?", "Ten minutes on foot.", "Ten minutes on foot."]}
METRICS = ("log_length", "repetition")
HEADERS = {"content-type": "application/json"}
KEY = "3f1c"


@pytest.fixture(scope="module")
def grader():
    with grice.load(*METRICS, workers=1) as loaded:
        yield loaded


async def exchange(app, requests):
    """Return the answers to concurrent requests; the application starts and ends here."""
    async with app.router.lifespan_context(app), client_of(app) as client:
        return await asyncio.gather(*(client.request(**request) for request in requests))


def replies_to(app, *requests):
    return asyncio.run(exchange(app, requests))


def asked(app, *requests):
    return [(reply.status_code, reply.json()) for reply in replies_to(app, *requests)]


async def early(app):
    """Return the answer of an application that has not started."""
    async with client_of(app) as client:
        reply = await client.request(**post("/score", TALK))
        return [(reply.status_code, reply.json())]


def get(path):
    return {"method": "GET", "url": path}


def post(path, body, **headers):
    data = json.dumps(body).encode() if isinstance(body, dict) else body
    return {"method": "POST", "url": path, "content": data, "headers": {**HEADERS, **headers}}


def test_scores_are_those_of_the_library_also_in_a_batch_of_requests(grader):
    talk = Conversation("talk", tuple(Turn("AB"[i % 2], t) for i, t in enumerate(TALK["turns"])))
    expected, app = json.loads(json_line(grader.score(talk))), application(grader)
    longest = json.dumps(TALK).encode().ljust(Limits().body)
    requests = [post("/score", body) for body in [TALK] * 6 + [longest]]
    assert asked(app, *requests) == [(200, {"scores": expected, "findings": []})] * 7
    counts = generate_latest(app.state.service.counts).decode()
    assert "grice_batched_requests_total 7" in counts
    assert int(re.search(r"^grice_batches_total (\d+)", counts, re.MULTILINE)[1]) < 7
    assert "grice_waiting_turns 0" in counts
    assert re.findall("^# HELP (grice_(?!.*_cr).*)", counts, re.M) == REFUSALS["counts"]


def test_several_conversations_and_a_choice_of_metrics(grader):
    known = {"id": "x" * 200, "turns": [*TALK["turns"][:2], "Dear {{name}}!"], "source": "kept"}
    body = {"conversations": [known, TALK], "metrics": ["log_length"]}
    [(status, answer)] = asked(application(grader, limits=Limits(turns=6)), post("/score", body))
    assert status == 200
    assert {score["metric"] for score in answer["scores"]} == {"log_length"}
    assert {score["conversation"] for score in answer["scores"]} == {"x" * 200, "talk 2"}
    assert not any(score["meta"] for score in answer["scores"])
    [finding] = answer["findings"]
    place = finding["conversation"], finding["turn"], finding["code"], finding["quotes"]
    assert place == ("x" * 200, 2, "T105", ["{{name}}"])


def test_explain_rank_and_rerank_give_what_the_library_gives(grader):
    explained = {**TALK, "what_if": True, "metrics": ["repetition"]}
    candidates = {"turns": TALK["turns"][:2], "candidates": ["Ten minutes on foot.", "", "Thanks!"]}
    [(_, answer), (_, first), (_, ranking), (_, ranked)] = asked(
        application(grader, limits=Limits(turns=5)),
        post("/explain", explained),
        post("/explain", {**TALK, "turn": 0}),
        post("/rank", {**TALK, "top": 1}),
        post("/rerank", candidates),
    )
    assert [score["turn"] for score in answer["scores"]] == [2]
    assert list(answer["changes"]) == ["repetition"]
    assert [score["turn"] for score in first["scores"]] == [0, 0]
    assert "changes" not in first
    assert (ranking["items"][0]["turn"], ranking["items"][0]["reply"]) == (2, TALK["turns"][2])
    assert [candidate["index"] for candidate in ranked["candidates"]][-1] == 1


WRONG = {
    "not JSON": ("/score", b'{"turns": [', 400), "no object": ("/score", b"[]", 400),
    "not UTF-8": ("/score", b'{"turns": ["\xe9"]}', 400), "nested": ("/score", b"[" * 100_000, 400),
    "a lone surrogate": ("/score", b'{"turns": ["\\ud800"]}', 400),
    "nested inside": ("/score", b'{"meta":' * 2000 + b"1" + b"}" * 2000, 400),
    "an open text of backslashes": ("/score", b'"' + b'\\"' * 200_000, 400),
    "too long": ("/score", b" " * ((1 << 20) + 1), 413), "no turn": ("/score", {"turns": []}, 400),
    "a long id": ("/score", {**TALK, "id": "x" * 201}, 400),
    "a number as text": ("/score", {"turns": [{"text": 4}]}, 400),
    "one of several": ("/score", {"conversations": [TALK, {"turns": 3}]}, 400),
    "no list of them": ("/score", {"conversations": 3}, 400),
    "too many turns": ("/score", {"turns": ["a"] * 2001}, 413),
    "too many turns of several": ("/score", {"conversations": [{"turns": ["a"] * 1001}] * 2}, 413),
    "an unknown metric": ("/score", {**TALK, "metrics": ["log_lenght"]}, 400),
    "metrics as a number": ("/score", {**TALK, "metrics": 3}, 400),
    "too many candidates": ("/rerank", {"turns": ["a"], "candidates": ["a"] * 2000}, 413),
    "no such turn": ("/explain", {**TALK, "turn": 3}, 400),
    "no turn before the first": ("/explain", {**TALK, "turn": -2}, 400),
    "a turn as a truth value": ("/explain", {**TALK, "turn": True}, 400),
    "a number as a truth value": ("/explain", {**TALK, "what_if": 1}, 400),
    "several to explain": ("/explain", {"conversations": [TALK]}, 400),
    "nothing to rank": ("/rank", {**TALK, "top": 0}, 400),
    "no candidates": ("/rerank", TALK, 400),
    "no list of at least one candidate": ("/rerank", {**TALK, "candidates": 5}, 400),
    "a weight as text": ("/rerank", {**TALK, "candidates": ["a"], "weights": {"one": "x"}}, 400),
    "an unknown blend": ("/rerank", {**TALK, "candidates": ["a"], "blend": "middle"}, 400),
    "a veto of no metric": ("/rerank", {**TALK, "candidates": ["a"], "vetoes": {"none": 0.5}}, 400),
}  # fmt: skip
REFUSALS = json.loads((Path(__file__).parent / "refusals.json").read_text("utf-8"))
"""The error of each refusal: what is wrong, its place, and what to do."""


@pytest.mark.parametrize("name", WRONG)
def test_a_body_that_cannot_be_used_is_refused_with_its_place(name, grader):
    path, body, status = WRONG[name]
    answer = {"error": REFUSALS[name]}
    assert asked(application(grader), post(path, body)) == [(status, answer)]


def test_other_content_and_other_paths_are_refused(grader):
    replies = asked(
        application(grader),
        post("/score", b"{}", **{"content-type": "text/plain"}),
        {**post("/score", b"{}"), "headers": {}},
        get("/score"),
        get("/nothing"),
        post("/score", TALK, **{"content-type": "Application/JSON; charset=utf-8"}),
    )
    assert [status for status, _ in replies] == [415, 415, 405, 404, 200]
    assert [answer["error"] for _, answer in replies[:-1]] == REFUSALS["heads"]


def test_of_a_body_that_is_too_long_eight_times_the_limit_is_read(grader):
    async def endless(parts):
        for _ in range(parts):
            yield b" " * 100
        await asyncio.Event().wait()

    for parts, seconds, status in ((16, 0.05, 408), (17, 10, 413)):
        app = application(grader, limits=Limits(body=200, body_seconds=seconds))
        answer = {"error": REFUSALS["late" if status == 408 else "long"]}
        assert asked(app, post("/score", endless(parts))) == [(status, answer)]


@pytest.fixture
def held(grader, monkeypatch):
    """A grader that scores nothing until its event is set."""
    go, score = threading.Event(), type(grader.scorer).score

    def held_up(self, conversations):
        go.wait(5)
        return score(self, conversations)

    monkeypatch.setattr(type(grader.scorer), "score", held_up)
    return grader, go


def test_too_many_requests_are_refused_and_accepted_ones_are_answered(held):
    grader, go = held
    app = application(grader, limits=Limits(concurrency=1))
    threading.Timer(0.1, go.set).start()
    replies = replies_to(app, *[post("/score", {**TALK, "metrics": ["log_length"]})] * 4)
    assert sorted(reply.status_code for reply in replies) == [200, 429, 429, 429]
    refused = next(reply for reply in replies if reply.status_code == 429)
    assert int(refused.headers["retry-after"]) >= 1
    assert refused.json()["error"] == REFUSALS["many"]


def long(turns):
    words = "many words of a long turn " * 20
    return {"turns": [words] * turns, "metrics": ["log_length"]}


@pytest.fixture
def judged(grader, monkeypatch):
    """The replies that were judged, and an event for which long ones wait."""
    metric, replies, go = type(grader.scorer.metrics[0]), [], threading.Event()
    judge = metric._judgements

    def watched(self, items):
        if len(items[0].text) > 100:
            go.wait(5)
        replies.extend(items)
        return judge(self, items)

    monkeypatch.setattr(metric, "_judgements", watched)
    return replies, go


def test_a_request_waits_for_no_longer_one(grader, judged):
    finished, short = [], {**TALK, "metrics": ["log_length"]}
    bodies = {"longest": long(60), "long": long(20), "short": short}

    async def ask(client, name):
        await client.request(**post("/score", bodies[name]))
        finished.append(name)
        if name == "short":
            assert {len(reply.text) for reply in judged[0]} <= {len(text) for text in TALK["turns"]}
        judged[1].set()

    async def ask_all():
        async with app.router.lifespan_context(app), client_of(app) as client:
            await asyncio.gather(*(ask(client, name) for name in bodies))

    app = application(grader)
    asyncio.run(ask_all())
    assert finished == ["short", "long", "longest"]


@pytest.mark.parametrize("leaves", [True, False])
def test_a_request_that_nobody_waits_for_is_not_computed_to_its_end(leaves, grader, judged):
    sent, ending = [], [{"type": "http.disconnect"}] if leaves else []
    scope = {"type": "http", "method": "POST", "path": "/score", "query_string": b""}
    scope["headers"] = [(name.encode(), value.encode()) for name, value in HEADERS.items()]

    async def send(message):
        sent.append(message)
        if len(sent) == 4:
            judged[1].set()

    async def ask():
        coming = [{"type": "http.request", "body": json.dumps(long(60)).encode()}, *ending]

        async def receive():
            return coming.pop(0) if coming else await asyncio.Event().wait()

        await app(scope, receive, send)

    async def ask_twice():
        async with app.router.lifespan_context(app):
            await asyncio.gather(ask(), ask())

    app = application(grader, limits=Limits(seconds=60 if leaves else 0.05))
    asyncio.run(ask_twice())
    assert sent[0]["status"] == (400 if leaves else 503)
    error = REFUSALS["left" if leaves else "slow"]
    assert json.loads(sent[-1]["body"])["error"] == error
    assert len(judged[0]) <= 2


def test_requests_without_the_key_are_refused(grader):
    app = application(grader, key=KEY)
    replies = replies_to(
        app,
        post("/score", TALK),
        post("/score", TALK, authorization=f"Bearer {KEY}0"),
        post("/score", TALK, authorization=f"Basic {KEY}"),
        post("/score", TALK, authorization=f"Bearer {KEY}"),
        post("/score", TALK, authorization=f"bearer {KEY}"),
        get("/metrics"),
        {**get("/metrics"), "headers": {"authorization": f"Bearer {KEY}"}},
        get("/openapi.json"),
    )
    assert [reply.status_code for reply in replies] == [401, 401, 401, 200, 200, 401, 200, 200]
    assert replies[0].json()["error"] == REFUSALS["key"]
    assert replies[0].headers["www-authenticate"] == "Bearer"
    assert replies[-1].json()["components"]["securitySchemes"]["key"]["scheme"] == "bearer"


@pytest.mark.parametrize("key", ["", " ", "a b\n", "schlüssel"])
def test_a_variable_without_a_key_is_refused(key, monkeypatch, capsys):
    monkeypatch.setenv("GRICE_SERVE_KEY", key)
    assert main(["serve", "--check", "-m", "log_length", "--no-cache"]) == 2
    assert "GRICE_SERVE_KEY" in capsys.readouterr().err
    monkeypatch.delenv("GRICE_SERVE_KEY")
    words = ["--host", "127.0.0.1", "--check", "--json", "-m", "log_length", "--no-cache"]
    assert main(["serve", *words]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {row["status"] for row in rows} == {200}
    assert {"/score", "/docs", "/"} <= {row["path"] for row in rows}


def test_an_error_in_one_request_leaves_the_others_alone(grader, monkeypatch):
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


def test_pages_health_and_description(grader):
    app = application(grader)
    for reply in replies_to(app, get("/"), get("/docs")):
        page = reply.text
        assert reply.status_code == 200
        assert "default-src 'none'" in page
        assert reply.headers["content-security-policy"] == "frame-ancestors 'none'"
        assert not re.search(r"(?:src|href)=\"(?:https?:)?//", page)
    [(_, live), (_, ready), (_, about)] = asked(
        app, get("/health/live"), get("/health/ready"), get("/openapi.json")
    )
    assert (live, ready["metrics"]) == ({"live": True}, grader.signatures)
    assert {"/score", "/explain", "/rank", "/rerank", "/metrics"} <= about["paths"].keys()
    references = re.findall(r'"#/components/schemas/(\w+)"', json.dumps(about))
    assert set(references) <= about["components"]["schemas"].keys()
    assert {(row["method"], row["status"]) for row in check(app)} == {("POST", 200), ("GET", 200)}
    assert about["info"]["title"] == "grice"
    assert about["info"]["description"] == "Metrics loaded here: log_length, repetition."
    [(status, answer)] = asyncio.run(early(app))
    assert (status, answer["error"]) == (503, REFUSALS["early"])


@pytest.fixture(scope="module")
def service():
    """The port of a service with short limits and few files, whose log stays empty to its end."""
    if sys.platform == "win32":
        pytest.skip("there are no such limits and signals")
    script = """
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (128, 128))
import grice
from grice.serve import Limits, app, server
limits = Limits(head_seconds=0.3, body_seconds=0.3)
with grice.load("log_length", workers=1) as grader:
    application = app.application(grader, limits=limits)
    begun = lambda address: print(address, flush=True)
    server.serve(application, host="127.0.0.1", port=0, limits=limits, begun=begun)
"""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", script], **pipes) as process:
        yield int(process.stdout.readline().rpartition(":")[2])
        process.terminate()
        assert (process.communicate(timeout=20)[1], process.returncode) == ("", 0)


LIVE, HOST = "GET /health/live HTTP/1.1\r\n", "Host: localhost\r\n"
SCORE = f"POST /score HTTP/1.1\r\n{HOST}Content-Type: application/json\r\n"
LENGTH, CHUNKS = "Content-Length: 2\r\n", "Transfer-Encoding: chunked\r\n"
SENT = {
    "a name of this machine": (f"{LIVE}Host: LocalHost:80\r\n\r\n", [200]),
    "its IPv6 address": (f"{LIVE}Host: [::1]\r\n\r\n", [200]),
    "no name": ("GET /health/live HTTP/1.0\r\n\r\n", [200]),
    "a name of another machine": (f"{LIVE}Host: evil.example\r\n\r\n", [421]),
    "half a head": (f"{LIVE}Host: loc", [400]),
    "a long head": (f"{LIVE}{HOST}X: {'x' * 300}", [400]),
    "half a body": (f"{SCORE}{LENGTH}\r\n{{", [408]),
    "half a body for no path": (f"POST / HTTP/1.1\r\n{HOST}{LENGTH}\r\n{{", [405]),
    "one length": (f"{SCORE}{LENGTH}\r\n{{}}", [400]),
    "both lengths": (f"{LIVE}{HOST}{LENGTH}{CHUNKS}\r\n2\r\n{{}}\r\n0\r\n\r\n", [400]),
    "a broken chunk": (f"{LIVE}{HOST}{CHUNKS}\r\nz\r\n", [400]),
    "no HTTP": ("\x16\x03\x01\r\n\r\n", [400]),
}


def connected(port, sent):
    connection = socket.create_connection(("127.0.0.1", port), timeout=10)
    connection.sendall(sent.encode())
    return connection


def received(connection):
    """Return all that comes until the connection is closed."""
    parts = []
    with connection, suppress(ConnectionResetError):
        parts.extend(iter(partial(connection.recv, 1 << 16), b""))
    return b"".join(parts)


@pytest.mark.enable_socket
@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")
@pytest.mark.parametrize(("host", "shown"), [("127.0.0.1", "127.0.0.1"), ("0.0.0.0", "0.0.0.0")])
def test_connections_end_with_one_answer_to_each_request(host, shown, grader):
    answers, limits = {}, Limits(head_seconds=0.3, body_seconds=0.3, head=300)

    def ask(address):
        assert address.startswith(f"http://{shown}:")
        port = int(address.rpartition(":")[2])
        connections = {name: connected(port, sent) for name, (sent, _) in SENT.items()}
        answers.update({name: received(each) for name, each in connections.items()})
        os.kill(os.getpid(), signal.SIGTERM)

    def begun(address):
        threading.Thread(target=ask, args=[address]).start()

    serve(application(grader, limits=limits), host=host, port=0, limits=limits, begun=begun)
    found = {
        name: [int(status) for status in re.findall(rb"HTTP/1.1 (\d+)", answer)]
        for name, answer in answers.items()
    }
    other, public = "a name of another machine", host == "0.0.0.0"
    expected = {name: statuses for name, (_, statuses) in SENT.items()}
    assert found == expected | ({other: [200]} if public else {})
    assert public or b"send one of localhost, 127.0.0.1, [::1], or listen" in answers[other]
    assert b"server:" not in answers["one length"].lower()
    assert b"no whole head within 0.3 seconds" in answers["half a head"]


@pytest.mark.enable_socket
@pytest.mark.parametrize("waits", [0, 2])
def test_answers_that_are_not_read_end_the_connection(service, waits):
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.connect(("127.0.0.1", service))
    connection.sendall(f"GET /openapi.json HTTP/1.1\r\n{HOST}\r\n".encode() * 400)
    time.sleep(waits)
    assert (received(connection).count(b"HTTP/1.1 200 ") == 400) is not bool(waits)


@pytest.mark.enable_socket
def test_many_slow_and_broken_clients_do_not_stop_the_service_for_ever(service):
    for sent in (f"{SCORE}{LENGTH}\r\n{{", LIVE, SENT["one length"][0]):
        connected(service, sent).close()
    whole = SENT["a name of this machine"][0]
    second = connected(service, whole)
    assert b" 200 " in second.recv(1 << 16)
    second.sendall(b"GET")
    refused = connected(service, f"POST / HTTP/1.1\r\n{HOST}{CHUNKS}\r\n")
    assert b" 405 " in refused.recv(1 << 16)
    refused.sendall(b"no chunk\r\n")
    for connection in [connected(service, LIVE) for _ in range(150)]:
        received(connection)
    assert b" 400 " in received(second)
    assert b" 400 " not in received(refused)
    assert b" 200 " in received(connected(service, whole))


@pytest.mark.enable_socket
@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")
def test_the_command_prints_its_address_answers_to_any_name_and_ends_normally_by_a_signal():
    words = ["serve", "--host", "0.0.0.0", "--port", "0", "-m", "log_length", "--no-cache"]
    words = [sys.executable, "-m", "grice", *words]
    service = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
    with service:
        try:
            begun = service.stderr.readline()
            port = re.search(r"http://0\.0\.0\.0:(\d+) \(the live page\)", begun)[1]
            sent = "GET /health/live HTTP/1.0\r\nHost: evil.example\r\n\r\n"
            assert b" 200 " in received(connected(port, sent))
        finally:
            service.terminate()
        assert service.wait(20) == 0
