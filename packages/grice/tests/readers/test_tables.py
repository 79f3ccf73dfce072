"""Tables, as text and of Arrow: rows, known columns, those a user names, and refused ones."""

import csv
import gzip
import json
import sys
from itertools import count

import pytest

import grice
from grice.cli import main
from grice.errors import InputError, RecordError
from grice.scoring.arrow import score_table

TALKS = [
    ("T-1", "customer", "My parcel is late."), ("T-1", "bot", "Which order is it?"),
    ("T-2", "customer", "Are you open?"), ("T-2", "bot", "Until six."),
]  # fmt: skip
NAMED = {"conversation": "ticket no", "speaker": "wer", "text": "was"}
ANSWERED = [("user", "user", "Is it far?"), ("assistant", "assistant", "No.")]


@pytest.fixture
def written(tmp_path):
    numbers = count()

    def write(header, rows, delimiter=",", encoding="utf-8"):
        path = tmp_path / f"t{next(numbers) or ''}.csv"
        with path.open("w", encoding=encoding, newline="") as file:
            writer = csv.writer(file, delimiter=delimiter, quoting=csv.QUOTE_ALL)
            writer.writerows([header.split(","), *rows])
        return path

    return write


@pytest.fixture
def odd(written):
    return written("ticket no,wer,was", TALKS)


def ids(path, **options):
    return [talk.id for talk in grice.read(path, **options)]


def spoken(talk):
    return [(turn.speaker, turn.role, turn.text) for turn in talk.turns]


@pytest.mark.parametrize(("name", "delimiter", "encoding"), [
    *((name, ",", "utf-8") for name in ("session_id", "chat_id", "thread_id", "case_id",
      "call_id", "Chat-ID", "ticket", "sessionId", "conversation_id", "id")),
    ("ticket_id", ";", "utf-8"), ("ticket_id", ",", "utf-8-sig"),
])  # fmt: skip
def test_columns_that_name_a_conversation(written, name, delimiter, encoding):
    assert ids(written(f"{name},sender,message", TALKS, delimiter, encoding)) == ["T-1", "T-2"]


@pytest.mark.parametrize(("header", "rows", "expected"), [
    # the narrower of two names counts, and an id beside it is the turn's
    ("id,session_id,chat_id,text", [("m1", "s", "x", "a"), ("m2", "s", "x", "b"),
     ("m3", "s", "y", "c")], ["x: A/None: a | B/None: b", "y: A/None: c"]),
    # without a speaker the role is the name
    ("chat_id,role,content", [("x", "user", "a"), ("x", "assistant", "b")],
     ["x: user/user: a | assistant/assistant: b"]),
    # pairs of one conversation follow each other
    ("session_id,question,answer", [("s1", "a", "b"), ("s1", "c", "d"), ("s2", "e", "f")],
     ["s1: user/user: a | assistant/assistant: b | user/user: c | assistant/assistant: d",
      "s2: user/user: e | assistant/assistant: f"]),
])  # fmt: skip
def test_rows_of_one_conversation(written, header, rows, expected):
    talks = list(grice.read(written(header, rows)))
    shown = [" | ".join("/".join(map(str, said[:2])) + f": {said[2]}" for said in spoken(talk))
             for talk in talks]  # fmt: skip
    assert [f"{talk.id}: {said}" for talk, said in zip(talks, shown, strict=True)] == expected
    assert {talk.targets for talk in talks} == {None}


def test_more_than_twenty_rows_need_a_column_of_conversations(written, tmp_path):
    rows = [("AB"[i % 2], f"line {i}") for i in range(21)]
    assert ids(written("speaker,text", rows[:20])) == ["t:2"]
    path = written("speaker,text", rows)
    with pytest.raises(InputError, match=r"columns are speaker, text; .*--column conversation="):
        grice.read(path)
    [talk] = grice.read(path, columns={"conversation": ""})
    assert len(talk.turns) == 21
    good, bad = grice.read(tmp_path)
    assert good.id == "t:2"
    assert isinstance(bad, RecordError)
    assert "more than 20 rows" in bad.problem
    cases = [("1", "A", "Hi"), ("1", "B", "Yes?"), ("2", "A", "Hello"), ("2", "B", "Hi")]
    with pytest.raises(InputError, match=r"4 rows, and no column .* unless it is 'case_no'"):
        grice.read(written("case_no,speaker,text", cases))


