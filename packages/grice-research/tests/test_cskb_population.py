import gzip
from types import SimpleNamespace

import pytest

from fake_metrics import by_measure
from grice.data import Triple
from grice_research.benches import cskb_population
from grice_research.benches.cskb_population import SCORERS, TEST, TripleRows, area, read_triples


def rows(labels, relations):
    triples = tuple(Triple(f"PersonX works {i}", relation, "PersonX rests")
                    for i, relation in enumerate(relations))  # fmt: skip
    return TripleRows(triples, tuple(map(bool, labels)))


def write(folder, split, lines):
    path = folder / split
    path.parent.mkdir(exist_ok=True)
    text = "head\trelation\ttail\tlabel\tclass\n" + "".join(f"{line}\ttest_set\n" for line in lines)
    path.write_bytes(gzip.compress(text.encode()))


def test_relations_weigh_by_their_size_and_those_of_one_label_do_not_count():
    relations, labels = ["xWant"] * 4 + ["xNeed"] * 2 + ["xAttr"] * 3, [0, 0, 1, 1, 1, 0, 1, 1, 1]
    scores = [0.1, 0.2, 0.3, 0.4, 0.1, 0.2, 0.9, 0.9, 0.9]
    area_of_rows = area("AUC, mean over relations", scores, rows(labels, relations))
    assert area_of_rows.value == pytest.approx((4 * 1 + 2 * 0) / 6)


def test_long_triples_and_other_relations_are_dropped(tmp_path):
    long = "PersonX " + "very " * 10 + "slowly walks"
    lines = ["PersonX eats\txWant\tto rest\t1", f"{long}\txWant\tto rest\t0"]
    lines += ["it rains\tgeneral Effect\tit is wet\t1", 'a "b\txNeed\tc\t0']
    write(tmp_path, TEST, lines)
    assert len(read_triples(tmp_path, "18 relations").triples) == 3
    triples = read_triples(tmp_path, "12 relations")
    assert [triple.head for triple in triples.triples] == ["PersonX eats", 'a "b']
    assert triples.plausible == (True, False)


def test_population_gives_both_areas_of_each_scorer(tmp_path, monkeypatch):
    lines = [f"PersonX eats {i}\t{relation}\tPersonX rests\t{i % 2}"
             for i in range(40) for relation in ("xWant", "general Want")]  # fmt: skip
    write(tmp_path, TEST, lines)

    def scores(rows, context):
        return [float(plausible) for plausible in rows.plausible]

    scorers = dict.fromkeys(SCORERS, cskb_population.Scorer(scores, ()))
    monkeypatch.setattr(cskb_population, "SCORERS", scorers)
    models = SimpleNamespace(fingerprint=lambda reference: reference)
    context = SimpleNamespace(folder=tmp_path, models=lambda: models)
    by_row = by_measure(cskb_population.measure(context))
    row = by_row["compatibility", "auc_weighted"]
    assert (row.value, row.n, row.kind) == (1.0, 80, "ours")
    assert by_row["compatibility, ACCENT's 12 relations", "auc_pooled"].n == 40
    assert by_row["compatibility", "auc_pooled"].published == pytest.approx(0.676)
    assert by_row["relation_rate", "auc_weighted"].kind == "baseline"


@pytest.mark.data
def test_the_relation_alone_gives_the_known_areas(data_folder):
    # Golden: 0.8430 pooled over the 12 relations, without the long triples being dropped.
    table = read_triples(data_folder, "12 relations")
    scores = SCORERS["relation_rate"].score(table, SimpleNamespace(folder=data_folder))
    assert area("AUC", scores, table).value == pytest.approx(0.8430, abs=5e-4)
    assert area("AUC, mean over relations", scores, table).value == pytest.approx(0.5)
