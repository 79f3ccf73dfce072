from collections import Counter

import pytest
from msgspec.structs import replace

from fake_metrics import FakeContext, TurnMetric, ValueMetric, by_measure, figure_of, gap_of, packed
from grice.errors import InputError
from grice_research.benches import commonsense_pairs, damaged, minimal_pairs, planted_flaws
from grice_research.benches._turns import FETCHED, shipped_metrics
from grice_research.benches.minimal_pairs import ALL, MinimalPair
from grice_research.benches.trivial_baselines import BASELINES
from grice_research.published import find_task
from grice_research.recipes.overall.data import DEVELOPMENT


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
    assert (by_row["coherence", every].value, by_row["coherence", every].trained) == (1.0, 0.25)
    assert by_row["turn_count", every].value == 0.5
    assert by_row["turn_count", f"{damaged.SET}:cut"].value == 1.0
    assert by_row["turn_count", f"{damaged.SET}:repeated"].value == 0.0
    assert {row.on for row in rows if row.gaps} == {every}
    gaps = {gap.baseline: gap.value for gap in by_row["coherence", every].gaps}
    assert gaps == dict.fromkeys(BASELINES["dialogue"], 0.5)


def test_a_perfect_order_reads_flawed_replies_alone():
    keyed = planted_flaws.read_logs()
    places = ((talk.id, turn) for talk in keyed.talks for turn in talk.targets)
    flawed = {place for place, flaw in zip(places, keyed.flaws, strict=True) if flaw}

    def metric(name):
        return TurnMetric(name, lambda talk, turn: (talk.id, turn) in flawed)

    rows = by_measure(planted_flaws.measure(FakeContext(metric)))
    for quality in ("quality", "quality (medium)", "quality (large)"):
        assert rows[quality, "AUC"].value == 1.0
        assert rows[quality, "lift of the first 10 %"].why == "precision 1.000"
    for name in ("cosine_own_turns", "position"):
        assert rows[name, "AUC"].kind == "baseline"
        assert rows[name, "AUC"].value < 0.9
    assert gap_of(rows["quality", "AUC"], "position") > 0.1
    assert rows["random order", "lift of the first 20 %"].value == 1.0


def test_logs_are_keyed_and_those_for_development_are_others():
    keyed, development = planted_flaws.read_logs(), planted_flaws.read_logs(DEVELOPMENT)
    assert (len(keyed.talks), len(keyed.flaws)) == (46, 238)
    assert Counter(map(bool, keyed.flaws))[True] == 39
    assert (len(development.talks), len(development.flaws)) == (60, 310)
    said = [{turn.text for talk in each.talks for turn in talk.turns if len(turn.text) > 12}
            for each in (keyed, development)]  # fmt: skip
    assert not said[0] & said[1]
    assert find_task("planted-flaws").title == planted_flaws.TITLE


PAIRS = [
    MinimalPair("dull", ("Hi.", "Hello.", "I won!"), "Great, tell me more!", "Okay."),
    MinimalPair("dull", ("We lost.",), "Oh no.", "That is good news."),
    MinimalPair("time", ("See you at noon.",), "See you then.", "See you then."),
]


def letters(name, talk):
    """Return the length of the last turn, or for the metric of conversations that of all."""
    return sum(len(turn.text) for turn in (talk.turns if name == "coherence" else talk.turns[-1:]))


@pytest.fixture
def rows(monkeypatch):
    monkeypatch.setattr(minimal_pairs, "read_pairs", lambda: PAIRS)

    def metric(name):
        return ValueMetric(name, letters, ("coherence",))

    return list(minimal_pairs.measure(FakeContext(metric, missing=("likelihood",))))


def test_the_good_reply_must_score_higher_and_ties_count_half(rows):
    assert figure_of(rows, "relevance", "share right", ALL).value == pytest.approx(0.5)
    assert figure_of(rows, "relevance", "share right", "dull").value == 0.5
    assert figure_of(rows, "relevance", "share right", "time").value == 0.5
    share = figure_of(rows, "coherence", "share right", ALL)
    assert (share.value, share.n) == (pytest.approx(0.5), 3)
    signature = figure_of(rows, "relevance", "share right", ALL).signature
    assert signature.startswith("relevance:1|mode:fast|on:minimal_pairs@")
    shorter = figure_of(rows, "bad at least as long", "share right", ALL)
    assert (shorter.value, shorter.kind) == (pytest.approx(2 / 3), "baseline")
    own = figure_of(rows, "cosine_own_turns", "share right", "time")
    assert own.value == 0.5, "nobody said anything before"
    assert gap_of(figure_of(rows, "relevance", "share right", ALL), "cosine_last_turn") == 0.0


def test_a_score_that_failed_stops_the_bench_and_is_no_tie(monkeypatch):
    monkeypatch.setattr(minimal_pairs, "read_pairs", lambda: PAIRS)

    class Failing(ValueMetric):
        def score(self, talks):
            scores = list(super().score(talks))
            yield from (replace(each, value=None, status="failed", reason="no") for each in scores)

    with pytest.raises(InputError, match="coherence failed on 0-good: no"):
        list(minimal_pairs.measure(FakeContext(lambda name: Failing(name, letters))))


def test_every_default_metric_is_measured_or_named_if_its_model_was_not_fetched(rows):
    found = {row.row for row in rows if row.measure == "share right" and row.kind == "ours"}
    assert found | {"likelihood"} == {*shipped_metrics(), *FETCHED}
    (row,) = [row for row in rows if row.metric == "likelihood" or row.row == "likelihood"]
    assert row.value is None
    assert row.why == "the model of likelihood is not here"


def test_the_pairs_hold_no_cue_of_length_and_every_kind_as_often():
    pairs = minimal_pairs.read_pairs()
    assert set(Counter(pair.kind for pair in pairs).values()) == {30}
    assert len({(pair.history, pair.good) for pair in pairs}) == len(pairs) == 360
    at_least_as_long = sum(len(pair.bad) >= len(pair.good) for pair in pairs)
    assert at_least_as_long / len(pairs) == pytest.approx(0.5, abs=0.05)
    assert find_task("minimal-pairs").title == minimal_pairs.TITLE
    halves = Counter(pair.kind for pair in commonsense_pairs.read_pairs())
    assert halves == {"closed": 104, "development": 104}
