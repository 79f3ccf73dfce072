from __future__ import annotations

import gzip
import json

import pytest

from grice.cli import main
from grice_tasks.cider.files import (
    Annotated,
    Dialogue,
    dump_dialogue,
)

TEXT = "A: I missed the bus    B: So you are late"


@pytest.fixture
def annotated(tmp_path):
    late, bus = TEXT.index("late"), TEXT.index("missed")
    dialogue = Dialogue(
        "mine-1", "mine", None, TEXT,
        (
            Annotated("missed the bus", "Causes", "late", (bus, bus + 14), (late, late + 4)),
            Annotated("missed the bus", "Causes", "boss is angry", (bus, bus + 14), None, True),
        ),
    )  # fmt: skip
    path = tmp_path / "mine.jsonl.gz"
    path.write_bytes(gzip.compress(dump_dialogue(dialogue).encode() + b"\n"))
    return path


def test_a_bad_triplet_is_refused_or_named(annotated, capsys):
    text = gzip.decompress(annotated.read_bytes()).replace(b"Causes", b"Cauzes", 1)
    annotated.write_bytes(gzip.compress(text))
    assert main(["cider", "stats", str(annotated)]) == 2
    assert "did you mean 'Causes'" in capsys.readouterr().err
    assert main(["cider", "stats", str(annotated), "--invalid", "skip", "--json"]) == 4
    shown = capsys.readouterr()
    assert "unknown relation 'Cauzes'" in shown.err
    assert {"name": "triplets", "value": 1}.items() <= json.loads(shown.out.splitlines()[1]).items()


def test_counts_stand_beside_the_printed_ones(annotated, capsys):
    assert main(["cider", "stats", str(annotated), "--json"]) == 0
    rows = {row["name"]: row for row in map(json.loads, capsys.readouterr().out.splitlines())}
    assert rows["triplets"]["value"] == 2
    assert rows["triplets"]["printed"] == 4539
    assert rows["triplets"]["same"] is False
    assert rows["Causes"]["value"] == 2
    assert main(["cider", "stats", str(annotated)]) == 0
    assert "4539" in capsys.readouterr().out


def test_every_printed_count_that_differs_has_its_reason(cider_folder, capsys):
    assert main(["cider", "stats", str(cider_folder / "dialogues.jsonl.gz"), "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    different = [row for row in rows if row["same"] is False]
    assert sum(row["same"] is True for row in rows) == 48
    assert len(different) == 5
    assert all(row["why"] for row in different)
