"""The description of the service as OpenAPI, and the same as a page that asks for nothing else."""

from __future__ import annotations

from html import escape
from importlib import resources
from typing import TYPE_CHECKING, Any

import msgspec

from grice import __version__
from grice.evaluation.rerank import Ranked
from grice.evaluation.review import Review
from grice.pages import head
from grice.records import Score
from grice.serve.problems import Problem
from grice_tasks.cider.find import Link
from grice_tasks.explagraphs.check import Failure

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

REFERENCE = "#/components/schemas/{name}"
TALK: dict[str, object] = {
    "turns": [
        {"speaker": "Ann", "text": "Is it far to the station?"},
        {"speaker": "Bob", "text": "Ten minutes on foot."},
    ]
}
METRICS = ("metrics", "names of loaded metrics; without any, all", {"type": "array"})
PATHS: dict[str, tuple[str, dict[str, object], tuple[tuple[str, str, dict[str, str]], ...]]] = {
    "/score": (
        "Scores of every reply of a conversation, or of several (`conversations`: a list of them).",
        TALK,
        (METRICS,),
    ),
    "/explain": (
        "Scores of one reply, and the single changes that would lift them.",
        {**TALK, "turn": 1, "what_if": True},
        (
            METRICS,
            ("turn", "index of the reply, from 0; by default the last turn", {"type": "integer"}),
            ("what_if", "also try single changes of knowledge and text", {"type": "boolean"}),
        ),
    ),
    "/review": (
        "The replies that a person should look at first, of one conversation or of several.",
        {"conversations": [TALK], "top": 5},
        (METRICS, ("top", "how many are returned; by default 20", {"type": "integer"})),
    ),
    "/rerank": (
        "Candidates for the next turn, the best first.",
        {
            "turns": [{"speaker": "Ann", "text": "Is it far to the station?"}],
            "candidates": ["Ten minutes on foot.", "I like trains.", "Yes."],
        },
        (
            METRICS,
            ("candidates", "texts that may follow the last turn", {"type": "array"}),
            ("blend", "mean, minimum, product or pareto", {"type": "string"}),
            ("weights", "weights of metrics in the blend", {"type": "object"}),
            ("vetoes", "a candidate below this value of a metric comes last", {"type": "object"}),
            ("held_out", "metrics that are run and take no part", {"type": "array"}),
        ),
    ),
    "/triplets": (
        "The commonsense links between the words of a conversation, or of several.",
        TALK,
        (
            ("relations", "only these relations; by default all", {"type": "array"}),
            ("least", "confidence at least, from 0 to 1", {"type": "number"}),
            ("most", "links of a conversation at most; by default 12", {"type": "integer"}),
            ("each", "of one relation at most; by default 3", {"type": "integer"}),
            ("implicit", "also links that no connective says; the default", {"type": "boolean"}),
        ),
    ),
    "/graph": (
        "Which rules of structure an explanation graph breaks, and where.",
        {
            "belief": "Zoos are bad.",
            "argument": "Animals suffer in a zoo.",
            "graph": "(zoo; capable of; suffering)(suffering; is a; bad)(animals; at location; "
            "zoo)",
        },
        (
            ("graph", "the written graph: (head; relation; tail)(…)", {"type": "string"}),
            ("belief", "one sentence", {"type": "string"}),
            ("argument", "one sentence for or against it", {"type": "string"}),
            ("rules", "released, what the official script counts, or paper", {"type": "string"}),
        ),
    ),
}
"""What is posted: what it gives, an example, and its options."""
STATUSES = {
    400: "the request cannot be used",
    401: "no key of this service",
    408: "the body came too slowly",
    413: "too much at once",
    415: "no JSON",
    429: "too much waits already; see Retry-After",
    503: "not scored in time, or the service is ending; see Retry-After",
}
CONVERSATION = (
    ("turns", "turns in order: texts, or objects with speaker and text"),
    ("messages", "instead of turns: objects with role and content"),
    ("conversations", "instead of both: a list of objects with either (not /explain, /rerank)"),
    ("id", "its name in the scores"),
    ("targets", "indices of the turns to judge; by default every reply"),
)


def _listed(name: str, kind: str) -> dict[str, object]:
    items = {"type": "array", "items": {"$ref": REFERENCE.format(name=kind)}}
    return {"type": "object", "properties": {name: items}}


