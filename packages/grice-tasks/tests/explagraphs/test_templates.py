from __future__ import annotations

import numpy as np

from grice_tasks.explagraphs.generator import (
    Candidate,
    Slot,
    Template,
    Templates,
    fill,
    origin,
    place_in,
)
from grice_tasks.explagraphs.wording import relation_names

BELIEF, ARGUMENT = "Zoos should be banned.", "Animals in zoos suffer."
N = len(relation_names())


def cases():
    template = Template(
        "support", (Slot("belief", 0, 0.5), Slot("outside", 0, 0, "harm")), ((0, 3, 1),)
    )
    other = Template("counter", (Slot("belief", 0, 1), Slot("argument", 0, 1)), ((1, 2, 0),))
    texts = np.array([[[1, 0], [0, 1]], [[0, 1], [1, 0]]], np.float32)
    concepts = np.array([[1, 0], [0, 1], [0, 1], [1, 0], [-1, 0], [0, -1]], np.float32)
    return Templates([template, other, template], np.concatenate([texts, -texts[:1]]), concepts)


def test_the_nearest_cases_are_of_the_stance_and_survive_saving(tmp_path):
    made = cases()
    made.save(tmp_path)
    read = Templates.load(tmp_path / "cases.json", tmp_path / "cases.npz")
    for templates in (made, read):
        nearest = templates.nearest(np.array([1, 0]), np.array([0, 1]), "support", 5)
        assert [template.stance for template, _ in nearest] == ["support", "support"]
        assert nearest[0][1].tolist() == [[1, 0], [0, 1]]
        assert len(templates.nearest(np.array([1, 0]), np.array([0, 1]), "support", 1)) == 1


CANDIDATES = [
    Candidate("zoos", "belief", 0.0, 0.2, 0.0),
    Candidate("banned", "belief", 0.7, 1.0, 0.0),
    Candidate("suffer", "argument", 0.7, 1.0, 0.0),
    Candidate("in zoos", "argument", 0.3, 0.6, 5.0),
]
PATTERN = Template("support", (Slot("belief", 0, 0.2), Slot("argument", 0.7, 1)), ((0, 1, 1),))


def test_places_decide_and_no_concept_lies_in_another():
    none = np.zeros((4, 4, N), np.float32)
    vectors, concepts = np.zeros((4, 2), np.float32), np.zeros((2, 2), np.float32)
    free = [candidate._replace(weight=0.0) for candidate in CANDIDATES]
    assert fill(PATTERN, concepts, free, vectors, none).facts == ((0, 1, 2),)
    # "in zoos" looks best, but "zoos" lies in it: then the other of the belief.
    filled = fill(PATTERN, concepts, CANDIDATES, vectors, none)
    assert filled.facts == ((1, 1, 3),)


def test_likely_facts_and_like_concepts_win():
    scores = np.full((4, 4, N), -9, np.float32)
    scores[1, 2, 1] = 0
    zeros = np.zeros((4, 2), np.float32)
    assert fill(PATTERN, np.zeros((2, 2)), CANDIDATES, zeros, scores).facts == ((1, 1, 2),)
    near = np.array([[0, 0], [1, 0], [0, 1], [0, 0]], np.float32) * 5
    even = np.zeros((4, 4, N), np.float32)
    assert fill(PATTERN, np.eye(2), CANDIDATES, near, even).facts == ((1, 1, 2),)


def test_a_slot_that_nothing_suits_leaves_the_pattern_empty():
    needs = Template("support", (Slot("belief", 0, 1), Slot("outside", 0, 0, "harm")), ((0, 1, 1),))
    none = np.zeros((4, 4, N), np.float32)
    zeros = np.zeros((4, 2), np.float32)
    assert fill(needs, np.zeros((2, 2)), CANDIDATES, zeros, none) is None


def test_origin_and_place():
    texts = (BELIEF.lower(), ARGUMENT.lower())
    assert [origin(concept, *texts) for concept in ("zoos", "banned", "suffer", "harm")] == [
        "both", "belief", "argument", "outside",
    ]  # fmt: skip
    assert place_in("zoos", "zoos!") == (0, 0.8)
    assert place_in("x", "") == (0, 0)
