"""Traces of the service: a span a request, one a batch, and no text of anybody in them."""

from __future__ import annotations

import asyncio
import json
import sys

import pytest

import grice
from grice.errors import InputError
from grice.serve.traces import Traces, exported_traces

pytest.importorskip("starlette")
from grice.serve.app import application
from grice.serve.check import Request, exchange

HEADERS = {"content-type": "application/json"}
SECRET = "Quetzalcoatl"
TALK = {"id": SECRET, "turns": [f"Is it far, {SECRET}?", "Ten minutes on foot."]}
TRACE = "0af7651916cd43dd8448eb211c80319c"
VARIABLES = (
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "OTEL_TRACES_EXPORTER",
    "OTEL_SDK_DISABLED",
)


@pytest.fixture(autouse=True)
def unset(monkeypatch):
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


def spans_of(*bodies, **headers):
    """Return the spans of requests that come at once."""
    trace = pytest.importorskip("opentelemetry.sdk.trace", reason="needs opentelemetry-sdk")
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    kept = InMemorySpanExporter()
    provider = trace.TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    with grice.load("log_length", workers=1) as grader:
        app = application(grader, traces=Traces(provider.get_tracer("grice")))
        posts = [Request("POST", "/score", body, {**HEADERS, **headers}) for body in bodies]
        asyncio.run(exchange(app, posts))
    return kept.get_finished_spans()


def test_requests_are_spans_and_batches_link_to_them():
    spans = spans_of(*[json.dumps(TALK).encode()] * 5)
    requests = [span for span in spans if span.name == "POST /score"]
    batches = [span for span in spans if span.name == "grice batch"]
    assert [span.attributes["http.response.status_code"] for span in requests] == [200] * 5
    assert len(batches) < 5
    assert sum(span.attributes["grice.batch.turns"] for span in batches) == 10
    linked = {link.context.span_id for span in batches for link in span.links}
    assert linked == {span.context.span_id for span in requests}


def test_a_request_is_part_of_the_trace_that_it_names():
    [request] = [
        span
        for span in spans_of(
            json.dumps(TALK).encode(), traceparent=f"00-{TRACE}-b7ad6b7169203331-01"
        )
        if span.name == "POST /score"
    ]
    assert f"{request.context.trace_id:032x}" == TRACE


def test_no_text_stands_in_a_span_also_where_a_request_is_refused():
    bodies = [json.dumps(TALK), json.dumps({"turns": [SECRET, 3]}), f'{{"{SECRET}": ']
    spans = spans_of(*(body.encode() for body in bodies), authorization=f"Bearer {SECRET}")
    statuses = [span.attributes.get("http.response.status_code") for span in spans]
    assert statuses.count(400) == 2
    assert not [span.name for span in spans if SECRET in span.to_json()]


def test_nothing_is_traced_unless_a_variable_says_where_to(monkeypatch):
    with exported_traces() as traces:
        assert traces.tracer is None
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    with exported_traces() as traces:
        assert traces.tracer is None


def test_an_unknown_exporter_is_named(monkeypatch):
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "zipkin")
    with pytest.raises(InputError, match="otlp, console, none"), exported_traces():
        pass


def test_the_extra_is_named_where_the_sdk_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.resources", None)
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "console")
    with pytest.raises(InputError, match=r"grice\[traces\]"), exported_traces():
        pass
