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
    lemma = {one.head.strip(): one.head_lemma for one in items}
    lemma |= {one.tail.strip(): one.tail_lemma for one in items}
    by_dialogue = defaultdict(list)
    for one in items:
        by_dialogue[one.dialogue].append(Triple(one.head, one.relation, one.tail))
    frozen = defaultdict(list)
    for one in cider.negatives:
        frozen[one.dialogue].append(one)
    assert sum(map(len, frozen.values())) == 35088
    small = sorted(by_dialogue, key=lambda name: len(by_dialogue[name]))
    for name in small[100:300:4]:
        made = make_negatives(name, by_dialogue[name], lemma=lemma.__getitem__)
        assert [
            (one.number, one.strategy, one.triple.head, one.triple.relation, one.triple.tail,
             one.train)
            for one in made
        ] == [
            (one.number, one.strategy, one.head, one.relation, one.tail, one.train)
            for one in frozen[name]
        ]  # fmt: skip


def test_a_negative_is_never_annotated_in_any_case_or_direction():
    annotated = [
        Triple("Hot", "Antonym", "cold"), Triple("rain", "Causes", "wet"),
        Triple("wet", "Implies", "rain"), Triple("cold", "Causes", "hot"),
    ]  # fmt: skip
    known = {(t.head.lower(), t.relation, t.tail.lower()) for t in annotated}
    known.add(("cold", "Antonym", "hot"))
    made = make_negatives("d", annotated)
    assert made
    said = [(m.triple.head.lower(), m.triple.relation, m.triple.tail.lower()) for m in made]
    assert known.isdisjoint(said)
    assert len({m.triple for m in made}) == len(made)
    assert all(head != tail for head, _, tail in said)
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
    assert sum(one.pasted for one in questions) == 240
    for one in questions:
        text = cider.text(one.item.dialogue)
        assert text[one.start :].startswith(one.valid[0])
    assert len(choices) == 4230
    assert len({one.id for one in choices}) == 4230
    right = sum(nearest(one) == one.label for one in choices)
    assert right / len(choices) == pytest.approx(0.398, abs=0.001)
    balanced = distance_balanced(choices)
    assert sum(nearest(one) == one.label for one in balanced) * 4 == len(balanced)
    assert distance_balanced(choices) == balanced


class _Longest:
    """Learns nothing; takes long options for right ones."""

    def fit(self, choices):
        self.seen = len(choices)

    def scores(self, choices):
        return [[float(len(option)) for option in one.options] for one in choices]


def test_filtering_replaces_what_is_easily_told():
    made = [
        Choice(str(i), "x", "h", "Causes", ("right answer", "a", "b", "c"), 0) for i in range(30)
    ]
    pools = [["a long wrong one", "another wrong one", "a"] for _ in made]
    found = filter_options(made, pools, _Longest(), rounds=12, seed=0)
    assert found.curve[0].accuracy == 1
    assert found.curve[-1].accuracy < 0.2
    assert all(one.options[one.label] == "right answer" for one in found.choices)
    assert all(len(set(one.options)) == 4 for one in found.choices)
    assert filter_options(made, pools, _Longest(), rounds=12, seed=0) == found
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
    assert sorted(one.label for one in kept) == [0, 0, 1, 1, 2, 2, 3, 3]
    assert sum(nearest(one) == one.label for one in kept) == len(kept) / 4
