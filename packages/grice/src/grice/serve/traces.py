"""Traces of the service by OpenTelemetry: a span a request, and one a batch that links to it.

Off unless the variables that every exporter knows say where spans go, or a program hands over its
tracer. No text of anybody, no key and no message of an error stands in a span.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from grice.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
EXPORTER = "OTEL_TRACES_EXPORTER"
EXPORTERS = ("otlp", "console", "none")


class Traces(NamedTuple):
    """What notes requests and batches.

    Attributes:
        tracer: One of OpenTelemetry's API; None notes nothing.
    """

    tracer: Any = None

    @contextmanager
    def request(
        self, method: str, path: str, headers: Mapping[str, str]
    ) -> Iterator[Callable[[int], None]]:
        """Note a request, of the trace that its headers name; yield what takes its status."""
        if self.tracer is None:
            yield _nothing
            return
        from opentelemetry import propagate, trace

        with self.tracer.start_as_current_span(
            f"{method} {path}",
            context=propagate.extract(headers),
            kind=trace.SpanKind.SERVER,
            attributes={"http.request.method": method, "http.route": path},
            record_exception=False,  # its message may quote what was sent
        ) as span:
            yield partial(_answered, span)

    def here(self) -> object:
        """Return the request that is under way, for the batch that its turns become part of."""
        if self.tracer is None:
            return None
        from opentelemetry import trace

        return trace.get_current_span().get_span_context()

    @contextmanager
    def batch(self, requests: Sequence[Any], turns: int) -> Iterator[None]:
        """Note a batch, and which requests it is of."""
        if self.tracer is None:
            yield
            return
        from opentelemetry import context, trace

        with self.tracer.start_as_current_span(
            "grice batch",
            context=context.Context(),  # of many requests: a trace of its own
            links=[trace.Link(request) for request in requests if request.is_valid],
            attributes={"grice.batch.requests": len(requests), "grice.batch.turns": turns},
            record_exception=False,
        ):
            yield


def _nothing(_: int) -> None:
    """Note nothing."""


def _answered(span: Any, status: int) -> None:  # noqa: ANN401 - a span of OpenTelemetry
    span.set_attribute("http.response.status_code", status)
    if status >= 500:
        from opentelemetry import trace

        span.set_attribute("error.type", str(status))
        span.set_status(trace.StatusCode.ERROR)


@contextmanager
def exported_traces() -> Iterator[Traces]:
    """Yield traces that go where the standard variables of OpenTelemetry say; else none are made.

    ``OTEL_EXPORTER_OTLP_ENDPOINT`` (or ``…_TRACES_ENDPOINT``), ``OTEL_TRACES_EXPORTER`` (``otlp``,
    ``console``, ``none``), ``OTEL_SDK_DISABLED``, ``OTEL_SERVICE_NAME`` and what the SDK reads
    itself. What waits to be sent is sent at the end.

    Raises:
        InputError: If an exporter is unknown, or the SDK is asked for and not installed.
    """
    asked = any(os.environ.get(name) for name in ENDPOINTS)
    exporter = os.environ.get(EXPORTER, "").strip() or ("otlp" if asked else "none")
    if exporter not in EXPORTERS:
        raise InputError(f"{EXPORTER}={exporter}: no such exporter here; {', '.join(EXPORTERS)}")
    if exporter == "none" or os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        yield Traces()
        return
    try:
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter

        if exporter == "otlp":
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    except ImportError as error:
        raise InputError(
            f"traces need {error.name}, which is not installed: pip install "
            f'"grice[traces]", or unset {", ".join((*ENDPOINTS, EXPORTER))}'
        ) from None
    named = os.environ.get("OTEL_SERVICE_NAME") or "service.name" in os.environ.get(
        "OTEL_RESOURCE_ATTRIBUTES", ""
    )
    provider = TracerProvider(resource=Resource.create({} if named else {"service.name": "grice"}))
    sink = OTLPSpanExporter() if exporter == "otlp" else ConsoleSpanExporter()
    provider.add_span_processor(BatchSpanProcessor(sink))
    try:
        yield Traces(provider.get_tracer("grice"))
    finally:
        provider.shutdown()
