from __future__ import annotations

import math

import numpy as np
import pytest

from grice.errors import InputError
from grice.knowledge.generative import Likelihood
from grice.knowledge.plausibility import Bilinear, TripleHead, TripleSettings
from grice.metrics.commonsense import (
    Sources,
    cautious_score,
    find_scorer,
    mean_score,
    nearest_known,
)
from grice.models.bundle import open_bundle
from grice.models.loader import read_settings
from grice.records import KnownTail, Triple

SETTINGS = {
    "schema": "atomic2020",
    "relations": ["xWant", "xReact"],
    "known_weight": 2.0,
    "known_centre": 0.5,
}
SCORERS = ("calibrated", "cosine", "likelihood")
TIRED = Triple("PersonX is tired", "xWant", "PersonX wants to sleep")
PROUD = Triple("PersonX wins", "xReact", "PersonX feels proud")


class Tails:
    """A knowledge base that gives the tails it was made with."""

    identity = "tails"

    def __init__(self, *tails):
        self.given = tails
        self.asked = []

    def tails(self, heads, relations, k):
        self.asked += zip(heads, relations, strict=True)
        known = [KnownTail("a head", tail, 0.5, 0.0, "made") for tail in self.given[:k]]
        return [known for _ in heads]

    def plausibility(self, triples):
        return [0.125 for _ in triples]

    def likelihoods(self, triples):
        return [Likelihood(math.log(0.125), -1.0) if triple.tail else None for triple in triples]


def write(folder, encoder):
    draw = np.random.default_rng(3)
    size = encoder.dimensions

    def matrix(*shape):
        return draw.normal(size=shape).astype(np.float16).astype(np.float32)

    folder.mkdir()
    Bilinear(
        matrix(size, 7), matrix(size, 7), cosine=matrix(2), scale=matrix(2), bias=matrix(2),
        shared=3,
    ).save(folder / "plausibility.npz")  # fmt: skip


def head_of(bundle, encoder):
    return TripleHead(bundle, read_settings(bundle, TripleSettings), encoder)


@pytest.fixture
def sources(tmp_path, encoder, write_card):
    def made(*tails, **more):
        folder = tmp_path / f"tiny{len(list(tmp_path.iterdir()))}"
        write(folder, encoder)
        head = head_of(open_bundle(write_card(folder, "triple-head", SETTINGS)), encoder)
        return Sources(head, Tails(*tails), encoder, **more)

    return made


def test_every_scorer_gives_a_number_from_0_to_1_for_each_triple(sources):
    for name in SCORERS:
        scores = find_scorer(name)([TIRED, PROUD], sources("to sleep", "proud"))
        assert len(scores) == 2
        assert all(0 <= value <= 1 for value in scores)
        assert find_scorer(name)([], sources("to sleep")) == []


def test_a_score_depends_on_its_own_triple_alone(sources):
    asked = sources("to sleep", "proud")
    for name in SCORERS:
        together = find_scorer(name)([TIRED, PROUD], asked)
        assert together == [find_scorer(name)([triple], asked)[0] for triple in (TIRED, PROUD)]


def test_a_tail_that_is_known_has_the_largest_cosine(sources):
    same, other = find_scorer("cosine")([TIRED, PROUD], sources("to sleep", "to eat"))
    assert same == pytest.approx(1.0, abs=1e-3)
    assert other < 0.9


def test_as_many_tails_are_compared_as_asked_for(sources):
    few = find_scorer("cosine")([TIRED], sources("to eat", "to sleep", tails=1))
    many = find_scorer("cosine")([TIRED], sources("to eat", "to sleep", tails=2))
    assert few < many


def test_nothing_known_is_zero(sources):
    assert find_scorer("cosine")([TIRED], sources()) == [0.0]


def test_the_likelihood_is_the_probability_that_a_generator_gives_the_tail(sources):
    assert find_scorer("likelihood")([TIRED], sources()) == [pytest.approx(0.125)]


def test_stored_triples_have_no_likelihood(sources):
    class Stored:
        identity = "stored"

        def tails(self, heads, relations, k):
            return [[] for _ in heads]

        def plausibility(self, triples):
            return [0.5 for _ in triples]

    with pytest.raises(InputError, match="bundle:comet, or take the scorer cosine"):
        find_scorer("likelihood")([TIRED], sources()._replace(knowledge=Stored()))


def test_the_calibrated_score_uses_the_tails_that_were_looked_up(sources):
    near = KnownTail("a", "b", 0.5, 0.9, "made")
    (without,) = find_scorer("calibrated")([TIRED], sources())
    (looked_up,) = find_scorer("calibrated")([TIRED], sources(nearest=[near]))
    assert looked_up > without


@pytest.mark.parametrize(
    ("triple", "part"),
    [(Triple(" ", "xWant", "to sleep"), "head"), (Triple("PersonX is tired", "xWant", ""), "tail")],
)
def test_an_empty_event_is_refused(sources, triple, part):
    for name in SCORERS:
        with pytest.raises(InputError, match=f"its {part} is empty"):
            find_scorer(name)([triple], sources())


def test_an_unknown_relation_is_refused_with_the_nearest_name(sources):
    wrong = Triple("PersonX is tired", "xwant", "to sleep")
    for name in ("calibrated", "cosine"):
        with pytest.raises(InputError, match="did you mean 'xWant'"):
            find_scorer(name)([wrong], sources("to sleep"))


def test_an_unknown_scorer_is_refused_with_the_nearest_name():
    with pytest.raises(InputError, match="did you mean 'cosine'"):
        find_scorer("cosin")


def test_the_nearest_of_the_given_tails_is_the_evidence(encoder):
    (near,) = nearest_known([TIRED], Tails("to eat", "to sleep"), encoder)
    assert near.tail == "to sleep"
    assert near.tail_similarity == pytest.approx(1.0, abs=1e-3)
    assert nearest_known([TIRED], Tails(), encoder) == [None]
    assert nearest_known([], Tails("to eat"), encoder) == []


# Worked examples of the paper: table 12, and that of section 3 (three of its generated tails).


@pytest.mark.parametrize(
    ("scores", "printed"),
    [
        ([0.33, 0.12, 0.18], 0.21),
        ([0.63, 0.68, 0.66], 0.66),
        ([0.06, 0.53, 0.95, 1.63], 0.79),
        ([0.59, 0.39, 0.55, 0.69], 0.56),
    ],
)
def test_a_reply_has_the_mean_of_its_triples_as_in_table_12(scores, printed):
    assert mean_score(scores) == pytest.approx(printed, abs=0.0051)


def test_a_reply_without_triples_has_one_half():
    assert mean_score([]) == 0.5


def test_one_senseless_triple_weighs_more_than_a_sensible_one():
    assert mean_score([0.5, 0.5]) == mean_score([0.9, 0.1])
    assert cautious_score([0.5, 0.5]) > cautious_score([0.9, 0.1])


def test_a_senseless_triple_taken_away_lifts_the_reply():
    assert cautious_score([0.9, 0.8]) > cautious_score([0.9, 0.8, 0.7])
    assert cautious_score([0.7]) == pytest.approx(0.7)
    assert cautious_score([]) == 0.5
    assert 0 < cautious_score([0.0, 0.0]) < 0.05
