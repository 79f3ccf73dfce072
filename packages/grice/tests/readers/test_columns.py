"""Columns of tables: the names that are known, the ones a user gives, and what is refused."""

from __future__ import annotations

import json

import pytest

import grice
from grice.cli import main
from grice.errors import InputError, RecordError
from grice.scoring.arrow import score_table

TALKS = [
    ("T-1", "customer", "My parcel is late."),
    ("T-1", "bot", "Which order is it?"),
    ("T-2", "customer", "Are you open?"),
    ("T-2", "bot", "Until six."),
]
NAMED = {"conversation": "ticket no", "speaker": "wer", "text": "was"}


def written(path, header, rows, delimiter=",", encoding="utf-8"):
    lines = [header.split(","), *rows]
    quoted = (delimiter.join('"' + cell.replace('"', '""') + '"' for cell in row) for row in lines)
    path.write_text("\n".join(quoted) + "\n", encoding=encoding)
    return path


def ids(path, **options):
    with grice.read(path, **options) as reading:
        return [talk.id for talk in reading]


def spoken(talk):
    return [(turn.speaker, turn.role, turn.text) for turn in talk.turns]


def last_line(capsys):
    return capsys.readouterr().err.strip().splitlines()[-1]


@pytest.fixture
def odd(tmp_path):
    return written(tmp_path / "odd.csv", "ticket no,wer,was", TALKS)


@pytest.mark.parametrize(
    "name",
    ["ticket_id", "session_id", "chat_id", "thread_id", "case_id", "call_id", "Chat-ID", "ticket",
     "sessionId", "conversation_id"],
)  # fmt: skip
def test_columns_that_name_a_conversation(tmp_path, name):
    assert ids(written(tmp_path / "t.csv", f"{name},author,message", TALKS)) == ["T-1", "T-2"]


def test_the_narrower_of_two_names_counts_and_an_id_beside_it_is_the_turns(tmp_path):
    rows = [(f"m{i}", "s", talk, text) for i, (talk, _, text) in enumerate(TALKS)]
    path = written(tmp_path / "t.csv", "id,session_id,chat_id,text", rows)
    assert ids(path) == ["T-1", "T-2"]


@pytest.mark.parametrize(("delimiter", "encoding"), [(";", "utf-8"), (",", "utf-8-sig")])
def test_semicolons_and_a_byte_order_mark(tmp_path, delimiter, encoding):
    path = tmp_path / "t.csv"
    written(path, "ticket_id,author,message", TALKS, delimiter, encoding)
    assert ids(path) == ["T-1", "T-2"]


def test_without_a_speaker_the_role_is_the_name_and_the_bot_is_judged(tmp_path):
    rows = [(talk, "assistant" if who == "bot" else "user", text) for talk, who, text in TALKS]
    path = written(tmp_path / "t.csv", "chat_id,role,content", rows)
    first, _ = grice.read(path)
    assert spoken(first) == [
        ("user", "user", "My parcel is late."),
        ("assistant", "assistant", "Which order is it?"),
    ]
    assert grice.score_files(path, metrics=["log_length"]).scores == 2


@pytest.mark.parametrize("count", [20, 21])
def test_more_than_twenty_rows_need_a_column_of_conversations(tmp_path, count):
    rows = [("AB"[i % 2], f"line {i}") for i in range(count)]
    path = written(tmp_path / "t.csv", "speaker,text", rows)
    if count == 20:
        assert ids(path) == ["t:2"]
        return
    with pytest.raises(InputError, match=r"columns are speaker, text; .*--column conversation="):
        grice.read(path)
    [talk] = grice.read(path, columns={"conversation": ""})
    assert len(talk.turns) == 21


def test_a_refused_table_in_a_folder_leaves_the_others(tmp_path):
    written(tmp_path / "a.csv", "speaker,text", [("A", "x")] * 21)
    written(tmp_path / "b.csv", "ticket_id,author,message", TALKS)
    bad, *good = grice.read(tmp_path)
    assert isinstance(bad, RecordError)
    assert "more than 20 rows" in bad.problem
    assert len(good) == 2


PAIRS = ["question,answer", "input,output", "prompt,response", "user_message,bot_response",
         "query,answer", "prompt,completion", "User Message,botResponse"]  # fmt: skip


@pytest.mark.parametrize("header", PAIRS)
def test_a_question_and_its_answer_are_a_user_and_an_assistant(tmp_path, header):
    rows = [("Is it far?\nHow far?", "Ten minutes."), ("Who are you?", "")]
    first, second = grice.read(written(tmp_path / "t.csv", header, rows))
    assert spoken(first) == [
        ("user", "user", "Is it far?\nHow far?"),
        ("assistant", "assistant", "Ten minutes."),
    ]
    assert (first.targets, second.targets) == ((1,), (1,))


