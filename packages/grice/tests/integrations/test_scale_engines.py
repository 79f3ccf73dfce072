"""Engines and stores: the values of a local run, shards that are kept, files that do not fit."""

import json
import sys
from io import BytesIO
from pathlib import Path

import pytest
from msgspec import to_builtins
from msgspec.structs import replace

import grice
from grice import files
from grice.cli import main
from grice.errors import GriceError, InputError
from grice.evaluation.scores import read_scores
from grice.integrations import ENGINES, Grading, score_on
from grice.integrations.engines import planned, score_encoded, score_shard, shard_of

pq = pytest.importorskip("pyarrow.parquet")
fsspec = pytest.importorskip("fsspec")

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
    grice.score_files(sorted(chats.iterdir()), tmp_path / "local.jsonl", metrics=GRADING.metrics)
    return [score for _, score in read_scores(str(tmp_path / "local.jsonl"))]


def test_shards_hold_the_scores_of_a_local_run(chats, tmp_path):
    tasks, finished = planned([chats], tmp_path / "out", GRADING)
    assert not finished
    assert scores_of(map(score_shard, tasks)) == locally(chats, tmp_path)


def test_what_an_earlier_run_finished_is_not_scored_again(chats, tmp_path):
    tasks, _ = planned([chats], tmp_path / "out", GRADING)
    score_shard(tasks[1])
    (tmp_path / "out" / ".0123-abcd.parquet").write_bytes(b"PAR1")  # of a worker that was killed
    left, finished = planned([chats], tmp_path / "out", GRADING)
    assert [shard.source for shard in finished] == [tasks[1].source]
    assert left == [tasks[0], tasks[2]]
    (chats / "1.jsonl").write_text((chats / "0.jsonl").read_text())
    with pytest.raises(InputError, match="other inputs or metrics"):
        planned([chats], tmp_path / "out", GRADING)


def test_a_file_that_cannot_be_read_is_said_and_leaves_no_shard(tmp_path):
    (tmp_path / "odd.bin").write_bytes(b"nothing of the kind")
    [task], _ = planned([tmp_path / "odd.bin"], tmp_path / "out", GRADING)
    assert "no format recognised" in score_shard(task).problem
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
    with pytest.raises(InputError, match="an earlier version"):
        shard_of(b'{"source": "a", "shard": "b", "scores": 3, "failed": 0}')


@pytest.fixture
def listening(monkeypatch):
    """The only place of the network that does not refuse."""

    def connect(place, timeout):
        if place != ("b", 9):
            raise ConnectionRefusedError(111, "Connection refused")
        return BytesIO()  # it can be closed

    monkeypatch.setattr("socket.create_connection", connect)


@pytest.mark.usefixtures("here", "listening")
@pytest.mark.parametrize(
    ("address", "is_there"),
    [("tcp://a:9", False), ("a:9", False), ("spark://a:9", False), ("spark://a:9,c:9", False),
     ("spark://a:9,b:9", True), ("auto", True), ("local[2]", True)],
)  # fmt: skip
def test_an_address_that_does_not_answer_is_refused(address, is_there, chats, tmp_path):
    shards = score_on("spark", [chats], tmp_path / "out", GRADING, address=address)
    if is_there:
        assert len(list(shards)) == 3
    else:
        with pytest.raises(InputError, match="no server there"):
            list(shards)


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


@pytest.mark.parametrize("engine", ENGINES)
def test_an_engine_that_is_not_installed_names_its_extra(engine, chats, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, ENGINES[engine][0], None)
    with pytest.raises(GriceError, match=rf'pip install "grice\[{engine}\]"'):
        list(score_on(engine, [chats], tmp_path / "out", GRADING))
    with pytest.raises(GriceError, match=f"did you mean '{engine}'"):
        list(score_on(f"{engine}s", [chats], tmp_path / "out", GRADING))


def test_the_command_says_what_became_of_each_file(here, chats, tmp_path, capsys):
    command = ["score", str(chats), "-m", "log_length", "--engine", "dask", "--json"]
    for again in (False, True):
        assert main([*command, "-o", str(tmp_path / "out")]) == 0
        shards = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        assert len(shards) == 3
        assert all((shard["scores"] is None) == again for shard in shards)


