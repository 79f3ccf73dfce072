"""Each integration inside the library that it is for, where that is installed."""

import asyncio
import importlib
import json
import os
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest

import grice
from grice.cli import main
from grice.errors import InputError
from grice.integrations import evaluator
from grice.integrations.evaluator import Evaluator
from grice.integrations.promptfoo import get_assert

GARDEN = [
    {"role": "user", "content": "My tomatoes died because I forgot to water them."},
    {"role": "assistant", "content": "I am sorry. Water them every morning next year."},
    {"role": "user", "content": "Which tomatoes are the easiest?"},
    {"role": "assistant", "content": "Paris is the capital of France."},
]


def library(name):
    """A module of an integration, or a skip where its library is not installed or is broken."""
    pytest.importorskip(name, exc_type=ImportError)
    return importlib.import_module(f"grice.integrations.{name}")


def test_a_reply_is_evaluated_alone_and_a_conversation_by_the_mean_of_its_replies():
    judge = Evaluator("relevance", minimum=0.5)
    [off] = judge.reply(GARDEN)
    [on] = judge.reply(GARDEN[:2])
    [both] = judge.conversation(GARDEN)
    assert (off.passed, on.passed) == (False, True)
    assert both.value == pytest.approx((off.value + on.value) / 2)
    assert both.reason.startswith("mean of 2 replies; lowest in turn 3")
    assert off.signature.startswith("relevance:")
    assert [item.passed for item in Evaluator("relevance").reply(GARDEN)] == [None]
    with pytest.raises(InputError, match="sensibleness, which is not evaluated"):
        Evaluator("relevance", minimum={"sensibleness": 0.5})
    with pytest.raises(InputError, match="no turn"):
        judge.reply([])


def test_messages_of_any_library_are_taken():
    class Message:
        def __init__(self, kind, content):
            self.type, self.content = kind, content

    kinds = {"user": "human", "assistant": "ai"}
    objects = [Message(kinds[m["role"]], m["content"]) for m in GARDEN]
    judge = Evaluator("relevance")
    assert judge.reply(objects) == judge.reply(GARDEN) == judge.reply({"messages": GARDEN})


def test_a_library_that_moved_its_interface_is_named_with_both_versions():
    with (
        pytest.raises(InputError, match=r"needs pytest \(tested with 0\.1\).*pytest==0\.1"),
        evaluator.of_library("pytest", "0.1"),
    ):
        importlib.import_module("pytest").no_such_thing  # noqa: B018
    with (
        pytest.raises(InputError, match=r"needs no-such-library.*pip install no-such-library"),
        evaluator.of_library("no-such-library", "1.0"),
    ):
        importlib.import_module("no_such_library")


def test_promptfoo_gets_a_grading_result():
    context = {"prompt": GARDEN[0]["content"], "vars": {}, "config": {"metrics": "relevance"}}
    good = get_assert(GARDEN[1]["content"], context)
    bad = get_assert("Paris is the capital of France.", context)
    assert (good["pass"], bad["pass"]) == (True, False)
    assert good["namedScores"] == {"relevance": good["score"]}
    assert bad["reason"].startswith("relevance 0.")
    chat = {"prompt": json.dumps(GARDEN[:1]), "config": {"metrics": "relevance"}}
    assert get_assert(GARDEN[1]["content"], chat)["score"] == good["score"]
    empty = get_assert("", context)
    assert (empty["pass"], empty["score"]) == (False, 0.0)
    flawed = get_assert("Dear {{name}}!", {"prompt": "Hi.", "config": {"metrics": "repetition"}})
    reason = 'T105 a template field is not filled in: "{{name}}"'
    assert flawed["componentResults"] == [{"pass": False, "score": 0.0, "reason": reason}]
    assert "grice" in get_assert("x", {"prompt": "x", "config": {"metrics": "nothing"}})["reason"]


