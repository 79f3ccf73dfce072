import html
import re

import pytest
import sqlalchemy
from msgspec.structs import replace

from grice_annotate.app import LIMITS, application
from studio import ask, studio_of, talks

HOSTILE = (
    "<script>alert(1)</script>", "</section><img src=x onerror=alert(1)>",
    "\"' onmouseover='alert(1)", "{{ 1234 * 4321 }} {% raw %}", "\u202eevil\u0000null",
    "]]><svg/onload=alert(1)>",
)  # fmt: skip


@pytest.fixture
def studio(tmp_path):
    with studio_of(tmp_path / "study.db", "rating", talks(3), judges=2) as opened:
        yield opened


def test_a_link_is_long_random_and_opens_one_judges_pages_alone(studio):
    tokens = [judge.token for judge in studio.judges.values()]
    assert len(set(tokens)) == len(tokens)
    assert min(map(len, tokens)) >= 32
    ann = studio.judges["ann"].token
    for path in ("/j/unknown", f"/o/{ann}", f"/j/{studio.judges['owner'].token}", f"/j/{ann[:-1]}"):
        for method in ("GET", "POST"):
            reply = ask(studio.app, method, path, body=None)  # which nobody waits for
            assert (reply.status, reply.headers["connection"]) == (404, "close")
            assert "belongs to nobody" in reply.text
    task = studio.task("bo")["task"]
    assert ask(studio.app, "POST", f"/j/{ann}", {"task": task, "aspect0": 3}).status == 409


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("template", ["rating", "issues", "tuples", "triplets"])
def test_every_text_is_escaped(template, text, tmp_path):
    with studio_of(tmp_path / "s.db", template, talks(1, reply=text), guideline=text) as studio:
        page = studio.page("ann")
        for part in ("<script>alert", "<img src=x", "<svg/onload", "5332114"):
            assert part not in page
        # a line end in an attribute or a tag out of place would change what the page holds
        assert re.findall(r"<script[^>]*>", page) == ['<script src="/assets/studio.js" defer>']
        assert html.escape(text).split("\0")[0] in page.replace("&#39;", "&#x27;").replace(
            "&#34;", "&quot;"
        )


def test_pages_run_and_show_nothing_but_the_studys_own_files_in_no_frame(studio, monkeypatch):
    reply = ask(studio.app, "GET", studio.path("ann"))
    policy = reply.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert reply.headers["cache-control"] == "no-store"
    for asset in re.findall(r'(?:href|src)="(/assets/[^"]+)"', reply.text):
        assert ask(studio.app, "GET", asset).status == 200
    assert ask(studio.app, "GET", "/assets/../app.py").status == 404
    monkeypatch.setattr(studio.study, "next", lambda _: 1 / 0)
    judge, owner = studio.path("ann"), studio.path("owner")
    for method, path, status in (("GET", judge, 500), ("PUT", "/", 405), ("GET", "/", 200),
                                 ("GET", owner, 200), ("GET", "/j/x", 404)):  # fmt: skip
        reply = ask(studio.app, method, path, fault=ZeroDivisionError)
        assert reply.status == status
        assert "frame-ancestors 'none'" in reply.headers["content-security-policy"]


@pytest.mark.parametrize("header", [("sec-fetch-site", "cross-site"), ("origin", "null"),
                                    ("sec-fetch-site", "same-site"),
                                    ("origin", "https://elsewhere")])  # fmt: skip
def test_what_another_site_sends_is_refused(studio, header):
    fields = {"task": studio.task("ann")["task"], "aspect0": 3}
    reply = ask(studio.app, "POST", studio.path("ann"), fields, headers=[header])
    assert (reply.status, studio.study.answers()) == (403, [])
    own = [("sec-fetch-site", "same-origin"), ("origin", "http://study")]
    assert ask(studio.app, "POST", studio.path("ann"), fields, headers=own).status == 303


@pytest.mark.parametrize(
    ("body", "status"),
    [(b"task=1&x=" + b"x" * 262_135, 422), (b"task=1&x=" + b"x" * 262_136, 413), (None, 408),
     (b"task=1" + b"&a=1" * 499, 422), (b"task=1" + b"&a=1" * 500, 400), (b"task=\xff\xfe", 400),
     (b"", 409), (b"task=99999", 409)],
)  # fmt: skip
def test_a_form_that_is_none_is_refused_and_nothing_is_kept(studio, body, status):
    studio.task("ann")
    app = application(studio.study, replace(LIMITS, body_seconds=0.1))
    reply = ask(app, "POST", studio.path("ann"), body=body)
    assert reply.status == status, reply.text
    assert studio.study.answers() == []


def test_the_owner_sees_progress_adds_judges_sets_aside_and_settles(studio):
    rates = {"ann": 1, "bo": 5}
    studio.all_answer(lambda name, _: {"aspect0": rates[name]}, ["ann", "bo"])
    assert "no task left for you" in studio.page("ann")
    owner, page = studio.path("owner"), studio.page("owner")
    assert "<b>3</b> of 3 tasks are done" in page
    assert "Krippendorff" in page
    [number, *_] = re.findall(rf"{owner}/task/(\d+)", page)
    settled = ask(studio.app, "POST", f"{owner}/task/{number}", {"task": number, "aspect0": 4})
    assert settled.status == 303
    assert {"overall": 4} in [record.get("adjudicated") for record in studio.records()]
    assert ask(studio.app, "POST", owner, {"action": "add", "name": "di, eve"}).status == 303
    names = [judge.name for judge in studio.study.judges()]
    assert names == ["owner", "ann", "bo", "cy", "di", "eve"]
    ask(studio.app, "POST", owner, {"action": "set_aside", "judge": studio.judges["ann"].id})
    assert {tuple(record["annotators"]) for record in studio.records()} == {("bo",)}
    assert ask(studio.app, "POST", owner, {"action": "drop"}).status == 400


def test_a_full_disk_is_said_and_the_answer_can_be_sent_again(studio):
    def full(_connection):
        raise sqlalchemy.exc.OperationalError("", {}, Exception("database or disk is full"))

    with studio.study.database.reading() as connection:  # an answer is on disk when it is thanked
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2
    task, engine = studio.task("ann")["task"], studio.study.database._engine
    fields = {"task": task, "aspect0": 3}
    sqlalchemy.event.listen(engine, "commit", full)
    reply = ask(studio.app, "POST", studio.path("ann"), fields)
    sqlalchemy.event.remove(engine, "commit", full)
    assert reply.status == 503
    assert "Nothing can be kept" in reply.text
    assert studio.task("ann")["task"] == task
    assert ask(studio.app, "POST", studio.path("ann"), fields).status == 303
