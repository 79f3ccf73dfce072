from __future__ import annotations

import pytest

from grice.errors import InputError
from grice.models.bundle import shipped_bundles
from grice.models.models import Models
from grice.records import Conversation, Score, Turn, to_json
from grice_research.benches import dailydialog_relevance, engagement
from grice_research.benches._research import PLACES, research, scored
from grice_research.context import BenchContext, Skipped


@pytest.fixture(scope="module")
def models():
    opened = Models(mode="exact", workers=1, cache=None)
    yield opened
    opened.close()


@pytest.fixture
def context(models, tmp_path):
    return BenchContext(
        tmp_path, lambda names: None, ("relevance",), (), lambda: models, tmp_path / "weights"
    )


def test_weights_that_no_recipe_has_left_are_named_with_their_recipe(context):
    missing = r"relevance.research_fluent: not a bundle.*recipes of relevance"
    with pytest.raises(Skipped, match=missing), research(context):
        pass


def test_a_folder_that_nobody_named_is_asked_for(models, tmp_path):
    context = BenchContext(tmp_path, lambda names: None, (), (), lambda: models)
    with pytest.raises(Skipped, match="give --weights DIR or set GRICE_WEIGHTS"), research(context):
        pass


def test_metrics_read_the_weights_that_are_there(context):
    for name, place in PLACES.items():
        folder = context.weights(name) / place
        folder.mkdir(parents=True)
        shipped = shipped_bundles()[name]
        for file in shipped.iterdir():
            (folder / file.name).write_bytes(file.read_bytes())
        card = folder / "card.toml"
        text = card.read_text("utf-8")
        card.write_text(text.replace(f'name = "{name}"', f'name = "{name}_other"', 1), "utf-8")
    with research(context) as desk:
        for name in ("relevance", "engagement"):
            assert f"{name}_other@" in desk.grader(name)[1][name]


def score_line(conversation, value, metric="relevance", signature="relevance|a large model"):
    return to_json(Score(conversation, 1, metric, value, "ok", None, (), (), signature=signature))


def reply(number):
    turns = (Turn("A", "Do you like tea?"), Turn("B", f"I drink {number} cups a day."))
    return Conversation(f"talk-{number}", turns, targets=(1,))


@pytest.fixture
def scores(context):
    folder = context.weights("relevance") / "scores"
    folder.mkdir(parents=True)

    def write(name, *lines):
        (folder / f"{name}.jsonl").write_text("\n".join(lines) + "\n", "utf-8")

    return write


def test_scores_that_no_recipe_has_left_are_named_with_their_recipe(context, scores):
    with pytest.raises(Skipped, match=r"no scores lie in .*recipes\.relevance\.large"):
        next(scored(context))


def test_scores_of_a_file_are_given_again_for_their_conversations(context, scores):
    engaging = score_line("talk-1", 0.5, "engagement", "engagement|another")
    scores("large", score_line("talk-1", 0.25), score_line("talk-2", 0.75), engaging)
    [(model, desk)] = scored(context)
    grader, signatures = desk.grader("relevance")
    assert (model, signatures) == ("large", {"relevance": "relevance|a large model"})
    judged = grader.score([reply(2), reply(3), reply(1)])
    assert [(score.conversation, score.metric, score.value) for score in judged] == [
        ("talk-2", "relevance", 0.75),
        ("talk-1", "relevance", 0.25),
    ]


def test_each_file_is_a_model_of_its_own(context, scores):
    scores("small", score_line("talk-1", 0.25))
    scores("large", score_line("talk-1", 0.75))
    values = {}
    for model, desk in scored(context):
        [score] = desk.grader("relevance")[0].score([reply(1)])
        values[model] = score.value
    assert values == {"large": 0.75, "small": 0.25}


def test_a_metric_that_a_file_lacks_is_named(context, scores):
    scores("large", score_line("talk-1", 0.25))
    [(_, desk)] = scored(context)
    with pytest.raises(InputError, match=r"large.jsonl holds no scores of engagement"):
        desk.grader("engagement")


def test_two_ways_of_computing_one_metric_are_refused(context, scores):
    other = score_line("talk-2", 0.75, signature="relevance|other")
    scores("large", score_line("talk-1", 0.25), other)
    with pytest.raises(InputError, match="computed in 2 ways"):
        next(scored(context))


@pytest.mark.parametrize("bench", [dailydialog_relevance, engagement])
def test_a_bench_says_that_no_scores_were_left(context, scores, bench):
    rows = list(bench.by_language_models(context))
    assert {row.row.rpartition(" ")[2] for row in rows} == {"generated", "human-written", "all"}
    assert all(row.estimate is None and "recipes.relevance.large" in row.why for row in rows)
