import gzip

import numpy as np
import pytest

from fake_metrics import FakeContext, by_measure, packed
from grice.data import KnownTail
from grice.knowledge.generative import Likelihood
from grice_research.benches import atomic2020


def query(head, relation, tails, greedy, beam):
    return {"head": head, "relation": relation, "tails": tails, "comet_bart_greedy": greedy,
            "comet_bart_beam": beam}  # fmt: skip


QUERIES = [
    query("PersonX runs", "xReact", ["tired", "none", "very tired"], "none",
          ["none", "Tired.", "happy"]),
    query("PersonX runs", "xWant", ["to drink water"], "to rest", ["to rest", "to drink water"]),
    query("chain", "ObjectUse", ["lock the bike"], "lock the door", ["lock the door"]),
    query("PersonX sits", "oReact", ["none"], "happy", ["happy"]),
]  # fmt: skip
SAMPLE = """head\trelation\ttail\tsource\tsplit
PersonX eats\txReact\thappy\tF\ttrain
PersonX sleeps\txReact\thappy\tF\ttrain
PersonX sings\txReact\ttired\tF\ttrain
PersonX sings\txReact\tnone\tF\ttrain
PersonX sings\txWant\tto rest\tF\tdev
"""


class Knowing:
    identity = "knowing"

    def tails(self, heads, relations, k):
        known = {"xReact": ["very tired", "tired"], "xWant": ["to drink water"]}
        return [
            [KnownTail(head, tail, 1.0, 0.0, "-") for tail in known.get(relation, [])[:k]]
            for head, relation in zip(heads, relations, strict=True)
        ]

    def likelihoods(self, triples):
        return [Likelihood(-1.0, -2.0) for _ in triples]


class SmallContext(FakeContext):
    def load(self, reference):
        return Knowing()

    def fingerprint(self, reference):
        return f"{reference}@0"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    packed(folder / atomic2020.QUERIES, QUERIES)
    (folder / atomic2020.TRAINING).write_bytes(gzip.compress(SAMPLE.encode()))
    return folder


@pytest.fixture(scope="module")
def rows(folder):
    return by_measure(atomic2020.measure(SmallContext(None, folder)))


def value(rows, row, measure):
    return rows[row, measure].value


def test_none_is_no_reference_and_no_answer(folder):
    asked = atomic2020.read_queries(folder)
    assert len(asked) == 3
    assert asked[0].references == ("tired", "very tired")
    assert asked[0].greedy == ("Tired.", "happy")


def test_a_tail_is_right_whatever_its_letters_and_marks_and_none_has_no_likeness(rows):
    assert value(rows, "COMET-BART, greedy", "exact_match") == pytest.approx(1 / 3)
    assert value(rows, "COMET-BART, beam", "match_in_9") == pytest.approx(2 / 3)
    assert value(rows, "generated", "exact_match") == pytest.approx(2 / 3)
    assert value(rows, "most frequent tail", "exact_match") == 0
    assert value(rows, "most frequent tail", "match_in_9") == pytest.approx(1 / 3)
    assert value(rows, "generated", "rouge_l") == pytest.approx(2 / 3)


def test_every_row_says_what_it_is_and_perplexity_is_of_what_people_wrote(rows):
    kinds = {row: row_of_system.kind for (row, _), row_of_system in rows.items()}
    assert kinds["COMET-BART, beam"] == "printed"
    assert kinds["most frequent tail"] == kinds["generated, head hidden"] == "baseline"
    assert all(row.n in (2, 3, 4) for row in rows.values())
    assert "builtin:comet@0" in rows["generated", "bleu2"].signature
    row = rows["generated", "perplexity"]
    assert (row.lower, row.n) == (True, 4)
    assert row.value == pytest.approx(np.e)
    assert value(rows, "generated, head hidden", "perplexity") == pytest.approx(np.e**2)


def test_bleu_2_is_the_mean_of_two_orders_with_a_penalty_for_short_texts():
    # one text of 2 words, both right, the pair wrong half of the time; reference of 4 words
    sums = np.array([[4.0, 2, 0, 0, 3, 1, 0, 0, 4, 8], [4, 2, 0, 0, 0, 0, 0, 0, 4, 8]])
    first, second = atomic2020.bleu_2(sums)
    assert (first, second) == (pytest.approx(np.exp(1 - 8 / 4) * np.sqrt(3 / 4 * 1 / 2)), 0)
