"""The ASGI application: the paths of the service and their answers."""

from __future__ import annotations

import asyncio
import hmac
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import partial
from html import escape
from importlib import resources
from typing import TYPE_CHECKING, Any, TypeAlias, get_type_hints

import msgspec
from fastapi import FastAPI, Request, Response
from fastapi.responses import HTMLResponse
from fastapi.routing import APIRoute
from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector
from prometheus_client import generate_latest as prometheus_text
from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from grice import __version__
from grice.data import json_line
from grice.errors import GriceError, RecordError
from grice.evaluation.ranking import Ranker
from grice.evaluation.rerank import rerank
from grice.readers._formats import FieldError, decode
from grice.report.html import head
from grice.serve import Limits, bodies
from grice.serve.bodies import JSON, RETRY, Refused
from grice.serve.engine import Engine

if TYPE_CHECKING:
    from grice.scoring.api import Grader

    Kind: TypeAlias = type[bodies.Talk]
    Answer: TypeAlias = Callable[[Any], Coroutine[Any, Any, Response]]

NO_FRAMES = {"Content-Security-Policy": "frame-ancestors 'none'"}
"""Other sites cannot show a page, nor what it scores for a fragment of theirs, in a frame."""


class Service:
    """The answers of all paths."""

    def __init__(self, grader: Grader, limits: Limits, key: str | None) -> None:
        self.limits = limits
        self.key = key
        self.signatures = grader.signatures
        self.metrics = list(grader.signatures)
        self.under_way = 0
        self.counts = CollectorRegistry()
        self.engine = Engine(grader.scorer, limits, self.counts)
        labels, about = ("path", "status"), "Requests by path and status."
        self._requests = Counter("grice_requests", about, labels, registry=self.counts)
        about = "Seconds until the answer."
        self._seconds = Histogram("grice_request_seconds", about, labels[:1], registry=self.counts)
        ProcessCollector(registry=self.counts)

    async def score(self, body: bodies.Talk) -> Response:
        """Score every reply of a conversation, or of several, and list their flaws."""
        metrics = body.chosen(self.metrics)
        judged = await self.engine.judge(body.all(self.limits), metrics)
        scores = [score for scores, _ in judged for score in scores]
        findings = [finding for _, found in judged for finding in found]
        return _json(bodies.Scored(scores, findings))

    async def explain(self, body: bodies.Reply) -> Response:
        """Score one reply, and try single changes that would raise its scores."""
        metrics, talk = body.chosen(self.metrics), body.judged(self.limits)
        [(scores, findings)] = await self.engine.judge([talk], metrics)
        if not body.what_if:
            return _json(bodies.Scored(scores, findings))

        def changes() -> dict[str, object]:
            from grice.evaluation.perturbed import counterfactuals

            loaded = {metric.metric.name: metric for metric in self.engine.scorer.metrics}
            return {
                score.metric: counterfactuals(loaded[score.metric], talk, score) for score in scores
            }

        return _json(bodies.Scored(scores, findings, await self.engine.call([talk], changes)))

    async def rank(self, body: bodies.Unranked) -> Response:
        """List the replies that a person should read first."""
        metrics, talks = body.chosen(self.metrics), body.all(self.limits)
        judged = await self.engine.judge(talks, metrics)

        def ranked() -> object:
            ranker = Ranker(body.top)
            for talk, (scores, _) in zip(talks, judged, strict=True):
                ranker.add(talk, scores)
            return ranker.ranking()

        return _json(await self.engine.call(talks, ranked))

    async def rerank(self, body: bodies.Candidates) -> Response:
        """Order candidates for the next turn, the best first."""
        scorer = self.engine.only(body.chosen(self.metrics))
        context = body.one(self.limits, candidates=body.candidates)

        def ranked() -> object:
            return next(iter(rerank([context], scorer, body.blended())))

        result = await self.engine.call([context], ranked)
        if isinstance(result, RecordError):
            raise result
        return _json(result)

    async def live(self) -> dict[str, object]:
        """Report that the process is alive."""
        return {"live": True}

    async def ready(self, response: Response) -> dict[str, object]:
        """Report whether requests are scored, and by which metrics."""
        response.status_code = 200 if self.engine.ready else 503
        return {"live": True, "ready": self.engine.ready, "metrics": self.signatures}

    async def counted(self, request: Request) -> Response:
        """Return all counts in the text format of Prometheus."""
        self._check_key(request)
        return Response(prometheus_text(self.counts), media_type="text/plain; version=0.0.4")

    async def answered(self, path: str, answer: Answer, kind: Kind, request: Request) -> Response:
        """Return the answer of a path to a body, or a refusal."""
        started = time.perf_counter()
        self.under_way += 1
        try:
            self._check_head(request)
            body = kind.model_validate(await self._record(request))
            response = await _while_open(request, answer(body))
        except (GriceError, HTTPException, RecursionError, ValidationError) as error:
            response = bodies.refusal_of(error).answer()
        except (ClientDisconnect, asyncio.CancelledError):  # nobody reads it
            response = Refused(400, "the connection was closed", do="send it again").answer()
        finally:
            self.under_way -= 1
        self._requests.labels(path, response.status_code).inc()
        self._seconds.labels(path).observe(time.perf_counter() - started)
        return response

    async def _record(self, request: Request) -> dict[str, Any]:
        """Read the JSON object of a request."""
        do = "send one JSON object in UTF-8; see /docs"
        try:
            record = decode(await bodies.received(request, self.limits))
        except FieldError as error:
            raise Refused(400, error.problem, where="body", do=do) from None
        if not isinstance(record, dict):
            raise Refused(400, "JSON, but not an object", where="body", do=do)
        return record

    def _check_head(self, request: Request) -> None:
        if self.under_way > self.limits.concurrency:
            do = "retry after the seconds in Retry-After"
            raise Refused(429, "too many concurrent requests", do=do, **RETRY)
        self._check_key(request)
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != JSON:  # a page of another site cannot send it without permission
            do = f"send Content-Type: {JSON}"
            raise Refused(415, f"content type {kind[:80] or 'missing'}", where="header", do=do)

    def _check_key(self, request: Request) -> None:
        if self.key is None:
            return
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        same = hmac.compare_digest(given.strip().encode("latin-1"), self.key.encode())
        if scheme.lower() != "bearer" or not same:
            what, where = "missing or wrong API key", "header Authorization"
            do = "send Authorization: Bearer KEY, with the key of this service"
            raise Refused(401, what, where=where, do=do, **{"WWW-Authenticate": "Bearer"})