PAIRS = ["question,answer", "input,output", "prompt,response", "user_message,bot_response",
         "query,answer", "prompt,completion"]  # fmt: skip


@pytest.mark.parametrize("header", [*PAIRS, "User Message,botResponse"])
def test_a_question_and_its_answer_are_a_user_and_an_assistant(written, header):
    rows = [("Is it far?\nHow far?", "Ten minutes."), ("Who are you?", "")]
    first, second = grice.read(written(header, rows))
    assert spoken(first) == [
        ("user", "user", "Is it far?\nHow far?"),
        ("assistant", "assistant", "Ten minutes."),
    ]
    assert (first.targets, second.targets) == ((1,), (1,))


@pytest.mark.parametrize("header", [*PAIRS, "instruction,input,output", "context,response"])
def test_lines_of_json_with_the_same_names_are_read_alike(written, tmp_path, header):
    cells = ["Is it far?", "Ten minutes.", "Maybe."][: header.count(",") + 1]
    lines = tmp_path / "t.jsonl"
    lines.write_text(json.dumps(dict(zip(header.split(","), cells, strict=True))))
    [ours], [theirs] = grice.read(written(header, [cells])), grice.read(lines)
    assert (ours.turns, ours.targets) == (theirs.turns, theirs.targets)


def test_columns_that_the_user_names_count(odd, written):
    first, second = grice.read(odd, columns=NAMED)
    assert (first.id, spoken(second)[1]) == ("T-1", ("bot", None, "Until six."))
    assert first.meta == {}
    summary = grice.score_files(odd, metrics=["log_length"], columns=NAMED)
    assert (summary.conversations, summary.scores) == (2, 2)
    path = written("conversation_id,ticket_id,author,message", [("a", *row) for row in TALKS])
    assert ids(path) == ["a"]
    assert ids(path, columns={"conversation": "Ticket ID"}) == ["T-1", "T-2"]


@pytest.mark.parametrize(("header", "columns", "expected"), [
    ("context,response,frage,antwort", {"question": "frage", "answer": "antwort"}, ANSWERED),
    ("context,response,frage,antwort", {"question": "frage", "response": "antwort"}, ANSWERED),
    ("context,response,frage,antwort", {"context": "frage", "response": "antwort"},
     [("B", None, "Is it far?"), ("A", None, "No.")]),
    ("context,response,frage,antwort", {"question": "frage"},
     [("user", "user", "Is it far?"), ("assistant", "assistant", "r")]),
    ("context,response,frage,antwort", {"text": "frage", "speaker": "antwort"},
     [("No.", None, "Is it far?")]),
    ("x,y,question,antwort", {"response": "antwort"}, ANSWERED),
])  # fmt: skip
def test_named_columns_decide_the_kind_of_row(written, header, columns, expected):
    [talk] = grice.read(written(header, [("c", "r", "Is it far?", "No.")]), columns=columns)
    assert spoken(talk) == expected


@pytest.mark.parametrize(("columns", "problem"), [
    ({}, r"columns of this table are ticket no, wer, was; .*--column text=NAME"),
    ({"conversation": "tickt no"}, "no column 'tickt no' for conversation; did you mean 'tic"),
    ({"text": "zzz"}, "no column 'zzz' for text; known: ticket no, was, wer"),
    ({"text": "was"}, "it needs text with speaker, role or conversation"),
    ({"conversaton": "x"}, "cannot be 'conversaton'; did you mean 'conversation'"),
    ({"text": " "}, "the name of the column of 'text' is empty"),
])  # fmt: skip
def test_wrong_columns_are_refused_with_the_near_name(odd, columns, problem):
    with pytest.raises(InputError, match=problem):
        grice.read(odd, columns=columns)


def test_columns_are_for_tables(tmp_path):
    (tmp_path / "t").write_text('{"turns": [{"speaker": "A", "text": "Hi"}]}')
    with pytest.raises(InputError, match=r"has no columns: leave out --column .*parquet, table"):
        grice.read(tmp_path / "t", columns={"text": "body"})


