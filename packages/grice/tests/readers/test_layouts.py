"""What each format makes of its files, by examples."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from format_page import EXAMPLES, READ_AS, SECTIONS
from grice.errors import InputError, RecordError
from grice.readers import find_formats, read
from grice.records import Conversation, Turn, to_json


@pytest.fixture
def reading(tmp_path: Path):
    def conversations(text: str, **options: str):
        path = tmp_path / "chat.txt"
        path.write_bytes(text.encode())
        return list(read(path, **options))

    return conversations


def lines(*records: object) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def spoken(conversation: Conversation) -> list[tuple[str, str]]:
    return [(turn.speaker, turn.text) for turn in conversation.turns]


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_example_is_recognised_and_read_without_complaint(name: str, tmp_path: Path):
    path = tmp_path / "example"
    path.write_text(EXAMPLES[name])
    reader = read(path)
    assert reader.format == name
    conversations = list(reader)
    assert conversations
    assert all(isinstance(item, Conversation) for item in conversations)


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_format_reads_windows_lines_and_a_byte_order_mark(name: str, tmp_path: Path):
    plain, windows = tmp_path / "a" / "file", tmp_path / "b" / "file"
    for path in (plain, windows):
        path.parent.mkdir()
    plain.write_text(EXAMPLES[name])
    windows.write_bytes(b"\xef\xbb\xbf" + EXAMPLES[name].replace("\n", "\r\n").encode())
    reader = read(windows)
    assert reader.format == name
    assert list(reader) == list(read(plain))


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_example_of_the_page_is_read_as_the_page_says(name: str, tmp_path: Path):
    path = tmp_path / "FILE"
    path.write_text(EXAMPLES[name])
    assert [to_json(record) for record in read(path)] == READ_AS[name]


def test_the_page_describes_every_format():
    assert SECTIONS.keys() == find_formats().formats.keys()


class TestTurns:
    def test_fields_of_turn_and_record_are_kept(self, reading):
        [conversation] = reading(
            lines(
                {
                    "id": 12,
                    "source": "s",
                    "turns": [
                        {"speaker": "Ann", "text": "Hi", "emotion": 3},
                        {
                            "speaker": 2,
                            "text": " Hello ",
                            "role": "user",
                            "time": 4,
                            "references": ["Hey"],
                        },
                    ],
                    "targets": [1],
                    "meta": {"config": "A"},
                }
            )
        )
        assert conversation == Conversation(
            "12",
            (
                Turn("Ann", "Hi", meta={"emotion": 3}),
                Turn("2", " Hello ", role="user", time="4", references=("Hey",)),
            ),
            targets=(1,),
            meta={"config": "A", "source": "s"},
        )

    def test_nothing_is_lost_when_meta_and_record_share_a_name(self, reading):
        [conversation] = reading(lines({"turns": ["a"], "source": 1, "meta": {"source": 2}}))
        assert conversation.meta == {"source": 1, "meta": {"source": 2}}

    def test_missing_speakers_alternate(self, reading):
        [conversation] = reading(
            lines({"turns": [{"text": "a"}, {"speaker": None, "text": "b"}, "c"]})
        )
        assert spoken(conversation) == [("A", "a"), ("B", "b"), ("A", "c")]
        assert conversation.turns[1].meta == {}

    @pytest.mark.parametrize("key", ["turns", "dialogue", "utterances", "dialog"])
    def test_lists_of_texts(self, reading, key):
        [conversation] = reading(lines({key: ["Hi", "Hello: you"]}))
        assert spoken(conversation) == [("A", "Hi"), ("B", "Hello: you")]

    def test_texts_that_all_name_a_speaker(self, reading):
        [conversation] = reading(lines({"dialogue": ["M: Hi", "W: Hello"]}))
        assert spoken(conversation) == [("M", "Hi"), ("W", "Hello")]

    def test_huge_numbers_go_through(self, reading):
        big = 10**40
        [conversation] = reading(lines({"id": big, "turns": ["a"], "n": big}))
        assert conversation.id == str(big)
        assert conversation.meta == {"n": big}

    @pytest.mark.parametrize(
        ("record", "field", "says"),
        [
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
    )
    def test_a_broken_record_names_its_field(self, reading, record, field, says):
        good = {"id": "x", "turns": ["fine"]}
        first, bad, last = reading(lines(good, record, good), format="turns")
        assert (first.id, last.id) == ("x", "x#2")
        assert isinstance(bad, RecordError)
        assert (bad.line, bad.field) == (2, field)
        assert says in bad.problem


class TestMessages:
    def test_roles_names_and_parts(self, reading):
        call = [{"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
        parts = [
            {"type": "text", "text": "Look"},
            {"type": "image_url", "image_url": {"url": "u"}},
            {"type": "text", "text": "here"},
        ]
        [conversation] = reading(
            lines(
                {
                    "messages": [
                        {"role": "developer", "content": "Be brief."},
                        {"role": "user", "name": "ann", "content": parts},
                        {"role": "assistant", "content": None, "tool_calls": call},
                        {"role": "tool", "tool_call_id": "1", "content": "42"},
                        {"role": "oracle", "content": [{"type": "output_text", "text": "Yes"}]},
                        {"role": "assistant", "content": None, "refusal": "No."},
                    ]
                }
            )
        )
        assert [turn.role for turn in conversation.turns] == [
            "developer", "user", "assistant", "tool", "oracle", "assistant",
        ]  # fmt: skip
        assert [turn.speaker for turn in conversation.turns][1] == "ann"
        assert [turn.text for turn in conversation.turns] == [
            "Be brief.", "Look\nhere", "", "42", "Yes", "No.",
        ]  # fmt: skip
        assert conversation.turns[1].meta == {"content": parts}
        assert conversation.turns[2].meta == {"tool_calls": call}

    def test_a_list_of_messages_under_another_name(self, reading):
        [conversation] = reading(lines({"conversation_id": "z", "conversation": [
            {"role": "user", "content": "Hi"}]}))  # fmt: skip
        assert (conversation.id, spoken(conversation)) == ("z", [("user", "Hi")])

    @pytest.mark.parametrize(
        ("message", "field"),
        [
            ({"content": "x"}, "messages[0].role"),
            ({"role": "user"}, "messages[0].content"),
            ({"role": "user", "content": 5}, "messages[0].content"),
            ({"role": "user", "content": ["x"]}, "messages[0].content[0]"),
            ({"role": "user", "content": [{"type": "text"}]}, "messages[0].content[0].text"),
            ("Hi", "messages[0]"),
        ],
    )
    def test_a_broken_message_names_its_field(self, reading, message, field):
        [bad] = reading(lines({"messages": [message]}), format="messages")
        assert isinstance(bad, RecordError)
        assert bad.field == field


def test_sharegpt_says_roles_in_the_usual_words(reading):
    [conversation] = reading(
        lines(
            {
                "conversations": [
                    {"from": "system", "value": "Be brief."},
                    {"from": "human", "value": "Hi", "weight": 1},
                    {"from": "gpt", "value": "Hello"},
                ],
                "system": "s",
            }
        )
    )
    assert [(turn.speaker, turn.role) for turn in conversation.turns] == [
        ("system", "system"), ("human", "user"), ("gpt", "assistant"),
    ]  # fmt: skip
    assert conversation.turns[1].meta == {"weight": 1}
    assert conversation.meta == {"system": "s"}


class TestResponse:
    def test_only_the_response_is_to_be_judged(self, reading):
        [conversation] = reading(
            lines(
                {
                    "id": "u",
                    "context": [{"speaker": "B", "text": "Hi"}, {"speaker": "A", "text": "Ho"},
                                {"speaker": "B", "text": "Far?"}],
                    "response": "Near.",
                    "references": ["Close.", "Yes."],
                    "facts": "f",
                }
            )
        )  # fmt: skip
        assert conversation.targets == (3,)
        assert conversation.turns[3] == Turn("A", "Near.", references=("Close.", "Yes."))
        assert conversation.meta == {"facts": "f"}

    def test_letters_count_backwards_from_the_response(self, reading):
        [conversation] = reading(lines({"context": ["a", "b", "c"], "response": "d"}))
        assert spoken(conversation) == [("B", "a"), ("A", "b"), ("B", "c"), ("A", "d")]

    @pytest.mark.parametrize(
        "context", ["Hi\nFar?\n", "Hi __eou__ Far? __eou__", "</UTT>Hi </UTT> Far?</UTT>",
                    '["Hi", "Far?"]'],
    )  # fmt: skip
    def test_contexts_in_one_text(self, reading, context):
        [conversation] = reading(lines({"context": context, "response": "Near."}))
        assert spoken(conversation) == [("A", "Hi"), ("B", "Far?"), ("A", "Near.")]

    def test_names_in_front_of_context_and_response(self, reading):
        [conversation] = reading(lines({"context": "User: Hi", "response": "System: Hello"}))
        assert spoken(conversation) == [("User", "Hi"), ("System", "Hello")]

    def test_an_empty_context_and_an_empty_response_are_allowed(self, reading):
        [conversation] = reading(lines({"context": [], "response": ""}))
        assert (conversation.targets, spoken(conversation)) == ((0,), [("A", "")])

    @pytest.mark.parametrize(
        ("record", "field"),
        [
            ({"context": "a"}, "response"),
            ({"response": "a"}, "context"),
            ({"context": 3, "response": "a"}, "context"),
            ({"context": ["a"], "response": 3}, "response"),
            ({"context": ["a", 3], "response": "b"}, "context[1]"),
            ({"context": ["a"], "response": "b", "references": [1]}, "references[0]"),
        ],
    )
    def test_a_broken_record_names_its_field(self, reading, record, field):
        [bad] = reading(lines(record), format="response")
        assert isinstance(bad, RecordError)
        assert bad.field == field


def test_deco_leaves_empty_slots_out(reading):
    [conversation] = reading(
        lines({"history": "</UTT></UTT></UTT>Hi ! </UTT>", "response": "Ho .", "GUID": 6})
    )
    assert conversation == Conversation("6", (Turn("B", "Hi !"), Turn("A", "Ho .")), targets=(1,))


def test_dailydialog_keeps_good_lines_around_bad_ones(reading):
    first, bad, last = reading("Hi ! __eou__ Ho . __eou__\nno mark\nBye . __eou__\n")
    assert spoken(first) == [("A", "Hi !"), ("B", "Ho .")]
    assert (bad.line, "__eou__" in bad.problem) == (2, True)
    assert (last.id, spoken(last)) == ("chat:3", [("A", "Bye .")])


class TestParlai:
    def test_fields_and_escapes(self, reading):
        [conversation] = reading(
            "text:Hi\\nthere\tlabel_candidates:a|b\treward:1\n"
            "text:x\teval_labels:one__PIPE__two|three\tepisode_done:True\n",
        )
        assert spoken(conversation) == [("A", "Hi\nthere"), ("A", "x"), ("B", "one|two")]
        assert conversation.turns[0].meta == {"label_candidates": ["a", "b"], "reward": "1"}
        assert conversation.turns[2].references == ("three",)

    def test_a_bad_line_inside_an_episode_leaves_it_out(self, reading):
        text = (
            "text:a\tlabels:b\tepisode_done:True\nnonsense\n"
            "text:c\tlabels:d\nnonsense\ntext:e\tlabels:f\tepisode_done:True\n"
            "text:g\tlabels:h\tepisode_done:True\n"
        )
        records = reading(text, format="parlai")
        assert [getattr(record, "id", None) or record.line for record in records] == [
            "chat:1", 2, 4, 3, "chat:6",
        ]  # fmt: skip


def test_parlai_log_joins_exchanges(reading):
    [conversation] = reading(
        lines({"dialog": [[{"id": "h", "text": "a"}, {"id": "m", "text": "b"}],
                          [{"text": "c"}]]})
    )  # fmt: skip
    assert spoken(conversation) == [("h", "a"), ("m", "b"), ("A", "c")]


class TestTable:
    def test_a_response_per_row_with_several_references(self, reading):
        first, second = reading(
            "ID;Context;Response;Reference_1;Reference 2;model\n"
            '1;"Hi; you\nFar?";"say ""near""";a;b;m\n2;;alone;;;m\n'
        )
        assert [turn.text for turn in first.turns] == ["Hi; you", "Far?", 'say "near"']
        assert first.turns[2].references == ("a", "b")
        assert (first.targets, first.meta) == ((2,), {"model": "m"})
        assert (second.targets, spoken(second)) == ((0,), [("A", "alone")])

    def test_a_turn_per_row(self, reading):
        conversations = reading(
            "id\tconversation_id\tspeaker\ttext\ttime\n"
            '1\tx\tAnn\t"Hi" she said\t9:00\n2\tx\tBob\tHo\t\n3\ty\t\tHe said "no\t\n',
        )
        assert [conversation.id for conversation in conversations] == ["x", "y"]
        assert conversations[0].turns[0] == Turn(
            "Ann", '"Hi" she said', time="9:00", meta={"id": "1"}
        )
        assert spoken(conversations[1]) == [("A", 'He said "no')]

    def test_without_ids_the_file_is_one_conversation(self, reading):
        [conversation] = reading("speaker,text\nAnn,Hi\nBob,Ho\n")
        assert (conversation.id, spoken(conversation)) == ("chat:2", [("Ann", "Hi"), ("Bob", "Ho")])

    def test_a_quote_that_is_never_closed_costs_one_row(self, reading):
        rows = "".join(f"{number},c,r{number}\n" for number in range(3000))
        records = reading('id,context,response\nbad,"c,r\n' + rows)
        assert isinstance(records[0], RecordError)
        assert (
            records[0].line,
            "never closed" in records[0].problem or "not closed" in records[0].problem,
        ) == (2, True)
        assert [record.id for record in records[1:]] == [str(number) for number in range(3000)]

    def test_a_row_with_too_many_cells_costs_one_row(self, reading):
        first, bad, last = reading("context,response\na,b\na,b,c\nd,e\n")
        assert "found 3 cells, the header has 2" in bad.problem
        assert (first.turns[1].text, last.turns[1].text) == ("b", "e")

    def test_a_cell_over_the_limit_of_csv_costs_one_row(self, reading):
        records = reading(f"context,response\na,{'x' * 200_000}\nd,e\n")
        assert "use JSON lines" in records[0].problem
        assert records[1].turns[1].text == "e"

    def test_a_bad_row_inside_a_conversation_leaves_it_out(self, reading):
        records = reading("conversation_id,text\nx,a\nx\nx,b\ny,c\nz\nw,d\n")
        assert [getattr(record, "id", None) or record.line for record in records] == [
            3,
            2,
            6,
            "y",
            "w",
        ]

    def test_a_header_without_meaning_is_an_error(self, reading):
        with pytest.raises(InputError, match="the columns of this table are a, b; it needs text"):
            reading("a,b\n1,2\n", format="table")


