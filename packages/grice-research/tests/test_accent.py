"""ACCENT's own configuration: generated tails, the largest cosine, the mean of all triples."""

from __future__ import annotations

import numpy as np
import pytest

from grice.knowledge.generative import Likelihood
from grice.metrics.commonsense.scorers import scorer_names
from grice.records import KnownTail, Triple, to_json
from grice_research.accent import accent_columns, accent_rows, system_rows, tail_cosines
from grice_research.replies import Column, Replies
from grice_research.triples import GENERATOR, SCORERS, knowledge_of, models_of

SYSTEMS = ("DiSCoL", "DialoGPT", "PLATO-2", "Human")
PRINTED = {
    "as generated": ("ACCENT whole", {"pearson": 0.30, "spearman": 0.30}),
    "likelihood": ("COMET (neural)", {"spearman": 0.16}),
}


class Letters:
    """Encodes a text as how often each letter stands in it."""

    identity = "letters"

    def __init__(self, scale=1.0):
        self.scale = scale

    def encode(self, texts):
        vectors = []
        for text in texts:
            vector = np.array([text.count(c) ** self.scale for c in "abcdefghij"], np.float32)
            vectors.append(vector / max(1e-9, float(np.linalg.norm(vector))))
        return vectors


class Generator:
    """Writes the tails it was made with, whatever the head."""

    identity = "generator"

    def __init__(self, *tails):
        self.given = tails
        self.asked = []

    def tails(self, heads, relations, k):
        self.asked += [(head, relation, k) for head, relation in zip(heads, relations, strict=True)]
        return [[KnownTail(head, tail, 1.0, 0.0, "made") for tail in self.given] for head in heads]

    def plausibility(self, triples):
        raise AssertionError("calibrated on labels: not the paper's test")

    def likelihoods(self, triples):
        return [Likelihood(-len(triple.tail) / 10, 0.0) for triple in triples]


class SmallContext:
    """Opens the generator and two embedders."""

    def __init__(self, generator):
        self.generator = generator
        self.opened = []

    def models(self):
        return self

    def open(self, reference):
        self.opened.append(reference)
        if reference == GENERATOR:
            return self.generator
        return Letters(2.0 if "words" in reference else 1.0)

    def fingerprint(self, reference):
        return f"{reference}@1"


def replies(triples):
    count = len(triples)
    human = tuple(float(i % 4) + i / 100 for i in range(count))
    systems = tuple(SYSTEMS[i % 4] for i in range(count))
    return Replies((None,) * count, human, systems, tuple(triples), "made@1")


def by_name(rows):
    return {(row.row, row.measure, row.on): row for row in rows}


def test_a_triple_has_the_largest_cosine_with_ten_generated_tails():
    generator = Generator("aa", "bc")
    triples = [Triple("x", "xWant", "ab"), Triple("y", "xNeed", "d")]
    cosines = tail_cosines(triples, generator, Letters())
    assert cosines == [pytest.approx(2**-0.5), 0.0]
    assert generator.asked == [("x", "xWant", 10), ("y", "xNeed", 10)]
    assert tail_cosines([], generator, Letters()) == []


def test_a_reply_has_the_mean_of_all_its_triples_and_one_half_without_any():
    same, other = Triple("x", "xWant", "a"), Triple("x", "xReact", "bbbb")
    made = replies([(same, other), (), (same,), (other,)] * 3)
    given = accent_columns(SmallContext(Generator("a")), made, made.triples, "paper")
    columns = {way.row: column for way, column in given}
    assert columns["paper"].values[:4] == [0.5, 0.5, 1.0, 0.0]
    likely = columns["paper, likelihood of the tail"].values
    assert likely[2] == pytest.approx(np.exp(-0.1))
    assert likely[0] == pytest.approx((np.exp(-0.1) + np.exp(-0.4)) / 2)
    assert len({column.signature for column in columns.values()}) == len(columns)


def test_each_row_stands_beside_the_printed_row_of_its_own_computation():
    triples = [(Triple("x", "xWant", "ab"[: 1 + i % 2] * (1 + i % 5)),) for i in range(24)]
    made = replies(triples)
    rows = by_name(
        accent_rows(SmallContext(Generator("aab")), made, triples, PRINTED, "gold tuples, ")
    )
    name = "gold tuples, ACCENT's configuration"
    assert rows[name, "spearman", ""].beside == "ACCENT whole"
    assert rows[f"{name}, likelihood of the tail", "spearman", ""].beside == "COMET (neural)"
    assert rows[f"{name}, likelihood of the tail", "pearson", ""].beside == ""
    assert rows[f"{name}, word vectors", "spearman", ""].published is None
    assert rows[f"{name}, tails worded alike", "spearman", ""].published is None


def test_systems_are_ranked_by_their_means_without_people():
    made = replies([()] * 24)
    turned = Column("turned", [-value for value in made.human])
    rows = by_name(system_rows(turned, made))
    whole = rows["turned", "pairs of systems ranked as by people", ""]
    assert (whole.estimate.value, whole.estimate.n) == (0.0, 3)
    assert to_json(whole.estimate), "plain numbers, which a record can hold"
    assert "people: DiSCoL 0.100 < DialoGPT 1.110 < PLATO-2 2.120" in whole.why
    assert {on for _, _, on in rows} == {"", "DiSCoL", "DialoGPT", "PLATO-2"}
    mean = rows["turned", "mean", "PLATO-2"].estimate
    assert mean.value == pytest.approx(-2.12)
    assert mean.low < mean.value < mean.high


def test_only_a_generator_is_asked_how_likely_a_tail_is():
    assert knowledge_of("likelihood") == GENERATOR
    models = {name: models_of(name) for name in scorer_names() if name in SCORERS}
    assert GENERATOR in models["likelihood"]
    assert all(GENERATOR not in used for name, used in models.items() if name != "likelihood")
