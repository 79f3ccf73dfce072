from __future__ import annotations

import json

import pytest

from grice.cli import main
from grice_tasks.cider.files import (
    Annotated,
    Dialogue,
    read_brat,
    read_dialogues,
    write_brat,
    write_dialogues,
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
    write_dialogues(path, [dialogue])
    return path


def test_converting_to_brat_and_back_changes_nothing(annotated, tmp_path, capsys):
    folder, back = tmp_path / "brat", tmp_path / "back.jsonl"
    assert main(["cider", "convert", str(annotated), "-o", str(folder)]) == 0
    assert sorted(file.name for file in folder.iterdir()) == ["mine-1.ann", "mine-1.txt"]
    assert main(["cider", "convert", str(folder), "-o", str(back)]) == 0
    assert "1 dialogue, 2 triplets" in capsys.readouterr().err
    (first,), (second,) = (read_dialogues(path).dialogues for path in (annotated, back))
    assert (first.text, first.triplets) == (second.text, second.triplets)


def test_a_bad_triplet_is_refused_or_named(annotated, tmp_path, capsys):
    folder = tmp_path / "brat"
    write_brat(folder, read_dialogues(annotated).dialogues)
    file = folder / "mine-1.ann"
    file.write_text(file.read_text().replace("Causes", "Cauzes", 1))
    out = str(tmp_path / "out.jsonl")
    assert main(["cider", "convert", str(folder), "-o", out]) == 2
    assert "did you mean 'Causes'" in capsys.readouterr().err
    assert main(["cider", "convert", str(folder), "-o", out, "--invalid", "skip"]) == 4
    assert "unknown relation 'Cauzes'" in capsys.readouterr().err
    assert len(read_dialogues(tmp_path / "out.jsonl").dialogues[0].triplets) == 1


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


def test_a_folder_without_annotation_and_a_name_that_is_none(tmp_path, capsys):
    assert main(["cider", "stats", str(tmp_path)]) == 2
    assert "no .ann file" in capsys.readouterr().err
    (tmp_path / "a.ann").write_text("")
    assert main(["cider", "stats", str(tmp_path)]) == 2
    assert "its .txt: cannot be read" in capsys.readouterr().err
    (tmp_path / "a.txt").write_text("A: hi")
    assert read_brat(tmp_path).dialogues[0].text == "A: hi"
    bad = tmp_path / "bad.jsonl"
    write_dialogues(bad, [Dialogue("a/b", "", None, "hi", ())])
    assert main(["cider", "convert", str(bad), "-o", str(tmp_path / "out")]) == 2
    assert "cannot name a file" in capsys.readouterr().err
