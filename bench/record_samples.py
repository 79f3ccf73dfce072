"""Record what tracers of today write of one conversation, for the tests of formats.

Needs the tracers, and no network: the model is a stub in this process::

    pip install openai opentelemetry-sdk opentelemetry-exporter-otlp-proto-common \
        opentelemetry-instrumentation-openai-v2 openinference-instrumentation-openai \
        langsmith langchain-core langfuse mlflow datasets
    python bench/record_samples.py packages/grice/tests/readers/samples
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
from contextlib import chdir
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version
from pathlib import Path
from typing import Any

QUESTIONS = ("Is it far?", "And by bus?")
ANSWERS = {"Is it far?": "Ten minutes on foot.", "And by bus?": "Three minutes."}
SYSTEM = "Be brief."
CONVERSATION = "walk-1"
LOCAL = ("mlflow.artifactLocation", "mlflow.source", "mlflow.user")
VERSIONS = {
    "otel": ("opentelemetry-instrumentation-openai-v2", "opentelemetry-semantic-conventions"),
    "otel_events": ("opentelemetry-instrumentation-openai-v2",),
    "openinference": ("openinference-instrumentation-openai",),
    "mlflow": ("mlflow",),
    "langsmith": ("langsmith",),
    "langfuse": ("langfuse",),
    "openai": ("openai",),
}


class Stub(BaseHTTPRequestHandler):
    """A model that knows two answers."""

    def do_POST(self) -> None:
        sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        messages = sent.get("messages") or sent["input"]
        answer = ANSWERS[messages[-1]["content"]]
        body = json.dumps(_response(answer) if "input" in sent else _completion(answer)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def _completion(answer: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": answer}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1767225600,
        "model": "stub-1",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 5, "total_tokens": 14},
    }


def _response(answer: str) -> dict[str, Any]:
    text = {"type": "output_text", "text": answer, "annotations": []}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed"}
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1767225600,
        "model": "stub-1",
        "status": "completed",
        "output": [{**message, "content": [text]}],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }


def client() -> Any:  # noqa: ANN401 - of a library that tests do without
    from openai import OpenAI

    server = ThreadingHTTPServer(("127.0.0.1", 0), Stub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return OpenAI(base_url=f"http://127.0.0.1:{server.server_port}/v1", api_key="none")


def talk(model: Any) -> None:  # noqa: ANN401
    """Ask both questions; the second request holds the first exchange."""
    messages = [{"role": "system", "content": SYSTEM}]
    for question in QUESTIONS:
        messages.append({"role": "user", "content": question})
        reply = model.chat.completions.create(model="stub-1", messages=messages)
        messages.append({"role": "assistant", "content": reply.choices[0].message.content})


def otel(out: Path, *, latest: bool) -> None:
    from opentelemetry import trace
    from opentelemetry._logs import set_logger_provider
    from opentelemetry.instrumentation.openai_v2 import OpenAIInstrumentor
    from opentelemetry.sdk._logs import LoggerProvider
    from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    os.environ["OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"] = (
        "span_only" if latest else "true"
    )
    if latest:
        os.environ["OTEL_SEMCONV_STABILITY_OPT_IN"] = "gen_ai_latest_experimental"
    spans, logs = InMemorySpanExporter(), InMemoryLogRecordExporter()
    tracing, logging = TracerProvider(), LoggerProvider()
    tracing.add_span_processor(SimpleSpanProcessor(spans))
    logging.add_log_record_processor(SimpleLogRecordProcessor(logs))
    trace.set_tracer_provider(tracing)
    set_logger_provider(logging)
    OpenAIInstrumentor().instrument()
    with tracing.get_tracer("chat").start_as_current_span("conversation"):
        talk(client())
    records = [_otlp_spans(spans.get_finished_spans())]
    if not latest:
        records.append(_otlp_logs(logs.get_finished_logs()))
    write(out, records)


def _otlp_spans(spans: Any) -> dict[str, Any]:  # noqa: ANN401
    from google.protobuf.json_format import MessageToDict
    from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans

    return dict(MessageToDict(encode_spans(spans)))


def _otlp_logs(logs: Any) -> dict[str, Any]:  # noqa: ANN401
    from google.protobuf.json_format import MessageToDict
    from opentelemetry.exporter.otlp.proto.common._log_encoder import encode_logs

    return dict(MessageToDict(encode_logs(logs)))


def openinference(out: Path) -> None:
    from openinference.instrumentation import using_session
    from openinference.instrumentation.openai import OpenAIInstrumentor
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    spans, tracing = InMemorySpanExporter(), TracerProvider()
    tracing.add_span_processor(SimpleSpanProcessor(spans))
    OpenAIInstrumentor().instrument(tracer_provider=tracing)
    with using_session(CONVERSATION):
        talk(client())
    write(out, [_otlp_spans(spans.get_finished_spans())])


def mlflow(out: Path) -> None:
    import mlflow as library

    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        library.set_tracking_uri(f"sqlite:///{folder}/mlflow.db")
        model = client()

        @library.trace
        def chat(messages: list[dict[str, str]]) -> str:
            library.update_current_trace(metadata={"mlflow.trace.session": CONVERSATION})
            reply = model.chat.completions.create(model="stub-1", messages=messages)
            return str(reply.choices[0].message.content)

        library.openai.autolog()
        messages = [{"role": "system", "content": SYSTEM}]
        for question in QUESTIONS:
            messages.append({"role": "user", "content": question})
            messages.append({"role": "assistant", "content": chat(list(messages))})
        library.flush_trace_async_logging()
        traces = library.search_traces(return_type="list")
        records = [json.loads(trace.to_json()) for trace in reversed(traces)]
        for record in records:
            for about in ("tags", "trace_metadata"):  # where and by whom it was recorded
                fields = record["info"][about]
                record["info"][about] = {
                    name: value for name, value in fields.items() if not name.startswith(LOCAL)
                }
        write(out, records)


def langsmith(out: Path) -> None:
    from langsmith import Client, traceable, tracing_context
    from langsmith.wrappers import wrap_openai

    kept: dict[str, dict[str, Any]] = {}

    class Kept(Client):
        """A client that keeps runs where others send them."""

        def create_run(self, name, inputs, run_type, **given):  # noqa: ANN001, ANN003, ANN202
            run = {"name": name, "inputs": inputs, "run_type": run_type, **given}
            kept[str(given["id"])] = run

        def update_run(self, run_id, **given):  # noqa: ANN001, ANN003, ANN202
            given = {key: value for key, value in given.items() if value is not None}
            kept[str(run_id)] |= given

    model, library = wrap_openai(client()), Kept(api_url="http://127.0.0.1:9", api_key="none")

    @traceable(name="bot", metadata={"thread_id": CONVERSATION})
    def chat(messages: list[dict[str, str]]) -> dict[str, str]:
        reply = model.chat.completions.create(model="stub-1", messages=messages)
        return {"role": "assistant", "content": reply.choices[0].message.content}

    messages = [{"role": "system", "content": SYSTEM}]
    with tracing_context(enabled=True, client=library):
        for question in QUESTIONS:
            messages.append({"role": "user", "content": question})
            messages.append(chat(list(messages)))
    names = ("id", "trace_id", "parent_run_id", "run_type", "name", "start_time", "end_time",
             "inputs", "outputs", "error", "extra")  # fmt: skip
    write(out, [{name: run.get(name) for name in names} for run in kept.values()])


def langfuse(out: Path) -> None:
    from langfuse.api import ObservationV2

    messages = [{"role": "system", "content": SYSTEM}]
    rows = []
    for number, question in enumerate(QUESTIONS):
        messages.append({"role": "user", "content": question})
        answer = {"role": "assistant", "content": ANSWERS[question]}
        observation = ObservationV2(
            id=f"observation-{number}",
            trace_id=f"trace-{number}",
            parent_observation_id=None,
            type="GENERATION",
            name="chat",
            start_time=f"2026-01-01T10:0{number}:00Z",
            project_id="project",
            session_id=CONVERSATION,
            input=list(messages),
            output=answer,
            bookmarked=False,
        )
        rows.append(json.loads(observation.model_dump_json(by_alias=True, exclude_none=True)))
        messages.append(answer)
    write(out, rows)


def openai(out: Path) -> None:
    model = client()
    messages = [{"role": "system", "content": SYSTEM}]
    records = []
    for question in QUESTIONS:
        messages.append({"role": "user", "content": question})
        reply = model.responses.create(model="stub-1", input=messages)
        request = {"model": "stub-1", "input": list(messages)}
        logged = {"request": request, "response": json.loads(reply.model_dump_json())}
        records.append({"conversation_id": CONVERSATION, **logged})
        messages.append({"role": "assistant", "content": reply.output_text})
    write(out, records)


def write(out: Path, records: list[dict[str, Any]]) -> None:
    lines = "".join(f"{json.dumps(record, default=str)}\n" for record in records)
    out.write_text(lines, "utf-8")


WRITERS = {
    "otel": lambda out: otel(out, latest=True),
    "otel_events": lambda out: otel(out, latest=False),
    "openinference": openinference,
    "mlflow": mlflow,
    "langsmith": langsmith,
    "langfuse": langfuse,
    "openai": openai,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", choices=sorted(WRITERS))
    arguments = parser.parse_args()
    if arguments.only:
        WRITERS[arguments.only]((arguments.folder / f"{arguments.only}.jsonl").absolute())
        return
    for name in WRITERS:  # tracers patch the client; each has a process of its own
        words = [sys.executable, __file__, str(arguments.folder), "--only", name]
        subprocess.run(words, check=True)
    rows = [
        f"| `{name}.jsonl` | {', '.join(f'{each} {version(each)}' for each in libraries)} |"
        for name, libraries in VERSIONS.items()
    ]
    page = ["# Recorded by bench/record_samples.py", "", "| file | by |", "|---|---|", *rows, ""]
    (arguments.folder / "README.md").write_text("\n".join(page), "utf-8")


if __name__ == "__main__":
    main()
