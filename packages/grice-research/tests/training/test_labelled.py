import json

import pytest

from grice.errors import InputError, RecordError
from grice.readers import read
from grice_research.training.labelled import labelled_replies, true_and_false_replies


def table(tmp_path, rows, header="id,history,reply,label"):
    path = tmp_path / "mine.csv"
    path.write_text("\n".join([header, *rows]) + "\n", "utf-8")
    return read(str(path))


def good(n=40):
    return [f"r{i},How was day {i}?,It was day {i}.,{i % 2}" for i in range(n)]


def test_a_table_of_labels_or_of_ratings_on_a_scale(tmp_path):
    labelled = labelled_replies(table(tmp_path, [*good(), "x,Really?,Yes.,"]))
    assert len(labelled.pairs) == 40  # all that have a label
    assert labelled.pairs[3].left == ("How was day 3?",)
    assert (labelled.labels[:2], len(set(labelled.groups))) == ([0, 1], 40)
    assert labelled.says == ()
    rows = [f"r{i},Well {i}?,Yes {i}.,{1 + i % 5}" for i in range(40)]
    labelled = labelled_replies(table(tmp_path, rows), scale=(1, 5))
    assert labelled.labels[:5] == [0, 0.25, 0.5, 0.75, 1]


@pytest.mark.parametrize(
    ("row", "says"),
    [("x,Hi,There.,2", r"x: label: 2 is not on the scale from 0 to 1; .*--scale"),
     ("x,Hi,There.,nan", "x: label: nan is not on the scale"),
     ("x,Hi,There.,inf", "x: label: inf is not on the scale"),
     ("x,Hi,There.,fine", "x: label: a number is needed, found 'fine'"),
     ("x,,There.,1", "no turn before it; give its history"),
     ("x,Hi,...,1", "the labelled reply contains no word"), ("x,Hi,There.", "found 3 cells")],
)  # fmt: skip
def test_bad_labels_are_refused_with_their_place(tmp_path, row, says):
    with pytest.raises((InputError, RecordError), match=says):
        labelled_replies(table(tmp_path, [*good(), row]))


def test_labels_of_one_kind_too_few_or_none(tmp_path):
    same = [row[:-1] + "1" for row in good()]
    renamed = {"header": "id,history,reply,labels"}
    for rows, more, scale, problem in (
        (same, {}, {}, "every label is 1: there is nothing to tell apart"),
        (good(6), {}, {}, "6 labelled replies; at least 20"),
        (good(), renamed, {}, "no reply carries a field 'label'; did you mean 'labels'"),
        (good(), {}, {"scale": (1, 1)}, "lower one first"),
    ):
        with pytest.raises(InputError, match=problem):
            labelled_replies(table(tmp_path, rows, **more), **scale)


def talks(tmp_path, n=12, **meta):
    rows = [
        {"id": f"t{i}", **{name: value(i) for name, value in meta.items()},
         "turns": [{"speaker": "AB"[j % 2], "text": f"word{i} and {j}"} for j in range(4)]}
        for i in range(n)
    ]  # fmt: skip
    path = tmp_path / "talks.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return read(str(path))


def test_the_label_of_a_conversation_goes_to_its_replies(tmp_path):
    labelled = labelled_replies(talks(tmp_path, label=lambda i: i % 2))
    assert (len(labelled.pairs), labelled.labels[:6]) == (12 * 3, [0, 0, 0, 1, 1, 1])
    assert labelled.says == ("36 labels are those of whole conversations, copied to each reply",)


def test_without_labels_each_reply_meets_one_of_another_conversation(tmp_path):
    labelled = true_and_false_replies(talks(tmp_path))
    assert (len(labelled.pairs), sum(labelled.labels)) == (2 * 36, 36)
    for pair, label in zip(labelled.pairs, labelled.labels, strict=True):
        same = pair.left[-1].split()[0] == pair.right.split()[0]
        assert same == (label == 1)
    with pytest.raises(InputError, match="9 replies with a history in 3 conversations"):
        true_and_false_replies(talks(tmp_path, n=3))
