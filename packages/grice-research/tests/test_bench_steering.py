"""The bench of guided replies: which systems stand in it, and what is counted of a reply."""

from __future__ import annotations

from types import SimpleNamespace

import msgspec
import pytest

from grice.errors import InputError
from grice.records import FeatureEvidence, Score, Turn
from grice_research.benches import steering
from grice_research.context import Skipped
from grice_research.length_controlled import length_controlled
from grice_research.recipes.guide.draw import Drawn, read_drawn, shuffled
from grice_research.recipes.guide.guided import Guided
from grice_research.rows import find_task


class Grader:
    """Gives half for a word it likes, and a quarter for each further one."""

    def __init__(self, metric, word):
        self.metric, self.word = metric, word

    def score(self, talks):
        for talk in talks:
            value = (1 + talk.turns[-1].text.split().count(self.word)) / 10
            flaw = FeatureEvidence("contradiction", float("no" in talk.turns[-1].text))
            evidence = (flaw,) if self.metric == "sense" else ()
            yield Score(talk.id, 1, self.metric, value, "ok", None, (), evidence, self.metric)


class Model:
    identity = "model@1/fast"

    def log_probabilities(self, prompts, texts):
        return [-1.0 for _ in texts]


class Context:
    """Metrics that steer like "tea", others like "good"; a metric is missing."""

    def __init__(self, folder):
        self.folder = folder

    def models(self):
        return SimpleNamespace(open=lambda *_: Model())

    def weights(self, name):
        return self.folder / name

    def grader(self, name):
        if name == "contradiction":
            raise InputError("no such metric")
        word = "tea" if name in steering.STEERING else "good"
        return Grader(name, word), {name: f"{name}:1|mode:fast"}


TEXTS = ("so", "tea", "good", "tea tea good", "no")


@pytest.fixture
def context(tmp_path):
    folder = tmp_path / "guides"
    folder.mkdir()
    turns = (Turn("A", "What is there?"),)
    drawn = [Drawn(f"t{i}", turns, Turn("B", "cake"), TEXTS) for i in range(12)]
    guided = [Guided(each.id, "tea", 1.0, "so") for each in drawn]
    guided += [Guided(each.id, "tea", 4.0, "tea tea") for each in drawn[:11]]
    for name, rows in (("test", drawn), ("guided", guided)):
        lines = b"".join(msgspec.json.encode(row) + b"\n" for row in rows)
        (folder / f"{name}.jsonl").write_bytes(lines)
    return Context(tmp_path)


def value(rows, row, measure):
    [figure] = [each for each in rows if (each.row, each.measure) == (row, measure)]
    return figure.estimate.value


def test_the_best_of_n_is_chosen_by_the_steering_metrics_among_the_first_n(context):
    drawn = read_drawn(context.weights("guides") / "test.jsonl")
    systems = dict(steering.systems_of(context, drawn))
    chosen = {name: texts[0] for name, texts in systems.items()}
    assert chosen == {
        "base": "so", "people": "cake", "best of 2": "tea",
        "best of 4": "tea tea good", "guide of tea, strength 1": "so",
        "guide of tea, strength 4": "tea tea",
    }  # fmt: skip
    assert [len(systems[f"guide of tea, strength {strength}"]) for strength in (1, 4)] == [12, 11]


def test_wins_are_counted_by_every_judge_at_hand_with_ties_as_halves(context):
    rows = list(steering.measure(context))
    assert value(rows, "best of 4", "share better than the base by sense") == 1
    assert value(rows, "guide of tea, strength 4", "share better than the base by sense") == 0.5
    assert value(rows, "best of 2", "share better than the base by relevance") == 1
    assert not [row for row in rows if row.measure.endswith("by contradiction")]
    assert value(rows, "best of 4", f"{steering.CONTRADICTS} by sense") == 0
    assert value(rows, "best of 4", "difference of words to the base") == 2
    assert value(rows, "base", steering.PERPLEXITY) == 1
    assert value(rows, "best of 4", "words") == 3


def test_rows_are_signed_by_the_metrics_that_chose_and_that_judged(context):
    signatures = {(row.row, row.measure): row.signature for row in steering.measure(context)}
    model = "model@1/fast|topical_chat test, 12 contexts"
    steered = "relevance:1|mode:fast+engagement:1|mode:fast"
    better = "share better than the base by sense"
    assert signatures["base", "words"] == model
    assert signatures["base", "relevance"] == f"relevance:1|mode:fast+{model}"
    assert signatures["best of 2", "words"] == f"{steered}+{model}"
    assert signatures["best of 2", "relevance"] == f"{steered}+{model}"
    for measure in (better, f"{better}, at one length", f"{steering.CONTRADICTS} by sense"):
        assert signatures["best of 2", measure] == f"{steered}+sense:1|mode:fast+{model}"


def test_a_win_by_length_alone_is_none_at_one_length():
    sizes = [(10 + i, 20 - i) for i in range(11)] * 4
    longer = [1.0 if own > other else 0.0 if own < other else 0.5 for own, other in sizes]
    assert length_controlled(longer, sizes).value == pytest.approx(0.5, abs=0.02)
    better = length_controlled([1.0, 1.0, 1.0, 0.0] * 10, [(10, 10)] * 40)
    assert better.value == pytest.approx(0.75, abs=0.01)
    assert better.low < 0.75 < better.high
    with pytest.raises(InputError, match="two items"):
        length_controlled([1.0], [(1, 1)])


def test_without_replies_nothing_is_measured(context):
    (context.weights("guides") / "test.jsonl").unlink()
    with pytest.raises(Skipped, match=r"recipes\.guide\.draw"):
        list(steering.measure(context))


@pytest.mark.parametrize(
    ("text", "repeats"),
    [("we went home", 0.0), ("tea is good tea is good tea is good", 1.0), ("tea number 0.", 1.0)],
)
def test_replies_that_repeat_themselves_are_counted(text, repeats):
    given = Drawn("t", (Turn("A", "tea number 0."),), Turn("B", "yes"))
    assert steering.texts_of([given], [text])[steering.REPEATED] == [repeats]


def test_the_bench_is_found():
    assert find_task("steering").title == steering.TITLE


def test_drawn_replies_lose_the_order_that_the_engine_gives_them():
    texts = [str(place) for place in range(9)]
    orders = [shuffled(texts, f"t{number}") for number in range(60)]
    assert all(sorted(order) == texts for order in orders)
    assert shuffled(texts, "t1") == orders[1]
    assert len({order[0] for order in orders}) > 5