def test_langsmith_and_openevals_get_a_list_of_results():
    from grice.integrations.langsmith import grice_evaluator

    evaluate = grice_evaluator("relevance,repetition")
    results = evaluate(inputs={"messages": GARDEN[:3]}, outputs=GARDEN[3], reference_outputs=None)
    assert [result["key"] for result in results] == ["relevance", "repetition"]
    assert results[0]["score"] == Evaluator("relevance").reply(GARDEN)[0].value
    assert evaluate(inputs="Hi.", outputs={"answer": "Hello."})[0]["key"] == "relevance"
    with pytest.raises(InputError, match="outputs: missing"):
        evaluate(inputs="Hi.")


def chat_messages(messages):
    """Return messages as Inspect has them."""
    from inspect_ai.model import ChatMessageAssistant, ChatMessageUser

    kinds = {"user": ChatMessageUser, "assistant": ChatMessageAssistant}
    return [kinds[message["role"]](content=message["content"]) for message in messages]


def test_inspect_scores_a_sample(tmp_path, socket_enabled):
    module = library("inspect_ai")
    import inspect_ai
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    sample = Sample(input=chat_messages(GARDEN[:3]))
    reply = ModelOutput.from_content("mockllm/model", GARDEN[3]["content"])
    # Without it, it would fetch a list.
    reply.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    task = inspect_ai.Task(dataset=[sample], scorer=module.grice_scorer("relevance,responsiveness"))
    model = get_model("mockllm/model", custom_outputs=[reply])
    [log] = inspect_ai.eval(task, model=model, log_dir=str(tmp_path), display="none")
    assert log.status == "success", log.error
    value = log.samples[0].scores["grice_scorer"].value
    assert value["relevance"] == Evaluator("relevance").reply(GARDEN)[0].value
    assert set(value) == {"relevance", "responsiveness"}


def test_scout_scans_a_transcript():
    module = library("inspect_scout")

    class Transcript:
        transcript_id, messages = "t", chat_messages(GARDEN)

    result = asyncio.run(module.grice_scanner("relevance")(Transcript))
    assert result.value == {"relevance": Evaluator("relevance").conversation(GARDEN)[0].value}


def test_deepeval_evaluates_a_conversation(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)  # it keeps a folder
    module = library("deepeval")
    from deepeval.test_case import ConversationalTestCase, Turn

    case = ConversationalTestCase(turns=[Turn(**message) for message in GARDEN])
    metric = module.GriceMetric("relevance", threshold=0.9)
    assert metric.measure(case) == Evaluator("relevance").conversation(GARDEN)[0].value
    assert not metric.is_successful()
    assert metric.__name__ == "grice relevance"
    assert asyncio.run(metric.a_measure(case)) == metric.score