class TestTranscript:
    @pytest.mark.parametrize(
        ("line", "time", "speaker"),
        [
            ("[12:30] Ann: Hi", "12:30", "Ann"),
            ("12:30 - Ann: Hi", "12:30", "Ann"),
            ("(12:30:05) Ann: Hi", "12:30:05", "Ann"),
            ("[2024-01-05 12:30] Ann: Hi", "2024-01-05 12:30", "Ann"),
            ("2024-01-05T12:30:01Z Ann: Hi", "2024-01-05T12:30:01Z", "Ann"),
            ("12/05/23, 9:41 PM - Ann Lee: Hi", "12/05/23, 9:41 PM", "Ann Lee"),
            ("Dr. O'Neil-Smith (host): Hi", None, "Dr. O'Neil-Smith (host)"),
            ("Ёлка:  Hi", None, "Ёлка"),
            ("A : Hi", None, "A"),
            ("S1:\tHi", None, "S1"),
        ],
    )
    def test_who_speaks_when(self, reading, line, time, speaker):
        [conversation] = reading(line + "\nBob: Ho\n")
        assert conversation.turns[0] == Turn(speaker, "Hi", time=time)

    def test_lines_without_a_name_belong_to_the_turn_before(self, reading):
        [conversation] = reading("Ann: see\n  http://example.org: that\n\nand more\nBob: Ho\n")
        assert spoken(conversation) == [
            ("Ann", "see\n  http://example.org: that\n\nand more"),
            ("Bob", "Ho"),
        ]

    def test_blank_lines_part_conversations(self, reading):
        conversations = reading("A: a\nB: b\n\n\nA: c\nB: d\n")
        assert [conversation.id for conversation in conversations] == ["chat:1", "chat:5"]

    def test_blank_lines_between_all_turns_part_nothing(self, reading):
        [conversation] = reading("A: a\n\nB: b\n\nA: c\n")
        assert len(conversation.turns) == 3

    @pytest.mark.parametrize(
        "rule", ["===", "----------", "# next", "## next", "=== next ===", "***"]
    )
    def test_rules_and_headings_part_conversations(self, reading, rule):
        first, second = reading(f"A: a\n\nB: b\n{rule}\nA: c\nB: d\n")
        assert len(first.turns) == len(second.turns) == 2
        assert second.id == ("next" if "next" in rule else "chat:5")

    @pytest.mark.parametrize("line", ["#blessed", "--", "--- well", "-", "#"])
    def test_what_only_looks_like_a_rule_is_said(self, reading, line):
        [conversation] = reading(f"A: a\n{line}\nB: b\n")
        assert spoken(conversation) == [("A", f"a\n{line}"), ("B", "b")]

    @pytest.mark.parametrize(
        "line",
        [
            "===a" + " " * 300_000 + "b",
            "# " + " x" * 200_000,
            " " * 300_000 + "x",
            "A" + " " * 300_000 + ": x",
        ],
    )
    def test_long_lines_take_no_longer_than_their_length(self, reading, line):
        conversations = reading(f"A: a\n{line}\nB: b\n", format="transcript")
        assert conversations[-1].turns[-1].text == "b"

    def test_text_before_the_first_turn_is_kept(self, reading):
        [conversation] = reading("A walk\n\nA: a\nB: b\n", format="transcript")
        assert conversation.meta == {"heading": "A walk"}

    def test_text_without_any_turn_is_an_error(self, reading):
        [bad] = reading("just prose\nand more\n", format="transcript")
        assert isinstance(bad, RecordError)
        assert "'just prose'" in bad.problem

    def test_a_bad_line_costs_its_conversation_only(self, tmp_path):
        path = tmp_path / "chat"
        path.write_bytes(b"# 1\nA: a\n# 2\nA: \xff\nB: b\n# 3\nA: c\n")
        first, bad, last = read(path)
        assert (first.id, bad.line, last.id) == ("1", 4, "3")


