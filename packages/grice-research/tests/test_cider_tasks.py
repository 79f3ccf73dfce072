"""Questions and choices of CIDER's tasks."""

from __future__ import annotations

import pytest

from grice_research.triplets.cider import (
    Choice,
    distance_balanced,
    load_cider,
    nearest,
)


def test_questions_and_choices_are_the_released_ones(cider_folder):
    cider = load_cider(cider_folder)
    questions, choices = cider.questions(), cider.choices()
    assert len(questions) == 4247
    assert sum(filled.pasted for filled in questions) == 240
    for question in questions:
        text = cider.text(question.item.dialogue)
        assert text[question.start :].startswith(question.valid[0])
    assert len(choices) == 4230
    assert len({filled.id for filled in choices}) == 4230
    right = sum(nearest(filled) == filled.label for filled in choices)
    assert right / len(choices) == pytest.approx(0.398, abs=0.001)
    balanced = distance_balanced(choices)
    assert sum(nearest(filled) == filled.label for filled in balanced) * 4 == len(balanced)
    assert distance_balanced(choices) == balanced


def choice(i, options, label):
    return Choice(f"c{i}", "the cat sat on a mat near the old door", "cat", "AtLocation",
                  tuple(options), label)  # fmt: skip


def test_the_nearest_option_is_found_and_its_advantage_balanced_away():
    options = ["sat", "mat", "old", "door"]
    assert nearest(choice(0, options, 3)) == 0
    assert nearest(choice(0, ["nowhere", *options[2:], "mat"], 3)) == 3
    items = [choice(i, options, i % 4) for i in range(11)]
    kept = distance_balanced(items)
    assert sorted(filled.label for filled in kept) == [0, 0, 1, 1, 2, 2, 3, 3]
    assert sum(nearest(filled) == filled.label for filled in kept) == len(kept) / 4
