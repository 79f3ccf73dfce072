"""Standard streams that are closed, without a reader, full, or of a narrow encoding."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from grice.cli import main

COMMANDS = {
    "help": ["--help"],
    "explain json": ["explain", "Hi — “you”", "Fine… 😀", "-m", "log_length", "--json"],
    "score": ["score", "CHATS", "-m", "log_length", "--no-cache"],
    "perturb": ["perturb", "CHATS", "--kind", "turn-order"],
    "summary": ["score", "CHATS", "-m", "log_length", "--no-cache", "-o", "OUT"],
}
COMMAND = pytest.mark.parametrize("name", COMMANDS)


@pytest.fixture
def words(tmp_path, name):
    chats = tmp_path / "chats.jsonl"
    talk = {"id": "é…", "turns": ["“Hello” 😀", "Fine — and you?", "Good.", "Bye…"]}
    chats.write_text("".join(json.dumps({**talk, "id": f"é{i}"}) + "\n" for i in range(50)))
    places = {"CHATS": str(chats), "OUT": str(tmp_path / "out.jsonl")}
    return [sys.executable, "-m", "grice", *(places.get(word, word) for word in COMMANDS[name])]


def run(words, *, encoding="", stdout=subprocess.PIPE, stderr=subprocess.PIPE):
    kept = {key: value for key, value in os.environ.items() if key != "PYTHONUNBUFFERED"}
    environment = {**kept, "COLUMNS": "80", "PYTHONIOENCODING": encoding}
    return subprocess.run(words, stdout=stdout, stderr=stderr, env=environment, check=False)


@COMMAND
def test_an_encoding_that_lacks_letters_loses_nothing(words, name):
    plain, narrow = run(words, encoding="utf-8"), run(words, encoding="ascii")
    assert (narrow.returncode, plain.returncode) == (0, 0), narrow.stderr
    if name in ("explain json", "perturb", "score"):
        encoding = "utf-8" if name == "score" else "ascii"  # scores are bytes of UTF-8 always
        assert [json.loads(line) for line in narrow.stdout.decode(encoding).splitlines()] == [
            json.loads(line) for line in plain.stdout.decode().splitlines()
        ]
    else:
        assert narrow.stdout.isascii()


@COMMAND
@pytest.mark.parametrize("closed", [">&-", ">&- 2>&- <&-"])
def test_closed_streams_end_no_command(words, name, closed, tmp_path):
    done = run(["sh", "-c", f'exec "$@" {closed}', "sh", *words])
    assert (done.returncode, done.stdout) == (0, b"")
    assert b"fault" not in done.stderr
    out = tmp_path / "out.jsonl"
    if name == "summary":  # what is written is the scores alone, in the place of no stream
        scores = [json.loads(line) for line in out.read_text().splitlines()]
        assert [score["metric"] for score in scores] == ["log_length"] * 200


@pytest.fixture
def gone():
    """A stream whose reader has gone."""
    read, write = os.pipe()
    os.close(read)
    yield write
    os.close(write)


@COMMAND
def test_a_reader_that_has_gone_ends_a_command_quietly(words, name, gone):
    done = run(words, stdout=gone)
    messages = [line for line in done.stderr.decode().splitlines() if "read as" not in line]
    assert (done.returncode, [line for line in messages if "turn-order" not in line]) == (0, [])


@pytest.mark.parametrize("name", ["help", "summary"])
def test_a_reader_of_errors_that_has_gone_stops_no_work(words, name, gone):
    done = run(words, stderr=gone)
    assert done.returncode == 0
    assert done.stdout
    assert run([*words[:3], "score", "nowhere"], stderr=gone).returncode == 2


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@COMMAND
def test_a_full_disk_is_named(words, name):
    with Path("/dev/full").open("w") as full:
        done = run(words, stdout=full)
    assert done.returncode == 2
    assert b"No space left on device" in done.stderr


@pytest.mark.parametrize("name", ["summary"])
@pytest.mark.parametrize("more", [[], ["--json"]])
def test_a_check_that_nobody_reads_fails_all_the_same(words, name, more, gone):
    assert main(words[3:]) == 0
    done = run([*words[:3], "gate", words[-1], "--min", "log_length=9", *more], stdout=gone)
    assert (done.returncode, b"fault" in done.stderr) == (1, False)