def test_mlflow_gets_a_feedback_for_each_metric(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    module = library("mlflow")
    import mlflow

    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/mlflow.db")

    @mlflow.trace
    def chat(messages):
        mlflow.update_current_trace(metadata={"mlflow.trace.session": "s"})
        return GARDEN[len(messages)]["content"]

    chat(GARDEN[:1])
    chat(GARDEN[:3])
    mlflow.flush_trace_async_logging()
    traces, grade = mlflow.search_traces(return_type="list"), module.grice_scorer("relevance")
    assert grade.is_session_level_scorer
    [feedback] = grade.run(session=traces)
    assert feedback.name == "relevance"
    assert feedback.value == Evaluator("relevance").conversation(GARDEN)[0].value


def test_opik_gets_a_result_for_each_metric():
    module = library("opik")
    results = module.GriceMetric("relevance,repetition", track=False).score(conversation=GARDEN)
    assert [result.name for result in results] == ["relevance", "repetition"]
    assert results[0].value == Evaluator("relevance").conversation(GARDEN)[0].value


@pytest.fixture
def scored(tmp_path):
    talk, out = tmp_path / "talk.jsonl", tmp_path / "out.jsonl"
    talk.write_text(json.dumps({"id": "s1", "messages": GARDEN}) + "\n")
    assert main(["score", str(talk), "-m", "relevance", "-o", str(out)]) == 0
    return out


class Told:
    """A client that keeps what it is told."""

    def __init__(self):
        self.calls = []

    def __getattr__(self, name):
        if name in ("sessions", "traces"):
            return self
        return lambda **fields: self.calls.append((name, fields))


def test_langfuse_and_phoenix_are_told_of_scores_by_keys_that_stay(scored):
    from grice.integrations import langfuse, phoenix

    for module, to in product((langfuse, phoenix), ("session", "trace")):
        first, again = Told(), Told()
        assert module.write_scores(scored, first, to=to) == 2
        module.write_scores(scored, again, to=to)
        assert first.calls == again.calls
        assert {fields[f"{to}_id"] for name, fields in first.calls if fields} == {"s1"}
    scored.write_text("")
    with pytest.raises(InputError):
        langfuse.write_scores(scored, Told())


def test_opentelemetry_gets_an_event_for_each_score():
    pytest.importorskip("opentelemetry.sdk._logs")
    from opentelemetry._logs import set_logger_provider
    from opentelemetry.sdk._logs import LoggerProvider
    from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor

    from grice.integrations.otel import emit_scores

    kept, provider = InMemoryLogRecordExporter(), LoggerProvider()
    provider.add_log_record_processor(SimpleLogRecordProcessor(kept))
    set_logger_provider(provider)
    with grice.load("relevance") as grader:
        scores = grader.score(GARDEN)
    assert emit_scores(scores, attributes={"gen_ai.response.id": "r"}) == len(scores)
    [first, *_] = [log.log_record for log in kept.get_finished_logs()]
    assert first.event_name == "gen_ai.evaluation.result"
    assert first.attributes["gen_ai.evaluation.score.value"] == scores[0].value
    assert first.attributes["gen_ai.response.id"] == "r"


SUITE = """
from grice import Conversation, Turn
from grice.pytest_plugin import assert_no_findings, assert_scores

TALKS = [
    Conversation(f"c{i}", (Turn("A", "How was it?"), Turn("B", "It was " + "very " * i + "good.")))
    for i in range(12)
]

def test_holds(grice_score):
    scores = grice_score(TALKS, "log_length")
    assert len(scores) == 24
    assert_scores(scores, minimum={"log_length": 0.5}, max_failed=0.0)

def test_loads_once(grice_score, monkeypatch):
    monkeypatch.setattr("grice.scoring.load", None)
    assert grice_score(["Hello.", "Hi there."], "log_length")[0].status == "ok"

def test_does_not_hold(grice_score):
    scores = grice_score(TALKS, "log_length")
    assert_scores(scores, max_share_below={("log_length", 9.0): 0.5})

def test_has_findings():
    assert not assert_no_findings(TALKS, ignore=["loop"]).findings
    assert_no_findings("bot.txt")
"""


def run_suite(folder, *words):
    source = str(Path(grice.__file__).parents[1])  # also where grice is not installed
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": source}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "grice.pytest_plugin", *words]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


def test_scores_and_thresholds_in_a_suite(tmp_path):
    (tmp_path / "test_bot.py").write_text(SUITE)
    (tmp_path / "bot.txt").write_text("Ann: Well?\nBob: Dear {{name}}, yes.\n")
    done = run_suite(tmp_path, "-p", "no:cacheprovider")
    assert "2 failed, 2 passed" in done.stdout
    assert 'bot.txt:bot:1 1 T105 a template field is not filled in: "{{name}}"' in done.stdout
    assert "scores miss the thresholds" in done.stdout
    assert "share below 9: 100.0%" in done.stdout


TOOLS = {"deepeval", "inspect_ai", "langfuse", "langsmith", "mlflow", "opik", "phoenix"}


@pytest.mark.parametrize(("modules", "others"), [
    ("grice.integrations, grice.integrations.promptfoo", TOOLS),
    ("grice.pytest_plugin", {"numpy", "scipy", "ctranslate2", "msgspec", "rich"}),
])  # fmt: skip
def test_nothing_of_a_tool_and_nothing_heavy_is_imported_before_its_file(modules, others):
    code = f"import sys, {modules}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not set(done.stdout.split()) & others