class TestJson:
    def test_arrays_of_any_layout(self, reading):
        items = reading(
            json.dumps([{"turns": ["a"]}, {"turns": []}, {"id": "z", "turns": ["b"]}]),
        )
        assert [getattr(item, "id", item) for item in items][::2] == ["chat:1", "z"]
        assert isinstance(items[1], RecordError)

    def test_objects_over_several_lines_with_their_line_numbers(self, reading):
        record = {"messages": [{"role": "user", "content": 'a } ] \\ " b'}]}
        conversations = reading((json.dumps(record, indent=1) + "\n") * 2)
        assert [conversation.id for conversation in conversations] == ["chat:1", "chat:9"]
        assert conversations[1].turns[0].text == record["messages"][0]["content"]

    def test_a_list_of_turns_says_how_to_wrap_it(self, reading):
        [bad, _] = reading(json.dumps([{"role": "user", "content": "a"}] * 2))
        assert "jq -c '{messages: .}'" in bad.problem

    def test_what_is_no_record_is_said_and_skipped(self, reading):
        items = reading('[{"turns": ["a"]}, 5, "x", {"no": 1}, [1], {"turns": ["b"]}]')
        first, stray, layout, listed, last = items
        assert (first.id, last.id) == ("chat:1", "chat:1#2")
        assert "'5, \"x\"'" in stray.problem
        assert layout.field == "turns"
        assert "found a list" in listed.problem

    def test_a_file_that_ends_too_early_keeps_what_was_whole(self, reading):
        first, bad = reading('[\n{"turns": ["a"]},\n{"turns": ["b"')
        assert first.id == "chat:2"
        assert (bad.line, "ends inside" in bad.problem) == (3, True)

    def test_values_that_cross_blocks(self, reading):
        records = [{"id": str(n), "turns": ['\\"{[' * (n * 37 % 900) + "x"]} for n in range(400)]
        conversations = reading(json.dumps(records))
        assert [conversation.turns[0].text for conversation in conversations] == [
            record["turns"][0] for record in records
        ]


def test_topical_chat_keeps_what_belongs_to_turn_and_conversation(reading):
    content = [
        {"message": "a", "agent": "agent_1", "sentiment": "s", "knowledge_source": ["FS1"]},
        {"message": "b", "agent": "agent_2", "sentiment": "t", "knowledge_source": []},
    ]
    items = reading(
        json.dumps(
            {
                't_"1': {"config": "C", "content": content},
                "t_2": {"content": [{"agent": "agent_1"}]},
                "t_3": {"content": content},
            }
        )
    )
    assert [getattr(item, "id", None) for item in items] == ['t_"1', None, "t_3"]
    assert items[0].meta == {"config": "C"}
    assert items[0].turns[1] == Turn(
        "agent_2", "b", meta={"sentiment": "t", "knowledge_source": []}
    )
    assert items[1].field == "content[0].message"
