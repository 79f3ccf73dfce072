"""Standard streams that are closed, without a reader, full, or of a narrow encoding."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

COMMANDS = {
    "help": ["--help"],
    "list": ["list"],
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


def environment(**more):
    kept = {key: value for key, value in os.environ.items() if key != "PYTHONUNBUFFERED"}
    return {**kept, "COLUMNS": "80", **more}


def run(words, **more):
    return subprocess.run(words, capture_output=True, env=environment(**more), check=False)


@COMMAND
def test_an_encoding_that_lacks_letters_loses_nothing(words, name):
    plain, narrow = run(words, PYTHONIOENCODING="utf-8"), run(words, PYTHONIOENCODING="ascii")
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


@COMMAND
def test_a_reader_that_has_gone_ends_a_command_quietly(words, name):
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        words, stdout=write, stderr=subprocess.PIPE, env=environment(), check=False
    )
    os.close(write)
    messages = [line for line in done.stderr.decode().splitlines() if "read as" not in line]
    assert (done.returncode, [line for line in messages if "turn-order" not in line]) == (0, [])


@pytest.mark.parametrize("name", ["list", "summary"])
def test_a_reader_of_errors_that_has_gone_stops_no_work(words, name, tmp_path):
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=write, env=environment())
    assert done.returncode == 0
    assert done.stdout
    refused = subprocess.run([*words[:3], "score", "nowhere"], stderr=write, env=environment())
    os.close(write)
    assert refused.returncode == 2


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@COMMAND
def test_a_full_disk_is_named(words, name):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, env=environment())
    assert done.returncode == 2
    assert b"the output cannot be written: No space left on device" in done.stderr


@pytest.mark.parametrize(
    "words",
    [["gate", "SCORES", "--min", "log_length=0.99"], ["gate", "SCORES", "--min",
      "log_length=0.99", "--json"]],
)  # fmt: skip
def test_a_check_that_nobody_reads_fails_all_the_same(words, tmp_path):
    talk, other = ({"id": "a", "turns": ["Is it late?", text]} for text in ("No.", "Yes, it is."))
    places = {name: str(tmp_path / name) for name in ("TALK", "OTHER", "SCORES")}
    for name, record in (("TALK", talk), ("OTHER", other)):
        Path(places[name]).write_text(f"{json.dumps(record)}\n")
    grice = [sys.executable, "-m", "grice"]
    score = [*grice, "score", places["TALK"], "-m", "log_length", "-o", places["SCORES"]]
    assert run(score).returncode == 0
    command = [*grice, *(places.get(word, word) for word in words)]
    assert run(command).returncode == 1
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        command, stdout=write, stderr=subprocess.PIPE, env=environment(), check=False
    )
    os.close(write)
    assert (done.returncode, b"fault" in done.stderr) == (1, False)
