from collections import Counter

from fake_metrics import FakeContext, TurnMetric, by_measure
from grice_research.benches import planted_flaws
from grice_research.published import find_task
from grice_research.recipes.review.data import DEVELOPMENT


def test_a_perfect_order_reads_flawed_replies_alone():
    keyed = planted_flaws.read_logs()
    places = ((talk.id, turn) for talk in keyed.talks for turn in talk.targets)
    flawed = {place for place, flaw in zip(places, keyed.flaws, strict=True) if flaw}

    def metric(name):
        return TurnMetric(name, lambda talk, turn: (talk.id, turn) in flawed)

    rows = by_measure(planted_flaws.measure(FakeContext(metric)))
    for preset in ("small", "medium", "large"):
        assert rows[f"review-{preset}", "AUC"].value == 1.0
        assert rows[f"review-{preset}", "lift of the first 10 %"].why == "precision 1.000"
    assert rows["review-small, default metrics", "AUC"].value == 1.0
    for name in ("cosine_own_turns", "position"):
        assert rows[name, "AUC"].kind == "baseline"
        assert rows[name, "AUC"].value < 0.9
    assert rows["review-small less position", "difference of AUC"].value > 0.1
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
