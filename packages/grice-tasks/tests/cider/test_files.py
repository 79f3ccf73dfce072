from __future__ import annotations

import json

import pytest

from grice.data import Triple
from grice.errors import InputError, RecordError
from grice_tasks.cider.files import (
    dump_dialogue,
    read_dialogues,
)

TEXT = "A: I missed the bus    B: You are late"
GOOD = ["missed the bus", "Causes", "late", [5, 19], [34, 38], 0]


@pytest.fixture
def file(tmp_path):
    def write(*triplets):
        path = tmp_path / "one.jsonl"
        path.write_text(json.dumps({"id": "d", "utterances": TEXT, "triplets": triplets}) + "\n")
        return path

    return write


def test_the_released_file_is_read_and_written_as_it_is(dialogues, cider_folder, tmp_path):
    assert sum(len(dialogue.triplets) for dialogue in dialogues) == 4539
    path = tmp_path / "again.jsonl"
    path.write_text("".join(f"{dump_dialogue(dialogue)}\n" for dialogue in dialogues))
    assert read_dialogues(path).dialogues == dialogues
    assert json.loads(dump_dialogue(dialogues[0]))["triplets"][0][3] == [122, 134]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (["missed the bus", "Cause", "late", [5, 19], [34, 38], 0], "did you mean 'Causes'"),
        (["missed a bus", "Causes", "late", [5, 17], [34, 38], 0], "where the text has"),
        (["missed the bus", "Causes", "late", [19, 5], [34, 38], 0], "reversed"),
        (["missed the bus", "Causes", "late", [5, 19], [34, 380], 0], "outside the text"),
        (["late", "Causes", "late", [34, 38], [34, 38], 0], "the same stretch"),
        (["missed the bus", "Causes", " ", [5, 19], [-1, -1], 1], "the tail is empty"),
        (["missed the bus", "Causes", "late", [5], [34, 38], 0], "a start and an end"),
    ],
)
def test_what_cannot_be_is_named_and_skipped_or_refused(file, wrong, message):
    path = file(GOOD, wrong)
    with pytest.raises(RecordError, match=message) as caught:
        read_dialogues(path)
    assert caught.value.line == 1
    assert caught.value.field == "triplets[1]"
    loaded = read_dialogues(path, invalid="skip")
    assert [triplet.head for triplet in loaded.dialogues[0].triplets] == ["missed the bus"]
    assert message in str(loaded.problems[0])


def test_a_file_that_is_none_is_an_error(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        read_dialogues(tmp_path / "nothing.jsonl")
    (tmp_path / "bad.jsonl").write_text("{}\n")
    with pytest.raises(RecordError, match="id"):
        read_dialogues(tmp_path / "bad.jsonl")


def test_raw_labels_have_their_names():
    from grice_tasks.cider.files import cider_schema

    renamed = cider_schema().renamed(Triple("win", "AchievedBy", "train"))
    assert (renamed.head, renamed.relation, renamed.tail) == ("train", "Causes", "win")
