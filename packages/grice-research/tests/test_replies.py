from __future__ import annotations

import gzip
import json
import random

import pytest

from grice.data import KnownTail, Triple
from grice.errors import InputError
from grice.evaluation.datasets import known_sets, load_rated
from grice.metrics.commonsense import cautious_score
from grice.models.loader import ModelLoader
from grice_research.benches import conture, cskb_population, deco
from grice_research.replies import (
    Column,
    Replies,
    correlations,
    differences,
    gold_column,
    printed,
    read_replies,
    systems,
    trivial_columns,
)
from grice_research.rows import find_task

SYSTEMS = ("Human", "PLATO-2", "DiSCoL")


def replies(count=60):
    draw = random.Random(1)
    human = [draw.random() for _ in range(count)]
    return Replies((None,) * count, tuple(human), tuple(SYSTEMS[i % 3] for i in range(count)),
                   ((),) * count, "made@1")  # fmt: skip


def noisy(made, row="ours", spread=0.2, counts=()):
    draw = random.Random(2)
    return Column(row, [h + spread * draw.random() for h in made.human], counts)


def by_name(rows):
    return {(row.row, row.measure): row for row in rows}


def test_machines_replies_and_the_number_of_triples_are_rows_of_their_own():
    made = replies()
    counts = [i % 5 for i in range(60)]
    rows = by_name(correlations(noisy(made, counts=counts), made, "ours", {"spearman": 0.3}, "X"))
    assert set(rows) == {
        ("ours", "pearson"), ("ours", "spearman"), ("ours, machine replies", "pearson"),
        ("ours, machine replies", "spearman"), ("ours, given the number of triples", "spearman"),
    }  # fmt: skip
    whole = rows["ours", "spearman"]
    assert (whole.published, whole.beside, whole.estimate.n) == (0.3, "X", 60)
    assert rows["ours", "pearson"].beside == ""
    assert rows["ours, machine replies", "spearman"].estimate.n == 40


def test_a_score_that_only_counts_is_nothing_given_the_count():
    made = replies()
    counts = [round(10 * value) for value in made.human]
    draw = random.Random(4)
    column = Column("counting", [n + 0.01 * draw.random() for n in counts], counts)
    rows = by_name(correlations(column, made, "ours"))
    assert rows["counting", "spearman"].estimate.value > 0.9
    assert abs(rows["counting, given the number of triples", "spearman"].estimate.value) < 0.3


def test_differences_are_the_first_less_the_others_on_the_same_draws():
    made = replies()
    good, bad = noisy(made, "good"), Column("bad", [i % 7 for i in range(60)])
    (row,) = differences(good, [bad], made)
    rows = [*correlations(good, made, "ours"), *correlations(bad, made, "ours")]
    values = {row.row: row.estimate.value for row in rows if row.measure == "spearman"}
    assert row.row == "good less bad"
    assert row.estimate.value == pytest.approx(values["good"] - values["bad"])
    assert row.estimate.low < row.estimate.value < row.estimate.high


def test_systems_are_ranked_by_their_means():
    made = replies()
    rows = by_name(systems(Column("ours", made.human), made))
    assert rows["ours", "system spearman"].estimate.value == pytest.approx(1.0)
    assert rows["ours", "system spearman"].why.count("<") == 2


def test_printed_figures_come_from_the_tables():
    rows = by_name(printed("table 1", "deco_test:events"))
    assert rows["ACCENT (table 1)", "spearman"].published == 0.30
    assert rows["FED-appropriate (table 1)", "pearson"].published == -0.16
    gold = by_name(printed("table 11", "deco_test, gold tuples:events"))
    assert gold["ACCENT scoring (table 11)", "spearman"].published == 0.42


def test_the_three_benches_are_found_by_name():
    for name, module in (
        ("deco", deco),
        ("conture", conture),
        ("cskb-population", cskb_population),
    ):
        task = find_task(name)
        assert (task.title, task.measure) == (module.TITLE, module.measure)


DRAWN = ["PersonX misses the bus", "xReact", "PersonX is late", "pair"]
LINES = [
    {"history": "</UTT></UTT>Hi!</UTT>Why are you late?</UTT>", "response": "I missed the bus.",
     "GUID": i, "system": SYSTEMS[i % 3], "event_cs_raw": [1 + i % 5, 2, 3],
     "general_cs_raw": [1, 2, 3],
     "tuples": {"xReact": [DRAWN] * (i % 2)}}
    for i in range(9)
]  # fmt: skip


