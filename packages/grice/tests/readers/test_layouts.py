"""Conversations of each format, by examples."""

import json
from pathlib import Path

import pytest

from format_page import EXAMPLES, READ_AS, SECTIONS
from grice.data import Conversation, Turn, to_json
from grice.errors import RecordError
from grice.readers import find_formats, read


@pytest.fixture
def reading(tmp_path):
    def conversations(content, **options):
        path = tmp_path / "chat.txt"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return list(read(path, **options))

    return conversations


def lines(*records):
    return "".join(json.dumps(record) + "\n" for record in records)


def spoken(conversation):
    return [(turn.speaker, turn.text) for turn in conversation.turns]


def places(records):
    """Return the id of each conversation and the line of each broken record."""
    return [each.id if isinstance(each, Conversation) else each.line for each in records]


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_recognised_and_read_as_the_page_of_formats_says(name, tmp_path):
    for folder, content in (
        ("plain", EXAMPLES[name].encode()),
        ("windows", b"\xef\xbb\xbf" + EXAMPLES[name].replace("\n", "\r\n").encode()),
    ):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "FILE").write_bytes(content)
        reader = read(tmp_path / folder / "FILE")
        assert (reader.format, [to_json(record) for record in reader]) == (name, READ_AS[name])


def test_the_page_describes_every_format():
    assert SECTIONS.keys() == find_formats().formats.keys()


@pytest.mark.parametrize(
    ("record", "turns"), json.loads(Path(__file__).with_name("layouts.json").read_text("utf-8"))
)
def test_speakers_and_texts(reading, record, turns):
    [conversation] = reading(lines(record))
    assert "|".join(f"{speaker}: {text}" for speaker, text in spoken(conversation)) == turns
    if "response" in record or "completion" in record:
        assert conversation.targets == (len(conversation.turns) - 1,)


def test_fields_of_turn_and_record_are_kept(reading):
    second = {"speaker": 2, "text": " Hello ", "role": "user", "time": 4, "references": ["Hey"]}
    turns = [{"speaker": "Ann", "text": "Hi", "emotion": 3}, second]
    record = {"id": 12, "source": "s", "turns": turns, "targets": [1], "meta": {"config": "A"}}
    both = {"turns": ["a"], "source": 1, "meta": {"source": 2}}
    first, shared, huge = reading(lines(record, both, {"id": 10**40, "turns": ["a"], "n": 10**40}))
    hi = Turn("Ann", "Hi", meta={"emotion": 3})
    hello = Turn("2", " Hello ", role="user", time="4", references=("Hey",))
    facts = {"config": "A", "source": "s"}
    assert first == Conversation("12", (hi, hello), targets=(1,), meta=facts)
    assert shared.meta == {"source": 1, "meta": {"source": 2}}
    assert (huge.id, huge.meta) == (str(10**40), {"n": 10**40})


