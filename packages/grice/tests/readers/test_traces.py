"""Traces of one conversation by current tracers, whole and with parts missing."""

import json
from functools import reduce
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import grice
from grice.errors import RecordError
from grice.readers import read

SAMPLES = sorted((Path(__file__).parent / "samples").glob("*.jsonl"))
WALK = [
    ("system", "Be brief."), ("user", "Is it far?"), ("assistant", "Ten minutes on foot."),
    ("user", "And by bus?"), ("assistant", "Three minutes."),
]  # fmt: skip


def spoken(conversation):
    return [(turn.role, turn.text) for turn in conversation.turns]


@pytest.fixture
def reading(tmp_path):
    def records(*lines, **options):
        path = tmp_path / "log.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return list(read(path, **options))

    return records


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.stem)
def test_the_calls_of_a_conversation_are_one_whose_targets_are_the_replies(sample):
    [walk] = grice.read(sample)
    assert spoken(walk) == WALK
    assert walk.targets == (2, 4)


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.stem)
def test_half_a_file_gives_what_is_whole_and_complaints(sample, tmp_path):
    half, content = tmp_path / sample.name, sample.read_bytes()
    half.write_bytes(content[: len(content) * 2 // 3])
    form = {"openinference": "otel", "otel_events": "otel"}.get(sample.stem, sample.stem)
    records = list(read(half, format=form))
    assert records
    assert isinstance(records[0], RecordError) or isinstance(records[-1], RecordError)


def span(number, sent, returned, **others):
    messages = {"gen_ai.input.messages": sent, "gen_ai.output.messages": returned}
    attributes = {name: json.dumps(value) for name, value in messages.items() if value is not None}
    attributes |= {"gen_ai.operation.name": "chat", **others}
    return {
        "name": "chat",
        "context": {"trace_id": f"0x{number}", "span_id": f"0x{number}"},
        "parent_id": None,
        "start_time": f"2026-01-01T00:00:{number:02}Z",
        "attributes": attributes,
    }


def text(role, words):
    return {"role": role, "parts": [{"type": "text", "content": words}]}


def test_without_a_conversation_id_each_trace_is_a_conversation(reading):
    first = span(1, [text("user", "Is it far?")], [text("assistant", "No.")])
    second = span(2, [text("user", "Is it open?")], [text("assistant", "Yes.")])
    assert [talk.id for talk in reading(first, second)] == ["1", "2"]


def test_what_a_call_repeats_is_left_out_and_what_was_cut_is_kept(reading):
    named, system = {"gen_ai.conversation.id": "c"}, text("system", "Be brief.")
    talk = [text("user", "1"), text("assistant", "2"), text("user", "3"), text("assistant", "4")]
    whole = span(1, [system, *talk[:1]], talk[1:2], **named)
    window = span(2, [system, *talk[1:3]], talk[3:], **named)  # only the last turns are sent
    alone = span(3, [system, text("user", "5")], [text("assistant", "6")], **named)
    twice = span(4, [system, *talk[:1]], talk[1:2], **named)  # by an agent, too
    [joined] = reading(window, whole, twice, alone)  # they count in the order of their times
    assert [turn.text for turn in joined.turns] == ["Be brief.", *"123456"]
    assert joined.targets == (2, 4, 6)


def test_a_call_without_reply_or_messages_is_named_and_loses_no_other(reading):
    whole = span(1, [text("user", "Is it far?")], [text("assistant", "No.")])
    half, bare = span(2, [text("user", "Is it far?")], None), span(3, None, None)
    other = {"name": "GET /", "context": {"trace_id": "0x4"}, "attributes": {"http.method": "GET"}}
    records = reading(whole, half, bare, other)
    problems = [str(record) for record in records if isinstance(record, RecordError)]
    assert [record.id for record in records if not isinstance(record, RecordError)] == ["1"]
    assert "log.jsonl:2" in problems[0]
    assert "half of it was lost" in problems[0]
    assert "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT" in problems[1]


def test_calls_that_cannot_be_read_are_named_and_lose_no_other(reading):
    deep = [{"role": "user", "content": reduce(lambda inner, _: [inner], range(700), "x")}]
    whole = span(1, [text("user", "Is it far?")], [text("assistant", "No.")])
    records = reading(
        span(2, deep, [text("assistant", "No.")]),
        span(3, None, None, **{"gen_ai.prompt.0.contents.0.text": 5}),
        span(4, None, None, **{f"gen_ai.prompt.{'9' * 5000}.role": "user"}),
        whole,
    )
    assert [record.line for record in records if isinstance(record, RecordError)] == [1, 2, 3]
    assert len(records) == 4
    [bad] = reading({"traceId": "t", "type": "GENERATION", "input": deep, "output": "No."})
    assert "nested too deeply" in bad.problem


def test_of_the_observations_below_a_root_the_generations_count(reading):
    inner = {"traceId": "t", "parentObservationId": "0", "input": "Is it far?", "output": "No."}
    kinds = {"1": "SPAN", "2": "GENERATION"}
    [talk] = reading(*({**inner, "id": i, "type": kind} for i, kind in kinds.items()))
    assert spoken(talk) == [("user", "Is it far?"), ("assistant", "No.")]
    assert reading({**inner, "id": "1", "type": "SPAN"}) == []


def test_tools_and_reasoning_are_no_turns(reading):
    called = {"role": "assistant", "parts": [{"type": "tool_call", "name": "bus", "arguments": {}}]}
    result = {"role": "tool", "parts": [{"type": "tool_call_response", "response": "3"}]}
    sent = [text("user", "By bus?"), called, result]
    thought = {"type": "reasoning", "content": "They ask about the bus."}
    answer = {"role": "assistant", "parts": [thought, {"type": "text", "content": "Three."}]}
    first, second = span(1, sent[:1], [called]), span(2, sent, [answer])
    second["context"]["trace_id"] = "0x1"
    [talk] = reading(first, second)
    assert spoken(talk) == [("user", "By bus?"), ("assistant", "Three.")]


def test_openllmetry_and_console_spans_are_read(reading):
    attributes = {
        "gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": "Is it far?",
        "gen_ai.completion.0.role": "assistant", "gen_ai.completion.0.content": "No.",
        "traceloop.association.properties.session_id": "s",
    }  # fmt: skip
    context = {"trace_id": "0x9", "span_id": "0x1"}
    [talk] = reading({"name": "openai.chat", "context": context, "attributes": attributes})
    assert (talk.id, spoken(talk)) == ("s", [("user", "Is it far?"), ("assistant", "No.")])


def test_messages_of_langchain_have_the_roles_of_openai(reading):
    constructor = ["langchain", "schema", "messages"]
    human = {"lc": 1, "type": "constructor", "id": [*constructor, "HumanMessage"],
             "kwargs": {"content": "Is it far?"}}  # fmt: skip
    ai = {"lc": 1, "type": "constructor", "id": [*constructor, "AIMessage"],
          "kwargs": {"content": [{"type": "text", "text": "No."}]}}  # fmt: skip
    run = {"id": "r", "run_type": "llm", "inputs": {"messages": [[human]]},
           "outputs": {"generations": [[{"text": "No.", "message": ai}]]}}  # fmt: skip
    [talk] = reading(run)
    assert spoken(talk) == [("user", "Is it far?"), ("assistant", "No.")]


@pytest.mark.parametrize(("record", "form", "problem"), [
    ({"id": "r", "run_type": "llm", "inputs": {"input": "Hi."}, "error": "RateLimitError"},
     "langsmith", "the call failed"),
    ({"object": "chat.completion", "choices": [{"message": {}}]}, "openai", "without its request"),
])  # fmt: skip
def test_half_a_call_is_a_broken_record(reading, record, form, problem):
    [error] = reading(record, format=form)
    assert problem in str(error)


def test_answers_of_an_interface_hold_several(reading):
    run = {"run_type": "chain", "inputs": {"question": "Is it far?"}, "outputs": {"output": "No."}}
    records = reading({"runs": [{"id": "a", **run}, {"id": "b", **run}]})
    assert [record.id for record in records] == ["a", "b"]


def test_a_data_set_on_disk_is_read_with_all_its_splits(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    turns = [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Hello."}]
    for split in ("train", "test"):
        folder = tmp_path / split
        folder.mkdir()
        table = pyarrow.Table.from_pylist([{"id": split, "messages": turns}])
        with pyarrow.ipc.new_stream(folder / "data-00000-of-00001.arrow", table.schema) as stream:
            stream.write_table(table)
        (folder / "state.json").write_text("{}")
        (folder / "dataset_info.json").write_text("{}")
    (tmp_path / "dataset_dict.json").write_text('{"splits": ["train", "test"]}')
    assert [talk.id for talk in grice.read(tmp_path)] == ["test", "train"]


AROUND = {
    "langsmith": '{"run_type": "llm", "inputs": %s, "outputs": %s}',
    "langfuse": '{"traceId": "t", "sessionId": "s", "input": %s, "output": %s}',
    "openai": '{"input": %s, "output": [%s]}',
    "mlflow": '{"info": {}, "data": {"spans": [{"attributes": '
    '{"mlflow.spanInputs": %s, "mlflow.spanOutputs": %s}}]}}',
    "preference": '{"prompt": "x", "chosen": %s, "rejected": %s}',
    "phoenix": '{"span_kind": "LLM", "context.trace_id": "1", '
    '"attributes.llm.input_messages": %s, "attributes.llm.output_messages": [%s]}',
    "otel": '{"name": "x", "attributes": '
    '{"gen_ai.input.messages": %s, "gen_ai.output.messages": %s}}',
    "label_studio": '{"data": {"a": %s, "b": %s}}',
}
NAMES = ("role", "type", "id", "content", "parts", "kwargs", "data", "message", "messages", "input",
         "choices", "output", "generations", "message.role", "text")  # fmt: skip
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["", "user", "text", "{", "[1"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(NAMES), inner),
    max_leaves=6,
)


@pytest.mark.parametrize("form", AROUND)
@given(sent=JSON, returned=JSON)
def test_whatever_was_logged_is_read_or_named(form, sent, returned, tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text(AROUND[form] % (json.dumps(sent), json.dumps(returned)) + "\n")
    for record in read(path, format=form):
        assert isinstance(record, RecordError) or record.turns


@pytest.mark.parametrize("form", AROUND)
@pytest.mark.parametrize("name", NAMES)
def test_what_is_nested_deeply_is_read_or_named(form, name, tmp_path):
    deep, path = f'{{"{name}":' * 400 + '"x"' + "}" * 400, tmp_path / "log.jsonl"
    path.write_text(AROUND[form] % (deep, deep) + "\n")
    assert len(list(read(path, format=form))) <= 2
