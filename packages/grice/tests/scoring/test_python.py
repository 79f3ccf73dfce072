"""Scoring in Python: conversations and whole files in, results to look at."""

import json
import logging
from pathlib import Path
from types import SimpleNamespace

import pytest

import grice
from grice.cli import main
from grice.errors import InputError, ModelError, RecordError

METRICS = ["log_length", "turn_count"]
CHAT = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Is it far?"},
    {"role": "assistant", "content": "Ten minutes."},
]
PLUGIN = Path(__file__).parents[1] / "plugin_package" / "grice_shouting.py"


def test_messages_are_a_conversation_and_are_left_as_they_are():
    before = [dict(message) for message in CHAT]
    [score] = grice.score(CHAT, "log_length")
    assert (score.conversation, score.turn) == ("talk", 2)
    assert before == CHAT


def test_several_conversations_may_be_of_any_kind():
    talks = [CHAT, ["Is it far?", "Ten minutes."], grice.Conversation("own", ())]
    scores = grice.score(talks, "log_length", "turn_count")
    assert [(score.conversation, score.turn) for score in scores] == [
        ("talk 1", 2), ("talk 1", None), ("talk 2", 1), ("talk 2", None), ("own", None)
    ]  # fmt: skip
    turns = [{"speaker": "Ann", "text": "Hi"}, {"speaker": "Bob", "text": "Hello"}]
    assert [score.turn for score in grice.score(turns, "log_length")] == [0, 1]


@pytest.mark.parametrize(("talk", "error", "words"), [
    ([{"role": "user", "content": 7}], RecordError, r"messages\[0\].*content.*expected text"),
    ([{"role": "user", "content": "Hi"}, "Hello"], InputError, "found str"),
    ([{"name": "Ann"}], InputError, "found name"), ([[]], InputError, "an empty list"),
    (3, InputError, "found int"), ("Hi " * 2000, InputError, "no such file.*list of messages"),
    ({"role": "user", "content": "Hi"}, InputError, "object with messages.*found content, role"),
    ({"messages": [{"role": "user", "content": object()}]}, InputError, "written as JSON"),
    ([__file__, __file__], InputError, "these are names of files"),
])  # fmt: skip
def test_what_is_no_conversation_is_refused(talk, error, words):
    with pytest.raises(error, match=words):
        grice.score(talk, "log_length")
    with pytest.raises(error):
        grice.check(talk)


@pytest.mark.parametrize("call", [grice.check, grice.score])
def test_models_are_named_by_a_preset(call):
    with pytest.raises(InputError, match="expected the name of a preset, found int"):
        call(["Is it far?", "No."], models=3)


@pytest.mark.parametrize(("talk", "name"), [
    ({"messages": CHAT, "id": 3}, "3"), ([{"messages": CHAT}], "talk:1"),
    ({"context": ["Is it far?"], "response": "No."}, "talk:1"),
    ([CHAT[1], SimpleNamespace(model_dump=lambda: CHAT[2])], "talk"),  # as of the library openai
])  # fmt: skip
def test_objects_are_read_as_the_lines_of_a_file(talk, name):
    assert grice.score(talk, "log_length")[0].conversation == name
    assert grice.check(talk).conversations == 1


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_a_data_frame_is_read_as_a_file_with_its_columns_and_a_path_as_its_file(library, chat):
    frame = pytest.importorskip(library)
    make = frame.table if library == "pyarrow" else frame.DataFrame
    rows = {
        "ticket": [7, 8, 7],
        "role": ["user", "assistant", "assistant"],
        "note": [None, "a", None],
    }
    texts = {"content": ["Is it far?", "Dear {{name}},", None]}
    [empty, field] = grice.check(make(rows | texts))
    assert (empty.conversation, empty.turn, empty.code, field.code) == ("7", 1, "T101", "T105")
    scores = grice.score(make({"messages": [CHAT]}), "turn_count")
    assert [score.value for score in scores] == [2.0]
    if library == "pandas":
        assert list(scores.to_frame()["metric"]) == ["turn_count"]
        named = make(rows | texts).set_index("ticket")
        both = grice.score(named, "log_length", "turn_count").to_frame()
        assert (list(both["conversation"])[-1], str(both["turn"].dtype)) == ("8", "Int64")
        assert list(grice.check(["Hi", "Hello."]).to_frame())[:3] == [
            "conversation",
            "turn",
            "code",
        ]
    body = make(rows | {"body": ["a", "b c d", "e"]})
    assert len(grice.score(body, "log_length", columns={"text": "body"})) == 2
    with pytest.raises(InputError, match=r"the columns of this table are .*body.*columns="):
        grice.check(body)
    twice = grice.score([chat, chat], "log_length")
    assert len(grice.score(str(chat), "log_length")) == 2600 == len(twice) / 2


def test_results_show_themselves():
    talk = grice.Conversation("<b>", tuple(grice.Turn("AB"[i % 2], "Hi") for i in range(30)))
    scores = grice.score(talk, "log_length")
    lines = repr(scores).splitlines()
    assert lines[0] == "30 scores"
    assert lines[1].split() == ["conversation", "turn", "metric", "value", "status", "reason"]
    assert lines[-1] == "… and 10 more"
    rows = scores.to_rows()
    assert (len(rows), rows[3]["turn"], rows[3]["signature"]) == (30, 3, "log_length:2")
    row = repr(grice.score(talk, "turn_count")).splitlines()[2]  # a score without a turn
    assert row.split()[:2] == ["<b>", "turn_count"]
    page = scores._repr_html_()
    assert (page.count("<tr>"), "<td>&lt;b&gt;</td>" in page, "<b>" in page) == (21, True, False)
    found = grice.check(["Hi", "Dear {{name}},"])
    assert str(found).splitlines()[0] == "1 finding in 1 reply of 1 conversation"
    assert [row["quotes"] for row in found.to_rows()] == ["{{name}}"]
    assert str(grice.check(["Hi", "Hello."])) == "no findings in 1 reply of 1 conversation"