def test_messages_keep_roles_names_and_parts(reading):
    call = [{"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
    parts = [
        {"type": "text", "text": "Look"}, {"type": "image_url", "image_url": {"url": "u"}},
        {"type": "reasoning", "text": "Hm."}, {"type": "text", "text": "here"},
    ]  # fmt: skip
    messages = [
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "name": "ann", "content": parts},
        {"role": "assistant", "content": None, "tool_calls": call},
        {"role": "tool", "tool_call_id": "1", "content": "42"},
        {"role": "oracle", "content": [{"type": "output_text", "text": "Yes"}]},
        {"role": "assistant", "content": None, "refusal": "No."},
        {"role": "user", "parts": [{"type": "text", "text": "By the AI SDK"}]},
    ]
    [conversation] = reading(lines({"messages": messages}))
    assert [(turn.speaker, turn.role, turn.text) for turn in conversation.turns] == [
        ("developer", "developer", "Be brief."), ("ann", "user", "Look\nhere"),
        ("assistant", "assistant", ""), ("tool", "tool", "42"), ("oracle", "oracle", "Yes"),
        ("assistant", "assistant", "No."), ("user", "user", "By the AI SDK"),
    ]  # fmt: skip
    assert conversation.turns[1].meta == {"content": parts}
    assert conversation.turns[2].meta == {"tool_calls": call}


def test_sharegpt_states_roles_in_the_usual_words(reading):
    said = [("system", "Be brief."), ("human", "Hi"), ("gpt", "Hello")]
    items = [{"from": speaker, "value": text, "weight": 1} for speaker, text in said]
    [conversation] = reading(lines({"conversations": items, "system": "s"}))
    assert spoken(conversation) == said
    assert [turn.role for turn in conversation.turns] == ["system", "user", "assistant"]
    assert (conversation.turns[1].meta, conversation.meta) == ({"weight": 1}, {"system": "s"})


def test_a_response_has_references_and_deco_leaves_empty_slots_out(reading):
    context = [{"speaker": "B", "text": "Hi"}, {"speaker": "A", "text": "Ho"}]
    record = {"id": "u", "context": context, "response": "Near.", "references": ["Close."], "n": 1}
    [rated] = reading(lines(record))
    assert (rated.targets, rated.meta) == ((2,), {"n": 1})
    assert rated.turns[2] == Turn("B", "Near.", references=("Close.",))
    [deco] = reading(lines({"history": "</UTT></UTT>Hi ! </UTT>", "response": "Ho .", "GUID": 6}))
    assert deco == Conversation("6", (Turn("B", "Hi !"), Turn("A", "Ho .")), targets=(1,))


BROKEN = {
    "turns": [
        ({"turns": []}, "turns", "no turn"),
        ({"turns": [{"speaker": "A"}]}, "turns[0].text", "missing; found speaker"),
        ({"turns": [{"text": "a"}, {"text": 5}]}, "turns[1].text", "the number 5"),
        ({"turns": [{"text": None}]}, "turns[0].text", "found null"),
        ({"turns": ["a", 7]}, "turns[1]", "found the number 7"),
        ({"turns": [{"text": "a", "speaker": ["x"]}]}, "turns[0].speaker", "found a list"),
        ({"turns": [{"text": "a", "references": 3, "x": 1}]}, "turns[0].references", "number"),
        ({"turns": "a"}, "turns", "found text"),
        ({"turns": ["a"], "id": [1]}, "id", "found a list"),
        ({"turns": ["a"], "id": True}, "id", "true or false"),
        ({"turns": ["a"], "targets": [1]}, "targets[0]", "from 0 to 0"),
        ({"turns": ["a"], "targets": [-1]}, "targets[0]", "found -1"),
        ({"turns": ["a"], "targets": 0}, "targets", "found the number 0"),
        ({"lines": ["a"]}, "turns", "missing; found lines"),
        ({}, "turns", "no field"),
    ],
    "messages": [
        ({"messages": [{"content": "x"}]}, "messages[0].role", "found null"),
        ({"messages": [{"role": "user"}]}, "messages[0].content", "missing"),
        ({"messages": [{"role": "user", "content": 5}]}, "messages[0].content", "number 5"),
        ({"messages": [{"role": "user", "content": ["x"]}]}, "messages[0].content[0]", "text"),
        ({"messages": [{"role": "user", "content": [{"type": "text"}]}]},
         "messages[0].content[0].text", "found null"),
        ({"messages": ["Hi"]}, "messages[0]", "expected an object"),
    ],
    "response": [
        ({"context": "a", "n": 1}, "response", "missing"),
        ({"response": "a"}, "context", "missing"),
        ({"context": 3, "response": "a"}, "context", "number 3"),
        ({"context": ["a"], "response": 3}, "response", "number 3"),
        ({"context": ["a", 3], "response": "b"}, "context[1]", "number 3"),
        ({"context": ["a"], "response": "b", "references": [1]}, "references[0]", "number 1"),
    ],
    "label_studio": [
        ({"data": {"talk": [{"author": "Ann", "text": 3}]}}, "data.talk[0].text", "number 3"),
        ({"data": {"image": "x.png"}}, "data", "expected a list of objects"),
        ({"data": {"talk": [{"author": "A", "text": "Hi."}]}, "predictions": 3}, "predictions",
         "number 3"),
    ],
    "preference": [({"chosen": "No."}, "rejected", "missing")],
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "record", "field", "problem"),
    [(name, *row) for name, rows in BROKEN.items() for row in rows],
)
def test_a_broken_record_names_its_field_and_costs_no_other(reading, name, record, field, problem):
    good = EXAMPLES[name].splitlines()[0] + "\n"
    whole = len(reading(good, format=name))
    records = reading(good + lines(record) + good, format=name)
    bad = records.pop(whole)
    assert isinstance(bad, RecordError)
    assert (bad.line, bad.field) == (2, field)
    assert problem in bad.problem
    assert [each for each in records if isinstance(each, Conversation)] == records
    assert len(records) == 2 * whole


def test_tasks_of_label_studio_hold_turns_and_a_proposal(reading):
    result = [
        {"from_name": "overall", "type": "number", "value": {"number": 4}},
        {"from_name": "issues", "type": "choices", "value": {"choices": ["dull"]}},
        {"from_name": "span", "type": "labels", "value": {"start": 0, "labels": ["x"]}},
        {"from_name": ["no", "name"], "value": {"number": 1}},
    ]
    hi = {"role": "user", "content": "Hi."}
    tasks = [
        {"id": 1, "data": {"messages": [hi], "on": "walks"}},
        {"id": 0, "data": {"talk": [{"author": "Ann", "text": "Hi."}]}, "annotations": []},
        {"data": {"context": "Is it far?", "response": "Ten minutes."},
         "predictions": [{"result": result, "score": 0.5}]},
    ]  # fmt: skip
    chat, paragraphs, rated = reading(json.dumps(tasks))
    assert ([turn.role for turn in chat.turns], chat.meta) == (["user"], {"on": "walks"})
    assert (paragraphs.id, spoken(paragraphs)) == ("0", [("Ann", "Hi.")])
    assert paragraphs.meta == {"annotations": []}
    assert rated.targets == (1,)
    span = {"start": 0, "labels": ["x"]}
    assert rated.meta["proposal"] == {"overall": 4, "issues": ["dull"], "span": span}


