"""Negatives, hypotheses and choices of CIDER's tasks."""

from __future__ import annotations

from collections import Counter, defaultdict

import pytest

from grice.errors import InputError
from grice.records import Triple
from grice_research.triplets.choices import (
    Choice,
    candidates,
    distance_balanced,
    filter_options,
    nearest,
)
from grice_research.triplets.cider import load_cider
from grice_research.triplets.hypotheses import hypothesis, lemmatised
from grice_research.triplets.negatives import make_negatives


def test_the_frozen_negatives_are_made_again(items, cider_folder):
    cider = load_cider(cider_folder)
    lemma = {filled.head.strip(): filled.head_lemma for filled in items}
    lemma |= {filled.tail.strip(): filled.tail_lemma for filled in items}
    by_dialogue = defaultdict(list)
    for item in items:
        by_dialogue[item.dialogue].append(Triple(item.head, item.relation, item.tail))
    frozen = defaultdict(list)
    for item in cider.negatives:
        frozen[item.dialogue].append(item)
    assert sum(map(len, frozen.values())) == 35088
    small = sorted(by_dialogue, key=lambda name: len(by_dialogue[name]))
    for name in small[100:300:4]:
        made = make_negatives(name, by_dialogue[name], lemma=lemma.__getitem__)
        assert [
            (
                negative.number,
                negative.strategy,
                negative.triple.head,
                negative.triple.relation,
                negative.triple.tail,
                negative.train,
            )
            for negative in made
        ] == [
            (
                negative.number,
                negative.strategy,
                negative.head,
                negative.relation,
                negative.tail,
                negative.train,
            )
            for negative in frozen[name]
        ]


def test_a_negative_is_never_annotated_in_any_case_or_direction():
    annotated = [
        Triple("Hot", "Antonym", "cold"), Triple("rain", "Causes", "wet"),
        Triple("wet", "Implies", "rain"), Triple("cold", "Causes", "hot"),
    ]  # fmt: skip
    known = {(t.head.lower(), t.relation, t.tail.lower()) for t in annotated}
    known.add(("cold", "Antonym", "hot"))
    made = make_negatives("d", annotated)
    assert made
    lowered = [(m.triple.head.lower(), m.triple.relation, m.triple.tail.lower()) for m in made]
    assert known.isdisjoint(lowered)
    assert len({m.triple for m in made}) == len(made)
    assert all(head != tail for head, _, tail in lowered)
    assert Counter(m.number for m in made).most_common(1)[0][1] <= 8
    assert all(sum(m.train for m in made if m.number == i) == 2 for i in range(4))
    assert not any(m.strategy == "reverse" for m in made if m.number == 0)


def test_hypotheses_keep_negation():
    assert hypothesis("won't keep you", "NotCauses", "not free", wording="raw") == (
        "won't keep you discourages not free"
    )
    assert lemmatised("I don't know") == "i do not know"
    assert lemmatised("cannot come") == "can not come"
    with pytest.raises(InputError, match="did you mean 'Causes'"):
        hypothesis("a", "Cause", "b")


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


class _Longest:
    """Learns nothing; takes long options for right ones."""

    def fit(self, choices):
        self.seen = len(choices)

    def scores(self, choices):
        return [[float(len(option)) for option in filled.options] for filled in choices]


def test_filtering_replaces_what_is_easily_told():
    made = [
        Choice(str(i), "x", "h", "Causes", ("right answer", "a", "b", "c"), 0) for i in range(30)
    ]
    pools = [["a long wrong one", "another wrong one", "a"] for _ in made]
    filtered = filter_options(made, pools, _Longest(), rounds=12, seed=0)
    assert filtered.curve[0].accuracy == 1
    assert filtered.curve[-1].accuracy < 0.2
    assert all(filled.options[filled.label] == "right answer" for filled in filtered.choices)
    assert all(len(set(filled.options)) == 4 for filled in filtered.choices)
    assert filter_options(made, pools, _Longest(), rounds=12, seed=0) == filtered
    with pytest.raises(InputError, match="one each"):
        filter_options(made, pools[:2], _Longest())


def test_candidates_are_no_valid_tails():
    spans = ["the bus", "late", "Late ", "over 1 hour late", "wallet", "missed it"]
    assert candidates(spans, "missed it", ["late"]) == ["the bus", "wallet"]
    assert candidates(spans, "missed it", ["late"], overlap=True) == [
        "the bus", "over 1 hour late", "wallet"
    ]  # fmt: skip


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