@pytest.fixture(params=["memory", "file"])
def store(request, tmp_path):
    """Return the URL of an empty folder of a store."""
    if request.param == "file":
        yield f"file://{tmp_path}/store"
        return
    yield "memory://bucket"
    fsspec.filesystem("memory").store.clear()


@pytest.fixture
def stored(store):
    for part in range(2):
        with fsspec.open(f"{store}/in/{part}.jsonl", "wb", auto_mkdir=True) as file:
            file.write(b"".join(EXAMPLE.read_bytes().splitlines(keepends=True)[part : part + 2]))
    return f"{store}/in"


def rows_of(shard):
    with fsspec.open(shard.shard) as file:
        return pq.read_table(file).to_pylist()


def test_a_file_of_a_store_is_read_as_one_of_this_machine(stored):
    talks = list(grice.read(EXAMPLE))
    assert list(grice.read(f"{stored}/0.jsonl")) == talks[:2]
    assert len(list(grice.read(stored))) == 4


def test_shards_of_a_store_are_those_of_this_machine(stored, store, tmp_path):
    tasks, _ = planned([stored], f"{store}/out", GRADING)
    here, _ = planned([stored], tmp_path / "out", GRADING)
    rows = [rows_of(score_shard(task)) for task in tasks]
    assert rows == [pq.read_table(score_shard(task).shard).to_pylist() for task in here]
    assert [shard.source for shard in planned([stored], f"{store}/out", GRADING)[1]] == [
        task.source for task in tasks
    ]
    with fsspec.open(f"{stored}/0.jsonl", "wb") as file:
        file.write(EXAMPLE.read_bytes())
    [changed], _ = planned([f"{stored}/0.jsonl"], f"{store}/another", GRADING)
    assert changed.shard.rpartition("/")[2] != tasks[0].shard.rpartition("/")[2]
    assert {row["meta"] for row in rows[0]} == {f'{{"file":"{tasks[0].source}"}}'}


def test_what_breaks_off_leaves_nothing(store):
    def half():
        with files.writing_url(f"{store}/out/a.parquet") as file:
            file.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        half()
    assert files.files_under(store) == []


@pytest.mark.parametrize(("url", "reason"), [
    ("memory://bucket/nothing", "there is no such file"),
    ("gopher://bucket/a.jsonl", "Protocol not known"),
])  # fmt: skip
def test_what_cannot_be_read_is_said(url, reason, tmp_path, capsys):
    with pytest.raises(InputError, match=reason):
        planned([url], tmp_path / "out", GRADING)
    assert main(["score", url, "-m", "log_length", "--no-cache"]) == 2
    assert reason in capsys.readouterr().err


def test_the_password_of_a_url_is_not_shown(here, tmp_path, capsys):
    urls = [f"memory://ann:secret@bucket/{name}.jsonl?key=secret" for name in "ab"]
    for url in urls:
        with fsspec.open(url, "wb") as file:
            file.write(EXAMPLE.read_bytes() + b"{}\n")
    words = ["-m", "log_length", "-o", str(tmp_path / "out.jsonl")]
    assert main(["score", *urls, *words, "--report", str(tmp_path / "page.html")]) == 4
    assert main(["score", urls[0] + ".gz", *words]) == 2
    on_engine = ["score", urls[0], "-m", "log_length", "--engine", "dask"]
    for way in ([], ["--json"]):
        assert main([*on_engine, "-o", f"memory://ann:secret@out{len(way)}", *way]) in (0, 4)
    fsspec.filesystem("memory").store.clear()
    shown = [*capsys.readouterr(), *(path.read_text() for path in tmp_path.iterdir())]
    assert sum("memory://[hidden]@bucket/a.jsonl?[hidden]" in text for text in shown) >= 3
    assert "memory://[hidden]@out1/" in shown[0]
    assert "memory://[hidden]@out0;" in shown[0]
    assert "secret" not in "".join(shown)


def test_without_fsspec_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(InputError, match=r'pip install "grice\[stores\]"'):
        grice.read("s3://bucket/a.jsonl")