def test_a_preference_record_is_two_conversations(reading):
    asked = {"role": "user", "content": "Hi."}
    sides = [[asked, {"role": "assistant", "content": words}] for words in ("Hello.", "No.")]
    pair = {"id": "q", "prompt": "Is it far?", "chosen": "No.", "rejected": "Far.", "source": "s"}
    chosen, rejected, _, whole = reading(lines(pair, {"chosen": sides[0], "rejected": sides[1]}))
    assert (chosen.id, chosen.targets) == ("q:chosen", (1,))
    assert spoken(rejected) == [("user", "Is it far?"), ("assistant", "Far.")]
    assert rejected.meta == {"source": "s", "preference": "rejected"}
    assert (whole.targets, whole.turns[-1].text) == ((1,), "No.")


PARLAI = """\
text:a\tlabels:b\tepisode_done:True
nonsense
text:c\tlabels:d
nonsense
text:e\tlabels:f\tepisode_done:True
text:g\tlabels:h\tepisode_done:True
"""


@pytest.mark.parametrize(("form", "content", "expected", "problem"), [
    ("dailydialog", "Hi ! __eou__ Ho . __eou__\nno mark\nBye . __eou__\n",
     ["chat:1", 2, "chat:3"], "__eou__"),
    ("parlai", PARLAI, ["chat:1", 2, 4, 3, "chat:6"], "name:value"),
    ("transcript", b"# 1\nA: a\n# 2\nA: \xff\nB: b\n# 3\nA: c\n", ["1", 4, "3"], "UTF-8"),
    ("transcript", "just prose\nand more\n", [1], "'just prose'"),
    ("json", json.dumps([{"turns": ["a"]}, {"turns": []}, {"id": "z", "turns": ["b"]}]),
     ["chat:1", 1, "z"], "no turn"),
    ("json", '[\n{"turns": ["a"]},\n{"turns": ["b"]}\n]\n', ["chat:2", "chat:3"], None),
    ("json", '[\n{"turns": ["a"]},\n{"turns": ["b"', ["chat:2", 3], "ends inside"),
    ("json", json.dumps([{"role": "user", "content": "a"}]), [1], "jq -c '{messages: .}'"),
    ("table", "context,response\na,b\na,b,c\nd,e\n", ["chat:2", 3, "chat:4"], "found 3 cells"),
    ("table", f"context,response\na,{'x' * 200_000}\nd,e\n", ["chat:2", "chat:3"], None),
    ("table", f'context,response\na,"{"x" * 200_000}"\nd,e\n', [2, "chat:3"], "field limit"),
    ("table", "conversation_id,text\nx,a\nx\nx,b\ny,c\nz\nw,d\n", [3, 2, 6, "y", "w"],
     "1 cell"),
    ("table", 'id,context,response\nbad,"c,r\n1,c,r\n', [2, "1"], "quotes of a cell"),
    ("table", 'id,context,response\nbad,"c,r\n' + "".join(f"{n},c,r\n" for n in range(3000)),
     [2, *map(str, range(3000))], "not closed within 1,000 lines"),
])  # fmt: skip
def test_what_is_broken_costs_itself_or_its_conversation(reading, form, content, expected, problem):
    for given in {form, None if form in ("json", "table") else form}:
        records = reading(content, format=given)
        assert places(records) == expected
        errors = [str(record) for record in records if isinstance(record, RecordError)]
        assert any(problem in error for error in errors) if problem else not errors


def test_parlai_has_fields_and_escapes(reading):
    [conversation] = reading(
        "text:Hi\\nthere\tlabel_candidates:a|b\treward:1\n"
        "text:x\teval_labels:one__PIPE__two|three\tepisode_done:True\n"
    )
    assert spoken(conversation) == [("A", "Hi\nthere"), ("A", "x"), ("B", "one|two")]
    assert conversation.turns[0].meta == {"label_candidates": ["a", "b"], "reward": "1"}
    assert conversation.turns[2].references == ("three",)


RULED = "A: a\n\nB: b\n%s\nA: c\nB: d\n"