@pytest.mark.parametrize(("words", "problem"), [
    (["text"], "--column text: write PART=NAME"),
    (["text=was", "text=wer"], "text is given twice: 'was' and 'wer'"),
    (["txt=was"], "a column cannot be 'txt'; did you mean 'text'?"),
    (["text=zzz"], "no column 'zzz'"), ([], "--column text=NAME"),
])  # fmt: skip
@pytest.mark.parametrize("command", ["score", "perturb", "rerank", "explain --file"])
def test_every_command_refuses_wrong_options(odd, capsys, command, words, problem):
    assert main([*command.split(), str(odd), *(f"--column={word}" for word in words)]) == 2
    assert problem in " ".join(capsys.readouterr().err.split())


def test_another_column_is_another_run(odd, tmp_path):
    out = tmp_path / "out.jsonl"
    for columns in (NAMED, NAMED | {"conversation": ""}):
        grice.score_files(odd, out, metrics=["log_length"], columns=columns)
    assert {json.loads(line)["conversation"] for line in out.read_text().splitlines()} == {"t:2"}


@pytest.mark.parametrize("text", ["Où est-elle ?", "é" * 40_000])
def test_a_row_that_is_not_utf8_is_reported_and_the_others_are_read(tmp_path, text):
    path = tmp_path / "log.csv"
    rows = ["conversation_id;speaker;text", f"0;Ann;{text}", "1;Ann;Is it far?", "1;Bo;No."]
    path.write_bytes("\n".join(rows).encode("latin-1"))
    error, talk = grice.read(path)
    assert "not UTF-8" in str(error)
    assert [turn.text for turn in talk.turns] == ["Is it far?", "No."]


def test_a_response_per_row_with_several_references(tmp_path):
    (tmp_path / "t.csv").write_text(
        "ID;Context;Response;Reference_1;Reference 2;model\n"
        '1;"Hi; you\nFar?";"say ""near""";a;b;m\n2;;alone;;;m\n'
    )
    first, second = grice.read(tmp_path / "t.csv")
    assert [turn.text for turn in first.turns] == ["Hi; you", "Far?", 'say "near"']
    assert first.turns[2].references == ("a", "b")
    assert (first.targets, first.meta) == ((2,), {"model": "m"})
    assert (second.targets, spoken(second)) == ((0,), [("A", None, "alone")])


def test_a_turn_per_row_whose_quotes_are_text_behind_tabs(tmp_path):
    (tmp_path / "t.tsv").write_text(
        "id\tconversation_id\tspeaker\ttext\ttime\n"
        '1\tx\tAnn\t"Hi" she said\t9:00\n2\tx\tBob\tHo\t\n3\ty\t\tHe said "no\t\n'
    )
    first, second = grice.read(tmp_path / "t.tsv")
    assert (first.id, second.id) == ("x", "y")
    assert first.turns[0] == grice.Turn("Ann", '"Hi" she said', time="9:00", meta={"id": "1"})
    assert spoken(second) == [("A", None, 'He said "no')]


TURNS = [{"speaker": "Ann", "text": "Is it far?"}, {"speaker": "Bob", "text": "Ten minutes."}]
MESSAGES = [{"role": "user", "content": "Is it far?"}, {"role": "assistant", "content": "No."}]