def test_a_closed_grader_scores_nothing():
    with grice.load("log_length") as grader:
        assert repr(grader) == "<grice.Grader of log_length>"
    with pytest.raises(InputError, match="this grader is closed"):
        grader.score(CHAT)
    assert "closed" in repr(grader)


def test_paths_may_be_texts(tmp_path):
    with grice.load("calm", cache=str(tmp_path / "kept"), plugins=[str(PLUGIN)]) as grader:
        [score] = grader.score(["Hello.", "HI."])
    assert (score.metric, score.value) == ("calm", 0.0)
    assert (tmp_path / "kept").is_dir()


@pytest.mark.parametrize(("settings", "message"), [
    ({"mode": "slow"}, "mode 'slow': write exact or fast"),
    ({"workers": 0}, "0 workers: at least one is needed"),
])  # fmt: skip
def test_a_setting_that_cannot_be_is_named(settings, message):
    with pytest.raises(ModelError, match=message):
        grice.load("log_length", **settings)


@pytest.mark.parametrize("mode", ["fast", "exact"])
def test_the_signature_of_a_metric_that_asks_a_model_holds_the_mode(mode):
    with grice.load("relevance", "log_length", mode=mode) as grader:
        assert f"mode:{mode}" in grader.signatures["relevance"].split("|")
        assert "mode:" not in grader.signatures["log_length"]


def write_talks(path, count=1300):
    talks = ({"id": f"t{i}", "turns": ["Is it far?", f"About {i} miles."]} for i in range(count))
    path.write_text("".join(f"{json.dumps(talk)}\n" for talk in talks))
    return path


@pytest.fixture
def chat(tmp_path):
    return write_talks(tmp_path / "chat.jsonl")


def test_the_lines_are_those_of_the_command(chat, tmp_path):
    other = write_talks(tmp_path / "other.jsonl", 2)
    by_command, by_call = tmp_path / "command.jsonl", tmp_path / "call.jsonl"
    words = ["score", chat, other, "-m", ",".join(METRICS), "--speaker", "B", "-o", by_command]
    assert main(list(map(str, words))) == 0
    summary = grice.score_files([chat, other], by_call, metrics=METRICS, speakers=["B"])
    assert by_call.read_bytes() == by_command.read_bytes()
    assert (summary.conversations, summary.turns, summary.skipped) == (1302, 2604, 0)
    assert [metric.counts for metric in summary.metrics] == [{"ok": 1302}, {"ok": 1302}]
    assert json.loads(by_call.read_text().splitlines()[-1])["meta"] == {"file": str(other)}


def test_an_interrupted_run_is_finished_into_the_same_bytes(chat, tmp_path, interrupted_after):
    whole, resumed = tmp_path / "whole.jsonl", tmp_path / "resumed.jsonl"
    expected = grice.score_files(chat, whole, metrics=METRICS)
    with interrupted_after(600):
        grice.score_files(chat, resumed, metrics=METRICS)
    assert not resumed.exists()
    with pytest.raises(InputError, match="left by a run with other metrics"):
        grice.score_files(chat, resumed, metrics=METRICS, speakers=["B"])
    assert grice.score_files(chat, resumed, metrics=METRICS) == expected
    assert resumed.read_bytes() == whole.read_bytes()
    assert not (tmp_path / "resumed.jsonl.partial").exists()
    with interrupted_after(600):
        grice.score_files(chat, resumed, metrics=METRICS)
    summary = grice.score_files(chat, resumed, metrics=METRICS, speakers=["B"], resume=False)
    assert len(resumed.read_text().splitlines()) == 2600 == summary.scores


def test_a_report_names_the_call_and_is_whole_or_absent(chat, tmp_path, interrupted_after):
    page = tmp_path / "report.html"
    with interrupted_after(5):
        grice.score_files(chat, metrics=METRICS, report=page)
    assert not page.exists()
    grice.score_files(str(chat), metrics=METRICS, report=page)
    assert "grice.score_files(" in page.read_text("utf-8")


def test_broken_records_are_counted_raised_and_logged(tmp_path, caplog, capsys):
    chat = tmp_path / "chat.jsonl"
    chat.write_text('{"turns": ["Hello.", "Hi."]}\n{"turns": 5}\n')
    with caplog.at_level(logging.INFO, "grice"):
        summary = grice.score_files(chat, metrics=METRICS)
    assert {record.name for record in caplog.records} == {"grice"}
    assert "scored 1 conversations" in caplog.text
    assert "skipped: " in caplog.text
    assert capsys.readouterr().err == "", "nothing is printed that nobody asked for"
    assert (summary.conversations, summary.skipped) == (1, 1)
    assert "chat.jsonl:2: turns" in summary.problems[0]
    with pytest.raises(RecordError, match=r"chat\.jsonl:2: turns: expected a list of turns"):
        grice.score_files(chat, metrics=METRICS, bad_records="fail")
    with pytest.raises(RecordError, match=r"chat\.jsonl:2: turns"):
        grice.score(grice.read(chat), "log_length")
    with pytest.raises(InputError, match="bad records 'stop': write skip or fail"):
        grice.score_files(chat, metrics=METRICS, bad_records="stop")
