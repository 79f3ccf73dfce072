"""Stores: files by URL in, shards out, each there whole or not at all."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import grice
from grice import files
from grice.cli import main
from grice.errors import InputError, OutputError
from grice.integrations import Grading
from grice.integrations.engines import planned, score_shard

pq = pytest.importorskip("pyarrow.parquet")
fsspec = pytest.importorskip("fsspec")

EXAMPLE = Path(__file__).parents[4] / "examples" / "convai.jsonl"
GRADING = Grading(("log_length",))


@pytest.fixture(params=["memory", "file"])
def store(request, tmp_path):
    """Return the URL of an empty folder of a store."""
    if request.param == "file":
        yield f"file://{tmp_path}/store"
        return
    yield "memory://bucket"
    fsspec.filesystem("memory").store.clear()


@pytest.fixture
def chats(store):
    for part in range(2):
        with fsspec.open(f"{store}/in/{part}.jsonl", "wb", auto_mkdir=True) as file:
            file.write(b"".join(EXAMPLE.read_bytes().splitlines(keepends=True)[part : part + 2]))
    return f"{store}/in"


def rows_of(shard):
    with fsspec.open(shard.shard) as file:
        return pq.read_table(file).to_pylist()


def test_a_file_of_a_store_is_read_as_one_of_this_machine(chats, tmp_path):
    local = tmp_path / "0.jsonl"
    local.write_bytes(b"".join(EXAMPLE.read_bytes().splitlines(keepends=True)[:2]))
    assert list(grice.read(f"{chats}/0.jsonl")) == list(grice.read(local))
    assert len(list(grice.read(chats))) == 4


def test_shards_of_a_store_are_those_of_this_machine(chats, store, tmp_path):
    tasks, _ = planned([chats], f"{store}/out", GRADING)
    here, _ = planned([chats], tmp_path / "out", GRADING)
    rows = [rows_of(score_shard(task)) for task in tasks]
    assert rows == [pq.read_table(score_shard(task).shard).to_pylist() for task in here]
    assert {row["meta"] for row in rows[0]} == {f'{{"file":"{tasks[0].source}"}}'}


def test_what_a_store_holds_is_not_scored_again(chats, store):
    tasks, _ = planned([chats], f"{store}/out", GRADING)
    score_shard(tasks[0])
    left, finished = planned([chats], f"{store}/out", GRADING)
    assert [shard.source for shard in finished] == [tasks[0].source]
    assert left == tasks[1:]


def test_a_file_that_was_changed_is_another_shard(chats, store):
    tasks, _ = planned([chats], f"{store}/out", GRADING)
    with fsspec.open(f"{chats}/0.jsonl", "wb") as file:
        file.write(EXAMPLE.read_bytes())
    changed, _ = planned([chats], f"{store}/out", GRADING)
    assert [task.shard for task in changed][1:] == [task.shard for task in tasks][1:]
    assert changed[0].shard != tasks[0].shard


def test_what_breaks_off_leaves_nothing(store):
    def half():
        with files.writing_url(f"{store}/out/a.parquet") as file:
            file.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        half()
    assert files.files_under(store) == []


def test_a_rename_that_fails_is_said_and_leaves_nothing_under_the_name(store, monkeypatch):
    def full(*_args, **_options):
        raise RuntimeError("no room")

    system, _ = fsspec.core.url_to_fs(store)
    monkeypatch.setattr(type(system), "mv", full)
    with (
        pytest.raises(OutputError, match=r"a\.parquet: cannot be written: no room"),
        files.writing_url(f"{store}/out/a.parquet") as file,
    ):
        file.write(b"whole")
    assert files.files_under(store) == []


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("memory://bucket/nothing", "there is no such file"),
        ("gopher://bucket/a.jsonl", "Protocol not known"),
    ],
)
def test_what_cannot_be_read_is_said(url, reason, tmp_path, capsys):
    with pytest.raises(InputError, match=reason):
        planned([url], tmp_path / "out", GRADING)
    assert main(["score", url, "-m", "log_length", "--no-cache"]) == 2
    assert reason in capsys.readouterr().err


def test_a_store_is_written_by_engines_alone(capsys):
    assert main(["score", str(EXAMPLE), "-o", "memory://bucket/out.jsonl"]) == 2
    assert "only grice score --engine writes to stores" in capsys.readouterr().err


def test_without_fsspec_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(InputError, match=r'pip install "grice\[stores\]"'):
        grice.read("s3://bucket/a.jsonl")