class TestArrow:
    @pytest.fixture
    def write(self, tmp_path):
        """Return what writes rows, or a table, as a file of the format of its name."""
        pa = pytest.importorskip("pyarrow")
        from pyarrow import feather, parquet

        def write(content, name="t.parquet", **options):
            if not isinstance(content, pa.Table):
                content = pa.Table.from_pylist(content)
            writer = feather.write_feather if name.endswith("arrow") else parquet.write_table
            writer(content, str(tmp_path / name), **options)
            return tmp_path / name

        return write

    @pytest.fixture
    def table(self):
        pa = pytest.importorskip("pyarrow")
        cells = zip(*TALKS, strict=True)
        return pa.table({name: list(c) for name, c in zip(NAMED.values(), cells, strict=True)})

    @pytest.mark.parametrize("name", ["t.parquet", "t.arrow"])
    def test_a_row_is_a_conversation_where_a_column_lists_turns(self, write, name):
        reading = grice.read(write([{"id": "d1", "turns": TURNS, "split": "test"}], name))
        [conversation] = reading
        assert f"t.{reading.format}" == name
        assert (conversation.id, conversation.meta) == ("d1", {"split": "test"})
        assert [turn.text for turn in conversation.turns] == ["Is it far?", "Ten minutes."]

    def test_messages_and_responses_are_read_as_from_json_lines(self, write):
        [chat] = grice.read(write([{"messages": MESSAGES}]))
        assert [turn.role for turn in chat.turns] == ["user", "assistant"]
        [answered] = grice.read(write([{"context": "Is it far?", "response": "Ten minutes."}]))
        [open_one] = grice.read(write([{"id": "a", "context": ["Is it far?"]}]))
        assert (answered.targets, open_one.targets) == ((1,), None)

    def test_columns_are_named_in_the_same_way(self, table, write):
        path = write(table)
        with pytest.raises(InputError, match="--column text=NAME"):
            grice.read(path)
        assert ids(path, columns=NAMED) == ["T-1", "T-2"]
        with pytest.raises(InputError, match="no column 'wsa' for text; did you mean 'was'"):
            grice.read(path, columns=NAMED | {"text": "wsa"})

    def test_rows_of_a_table_of_a_program_need_not_stand_together(self, table):
        with grice.load("log_length") as grader:
            scores = score_table(grader, table.take([0, 2, 1, 3]), columns=NAMED)
        assert scores.column("conversation").to_pylist() == ["T-1", "T-2"]

    def test_many_rows_without_a_conversation_are_refused(self, table, write):
        rows = table.select(["wer", "was"]).rename_columns(["speaker", "text"]).take([0] * 21)
        with pytest.raises(InputError, match="more than 20 rows"):
            grice.read(write(rows))
        assert len(ids(write(rows.slice(1)))) == 1

    @pytest.mark.parametrize("names", ["session_id,question,answer", "session_id,speaker,text"])
    def test_rows_are_grouped_across_row_groups_and_out_of_gzip(self, table, write, names):
        path = write(table.rename_columns(names.split(",")), row_group_size=1)
        packed = path.with_suffix(".gz")
        packed.write_bytes(gzip.compress(path.read_bytes()))
        first, second = grice.read(path)
        assert (first.id, second.id) == ("T-1", "T-2")
        assert len(first.turns) == (4 if "answer" in names else 2)
        assert list(grice.read(packed)) == [first, second]

    @pytest.mark.parametrize(("field", "found", "damaged", "broken"), [
        ("question", b"far?", b"\xff", [2]), ("turns", b"far?", b"\xff", [2]),
        ("question", b"\1\0\0\0\f\0\0\0", b"\xff\xff\xff\x7f", [1, 2]),  # where two texts begin
    ])  # fmt: skip
    def test_a_damaged_value_costs_its_row(self, write, field, found, damaged, broken):
        said = ("a", "Is it far? ", "b")
        rows = [{field: text, "answer": "No."} for text in said]
        if field == "turns":
            rows = [{field: [text]} for text in said]
        path = write(rows, "t.arrow", compression="uncompressed")
        path.write_bytes(path.read_bytes().replace(found, damaged + found[len(damaged) :]))
        records = list(grice.read(path))
        assert len(records) == 3
        assert [each.line for each in records if isinstance(each, RecordError)] == broken

    @pytest.mark.parametrize("kept", [6, 200])
    def test_a_cut_file_is_refused(self, table, write, kept):
        path = write(table)
        path.write_bytes(path.read_bytes()[:kept])
        with pytest.raises(InputError, match="cannot be read"):
            grice.read(path)

    def test_a_table_without_rows_is_refused(self, table, write):
        for name in ("t.parquet", "t.arrow"):
            with pytest.raises(InputError, match="no row"):
                grice.read(write(table.slice(0, 0), name))

    @pytest.mark.parametrize("name", ["t.parquet", "t.arrow"])
    def test_without_pyarrow_the_extra_is_named(self, write, name, monkeypatch):
        path = write([{"turns": TURNS}], name)
        monkeypatch.setitem(sys.modules, "pyarrow", None)
        with pytest.raises(InputError, match=r'pip install "grice\[arrow\]"'):
            grice.read(path)

    def test_a_small_file_with_a_carriage_return_is_not_called_text(self, write):
        for number in range(40):  # until no line feed is in it by chance
            [talk] = grice.read(write([{"question": "a\r" * number, "answer": "b"}]))
            assert talk.targets is not None