@pytest.mark.parametrize("header", [*PAIRS[:-1], "instruction,input,output", "context,response"])
def test_lines_of_json_with_the_same_names_are_read_alike(tmp_path, header):
    cells = ["Is it far?", "Ten minutes.", "Maybe."][: header.count(",") + 1]
    table = written(tmp_path / "t.csv", header, [cells])
    lines = tmp_path / "t.jsonl"
    lines.write_text(json.dumps(dict(zip(header.split(","), cells, strict=True))))
    [ours], [theirs] = grice.read(table), grice.read(lines)
    assert ours.turns == theirs.turns
    assert ours.targets == theirs.targets


def test_pairs_of_one_conversation_follow_each_other(tmp_path):
    rows = [("s1", "Hi.", "Hello."), ("s1", "Is it far?", "No."), ("s2", "Hi.", "Bye.")]
    first, second = grice.read(written(tmp_path / "t.csv", "session_id,question,answer", rows))
    assert [turn.text for turn in first.turns] == ["Hi.", "Hello.", "Is it far?", "No."]
    assert (first.id, first.targets, second.id) == ("s1", None, "s2")
    assert [turn.role for turn in first.turns] == ["user", "assistant"] * 2


def test_a_prompt_that_holds_a_dialogue_is_its_turns(tmp_path):
    record = {"prompt": "User: Hi.\nBot: Hello.\nUser: Is it far?", "completion": "No."}
    (tmp_path / "t.jsonl").write_text(json.dumps(record))
    [talk] = grice.read(tmp_path / "t.jsonl")
    assert [turn.speaker for turn in talk.turns] == ["User", "Bot", "User", "Bot"]


def test_a_history_beside_a_question_stays_the_context(tmp_path):
    record = {"history": ["Hi.", "Hello."], "query": "Is it far?", "response": "No."}
    (tmp_path / "t.jsonl").write_text(json.dumps(record))
    [talk] = grice.read(tmp_path / "t.jsonl")
    assert [turn.text for turn in talk.turns] == ["Hi.", "Hello.", "No."]
    assert talk.meta == {"query": "Is it far?"}


def test_a_table_of_unknown_names_says_its_columns_and_the_option(odd):
    with pytest.raises(
        InputError, match=r"columns of this table are ticket no, wer, was; .*--column text=NAME"
    ):
        grice.read(odd)


def test_prose_is_not_called_a_table(tmp_path):
    (tmp_path / "t.txt").write_text("Hello, world\nIt rained all day.\n")
    with pytest.raises(InputError, match="no format recognised"):
        grice.read(tmp_path / "t.txt")


def test_columns_that_the_user_names_count(odd, tmp_path):
    first, second = grice.read(odd, columns=NAMED)
    assert (first.id, spoken(second)[1]) == ("T-1", ("bot", None, "Until six."))
    assert first.meta == {}
    summary = grice.score_files(odd, metrics=["log_length"], columns=NAMED)
    assert (summary.conversations, summary.scores) == (2, 2)


def test_a_named_column_counts_more_than_a_known_name(tmp_path):
    rows = [("a", talk, who, text) for talk, who, text in TALKS]
    path = written(tmp_path / "t.csv", "conversation_id,ticket_id,author,message", rows)
    assert ids(path) == ["a"]
    assert ids(path, columns={"conversation": "Ticket ID"}) == ["T-1", "T-2"]


def test_named_columns_say_what_a_row_is(tmp_path):
    header = "context,response,frage,antwort"
    path = written(tmp_path / "t.csv", header, [("c", "r", "Is it\nfar?", "No.")])
    [pair] = grice.read(path, columns={"question": "frage", "answer": "antwort"})
    assert [turn.text for turn in pair.turns] == ["Is it\nfar?", "No."]
    [response] = grice.read(path, columns={"context": "frage", "response": "antwort"})
    assert [turn.text for turn in response.turns] == ["Is it", "far?", "No."]
    [mixed] = grice.read(path, columns={"question": "frage"})
    assert [turn.text for turn in mixed.turns] == ["Is it\nfar?", "r"]
    [answered] = grice.read(path, columns={"question": "frage", "response": "antwort"})
    assert spoken(answered) == spoken(pair)
    [turn] = grice.read(path, columns={"text": "frage", "speaker": "antwort"})
    assert spoken(turn) == [("No.", None, "Is it\nfar?")]


def test_a_named_response_answers_a_question_of_a_known_name(tmp_path):
    path = written(tmp_path / "t.csv", "question,antwort", [("Is it far?", "No.")])
    [pair] = grice.read(path, columns={"response": "antwort"})
    assert spoken(pair) == [("user", "user", "Is it far?"), ("assistant", "assistant", "No.")]


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        ({"conversation": "tickt no"}, "no column 'tickt no' for conversation; did you mean 'tic"),
        ({"text": "zzz"}, "no column 'zzz' for text; known: ticket no, was, wer"),
        ({"text": "was"}, "it needs text with speaker, role or conversation"),
        ({"conversaton": "x"}, "cannot be 'conversaton'; did you mean 'conversation'"),
        ({"text": " "}, "the name of the column of 'text' is empty"),
    ],
)
def test_wrong_columns_are_refused_with_the_near_name(odd, columns, problem):
    with pytest.raises(InputError, match=problem):
        grice.read(odd, columns=columns)


