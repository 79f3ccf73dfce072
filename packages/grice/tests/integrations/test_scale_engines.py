"""Engines: the values of the run in this process, shards that are kept, files that do not fit."""

from __future__ import annotations

import json
import sys
from io import BytesIO
from pathlib import Path

import pytest
from msgspec import to_builtins
from msgspec.structs import replace

import grice
from grice.cli import main
from grice.errors import GriceError, InputError
from grice.evaluation.scores import read_scores
from grice.integrations import ENGINES, Grading, score_on
from grice.integrations.engines import planned, score_encoded, score_shard, shard_of

pa = pytest.importorskip("pyarrow")
import pyarrow.parquet as pq  # noqa: E402

EXAMPLE = Path(__file__).parents[4] / "examples" / "convai.jsonl"
GRADING = Grading(("log_length", "repetition"))


@pytest.fixture
def chats(tmp_path):
    folder = tmp_path / "chats"
    folder.mkdir()
    lines = EXAMPLE.read_text().splitlines()[:12]
    for part in range(3):
        (folder / f"{part}.jsonl").write_text("\n".join(lines[part::3]) + "\n")
    return folder


def scores_of(shards):
    return [score for shard in shards for _, score in read_scores(shard.shard)]


def locally(chats, tmp_path):
    files = sorted(chats.iterdir())
    grice.score_files(files, tmp_path / "local.jsonl", metrics=GRADING.metrics)
    return [score for _, score in read_scores(str(tmp_path / "local.jsonl"))]


def test_shards_hold_the_scores_of_a_local_run(chats, tmp_path):
    tasks, finished = planned([chats], tmp_path / "out", GRADING)
    assert not finished
    assert scores_of(map(score_shard, tasks)) == locally(chats, tmp_path)


def test_what_an_earlier_run_finished_is_not_scored_again(chats, tmp_path):
    tasks, _ = planned([chats], tmp_path / "out", GRADING)
    score_shard(tasks[1])
    left, finished = planned([chats], tmp_path / "out", GRADING)
    assert [shard.source for shard in finished] == [tasks[1].source]
    assert left == [tasks[0], tasks[2]]


def test_what_a_killed_worker_left_is_no_shard(chats, tmp_path):
    tasks, _ = planned([chats], tmp_path / "out", GRADING)
    (tmp_path / "out" / ".0123-abcd.parquet").write_bytes(b"PAR1")
    assert planned([chats], tmp_path / "out", GRADING) == (tasks, [])


def test_a_changed_file_is_another_shard_and_the_folder_is_refused(chats, tmp_path):
    tasks, _ = planned([chats], tmp_path / "out", GRADING)
    score_shard(tasks[0])
    (chats / "0.jsonl").write_text((chats / "1.jsonl").read_text())
    with pytest.raises(InputError, match="other inputs or metrics"):
        planned([chats], tmp_path / "out", GRADING)


def test_a_file_that_cannot_be_read_is_said_and_leaves_no_shard(tmp_path):
    (tmp_path / "odd.bin").write_bytes(b"nothing of the kind")
    [task], _ = planned([tmp_path / "odd.bin"], tmp_path / "out", GRADING)
    shard = score_shard(task)
    assert "no format recognised" in shard.problem
    assert not list((tmp_path / "out").iterdir())


def test_broken_records_are_rows_that_failed(tmp_path):
    file = tmp_path / "some.jsonl"
    file.write_text('{"turns": ["Is it far?"]}\n{"turns": []}\n')
    [task], _ = planned([file], tmp_path / "out", GRADING)
    shard = score_shard(task)
    rows = pq.read_table(shard.shard).to_pylist()
    assert shard.failed == 1
    assert [row["conversation"] for row in rows if row["status"] == "failed"] == [f"{file}:2"]
    assert len(scores_of([shard])) == len(rows) - 1  # a record is no score


def in_this_process(tasks, address):
    return map(score_encoded, tasks)


def start(monkeypatch, engine):
    """Put what starts an engine in the place of every one."""
    monkeypatch.setattr("grice.integrations.engines.imported", lambda *_: None)
    for name in ENGINES:
        monkeypatch.setitem(ENGINES, name, (name, engine))


