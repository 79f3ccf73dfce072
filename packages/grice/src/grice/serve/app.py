"""The application: what each path answers. It is an ASGI application like any other."""

from __future__ import annotations

import asyncio
import math
import time
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route

from grice.errors import GriceError, RecordError
from grice.records import json_line
from grice.serve.bodies import Body, WrittenGraph, decoded, judged
from grice.serve.counters import Counters
from grice.serve.engine import Engine
from grice.serve.keys import Rate
from grice.serve.limits import Limits
from grice.serve.live import live_page
from grice.serve.openapi import PATHS, description, page
from grice.serve.problems import Problem, Refused, of_record
from grice.serve.traces import Traces

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from typing import TypeAlias

    from starlette.requests import Request
    from starlette.types import ASGIApp

    from grice.scoring.api import Grader
    from grice.serve.keys import Keys

    Answer: TypeAlias = Callable[["Service", Body], Awaitable[object]]

TOP = 20
HEAD_BYTES = 16 << 10
"""Bytes of the head of a request."""
DROPPED = 8
"""So many times the longest body are read and dropped before the connection is cut."""
JSON = "application/json"


class Service:
    """What all requests share.

    Args:
        grader: The loaded metrics, and the models that stand beside them.
        limits: What a request may ask for.
        keys: Whose requests are answered; None is everybody's.
        traces: What notes requests and batches.
    """

    def __init__(
        self,
        grader: Grader,
        limits: Limits,
        keys: Keys | None,
        traces: Traces = Traces(),  # noqa: B008 - frozen
    ) -> None:
        self.grader = grader
        self.limits = limits
        self.keys = keys
        self.rate = Rate(limits.key_rate)
        self.counters = Counters()
        self.traces = traces
        self.engine = Engine(grader.scorer, limits, self.counters, traces)
        self.signatures = grader.signatures
        self.under_way = 0

    @property
    def metrics(self) -> list[str]:
        """Names of the loaded metrics."""
        return list(self.signatures)


def application(
    grader: Grader,
    *,
    limits: Limits = Limits(),  # noqa: B008 - frozen
    keys: Keys | None = None,
    traces: Traces = Traces(),  # noqa: B008 - frozen
) -> ASGIApp:
    """Return the application that answers with the metrics of a grader, which stays open."""
    service = Service(grader, limits, keys, traces)
    about = description(service.metrics, keyed=keys is not None)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        service.engine.start()
        try:
            yield
        finally:
            await service.engine.close()

    answers: dict[str, Answer] = {
        "/score": _score,
        "/explain": _explain,
        "/review": _review,
        "/rerank": _rerank,
        "/triplets": _triplets,
        "/graph": _graph,
    }
    assert answers.keys() == PATHS.keys()
    routes = [
        *(
            Route(path, partial(_noted, service, answer), methods=["POST"])
            for path, answer in answers.items()
        ),
        Route("/health/live", partial(_live, service)),
        Route("/health/ready", partial(_ready, service)),
        Route("/health", partial(_ready, service)),
        Route("/metrics", partial(_counts, service)),
        Route("/openapi.json", partial(_constant, Response(json_line(about), media_type=JSON))),
        Route("/docs", partial(_constant, HTMLResponse(page(about)))),
        Route("/", partial(_constant, HTMLResponse(live_page(service.metrics)))),
    ]
    app = Starlette(
        routes=routes,
        lifespan=lifespan,
        exception_handlers={HTTPException: _no_such_path, Exception: _fault},
    )
    app.state.service = service
    return app


async def _constant(response: Response, _: Request) -> Response:
    return response


async def _live(_: Service, __: Request) -> Response:
    return Response(json_line({"live": True}), media_type=JSON)


async def _ready(service: Service, _: Request) -> Response:
    ready = service.engine.ready
    body = {"live": True, "ready": ready, "metrics": service.signatures}
    return Response(json_line(body), 200 if ready else 503, media_type=JSON)


async def _counts(service: Service, request: Request) -> Response:
    try:
        _check_key(service, request)
    except Refused as refused:
        return _refusal(refused)
    return PlainTextResponse(service.counters.text(), media_type="text/plain; version=0.0.4")


async def _noted(service: Service, answer: Answer, request: Request) -> Response:
    """Return what a path answers to a request, within its span."""
    with service.traces.request(request.method, request.url.path, request.headers) as answered:
        response = await _answered(service, answer, request)
        answered(response.status_code)
    return response


async def _answered(service: Service, answer: Answer, request: Request) -> Response:
    """Return what a path answers to a request, or why it does not."""
    started = time.perf_counter()
    service.under_way += 1
    try:
        if service.under_way > service.limits.requests:
            do = "ask again after the seconds of Retry-After"
            raise Refused(429, "too many requests are under way", do=do, retry=1)
        if sum(len(name) + len(value) for name, value in request.headers.raw) > HEAD_BYTES:
            what, do = f"headers of more than {HEAD_BYTES:,} bytes", "send fewer"
            raise Refused(431, what, where="header", do=do)
        _check_key(service, request)
        body = decoded(await _body(service.limits, request), service.limits)
        response = Response(json_line(await answer(service, body)), media_type=JSON)
    except Refused as refused:
        response = _refusal(refused)
    except RecordError as error:
        response = _refusal(of_record(error))
    except GriceError as error:
        response = _refusal(Refused(400, str(error), do="correct the request; see /docs"))
    finally:
        service.under_way -= 1
    service.counters.answered(request.url.path, response.status_code, time.perf_counter() - started)
    return response