class TestTranscript:
    @pytest.mark.parametrize(("line", "time", "speaker"), [
        ("[12:30] Ann: Hi", "12:30", "Ann"), ("12:30 - Ann: Hi", "12:30", "Ann"),
        ("(12:30:05) Ann: Hi", "12:30:05", "Ann"),
        ("[2024-01-05 12:30] Ann: Hi", "2024-01-05 12:30", "Ann"),
        ("2024-01-05T12:30:01Z Ann: Hi", "2024-01-05T12:30:01Z", "Ann"),
        ("12/05/23, 9:41 PM - Ann Lee: Hi", "12/05/23, 9:41 PM", "Ann Lee"),
        ("Dr. O'Neil-Smith (host): Hi", None, "Dr. O'Neil-Smith (host)"),
        ("Ёлка:  Hi", None, "Ёлка"), ("A : Hi", None, "A"), ("S1:\tHi", None, "S1"),
    ])  # fmt: skip
    def test_speakers_and_times(self, reading, line, time, speaker):
        [conversation] = reading(line + "\nBob: Ho\n")
        assert conversation.turns[0] == Turn(speaker, "Hi", time=time)

    @pytest.mark.parametrize(
        ("content", "expected"),
        [
            ("A: a\nB: b\n\n\nA: c\nB: d\n", {"chat:1": 2, "chat:5": 2}),
            ("A: a\n\nB: b\n\nA: c\n", {"chat:1": 3}),
            *((RULED % rule, {"chat:1": 2, "chat:5": 2}) for rule in ("===", "-----", "***")),
            *((RULED % head, {"chat:1": 2, "n": 2}) for head in ("# n", "## n", "=== n ===")),
        ],
    )
    def test_rules_and_headings_separate_conversations(self, reading, content, expected):
        assert {each.id: len(each.turns) for each in reading(content)} == expected

    def test_lines_without_a_name_belong_to_the_turn_before(self, reading):
        text = "see\n  http://example.org: that\n\nand more"
        [conversation] = reading(f"Ann: {text}\nBob: Ho\n")
        assert spoken(conversation) == [("Ann", text), ("Bob", "Ho")]

    @pytest.mark.parametrize("line", ["#blessed", "--", "--- well", "-", "#"])
    def test_a_line_like_a_rule_is_said(self, reading, line):
        [conversation] = reading(f"A: a\n{line}\nB: b\n")
        assert spoken(conversation) == [("A", f"a\n{line}"), ("B", "b")]

    @pytest.mark.parametrize("line", ["===a{}b", "# x{}x", "{}x", "A{}: x"])
    def test_long_lines_take_no_longer_than_their_length(self, reading, line):
        line = line.format((" " if line[0] != "#" else " x") * 300_000)
        assert reading(f"A: a\n{line}\nB: b\n", format="transcript")[-1].turns[-1].text == "b"

    def test_text_without_turns(self, reading):
        [conversation] = reading("A walk\n\nA: a\nB: b\n", format="transcript")
        assert conversation.meta == {"heading": "A walk"}


class TestJson:
    def test_objects_over_several_lines_with_their_line_numbers(self, reading):
        record = {"messages": [{"role": "user", "content": 'a } ] \\ " b'}]}
        conversations = reading((json.dumps(record, indent=1) + "\n") * 2)
        assert places(conversations) == ["chat:1", "chat:9"]
        assert conversations[1].turns[0].text == record["messages"][0]["content"]

    def test_other_values_are_reported_and_skipped(self, reading):
        items = reading('[{"turns": ["a"]}, 5, "x", {"no": 1}, [1], {"turns": ["b"]}]')
        assert places(items) == ["chat:1", 1, 1, 1, "chat:1#2"]
        _, stray, layout, listed, _ = items
        assert "'5, \"x\"'" in stray.problem
        assert layout.field == "turns"
        assert "found a list" in listed.problem

    def test_values_that_cross_blocks(self, reading):
        records = [{"id": str(n), "turns": ['\\"{[' * (n * 37 % 900) + "x"]} for n in range(400)]
        conversations = reading(json.dumps(records))
        assert [conversation.turns[0].text for conversation in conversations] == [
            record["turns"][0] for record in records
        ]

    def test_topical_chat_keeps_the_fields_of_turn_and_conversation(self, reading):
        said = {"message": "b", "agent": "agent_2", "sentiment": "t", "knowledge_source": []}
        members = {
            't_"1': {"config": "C", "content": [said]},
            "t_2": {"content": [{"agent": "agent_1"}]},
            "t_3": {"content": [said]},
        }
        first, bad, last = reading(json.dumps(members))
        assert (first.id, first.meta, last.id) == ('t_"1', {"config": "C"}, "t_3")
        meta = {"sentiment": "t", "knowledge_source": []}
        assert first.turns == (Turn("agent_2", "b", meta=meta),)
        assert bad.field == "content[0].message"
