"""Records that are wrong in two ways at once: nothing good is lost, nothing breaks."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from grice.cli import main

sys.path.insert(0, str(Path(__file__).parents[1]))
from bad_input import HOSTILE, KINDS, lines

SIZE = 20_000
SHOWN = 20_000
"""Most characters of what a person sees of a run."""


@pytest.mark.parametrize("kind", KINDS)
def test_two_faults_at_once_lose_nothing_good(tmp_path, capsys, kind):
    file, out, report = (tmp_path / name for name in ("chats.jsonl", "out.jsonl", "r.html"))
    given = list(lines(kind, SIZE))
    file.write_bytes(b"".join(given))
    words = ["-m", "log_length,overlap_last_turn,distinct_words", "--format", "turns"]
    status = main(["score", str(file), *words, "-o", str(out), "--report", str(report)])
    shown = capsys.readouterr()
    assert status in (0, 4), shown.err
    assert "internal error" not in shown.err
    assert len(shown.err) + len(shown.out) < SHOWN
    assert not {"\x1b", "\x07", "\u202e"} & set(shown.err + shown.out)
    scores = [json.loads(line) for line in out.read_bytes().splitlines()]
    assert not [score for score in scores if score["status"] == "failed"]
    good = {json.loads(line)["id"] for line in given[::2]}
    scored = [score["conversation"] for score in scores if score["conversation"] in good]
    assert len(scored) == 7 * len(good)
    assert HOSTILE.encode() not in report.read_bytes()