GIVES: dict[str, dict[str, object]] = {
    "/score": _listed("scores", "Score"),
    "/explain": _listed("scores", "Score"),
    "/review": {"$ref": REFERENCE.format(name="Review")},
    "/rerank": {"$ref": REFERENCE.format(name="Ranked")},
    "/triplets": _listed("links", "Link"),
    "/graph": _listed("failures", "Failure"),
}


def description(metrics: Sequence[str], *, keyed: bool) -> dict[str, Any]:
    """Return the description of a service with these metrics, in OpenAPI 3.1."""
    _, schemas = msgspec.json.schema_components(
        [Score, Review, Ranked, Link, Failure, Problem], ref_template=REFERENCE
    )
    paths: dict[str, object] = {path: {"post": _operation(path, keyed=keyed)} for path in PATHS}
    for path, about in (
        ("/health/live", "Whether the process answers."),
        ("/health/ready", "Whether requests are scored; 503 if not."),
        ("/metrics", "Counts in the text format of Prometheus."),
    ):
        paths[path] = {"get": {"summary": about, "responses": {"200": {"description": "yes"}}}}
    document: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {
            "title": "grice",
            "version": __version__,
            "description": f"Metrics loaded here: {', '.join(metrics)}.",
        },
        "paths": paths,
        "components": {"schemas": schemas},
    }
    if keyed:
        scheme = {"type": "http", "scheme": "bearer"}
        document["components"]["securitySchemes"] = {"key": scheme}
    return document


def _operation(path: str, *, keyed: bool) -> dict[str, Any]:
    summary, example, options = PATHS[path]
    conversation = () if path == "/graph" else CONVERSATION
    properties = {name: {"description": about} for name, about in conversation}
    properties |= {name: {"description": about, **kind} for name, about, kind in options}
    schema = {"type": "object", "properties": properties}
    problem = {
        "type": "object",
        "properties": {"error": {"$ref": REFERENCE.format(name="Problem")}},
    }
    gives = {"application/json": {"schema": GIVES[path]}}
    responses = {
        "200": {"description": "the result", "content": gives},
        **{
            str(status): {
                "description": about,
                "content": {"application/json": {"schema": problem}},
            }
            for status, about in STATUSES.items()
            if keyed or status != 401
        },
    }
    body = {"application/json": {"schema": schema, "example": example}}
    operation: dict[str, Any] = {
        "summary": summary.replace("`", ""),
        "requestBody": {"required": True, "content": body},
        "responses": responses,
    }
    return {**operation, "security": [{"key": []}]} if keyed else operation


def page(about: dict[str, Any]) -> str:
    """Return the page of a description."""
    style = (resources.files("grice.serve") / "assets" / "docs.css").read_text("utf-8")
    body = "\n".join(_body(about))
    return f"{head('grice: HTTP', style=style)}<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"


def _body(about: dict[str, Any]) -> Iterator[str]:
    info = about["info"]
    yield f"<h1>grice {escape(info['version'])} over HTTP</h1>"
    yield f"<p>{escape(info['description'])}</p>"
    yield (
        '<p>Machines read <a href="openapi.json">openapi.json</a>; '
        '<a href="./">the live page</a> scores while you type.</p>'
    )
    if "securitySchemes" in about["components"]:
        yield "<p>Send <code>Authorization: Bearer KEY</code> with every request.</p>"
    for path, operations in about["paths"].items():
        for method, operation in operations.items():
            yield f"<section><h2><span>{method.upper()}</span> {escape(path)}</h2>"
            yield f"<p>{escape(operation['summary'])}</p>"
            if "requestBody" in operation:
                yield from _request(path, operation)
            yield "</section>"
    yield "<h2>Errors</h2><p>An error is <code>{&quot;error&quot;: {&quot;what&quot;, "
    yield "&quot;where&quot;, &quot;do&quot;}}</code>: what was found, where, and what to do.</p>"
    yield _table((str(status), reason) for status, reason in STATUSES.items())


def _request(path: str, operation: dict[str, Any]) -> Iterator[str]:
    content = operation["requestBody"]["content"]["application/json"]
    example = msgspec.json.format(msgspec.json.encode(content["example"]), indent=2).decode()
    yield f"<pre>POST {escape(path)}\nContent-Type: application/json\n\n{escape(example)}</pre>"
    properties = content["schema"]["properties"]
    yield _table((name, field["description"]) for name, field in properties.items())


def _table(rows: Iterator[tuple[str, str]]) -> str:
    cells = (f"<tr><th>{escape(name)}</th><td>{escape(about)}</td></tr>" for name, about in rows)
    return f"<table>{''.join(cells)}</table>"