def _check_key(service: Service, request: Request) -> None:
    if service.keys is None:
        return
    scheme, _, key = request.headers.get("authorization", "").partition(" ")
    owner = service.keys.owner(key.strip()) if scheme.lower() == "bearer" else None
    if owner is None:
        raise Refused(
            401,
            "no key of this service",
            where="header Authorization",
            do="send Authorization: Bearer KEY, of grice serve --new-key NAME",
        )
    if wait := service.rate.wait(owner):
        what = f"more than {service.limits.key_rate:g} requests a second"
        do = "ask again after the seconds of Retry-After"
        raise Refused(429, what, do=do, retry=math.ceil(wait))


async def _body(limits: Limits, request: Request) -> bytes:
    """Return the body of a request, which must be JSON, short and not slow.

    A page of another site cannot send this type without being allowed to.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != JSON:
        do = f"send Content-Type: {JSON}"
        raise Refused(415, f"content of type {kind[:80] or 'none'}", where="header", do=do)
    data = bytearray()
    try:
        async with asyncio.timeout(limits.body_seconds):
            size = 0
            async for part in request.stream():
                size += len(part)
                if size <= limits.body:
                    data += part
                elif size > DROPPED * limits.body:
                    break
    except TimeoutError:
        what = f"the body did not come within {limits.body_seconds:g} seconds"
        raise Refused(408, what, where="body", do="send it at once") from None
    if size > limits.body:  # what is a little too long is taken in, so that the answer is read
        what = f"more than {limits.body:,} bytes"
        raise Refused(413, what, where="body", do="send it in several requests")
    return bytes(data)


async def _score(service: Service, body: Body) -> object:
    metrics = body.metrics(service.metrics)
    groups = await service.engine.score(body.conversations(), metrics)
    return {"scores": [score for group in groups for score in group]}


async def _explain(service: Service, body: Body) -> object:
    metrics = body.metrics(service.metrics)
    turn, what_if = body.option("turn", -1), body.option("what_if", otherwise=False)
    talk = judged(body.conversation(), turn)
    [scores] = await service.engine.score([talk], metrics)
    if not what_if:
        return {"scores": scores}

    def changes() -> dict[str, object]:
        from grice.evaluation.counterfactuals import counterfactuals

        loaded = {metric.metric.name: metric for metric in service.engine.scorer.metrics}
        return {
            score.metric: counterfactuals(loaded[score.metric], talk, score) for score in scores
        }

    return {"scores": scores, "changes": await service.engine.call(len(talk.turns), changes)}


async def _review(service: Service, body: Body) -> object:
    from grice.evaluation.review import Reviewer

    top = body.option("top", TOP)
    metrics = body.metrics(service.metrics)
    talks = body.conversations()
    reviewer = Reviewer(top)
    for talk, scores in zip(talks, await service.engine.score(talks, metrics), strict=True):
        reviewer.add(talk, scores)
    return reviewer.review()


async def _rerank(service: Service, body: Body) -> object:
    from grice.evaluation.rerank import FIELD, Blend, rerank

    metrics = body.metrics(service.metrics)
    blend = body.options_as(Blend, {"blend": "rule"})
    context = body.conversation(with_list=FIELD)
    scorer = service.engine.only(metrics)
    turns = len(context.turns) + body.listed(FIELD)

    def ranked() -> object:
        [best] = rerank([context], scorer, blend)
        return best

    result = await service.engine.call(turns, ranked)
    if isinstance(result, RecordError):
        raise of_record(result)
    return result


async def _triplets(service: Service, body: Body) -> object:
    from grice_tasks.cider.conversations import check_relations
    from grice_tasks.cider.find import Wanted

    wanted = body.options_as(Wanted, {})
    check_relations(wanted.relations)
    talks = body.conversations()
    turns = sum(len(talk.turns) for talk in talks)
    found = await service.engine.call(turns, lambda: service.grader.links(talks, wanted))
    return {"links": [link for links in found for link in links]}


async def _graph(service: Service, body: Body) -> object:
    from grice_tasks.explagraphs.check import check_graph

    graph = body.options_as(WrittenGraph, {})
    facts = graph.graph.count("(")
    body.check_size(facts, "fact", where="graph")
    verdict = await service.engine.call(
        facts,
        lambda: check_graph(graph.graph, graph.belief, graph.argument, rules=graph.rules),
    )
    return {
        "ok": verdict.ok,
        "broken": verdict.broken,
        "failures": verdict.failures,
        "rules": verdict.rules,
    }


def _refusal(refused: Refused) -> Response:
    headers = {} if refused.retry_after is None else {"Retry-After": str(refused.retry_after)}
    if refused.status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    if refused.status in (408, 413):
        headers["Connection"] = "close"  # what is left of the body is not read
    body = json_line({"error": refused.problem})
    return Response(body, refused.status, headers, media_type=JSON)


async def _no_such_path(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 404
    what = f"{request.method[:20]} {request.url.path[:100]}: nothing answers that here"
    *paths, last = PATHS
    do = f"POST to {', '.join(paths)} or {last}; see /docs"
    return _refusal(Refused(status, what, where="path", do=do))


async def _fault(_: Request, error: Exception) -> Response:
    what = f"a fault of grice itself: {type(error).__name__}"
    body = json_line({"error": Problem(what, do="report it with the log of the service")})
    return Response(body, 500, media_type=JSON)
