from fake_metrics import FakeContext, ValueMetric, packed
from grice_research.benches import damaged
from grice_research.benches.trivial_baselines import BASELINES


def write(folder, talks=12):
    """Write originals, each with a version that is shorter and one that is longer."""
    lines = []
    for i in range(talks):
        turns = [{"speaker": "AB"[k % 2], "text": f"turn {k} of {i}"} for k in range(4)]
        lines += [
            {"id": f"o{i}", "kind": "original", "origin": i, "turns": turns},
            {"id": f"c{i}", "kind": "cut", "origin": i, "turns": turns[:3]},
            {"id": f"r{i}", "kind": "repeated", "origin": i, "turns": [*turns, *turns[:1]]},
        ]
    packed(folder / f"rated/{damaged.SET}.jsonl.gz", lines)


def value(name, talk):
    """Return a value by which the metric finds originals of four turns, a baseline longer ones."""
    return -abs(len(talk.turns) - 4) if name == "coherence" else len(talk.turns)


def test_the_share_of_originals_that_score_higher(tmp_path):
    write(tmp_path)
    whole = ("coherence", *BASELINES["dialogue"])
    context = FakeContext(lambda name: ValueMetric(name, value, whole), tmp_path)
    rows = list(damaged.measure(context))
    by_row = {(row.row, row.on): row for row in rows}
    every = f"{damaged.SET}:every kind"
    assert by_row["coherence", every].value == 1.0
    assert by_row["coherence", every].trained == 0.25
    assert by_row["turn_count", every].value == 0.5
    assert by_row["turn_count", f"{damaged.SET}:cut"].value == 1.0
    assert by_row["turn_count", f"{damaged.SET}:repeated"].value == 0.0
    gaps = [row for row in rows if row.baseline]
    assert {row.on for row in gaps} == {f"{damaged.SET}:every kind"}
    assert {row.baseline for row in gaps} == set(BASELINES["dialogue"])
    assert {row.value for row in gaps} == {0.5}
