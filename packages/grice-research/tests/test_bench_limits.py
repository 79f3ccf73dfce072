import random

import pytest

import made_sets
from fake_metrics import FakeContext, TurnMetric, ValueMetric, figure_of, gap_of, made_run, packed
from grice.evaluation.datasets import known_sets
from grice_research.benches import abc_eval, trivial_baselines
from grice_research.benches._turns import FETCHED, metric_named, shipped_metrics
from grice_research.comparisons import limits_of
from grice_research.context import BenchContext
from grice_research.figures import figures
from grice_research.published import find_task, load_bench
from grice_research.roc import roc_areas

MEASURED = {*shipped_metrics(), *filter(metric_named, FETCHED)}


def write(folder, talks=12):
    """Write talks in which a reply that ignores holds the word, and whose chatbot repeats."""
    draw, lines = random.Random(3), []
    for i in range(talks):
        turns, labels, votes = [{"speaker": "user", "text": "Hi!"}], [], []
        for k in range(4):
            flawed = draw.random() < 0.4
            text = f"{'ignoring' if flawed else 'good'} reply {k}"
            turns += [{"speaker": "system", "text": text}, {"speaker": "user", "text": "Go on."}]
            marks = {name: [0, 0] for name in abc_eval.BEHAVIOURS}
            marks["ignore"] = [int(flawed), int(flawed and draw.random() < 0.7)]
            marks["redundant"] = [int(k == 3), 0]
            for name in ("self contradiction", "partner contradiction", "commonsense contradiction",
                         "irrelevant", "incorrect fact", "lack of empathy"):  # fmt: skip
                marks[name] = [int(draw.random() < 0.3), int(draw.random() < 0.3)]
            labels.append({"turn": 1 + 2 * k, **marks})
            votes.append({"ignore": int(flawed)})
        lines.append({"id": f"t{i}", "group": str(i // 2), "system": "ab"[i % 2], "turns": turns,
                      "labels": labels, "released_gpt35": votes,
                      "released_specialized": [{} for _ in votes]})  # fmt: skip
    packed(folder / abc_eval.FILE, lines)


def ignoring(talk, turn):
    return "ignoring" in talk.turns[turn].text


def context_of(folder):
    return FakeContext(lambda name: TurnMetric(name, ignoring, ("coherence",)), folder)


@pytest.fixture
def rows(tmp_path):
    write(tmp_path)
    return list(abc_eval.measure(context_of(tmp_path)))


def test_a_metric_sees_a_flaw_if_turns_with_it_score_lower(rows):
    assert figure_of(rows, "relevance", "AUC", "ignore").value == 1.0
    blind = figure_of(rows, "relevance", "AUC", "self contradiction")
    assert 0.3 < blind.value < 0.7
    assert blind.metric == "relevance"
    assert "of 48 turns are marked" in blind.why
    assert figure_of(rows, "GPT-3.5", "AUC", "ignore").value == 1.0
    assert figure_of(rows, "coherence", "AUC", "ignore").value == 1.0
    assert figure_of(rows, "coherence", "AUC", "self contradiction").value < 0.7


def test_trivial_baselines_stand_beside_and_differences_are_paired(rows):
    assert figure_of(rows, "position", "AUC", "redundant").value == 1.0
    seen = figure_of(rows, "relevance", "AUC", "redundant")
    assert gap_of(seen, "position") == pytest.approx(seen.value - 1.0)
    oracle = figure_of(rows, abc_eval.SPEAKER, "AUC within chatbots", abc_eval.ANY)
    assert (oracle.value, oracle.kind) == (0.5, "baseline")
    assert figure_of(rows, "relevance", "AUC", abc_eval.ANY).n == 48
    pairs = {(r.metric, gap.baseline) for r in rows if r.metric for gap in r.gaps}
    assert pairs == {(name, b) for name in MEASURED for b in abc_eval.TRIVIAL}
    assert {r.metric for r in rows if r.kind == "baseline"} == {""}


def test_reading_first_what_scores_low_is_set_beside_chance(rows):
    on, measure = abc_eval.ANY, "lift of the first 10 %"
    chance = figure_of(rows, "random order", measure, on)
    assert chance.low < chance.value == 1.0 < chance.high
    ideal = figure_of(rows, "relevance", measure, on)  # it scores low what ignores, which is a flaw
    rate = figure_of(rows, "relevance", "AUC", on).why.split(" ")
    assert ideal.value == pytest.approx(int(rate[2]) / int(rate[0]))
    length = figure_of(rows, "log_length", measure, on).value
    assert gap_of(ideal, "log_length") == pytest.approx(ideal.value - length)


@pytest.mark.data
def test_trivial_scores_on_the_open_half_are_those_of_its_description(data_folder):
    marked = abc_eval.read_marked(data_folder)
    votes = marked.votes["self contradiction"]
    labels = [float(n > 0) for n in votes]
    counts = (len(marked.talks), len(labels), sum(n == 2 for n in votes), sum(labels))
    assert counts == (54, 818, 27, 89)
    columns = {
        "position": [float(i) for talk in marked.talks for i in talk.targets],
        "GPT-3.5": marked.released["GPT-3.5"]["self contradiction"],
        "classifier": marked.released["trained classifiers"]["self contradiction"],
    }
    areas = {name: area.value for name, area in roc_areas(columns, labels).areas.items()}
    expected = {"position": 0.602, "GPT-3.5": 0.617, "classifier": 0.682}
    assert areas == pytest.approx(expected, abs=5e-4)


def test_of_sets_with_the_same_conversations_the_first_is_taken():
    names = [row.name for row in trivial_baselines.independent(known_sets().values())]
    assert "conture_turn" in names
    assert "conture_events" not in names
    assert {"fed_turn", "fed_dialogue"} <= set(names), "replies and conversations are apart"


def test_metrics_stand_beside_baselines_on_the_sets_at_hand(tmp_path):
    made_sets.fed_turn(tmp_path)

    def value(name, talk):
        words = len(talk.turns[talk.targets[0]].text.split())
        known = name in ("engagement", "log_length")
        return words if known else len(talk.turns[0].text) + words % 3

    class Lengths:
        def __init__(self, names):
            self.metrics = [ValueMetric(name, value) for name in names]

        def score(self, talks):
            return (each for talk in talks for one in self.metrics for each in one.score([talk]))

    def loaded(names):
        return Lengths(names), {name: f"{name}:1" for name in names}

    context = BenchContext(tmp_path, loaded, shipped_metrics())
    rows, on = list(trivial_baselines.measure(context)), "fed_turn:overall"
    assert {row.on for row in rows} == {on}
    engagement = figure_of(rows, "engagement", "spearman", on)
    assert engagement.value > 0.9
    (gap,) = [gap for gap in engagement.gaps if gap.baseline == "log_length"]
    assert (gap.value, gap.alike) == (0, pytest.approx(1))
    assert "fed_dialogue" in context.missing


def test_the_benches_are_there_and_their_rows_become_limits(tmp_path):
    write(tmp_path)
    assert find_task("trivial-baselines").title == trivial_baselines.TITLE
    limits = limits_of([made_run(*list(figures(load_bench("abc-eval"), context_of(tmp_path))))])
    assert (set(limits.metrics), limits.baselines) == (MEASURED, tuple(sorted(abc_eval.TRIVIAL)))
