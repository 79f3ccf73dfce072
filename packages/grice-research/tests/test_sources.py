import gzip
import hashlib
import json

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


def test_an_archive_compressed_again_is_the_same_set(mirror, capsys):
    assert main(["data", "verify", "--data", str(mirror)]) == 0
    archive = mirror / "made/rows.jsonl.gz"
    archive.write_bytes(archive.read_bytes()[:-9])
    assert main(["data", "verify", "--data", str(mirror)]) == 1
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
    assert main(["data", "verify", "mad"]) == 2
    assert "did you mean 'made'" in capsys.readouterr().err
    assert main(["data"]) == 0
    listed = capsys.readouterr().out
    for part in ("https://example.org/made", "rows of a table", "commit: not known as one"):
        assert part in listed
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
