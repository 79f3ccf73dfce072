"""Scores of a stream come while the stream goes on."""

import json
import os
import subprocess
import sys
import threading
from contextlib import suppress

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="select waits for sockets there")

TALK = '{"id": "%s", "turns": ["Is it far?", "Ten minutes."]}\n'
WORDS = [sys.executable, "-m", "grice", "score", "-", "-m", "log_length"]


@pytest.fixture
def stream(tmp_path):
    """Return a command that scores standard input, and ends with the test."""
    started = []

    def start(*more):
        process = subprocess.Popen(
            [*WORDS, *more], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, cwd=tmp_path, bufsize=1,
            env={**os.environ, "GRICE_CACHE": str(tmp_path / "cache")},
        )  # fmt: skip
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            with suppress(OSError):
                pipe.close()


def line_of(process, seconds=60):
    """Return the next line of a process; an empty one where none comes in time."""
    lines = []
    reader = threading.Thread(target=lambda: lines.append(process.stdout.readline()), daemon=True)
    reader.start()
    reader.join(seconds)
    return lines[0] if lines else ""


def test_each_conversation_is_answered_while_the_stream_is_open(stream):
    process = stream()
    for name in ("a", "b"):
        process.stdin.write(TALK % name)
        process.stdin.flush()
        answered = [json.loads(line_of(process)) for _ in range(2)]
        places = [(score["conversation"], score["turn"]) for score in answered]
        assert places == [(name, 0), (name, 1)]
        assert process.poll() is None
    process.stdin.close()
    assert (process.wait(60), process.stdout.read()) == (0, "")


def test_whoever_reads_no_further_ends_the_command_quietly(stream):
    process = stream()
    process.stdin.write(TALK % "a")
    process.stdin.flush()
    assert line_of(process)
    process.stdout.close()
    process.stdin.write(TALK % "b")
    process.stdin.flush()
    assert process.wait(60) == 0, "in the silence, with the stream still open"
    assert process.stderr.read() == "grice: -: read as turns\n"
