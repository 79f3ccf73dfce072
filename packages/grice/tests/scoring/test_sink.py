"""The file of an unfinished run: what is durable when, and what is taken up again."""

from __future__ import annotations

import json
import os
from pathlib import Path

import msgspec
import pytest

from grice.errors import InputError
from grice.records import Score
from grice.scoring.sink import ScoreFile, State, encode_scores

RUN = "run-1"


def scores(*turns):
    return [Score("c", turn, "m", 0.5, "ok", None, (), (), "m:1") for turn in turns]


@pytest.fixture
def unfinished(tmp_path):
    """A file that a killed run has left, of exactly the bytes its state counts."""
    sink = ScoreFile(tmp_path / "out.jsonl", RUN, resume=True)
    sink.append(scores(0, 1), State(RUN, "digest", 1))
    sink.close()
    return tmp_path / "out.jsonl"


def test_lines_of_just_the_counted_length_are_taken_up_again(unfinished):
    sink = ScoreFile(unfinished, RUN, resume=True)
    assert sink.done == State(RUN, "digest", 1, len(encode_scores(scores(0, 1))))
    assert list(sink.replay()) == scores(0, 1)
    sink.append(scores(2), State(RUN, "digest-2", 2))
    sink.finish()
    assert unfinished.read_bytes() == encode_scores(scores(0, 1, 2))
    assert [path.name for path in unfinished.parent.iterdir()] == ["out.jsonl"]


def test_lines_that_are_missing_are_not_taken_for_done(unfinished):
    partial = unfinished.with_name("out.jsonl.partial")
    partial.write_bytes(partial.read_bytes()[:-1])
    with pytest.raises(InputError, match=r"partial: shorter than its state says; give --no-resume"):
        ScoreFile(unfinished, RUN, resume=True)
    sink = ScoreFile(unfinished, RUN, resume=False)
    assert sink.done == State(RUN)
    sink.finish()
    assert unfinished.read_bytes() == b""


def test_lines_are_on_the_disk_before_the_state_counts_them(tmp_path, monkeypatch):
    path = tmp_path / "out.jsonl"
    state = tmp_path / "out.jsonl.state"
    durable: list[tuple[int, int, int]] = []

    def fsync(descriptor):
        """Note which file is made durable, how much of it, and what the state counts by then."""
        file = os.fstat(descriptor)
        counted = json.loads(state.read_bytes())["bytes"] if state.exists() else 0
        durable.append((file.st_ino, file.st_size, counted))

    monkeypatch.setattr(os, "fsync", fsync)
    sink = ScoreFile(path, RUN, resume=True)
    written = 0
    for number in range(3):
        before = written
        sink.append(scores(number), State(RUN, "digest", number + 1))
        written += len(encode_scores(scores(number)))
        partial = Path(f"{path}.partial").stat()
        assert (partial.st_ino, written, before) in durable
        assert msgspec.json.decode(state.read_bytes(), type=State).bytes == written
    sink.finish()
