"""Parquet and Arrow files: what a row is, what is near to a wrong column, and broken files."""

from __future__ import annotations

import gzip
import sys

import pytest

from grice.errors import InputError, RecordError
from grice.readers import find_formats, read

pa = pytest.importorskip("pyarrow")
import pyarrow.feather as feather  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402

TURNS = [{"speaker": "Ann", "text": "Is it far?"}, {"speaker": "Bob", "text": "Ten minutes."}]
MESSAGES = [{"role": "user", "content": "Is it far?"}, {"role": "assistant", "content": "No."}]
BY_TURN = {
    "conversation_id": ["a", "a", "b"],
    "speaker": ["x", "y", "x"],
    "text": ["Is it far?", "Ten minutes.", "Hello."],
}


def written(path, rows):
    table = pa.Table.from_pylist(rows) if isinstance(rows, list) else pa.table(rows)
    writers = {".parquet": pq.write_table, ".arrow": feather.write_feather}
    writers[path.suffix](table, str(path))
    return path


@pytest.mark.parametrize("name", ["chat.parquet", "chat.arrow"])
def test_a_row_is_a_conversation_where_a_column_lists_turns(name, tmp_path):
    reading = read(written(tmp_path / name, [{"id": "d1", "turns": TURNS, "split": "test"}]))
    [conversation] = reading
    assert reading.format == name.partition(".")[2]
    assert (conversation.id, conversation.meta) == ("d1", {"split": "test"})
    assert [turn.text for turn in conversation.turns] == ["Is it far?", "Ten minutes."]


def test_messages_and_responses_are_read_as_from_json_lines(tmp_path):
    [chat] = read(written(tmp_path / "a.parquet", [{"messages": MESSAGES}]))
    assert [turn.role for turn in chat.turns] == ["user", "assistant"]
    row = {"context": "Is it far?", "response": "Ten minutes."}
    [answered] = read(written(tmp_path / "b.parquet", [row]))
    assert answered.targets == (1,)


def test_rows_that_are_turns_are_grouped_across_row_groups(tmp_path):
    path = tmp_path / "turns.parquet"
    pq.write_table(pa.table(BY_TURN), path, row_group_size=1)
    assert [(talk.id, len(talk.turns)) for talk in read(path)] == [("a", 2), ("b", 1)]


def test_packed_with_gzip_it_reads_the_same(tmp_path):
    plain = written(tmp_path / "turns.parquet", BY_TURN)
    packed = tmp_path / "turns.parquet.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert [talk.turns for talk in read(packed)] == [talk.turns for talk in read(plain)]


def test_wrong_columns_name_the_near_ones(tmp_path):
    path = written(tmp_path / "odd.parquet", {"convers_id": ["a"], "txt": ["Hello."]})
    with pytest.raises(InputError, match=r"are convers_id, txt .*'conversation_id' for.*'text'"):
        read(path)


def test_a_broken_row_is_named_by_its_number_and_the_others_are_read(tmp_path):
    rows = [{"turns": TURNS}, {"turns": []}, {"turns": TURNS}]
    good, bad, last = read(written(tmp_path / "some.parquet", rows))
    assert isinstance(bad, RecordError)
    assert bad.line == 2
    assert good.turns == last.turns


@pytest.mark.parametrize("kept", [6, 200])
def test_a_cut_file_is_refused(kept, tmp_path):
    path = written(tmp_path / "cut.parquet", BY_TURN)
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(InputError, match="cannot be read"):
        read(path)


def test_a_table_without_rows_is_refused(tmp_path):
    with pytest.raises(InputError, match="no row"):
        read(written(tmp_path / "none.parquet", {"text": pa.array([], pa.string())}))


@pytest.mark.parametrize("name", ["parquet", "arrow"])
def test_without_pyarrow_the_extra_is_named(name, tmp_path, monkeypatch):
    path = written(tmp_path / f"chat.{name}", [{"turns": TURNS}])
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(InputError, match=r'pip install "grice\[arrow\]"'):
        read(path)


def test_the_page_of_formats_describes_them():
    assert {"arrow", "parquet"} <= find_formats().formats.keys()