class _Route(APIRoute):
    """A path whose body is read within the limits of the service."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        service: Service = self.endpoint.__self__  # type: ignore[attr-defined] # a method of it
        kind = get_type_hints(self.endpoint)["body"]
        return partial(service.answered, self.path, self.endpoint, kind)


def application(
    grader: Grader,
    *,
    limits: Limits = Limits(),  # noqa: B008 - frozen
    key: str | None = None,
) -> FastAPI:
    """Return the application that answers with the metrics of a grader, which stays open.

    With a key, each request must send it as ``Authorization: Bearer KEY``.
    """
    service = Service(grader, limits, key)
    loaded = ", ".join(service.metrics)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with service.engine:
            yield

    app = FastAPI(
        title="grice",
        version=__version__,
        description=f"Metrics loaded here: {loaded}.",
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
        exception_handlers={HTTPException: _no_answer, Exception: _fault},
    )
    app.state.service = service
    schemas, records = msgspec.json.schema_components(
        [*bodies.ANSWERS.values(), bodies.Failed], ref_template="#/components/schemas/{name}"
    )
    *gives, failed = ({"content": {JSON: {"schema": schema}}} for schema in schemas)
    for path, given in zip(bodies.ANSWERS, gives, strict=True):
        answer = getattr(service, path[1:])
        app.router.add_api_route(
            path,
            answer,
            methods=["POST"],
            summary=answer.__doc__,
            responses={200: given, "default": {**failed, "description": "why it is refused"}},
            route_class_override=_Route,
        )
    ready = "Whether requests are scored; 503 if not."
    app.get("/health/live", summary="Whether the process answers.")(service.live)
    app.get("/health/ready", summary=ready)(service.ready)
    app.get("/health", include_in_schema=False)(service.ready)
    app.get("/metrics", summary="Counts in the text format of Prometheus.")(service.counted)
    app.get("/", include_in_schema=False)(_page("live", loaded))
    app.get("/docs", include_in_schema=False)(_page("docs", loaded))
    about = app.openapi()
    about["components"]["schemas"] |= records
    if key is not None:
        about["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
        about["security"] = [{"key": []}]
    return app


async def _while_open(request: Request, answer: Coroutine[Any, Any, Response]) -> Response:
    """Return an answer; computing it ends when the client closes the connection."""
    computing = asyncio.ensure_future(answer)
    closed = asyncio.ensure_future(request.receive())  # nothing else comes after the body
    closed.add_done_callback(lambda _: computing.cancel())
    try:
        return await computing
    finally:
        closed.cancel()


def _page(name: str, loaded: str) -> Callable[[], Awaitable[Response]]:
    """Return an endpoint for a page that makes requests only to this service."""
    assets = resources.files("grice.serve") / "assets"
    style, script, body = (
        (assets / f"{name}.{kind}").read_text("utf-8") for kind in ("css", "js", "html")
    )
    beginning = head(f"grice: {name}", style=style, script=script, connects="'self'")
    body = body.replace("METRICS", escape(loaded))
    page = f"{beginning}<body>\n{body}<script>{script}</script>\n</body>\n</html>\n"

    async def shown() -> Response:
        return HTMLResponse(page, headers=NO_FRAMES)

    return shown


def _json(value: object) -> Response:
    return Response(json_line(value), media_type=JSON)


async def _no_answer(request: Request, error: Exception) -> Response:
    if isinstance(error, Refused):
        return error.answer()
    status = error.status_code if isinstance(error, HTTPException) else 404
    what = f"{request.method[:20]} {request.url.path[:100]}: no such path"
    *paths, last = bodies.ANSWERS
    do = f"POST to {', '.join(paths)} or {last}; see /docs"
    return Refused(status, what, where="path", do=do).answer()


async def _fault(_: Request, error: Exception) -> Response:
    what = f"internal error of grice: {type(error).__name__}"
    return Refused(500, what, do="report it with the log of the service").answer()