@pytest.fixture
def here(monkeypatch):
    """Put this process in the place of every engine."""
    start(monkeypatch, in_this_process)


LATER = {"cut": 3, "grading": {"version": "9.0", "metrics": {}}}


@pytest.mark.parametrize("changes", [{}, LATER], ids=["same layout", "later layout"])
def test_a_worker_of_another_version_is_refused(changes, chats, tmp_path, monkeypatch):
    [task, *_], _ = planned([chats], tmp_path / "out", replace(GRADING, version="9.0"))
    answer = score_encoded(json.dumps({**to_builtins(task), **changes}).encode())
    monkeypatch.setattr("grice.integrations.engines.__version__", "9.0")
    theirs = rf"worker has grice {grice.__version__}, this command grice 9\.0"
    with pytest.raises(InputError, match=theirs):
        shard_of(answer)
    assert not list((tmp_path / "out").glob("*.parquet"))


def refusing(*listening):
    """Return what stands for the network: it refuses all places but some."""

    def connect(place, timeout):
        if place not in listening:
            raise ConnectionRefusedError(111, "Connection refused")
        return BytesIO()  # it can be closed

    return connect


@pytest.mark.parametrize("address", ["tcp://a:9", "a:9", "spark://a:9", "spark://a:9,b:9"])
def test_an_address_that_does_not_answer_is_refused(address, here, chats, tmp_path, monkeypatch):
    monkeypatch.setattr("socket.create_connection", refusing())
    with pytest.raises(InputError, match="no server there"):
        list(score_on("ray", [chats], tmp_path / "out", GRADING, address=address))


@pytest.mark.parametrize("address", ["spark://a:9,b:9", "auto", "local[2]"])
def test_one_place_of_several_and_words_of_the_engine_are_taken(
    address, here, chats, tmp_path, monkeypatch
):
    monkeypatch.setattr("socket.create_connection", refusing(("b", 9)))
    assert len(list(score_on("spark", [chats], tmp_path / "out", GRADING, address=address))) == 3


def test_an_engine_that_gives_up_is_said_and_shards_are_kept(chats, tmp_path, monkeypatch):
    def gives_up(tasks, address):
        yield score_encoded(tasks[0])
        raise RuntimeError("Job aborted: a task failed 4 times\n\tat java.base/Thread.run")

    start(monkeypatch, gives_up)
    with pytest.raises(InputError, match=r"spark failed: RuntimeError: Job aborted: .* are kept"):
        list(score_on("spark", [chats], tmp_path / "out", GRADING))
    start(monkeypatch, in_this_process)
    again = list(score_on("spark", [chats], tmp_path / "out", GRADING))
    assert [shard.scores is None for shard in again].count(True) == 1


def test_a_worker_too_old_to_say_its_version_is_refused():
    with pytest.raises(InputError, match="an earlier version"):
        shard_of(b'{"source": "a", "shard": "b", "scores": 3, "failed": 0}')


@pytest.mark.parametrize("engine", ENGINES)
def test_an_engine_that_is_not_installed_names_its_extra(engine, chats, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, ENGINES[engine][0], None)
    with pytest.raises(GriceError, match=rf'pip install "grice\[{engine}\]"'):
        list(score_on(engine, [chats], tmp_path / "out", GRADING))


@pytest.mark.parametrize(
    "options", [[], ["-o", "out", "--sample", "3"], ["-o", "out", "--report", "page.html"]]
)
def test_what_an_engine_cannot_do_is_said(options, chats, capsys):
    assert main(["score", str(chats), "--engine", "dask", *options]) == 2
    assert "--engine" in capsys.readouterr().err


def test_the_command_says_what_became_of_each_file(here, chats, tmp_path, capsys):
    command = ["score", str(chats), "-m", "log_length", "--engine", "dask", "--json"]
    for again in (False, True):
        assert main([*command, "-o", str(tmp_path / "out")]) == 0
        shards = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        assert len(shards) == 3
        assert all((shard["scores"] is None) == again for shard in shards)
