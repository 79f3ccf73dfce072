import gzip
import hashlib
import json
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from grice.cli import main
from grice.errors import InputError
from grice.evaluation.datasets import known_sets
from grice_research.benches import abc_eval, atomic2020, breakdowns
from grice_research.benches.cskb_population import DEV, read_triples
from grice_research.sources import DataSet, known_data

PLAIN, ZIPPED = b"one\ttwo\n", b'{"id": 1}\n' * 5000
FILES = {"made/plain.tsv": PLAIN, "made/rows.jsonl.gz": ZIPPED}


@pytest.fixture
def mirror(tmp_path, monkeypatch):
    """A folder of one known set, as somebody has prepared it."""
    folder = tmp_path / "mirror"
    (folder / "made").mkdir(parents=True)
    (folder / "made/plain.tsv").write_bytes(PLAIN)
    (folder / "made/rows.jsonl.gz").write_bytes(gzip.compress(ZIPPED, mtime=1))
    sums = {file: hashlib.sha256(content).hexdigest() for file, content in FILES.items()}
    made = DataSet(origin="https://example.org/made", commit="", licence="MIT", name="made",
                   layout="rows of a table", files=sums)  # fmt: skip
    monkeypatch.setattr("grice_research.sources.known_data", lambda: {"made": made})
    return folder


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_): ...


class Short(Quiet):
    """Promises more than it sends, as where a connection breaks."""

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "100")
        self.end_headers()
        self.wfile.write(PLAIN)


@pytest.fixture
def served(mirror):
    """Serve the mirror on this machine, by a handler of choice."""
    servers = []

    def serve(handler):
        server = ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=mirror))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_port}"

    yield serve
    for server in servers:
        server.shutdown()
        server.server_close()


def get(mirror, folder):
    return main(["data", "get", "made", "--from", str(mirror), "--data", str(folder)])


def left(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("as_url", [str, lambda path: path.as_uri(), lambda path: f"{path}/"])
def test_a_set_comes_from_a_folder(mirror, as_url, tmp_path, capsys):
    folder = tmp_path / "data"
    assert (get(as_url(mirror), folder), left(folder)) == (0, sorted(FILES))
    assert "all files are there (MIT)" in capsys.readouterr().out
    assert main(["data", "verify", "--data", str(folder)]) == 0


@pytest.mark.enable_socket
def test_a_set_comes_from_a_server_whole_and_is_not_fetched_again(served, tmp_path, capsys):
    address, folder = served(Quiet), tmp_path / "data"
    assert get(address, folder) == 0
    (folder / "made/plain.tsv").unlink()
    capsys.readouterr()
    assert get(address, folder) == 0
    out = capsys.readouterr().out
    assert "plain.tsv: fetched" in out
    assert "rows.jsonl.gz: fetched" not in out
    assert get(served(Short), tmp_path / "other") == 2
    assert "ended after 8 of 100 bytes" in capsys.readouterr().err
    assert left(tmp_path / "other") == []


def test_what_holds_something_else_leaves_the_file_that_was_there(mirror, tmp_path, capsys):
    folder = tmp_path / "data"
    (folder / "made").mkdir(parents=True)
    (folder / "made/plain.tsv").write_text("mine\n")
    (mirror / "made/plain.tsv").write_text("other\n")
    assert get(mirror, folder) == 2
    assert "holds something else" in capsys.readouterr().err
    assert (folder / "made/plain.tsv").read_text() == "mine\n"
    assert left(folder) == ["made/plain.tsv"]


def test_a_broken_archive_and_what_is_not_on_the_mirror_are_named(mirror, tmp_path, capsys):
    archive = mirror / "made/rows.jsonl.gz"
    archive.write_bytes(archive.read_bytes()[:-9])
    assert get(mirror, tmp_path / "data") == 2
    assert "holds something else" in capsys.readouterr().err
    (mirror / "made/plain.tsv").unlink()
    assert get(mirror, tmp_path / "other") == 2
    assert "plain.tsv: cannot be fetched" in capsys.readouterr().err
    for address in ("ftp://example.org/data", "gopher://x"):
        assert get(address, tmp_path / "other") == 2
        assert "expected one of https, http, file" in capsys.readouterr().err


def test_an_archive_compressed_again_is_the_same_set(mirror, capsys):
    (mirror / "made/rows.jsonl.gz").write_bytes(gzip.compress(ZIPPED, 1, mtime=2))
    assert main(["data", "verify", "made", "--data", str(mirror)]) == 0
    (mirror / "made/plain.tsv").write_text("other\n")
    (mirror / "made/rows.jsonl.gz").unlink()
    capsys.readouterr()
    assert main(["data", "verify", "--data", str(mirror)]) == 1
    plain, rows = capsys.readouterr().out.splitlines()
    assert plain.startswith("made/plain.tsv: differs")
    assert rows == "made/rows.jsonl.gz: is missing"


def test_the_list_and_errors_say_where_a_set_is_from_and_how_it_is_made(mirror, capsys):
    assert main(["data", "get", "made", "--data", str(mirror)]) == 2
    message = capsys.readouterr().err
    for part in ("https://example.org/made", "rows of a table", "--from"):
        assert part in message
    assert (main(["data", "get"]), main(["data", "verify", "mad"])) == (2, 2)
    assert "did you mean 'made'" in capsys.readouterr().err
    assert main(["data"]) == 0
    assert "commit: not known as one" in capsys.readouterr().out
    assert main(["data", "list", "--json"]) == 0
    (row,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert (row["name"], set(row["files"])) == ("made", set(FILES))


def test_every_rated_set_has_a_source():
    files = {file for data_set in known_data().values() for file in data_set.files}
    assert {entry.file for entry in known_sets().values()} <= files
    for known_set in known_data().values():
        assert known_set.licence
        assert known_set.layout
        assert all(len(sha256) == 64 for sha256 in known_set.files.values())


@pytest.mark.data
def test_the_sets_of_this_project_are_those(data_folder):
    assert main(["data", "verify", "--data", str(data_folder)]) == 0


@pytest.mark.parametrize(
    ("read", "source"),
    [(atomic2020.read_queries, "comet-atomic-2020"), (breakdowns.read_voted, "dbdc3"),
     (abc_eval.read_marked, "GPT-ABCEval"),
     (lambda folder: read_triples(folder, "12 relations", split=DEV), "CSKB-Population")],
)  # fmt: skip
def test_a_bench_without_its_data_names_the_source(read, source, tmp_path):
    with pytest.raises(InputError, match=source):
        read(tmp_path)