@pytest.mark.parametrize(
    ("name", "content"),
    [("t.jsonl", '{"turns": [{"speaker": "A", "text": "Hi"}]}'), ("t.txt", "Ann: Hi.\nBob: Ho.")],
)
def test_columns_are_for_tables(tmp_path, name, content):
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=r"has no columns: leave out --column .*parquet, table"):
        grice.read(tmp_path / name, columns={"text": "body"})


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["text"], "--column text: write PART=NAME"),
        (["text=was", "text=wer"], "text is given twice: 'was' and 'wer'"),
        (["txt=was"], "a column cannot be 'txt'; did you mean 'text'?"),
    ],
)
def test_wrong_options_are_refused(odd, capsys, words, problem):
    assert main(["score", str(odd), *(f"--column={word}" for word in words)]) == 2
    assert problem in last_line(capsys)


NAMING = [f"--column={part}={name}" for part, name in NAMED.items()]


@pytest.mark.parametrize("command", ["score", "perturb", "rerank"])
def test_the_option_is_that_of_every_command_that_reads_files(odd, capsys, command):
    words = [*command.split(), str(odd)]
    assert main(words) == 2
    assert "--column text=NAME" in " ".join(capsys.readouterr().err.split())
    assert main([*words, "--column=text=zzz"]) == 2
    assert "no column 'zzz' for text" in " ".join(capsys.readouterr().err.split())


def test_explain_takes_it_too(odd, capsys):
    words = ["explain", "--file", str(odd), "--id", "T-2", "-m", "log_length", "--json"]
    assert main([*words, *NAMING]) == 0
    assert json.loads(capsys.readouterr().out)["conversation"] == "T-2"


def test_settings_of_a_project_may_name_columns(odd, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    columns = [f"{part}={name}" for part, name in NAMED.items()]
    (tmp_path / "grice.toml").write_text(f"column = {json.dumps(columns)}\n")
    assert main(["score", odd.name, "-m", "log_length", "-o", "out.jsonl"]) == 0
    assert (tmp_path / "out.jsonl").read_text().count("\n") == 2


def test_another_column_is_another_run(odd, tmp_path):
    out = tmp_path / "out.jsonl"
    for columns in (NAMED, NAMED | {"conversation": ""}):
        grice.score_files(odd, out, metrics=["log_length"], columns=columns)
    assert {json.loads(line)["conversation"] for line in out.read_text().splitlines()} == {"odd:2"}


class TestArrow:
    @pytest.fixture
    def table(self):
        pa = pytest.importorskip("pyarrow")
        cells = zip(*TALKS, strict=True)
        return pa.table({name: list(c) for name, c in zip(NAMED.values(), cells, strict=True)})

    @pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
    def test_columns_are_named_in_the_same_way(self, table, tmp_path, suffix):
        path = tmp_path / f"t{suffix}"
        if suffix == ".parquet":
            import pyarrow.parquet

            pyarrow.parquet.write_table(table, path)
        else:
            import pyarrow.feather

            pyarrow.feather.write_feather(table, str(path))
        with pytest.raises(InputError, match="--column text=NAME"):
            grice.read(path)
        assert ids(path, columns=NAMED) == ["T-1", "T-2"]
        with pytest.raises(InputError, match="no column 'wsa' for text; did you mean 'was'"):
            grice.read(path, columns=NAMED | {"text": "wsa"})

    def test_a_table_of_a_program_too(self, table):
        with grice.load("log_length") as grader:
            scores = score_table(grader, table.take([0, 2, 1, 3]), columns=NAMED)
        assert scores.column("conversation").to_pylist() == ["T-1", "T-2"]

    def test_many_rows_without_a_conversation_are_refused(self, table, tmp_path):
        import pyarrow.parquet

        rows = table.select(["wer", "was"]).rename_columns(["speaker", "text"]).take([0] * 21)
        pyarrow.parquet.write_table(rows, tmp_path / "t.parquet")
        with pytest.raises(InputError, match="more than 20 rows"):
            grice.read(tmp_path / "t.parquet")
        pyarrow.parquet.write_table(rows.slice(1), tmp_path / "t.parquet")
        assert len(ids(tmp_path / "t.parquet")) == 1

    def test_pairs_with_a_conversation_are_grouped(self, table, tmp_path):
        import pyarrow.parquet

        named = table.rename_columns(["session_id", "question", "answer"])
        pyarrow.parquet.write_table(named, tmp_path / "t.parquet")
        first, second = grice.read(tmp_path / "t.parquet")
        assert (len(first.turns), second.id) == (4, "T-2")

    def test_a_small_file_with_a_carriage_return_is_not_called_text(self, table, tmp_path):
        pa = pytest.importorskip("pyarrow")
        import pyarrow.parquet

        for count in range(40):  # until no line feed is in it by chance
            rows = pa.table({"question": ["a\r" * count], "answer": ["b"]})
            pyarrow.parquet.write_table(rows, tmp_path / "t.parquet")
            [talk] = grice.read(tmp_path / "t.parquet")
            assert talk.targets is not None
