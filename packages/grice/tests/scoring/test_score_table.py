"""Tables in and out: the values of a file of JSON lines, and rows that cannot be used."""

import json
import sys
from pathlib import Path

import msgspec
import pytest

import grice
from grice.errors import InputError
from grice.evaluation.scores import read_scores
from grice.readers import read
from grice.scoring import score_table
from grice.scoring.arrow import VERSION, VERSION_KEY

pa = pytest.importorskip("pyarrow")
import pyarrow.parquet as pq  # noqa: E402

CHATS = Path(__file__).parents[4] / "examples" / "chatbots.jsonl"
METRICS = ("log_length", "repetition")


@pytest.fixture(scope="module")
def grader():
    with grice.load(*METRICS, workers=1) as loaded:
        yield loaded


def table_of(path):
    return pa.Table.from_pylist([json.loads(line) for line in path.read_text().splitlines()])


def test_values_and_evidence_are_those_of_the_conversations(grader):
    result = score_table(grader, table_of(CHATS))
    rows, expected = result.to_pylist(), grader.score(list(read(CHATS)))
    assert [(row["conversation"], row["turn"], row["value"]) for row in rows] == [
        (score.conversation, score.turn, score.value) for score in expected
    ]
    assert [json.loads(row["evidence"]) for row in rows] == [
        [*msgspec.to_builtins(score.evidence)] for score in expected
    ]

    assert result.schema.metadata[VERSION_KEY] == VERSION.encode()
    assert result.schema.metadata[b"grice.rows"] == b"conversation"


def test_rows_that_are_turns_are_grouped_wherever_they_stand_and_it_says_so(grader, caplog):
    said = [("a", "x", "Is it far?"), ("b", "x", "Hello."), ("a", "y", "Ten minutes.")]
    names = ("conversation_id", "speaker", "text")
    turns = pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in said])
    with caplog.at_level("INFO", "grice"):
        result = score_table(grader, turns)
    first = [(row["conversation"], row["turn"]) for row in result.to_pylist()]
    assert first[:: len(METRICS)] == [("a", 0), ("a", 1), ("b", 0)]
    assert result.schema.metadata[b"grice.rows"] == b"turn"
    assert "grouped into conversations" in caplog.text


TURNS = [{"speaker": "Ann", "text": "Is it far?"}]


def test_a_row_that_cannot_be_used_fails_alone(grader):
    rows = score_table(grader, pa.table({"turns": [TURNS, [], TURNS]})).to_pylist()
    [failed] = [row for row in rows if row["status"] == "failed"]
    assert (failed["conversation"], failed["metric"], failed["value"]) == ("table:2", None, None)
    assert "no turn" in failed["reason"]
    assert len(rows) == 1 + 2 * len(METRICS)


def test_a_conversation_that_breaks_what_is_around_metrics_fails_by_its_name(grader, monkeypatch):
    whole = type(grader.scorer).score

    def score(scorer, conversations):
        if any(conversation.id == "b" for conversation in conversations):
            raise MemoryError("of its size")
        return whole(scorer, conversations)

    monkeypatch.setattr(type(grader.scorer), "score", score)
    table = pa.Table.from_pylist([{"id": name, "turns": TURNS} for name in "abc"])
    rows = score_table(grader, table).to_pylist()
    [failed] = [row for row in rows if row["status"] == "failed"]
    assert (failed["conversation"], failed["reason"]) == ("b", "MemoryError: of its size")
    assert {row["conversation"] for row in rows} == {"a", "b", "c"}


@pytest.mark.parametrize("name", ["out.parquet", "out.arrow"])
def test_a_file_of_scores_holds_the_same_whatever_its_kind(name, tmp_path):
    pq.write_table(table_of(CHATS), tmp_path / "chats.parquet")
    for chats, output in ((CHATS, "out.jsonl"), (tmp_path / "chats.parquet", name)):
        grice.score_files(chats, tmp_path / output, metrics=METRICS)
    assert list(read_scores(str(tmp_path / name))) == list(read_scores(str(tmp_path / "out.jsonl")))
    assert {path.name for path in tmp_path.iterdir()} == {"chats.parquet", name, "out.jsonl"}


def test_an_interrupted_table_is_finished_by_the_same_run(tmp_path, interrupted_after):
    output = tmp_path / "out.parquet"
    with interrupted_after(1):
        grice.score_files(CHATS, output, metrics=METRICS)
    assert not output.exists()
    assert (tmp_path / "out.parquet.partial").stat().st_size > 0
    grice.score_files(CHATS, output, metrics=METRICS)
    grice.score_files(CHATS, tmp_path / "whole.parquet", metrics=METRICS)
    assert pq.read_table(output).equals(pq.read_table(tmp_path / "whole.parquet"))


def test_another_table_is_no_table_of_scores(tmp_path):
    pq.write_table(table_of(CHATS), tmp_path / "chats.parquet")
    with pytest.raises(InputError, match="no table of scores"):
        list(read_scores(str(tmp_path / "chats.parquet")))


def test_without_pyarrow_nothing_is_scored_into_a_table(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(InputError, match=r'pip install "grice\[arrow\]"'):
        grice.score_files(CHATS, tmp_path / "out.parquet", metrics=METRICS)
    assert not list(tmp_path.iterdir())
