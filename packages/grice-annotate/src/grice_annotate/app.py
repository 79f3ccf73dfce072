"""The application: pages for judges, each behind a link of their own, and the owner's.

The link is all that lets somebody in; there are no cookies, so that no other site can act for a
judge. A request that a browser says comes from another site is refused all the same.
"""

from __future__ import annotations

from functools import partial
from importlib import resources
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from anyio import CapacityLimiter, to_thread
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from grice.data import json_line
from grice.errors import InputError, OutputError
from grice.report.html import hashes
from grice.serve import Limits
from grice.serve.bodies import received
from grice_annotate.export import data_card, records
from grice_annotate.records import AnswerError
from grice_annotate.templates import Page, Submitted
from grice_annotate.views import Views
from grice_tasks.explagraphs.drawing import STYLE

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from starlette.requests import Request as HTTPRequest

    from grice_annotate.records import Form, Judge, Task
    from grice_annotate.study import Given, Study

    Handler: TypeAlias = Callable[["Study", Views, Judge, HTTPRequest, Form], Response]

LIMITS = Limits(body=256 << 10)
"""Of a submitted page."""
FIELDS = 500
LONGEST_NUMBER = 10
"""Digits that no number of a task or judge has; PostgreSQL holds none above 2³¹."""
HEADERS = {
    "Content-Security-Policy": (
        f"default-src 'none'; script-src 'self'; style-src 'self' {hashes([STYLE])}; "
        "connect-src 'self'; "
        "img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}
FULL = (
    "Nothing can be kept at present. Go back, keep your answer there, and tell who sent the link."
)
ASKING = 16
"""Threads of a study whose pages wait for a model."""
ASSETS = {"studio.css": "text/css", "studio.js": "text/javascript"}


def application(study: Study, limits: Limits = LIMITS) -> Starlette:
    """Return the application of a study."""
    views = Views(study)

    # One thread answers judges, as fast as threads that wait for each other at every query would
    # not; where pages wait for a model, several do. The owner has another.
    judging = CapacityLimiter(ASKING if "model" in study.template.options else 1)
    threads = {"j": judging, "o": CapacityLimiter(1)}
    routes = [
        Route(
            f"/{who}/{{token}}{path}",
            partial(_handled, study, views, threads[who], handler, who, limits),
            methods=[method],
        )
        for who, path, method, handler in (
            ("j", "", "GET", _show),
            ("j", "", "POST", _submit),
            ("j", "/preview", "POST", _preview),
            ("o", "", "GET", _progress),
            ("o", "", "POST", _act),
            ("o", "/answers.jsonl", "GET", _answers),
            ("o", "/card.md", "GET", _card),
            ("o", "/task/{task}", "GET", _disputed),
            ("o", "/task/{task}", "POST", _adjudicate),
        )
    ]
    routes += [Route("/assets/{name}", partial(_asset)), Route("/", partial(_no_link, views))]
    faults = (HTTPException, ClientDisconnect, Exception)
    refused = dict.fromkeys(faults, partial(_refused, views))
    return Starlette(routes=routes, exception_handlers=refused)


def pages_of(study: Study) -> dict[str, str]:
    """Return the path of each page of a study, by its path without the token of the link."""
    owner, judge = (next(j for j in study.judges() if j.owner == owns) for owns in (True, False))
    links = {"/j/…": f"/j/{judge.token}", "/o/…": f"/o/{owner.token}"}
    for name in ("answers.jsonl", "card.md"):
        links[f"/o/…/{name}"] = f"/o/{owner.token}/{name}"
    return {**links, **{f"/assets/{name}": f"/assets/{name}" for name in ASSETS}, "/": "/"}


async def _handled(
    study: Study,
    views: Views,
    threads: CapacityLimiter,
    handler: Handler,
    who: str,
    limits: Limits,
    request: HTTPRequest,
) -> Response:
    """Return what a path answers to whose link it is; nobody else's request is read any further."""
    form: Form = {}
    token = request.path_params["token"]
    judge = await to_thread.run_sync(study.judge, token, limiter=threads)
    if judge is None or judge.owner != (who == "o"):
        raise HTTPException(404, "This link belongs to nobody in this study. Ask for yours.")
    if request.method == "POST":
        _check_site(request)
        form = await _form(request, limits)
    answered = partial(handler, study, views, judge, request, form)
    try:
        response = await to_thread.run_sync(answered, limiter=threads)
    except OutputError:
        raise HTTPException(503, FULL) from None
    response.headers.update(HEADERS)
    return response


def _check_site(request: HTTPRequest) -> None:
    """Refuse what a browser says another site has sent."""
    site = request.headers.get("sec-fetch-site")
    origin = request.headers.get("origin")
    foreign = origin is not None and origin.partition("://")[2] != request.headers.get("host")
    if site not in (None, "same-origin", "none") or (site is None and foreign):
        raise HTTPException(403, "This page was sent by another site. Open your link and go on.")


async def _form(request: HTTPRequest, limits: Limits) -> Form:
    data = await received(request, limits)
    try:
        return parse_qs(data.decode(), keep_blank_values=True, max_num_fields=FIELDS)
    except ValueError:
        raise HTTPException(400, "This is no form of a page of this study.") from None


def _number(text: str) -> int:
    """Return the number of a task or judge; 0, which none has, for text that is no number."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < LONGEST_NUMBER else 0


def _show(study: Study, views: Views, judge: Judge, request: HTTPRequest, _: Form) -> Response:
    """Return the task before a judge, or an answered one to change."""
    number = _number(request.query_params.get("task", ""))
    given = (study.given(judge, number) if number else None) or study.next(judge)
    if request.headers.get("accept") == "application/json":
        return JSONResponse(views.task_data(given))
    if given is None:
        return HTMLResponse(views.nothing_left(judge))
    return HTMLResponse(views.task(given))


def _submit(study: Study, views: Views, judge: Judge, _: HTTPRequest, form: Form) -> Response:
    """Keep an answer and go on, or show the page again with what is missing."""
    given, change = _given(study, judge, form)
    try:
        value = study.template.answer(Submitted(form, study.page(given)))
        study.submit(judge, given.task.id, value, change=change)
    except AnswerError as error:
        given = study.given(judge, given.task.id) or given  # with what was tried now
        return HTMLResponse(views.task(given, form=form, problem=str(error)), 422)
    told = f"?task={given.task.id}" if given.task.quiz else ""
    return RedirectResponse(f"/j/{judge.token}{told}", 303)


def _given(study: Study, judge: Judge, form: Form) -> tuple[Given, bool]:
    """Return the task that a form answers, and whether it changes an earlier answer."""
    given = study.given(judge, _number(form.get("task", [""])[0]))
    if given is None:
        raise HTTPException(409, "This task was not given to you. Open your link and go on.")
    return given, "change" in form


def _preview(study: Study, _: Views, judge: Judge, __: HTTPRequest, form: Form) -> Response:
    given, _change = _given(study, judge, form)
    return HTMLResponse(study.template.preview(Submitted(form, study.page(given))))


def _progress(_: Study, views: Views, judge: Judge, request: HTTPRequest, __: Form) -> Response:
    return HTMLResponse(views.progress(judge, base=str(request.base_url)))


def _act(study: Study, _: Views, judge: Judge, __: HTTPRequest, form: Form) -> Response:
    """Do what the owner asks for on the page of progress."""
    match form.get("action", [""])[0]:
        case "pause":
            study.pause(paused=True)
        case "resume":
            study.pause(paused=False)
        case "add":
            names = [name.strip() for name in form.get("name", [""])[0].split(",")]
            try:
                study.add_judges([name for name in names if name])
            except InputError as error:
                raise HTTPException(400, str(error)) from None
        case "set_aside" if number := _number(form.get("judge", [""])[0]):
            study.set_aside(number)
        case other:
            raise HTTPException(400, f"{other[:40]!r} is nothing that can be done here.")
    return RedirectResponse(f"/o/{judge.token}", 303)


def _answers(study: Study, _: Views, __: Judge, ___: HTTPRequest, ____: Form) -> Response:
    headers = {"Content-Disposition": 'attachment; filename="answers.jsonl"'}
    lines = b"".join(json_line(record) + b"\n" for record in records(study) if record)
    return Response(lines, headers=headers, media_type="application/x-ndjson")


def _card(study: Study, _: Views, __: Judge, ___: HTTPRequest, ____: Form) -> Response:
    return Response(data_card(study), media_type="text/markdown; charset=utf-8")


def _task(study: Study, request: HTTPRequest) -> Task:
    if (task := study.task(_number(request.path_params["task"]))) is None:
        raise HTTPException(404, "There is no such task.")
    return task


def _disputed(study: Study, views: Views, judge: Judge, request: HTTPRequest, _: Form) -> Response:
    return HTMLResponse(views.disputed(_task(study, request), judge))


def _adjudicate(
    study: Study, views: Views, judge: Judge, request: HTTPRequest, form: Form
) -> Response:
    """Keep what the owner settles on."""
    task = _task(study, request)
    try:
        value = study.template.answer(Submitted(form, Page(task, judge, study.settings)))
    except AnswerError as error:
        return HTMLResponse(views.disputed(task, judge, problem=str(error)), 422)
    study.adjudicate(task.id, value)
    return RedirectResponse(f"/o/{judge.token}", 303)


async def _asset(request: HTTPRequest) -> Response:
    name = request.path_params["name"]
    if name not in ASSETS:
        raise HTTPException(404, "There is no such file.")
    content = (resources.files("grice_annotate") / "pages" / name).read_text("utf-8")
    headers = {**HEADERS, "Cache-Control": "max-age=300"}
    return Response(content, headers=headers, media_type=ASSETS[name])


async def _no_link(views: Views, _: HTTPRequest) -> Response:
    text = "This is a study. Open the link that you were given; it is yours alone."
    return HTMLResponse(views.message("A study", text), headers=HEADERS)


async def _refused(views: Views, _: HTTPRequest, error: Exception) -> Response:
    status, text = 500, "Something went wrong."
    if isinstance(error, HTTPException):
        status, text = error.status_code, error.detail
    headers = {**HEADERS, "Connection": "close"}  # what is left of a body is not read
    return HTMLResponse(views.message("Not here", text), status, headers=headers)
