"""How far an input was read, for whoever draws a progress bar."""

from __future__ import annotations

import gzip
import random

import pytest

from grice.readers import read

LINE = b'{"id": "%d", "turns": [{"speaker": "A", "text": "It is late, and I am tired."}]}\n'


@pytest.mark.parametrize("pack", [lambda data: data, lambda data: gzip.compress(data, mtime=0)])
def test_position_grows_to_the_size_of_the_file(tmp_path, pack):
    path = tmp_path / "chats.jsonl"
    rng = random.Random(1)
    path.write_bytes(pack(b"".join(LINE % rng.getrandbits(200) for _ in range(10_000))))
    reading = read(path)
    positions = [reading.position for _ in reading]
    assert reading.size == path.stat().st_size
    assert positions == sorted(positions)
    assert positions[0] < reading.size / 2
    assert positions[-1] == reading.size


def test_a_directory_counts_all_its_files(tmp_path):
    for name in ("a.jsonl", "b.jsonl"):
        (tmp_path / name).write_bytes(LINE % 1)
    reading = read(tmp_path)
    assert reading.size == 2 * len(LINE % 1)
    assert len(list(reading)) == 2
    assert reading.position == reading.size
