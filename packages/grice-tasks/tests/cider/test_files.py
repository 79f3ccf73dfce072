from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grice.errors import InputError, RecordError
from grice.records import Triple
from grice_tasks.cider.files import (
    Annotated,
    Dialogue,
    dump_dialogue,
    from_brat,
    overlap,
    read_dialogues,
    to_brat,
    write_dialogues,
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
    path = tmp_path / "again.jsonl.gz"
    write_dialogues(path, dialogues)
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


def test_spans_that_share_characters_are_kept_and_can_be_asked_for(file):
    inside = ["missed the bus", "HasSubevent", "the bus", [5, 19], [12, 19], 0]
    (triplet,) = read_dialogues(file(inside)).dialogues[0].triplets
    assert overlap(triplet)
    (other,) = read_dialogues(file(GOOD)).dialogues[0].triplets
    assert not overlap(other)


def test_a_file_that_is_none_is_an_error(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        read_dialogues(tmp_path / "nothing.jsonl")
    (tmp_path / "bad.jsonl").write_text("{}\n")
    with pytest.raises(RecordError, match="id"):
        read_dialogues(tmp_path / "bad.jsonl")


def test_brat_and_back(dialogues):
    for dialogue in dialogues[:120]:
        text, annotation = to_brat(dialogue)
        for line in annotation.splitlines():
            if line.startswith("T"):
                _, where, words = line.split("\t")
                start, end = map(int, where.split()[1:])
                assert text[start:end] == words
        restored, problems = from_brat(dialogue.id, text, annotation)
        assert not problems
        assert restored.text == dialogue.text
        wanted = [
            (
                t.head,
                t.relation,
                t.tail,
                t.head_at,
                t.tail_at,
                t.head_at is None or t.tail_at is None,
            )
            for t in dialogue.triplets
        ]
        assert [
            (t.head, t.relation, t.tail, t.head_at, t.tail_at, t.latent) for t in restored.triplets
        ] == wanted


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=9, max_size=40), st.data())
def test_any_spans_survive_brat(text, data):
    start = data.draw(st.integers(0, len(text) - 4))
    end = data.draw(st.integers(start + 1, len(text) - 2))
    head, tail = text[start:end], text[end:]
    if not head.strip() or not tail.strip():
        return
    triplet = Annotated(head, "Causes", tail, (start, end), (end, len(text)))
    dialogue = Dialogue("d", "", None, text, (triplet,))
    assert from_brat("d", *to_brat(dialogue))[0] == dialogue


def test_brat_names_what_is_wrong():
    with pytest.raises(RecordError, match="not a line of brat"):
        from_brat("d", TEXT, "T1\tSpan 5 9;12 19\tmissed")
    with pytest.raises(RecordError, match="there is no span T2"):
        from_brat("d", TEXT, "T1\tSpan 5 19\tmissed the bus\nR1\tCauses Arg1:T1 Arg2:T2")
    _, problems = from_brat(
        "d", TEXT, "T1\tSpan 5 19\tmissed the bus\nR1\tCauses Arg1:T1 Arg2:T2", invalid="skip"
    )
    assert "no span T2" in str(problems[0])


def test_raw_labels_have_their_names():
    from grice_tasks.cider.files import cider_schema

    renamed = cider_schema().renamed(Triple("win", "AchievedBy", "train"))
    assert (renamed.head, renamed.relation, renamed.tail) == ("train", "Causes", "win")
