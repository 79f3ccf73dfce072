import pytest

from fake_metrics import FakeContext, packed
from grice.data import Score
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


class Lengths:
    """The metric finds every original of four turns, a baseline the longer one."""

    def __init__(self, name):
        self.name = name

    def score(self, talks):
        for talk in talks:
            turns = float(len(talk.turns))
            value = -abs(turns - 4) if self.name == "coherence" else turns
            yield Score(talk.id, None, self.name, value, "ok", None, (), (), self.name)


@pytest.fixture
def rows(tmp_path):
    write(tmp_path)
    return list(damaged.measure(FakeContext(Lengths, tmp_path)))


def test_the_share_of_originals_that_score_higher(rows):
    by_row = {(row.row, row.on): row for row in rows}
    every = f"{damaged.SET}:every kind"
    assert by_row["coherence", every].value == 1.0
    assert by_row["coherence", every].trained == 0.25
    assert by_row["turn_count", every].value == 0.5
    assert by_row["turn_count", f"{damaged.SET}:cut"].value == 1.0
    assert by_row["turn_count", f"{damaged.SET}:repeated"].value == 0.0


def test_baselines_are_held_against_metrics_over_all_kinds_alone(rows):
    gaps = [row for row in rows if row.baseline]
    assert {row.on for row in gaps} == {f"{damaged.SET}:every kind"}
    assert {row.baseline for row in gaps} == set(BASELINES["dialogue"])
    assert {row.value for row in gaps} == {0.5}