class SmallContext:
    """Reads one made set and opens models that need no files."""

    def __init__(self, folder):
        self.folder = folder
        (folder / "accent_deco").mkdir()
        text = "\n".join(json.dumps(line) for line in LINES)
        (folder / "accent_deco/deco_test.jsonl").write_text(text)

    def rated(self, name):
        return load_rated(known_sets()[name], self.folder)

    def metric_values(self, metric, name):
        return [float(len(metric)) + i for i in range(9)]

    def grader(self, metric):
        return None, {metric: metric}

    def models(self):
        return Opened(mode="exact", workers=1, cache=None)


class Opened(ModelLoader):
    def load(self, reference, protocol=object):
        return Anything()

    def fingerprint(self, reference):
        return reference


class Anything:
    """Stands for the store, the networks and the judge of pairs."""

    identity = "anything"

    def best_known(self, triples, *, encoder, tails):
        return [KnownTail("a", "b", 0.5, 0.5, "made") for _ in triples]

    def encode(self, texts):
        return [None for _ in texts]

    def tails(self, heads, relations, k):
        return [[] for _ in heads]

    def plausibility(self, triples, known=None):
        return [0.75 for _ in triples]

    def classify(self, pairs):
        assert all(pair.left == ("Hi!", "Why are you late?") for pair in pairs)
        return [0.25 for _ in pairs]


def test_replies_come_with_ratings_writers_and_peoples_triples(tmp_path):
    read = read_replies(SmallContext(tmp_path), "deco_test")
    assert read.human[3] == 3.0
    assert read.machine == [False, True, True] * 3
    assert read.responses[0].text == "I missed the bus."
    assert [len(triples) for triples in read.triples] == [0, 1] * 4 + [0]
    assert read.triples[1][0] == Triple("PersonX misses the bus", "xReact", "PersonX is late")


def test_gold_tuples_are_judged_as_those_of_the_metric(tmp_path):
    context = SmallContext(tmp_path)
    column = gold_column(context, read_replies(context, "deco_test"))
    single, none = cautious_score([0.75]), cautious_score([])
    assert list(column.values) == [none, single] * 4 + [none]
    assert list(column.counts) == [0, 1] * 4 + [0]


def test_who_wrote_the_reply_is_a_trivial_baseline(tmp_path):
    context = SmallContext(tmp_path)
    columns_by_name = {
        c.row: c.values
        for c in trivial_columns(context, read_replies(context, "deco_test"), "deco_test")
    }
    assert columns_by_name["oracle: a person wrote it"] == [1.0, 0.0, 0.0] * 3
    assert set(columns_by_name) == {"log_length", "cosine_last_turn", "log_characters",
                          "oracle: a person wrote it"}  # fmt: skip


def test_population_gives_both_areas_of_each_scorer(tmp_path, monkeypatch):
    folder = tmp_path / "cskb_population"
    folder.mkdir()
    lines = [f"PersonX eats {i}\t{relation}\tPersonX rests\t{i % 2}\ttest_set"
             for i in range(40) for relation in ("xWant", "general Want")]  # fmt: skip
    text = "head\trelation\ttail\tlabel\tclass\n" + "\n".join(lines)
    (folder / "tst.tsv.gz").write_bytes(gzip.compress(text.encode()))

    def scores(rows, models, folder):
        return [float(plausible) for plausible in rows.plausible]

    scorers = dict.fromkeys(cskb_population.SCORERS, scores)
    monkeypatch.setattr(cskb_population, "SCORERS", scorers)
    context = SmallContext(tmp_path)
    by_row = by_name(cskb_population.measure(context))
    row = by_row["compatibility", "auc_weighted"]
    assert (row.estimate.value, row.estimate.n, row.kind) == (1.0, 80, "ours")
    assert by_row["compatibility, ACCENT's 12 relations", "auc_pooled"].estimate.n == 40
    assert by_row["compatibility", "auc_pooled"].published == pytest.approx(0.676)
    assert by_row["relation_rate", "auc_weighted"].kind == "baseline"
    assert by_row["KG-BERT (table 4)", "auc_pooled"].published == pytest.approx(0.623)


def test_a_reply_without_ratings_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setitem(LINES[0], "event_cs_raw", [])
    with pytest.raises(InputError):
        read_replies(SmallContext(tmp_path), "deco_test")
