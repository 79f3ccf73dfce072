"""Candidates for replies: their order, and what has a part in it."""

import json
import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

import made_metric
from grice.cli import main
from grice.data import Conversation, Score, Turn
from grice.errors import InputError, RecordError
from grice.evaluation.rerank import Blend, Candidate, Ranked, preferences, rerank
from grice.scoring import load

FIGURE = """for response in responses:
    stated = (response.text.split() or ["", ""])[{}]
    if stated in ("", "none"):
        yield Judgement(0.5, "abstained", "nothing to judge")
    elif stated == "fails":
        yield Judgement(None, "failed", "broken")
    else:
        yield Judgement(float(stated))"""
"""Values that a reply states for metrics: "0.3 0.9 words"."""


@pytest.fixture(scope="module")
def grader(tmp_path_factory):
    path = tmp_path_factory.mktemp("plugin") / "figures.py"
    for place, name in enumerate(("one", "two")):
        made_metric.write(path, name, FIGURE.format(place))
    with load("one", "two", plugins=[path]) as grader:
        yield grader


def context(*candidates, turns=("Hello.",)):
    spoken = tuple(Turn("AB"[place % 2], text) for place, text in enumerate(turns))
    return Conversation("c", spoken, meta={"candidates": list(candidates), "kept": 1})


def ranked(grader, *candidates, **blend):
    [item] = rerank([context(*candidates)], grader.scorer, Blend(**blend))
    return item


@pytest.mark.parametrize(("blend", "first"), [
    ({"rule": "mean"}, 0), ({"rule": "min"}, 1), ({"rule": "geometric"}, 1),
    ({"rule": "mean", "weights": {"two": 3.0}}, 1), ({"held_out": ("one",)}, 1),
])  # fmt: skip
def test_the_blend_decides(grader, blend, first):
    assert ranked(grader, "1.0 0.1", "0.5 0.4", **blend).best.index == first


def test_vetoed_candidates_follow_the_others_and_empty_ones_follow_these(grader):
    item = ranked(grader, "", "0.9 0.1", "0.2 0.3", vetoes={"two": 0.3})
    assert [candidate.index for candidate in item.candidates] == [2, 1, 0]
    assert item.candidates[1].vetoed == ("two",)
    assert item.candidates[2].value is None


@pytest.mark.parametrize(("candidates", "value", "left_out"), [
    (("none 0.1", "none 0.4"), 0.4, {"one": "abstained: nothing to judge"}),
    (("none 0.4", "0.1 0.4"), 0.45, {}),  # the neutral value counts
    (("fails 0.1", "0.1 0.4"), 0.4, {"one": "failed: broken"}),
])  # fmt: skip
def test_a_metric_counts_if_it_judges_some_and_fails_on_none(grader, candidates, value, left_out):
    item = ranked(grader, *candidates)
    assert (item.left_out, item.best.value) == (left_out, pytest.approx(value))


@pytest.mark.parametrize(("candidates", "best"), [
    (("0.1 0.1", "0.4 0.4", "0.4 0.4"), (1, 0.4, 2)), (("none none", "none none"), (0, None, 2)),
])  # fmt: skip
def test_of_equal_candidates_the_first_of_the_record_is_best(grader, candidates, best):
    item = ranked(grader, *candidates)
    assert (item.best.index, item.best.value, item.tied) == best


@pytest.mark.parametrize("turns", [("Hello.",), ("Hello.", "0 0"), ("a", "b", "c")])
def test_who_did_not_speak_last_answers(grader, turns):
    [item] = rerank([context("0.1 0.2", turns=turns)], grader.scorer)
    assert {(score.conversation, score.turn) for score in item.best.scores} == {("c", len(turns))}
    assert item.meta == {"kept": 1}


@pytest.mark.parametrize(("candidates", "where"), [
    ([], "at least one candidate"), ([3], "text, or an object"), (["x"] * 1001, "at most 1,000"),
])  # fmt: skip
def test_unusable_candidates_are_an_error_of_their_record(grader, candidates, where):
    good = context("0.1 0.2")
    broken, item = rerank([context(*candidates), good], grader.scorer)
    assert isinstance(broken, RecordError)
    assert where in str(broken)
    assert item.best.index == 0


@pytest.mark.parametrize(("blend", "problem"), [
    ({"rule": "median"}, "no blend 'median'"), ({"weights": {"three": 1.0}}, "three is not run"),
    ({"weights": {"one": 0.0}}, "above 0"),
    ({"weights": {"one": 1.0}, "held_out": ("one",)}, "takes no weight"),
    ({"vetoes": {"one": math.nan}}, "finite"),
    ({"rule": "min", "weights": {"one": 1.0}}, "takes no weights"),
    ({"held_out": ("one", "two")}, "no metric is left"),
])  # fmt: skip
def test_a_blend_that_does_not_fit_is_refused_before_anything_is_scored(grader, blend, problem):
    with pytest.raises(InputError, match=problem):
        list(rerank([], grader.scorer, Blend(**blend)))


FIGURES = st.floats(0.0, 1.0).map(lambda figure: round(figure, 3))


@given(st.lists(st.tuples(FIGURES, FIGURES), min_size=1, max_size=6))
def test_every_candidate_is_ranked_once_and_none_better_follows(grader, figures):
    item = ranked(grader, *(f"{first} {second}" for first, second in figures))
    values = [candidate.value for candidate in item.candidates]
    assert sorted(candidate.index for candidate in item.candidates) == list(range(len(figures)))
    assert values == sorted(values, reverse=True)


def candidate(text, value, *, vetoed=(), **scores):
    listed = tuple(Score("c", 1, *score, "ok", None, (), (), "") for score in scores.items())
    return Candidate(0, text, value, vetoed, listed)


TURNS = (Turn("A", "Hi."), Turn("B", "Hello."), Turn("A", "And?"))


def ranking(*candidates, turns=TURNS):
    return Ranked("c", turns, candidates, 1, {}, {})


FEW = "fewer than two candidates, or all vetoed"
GOOD, BAD = candidate("Four words are here.", 0.8, one=0.8), candidate("Two words.", 0.1, one=0.1)


def test_the_best_and_the_worst_make_a_pair_as_trainers_read_it():
    [pair] = preferences([ranking(GOOD, candidate("Between.", 0.5, one=0.5), BAD)], Counter())
    assert pair.chosen == [{"role": "assistant", "content": "Four words are here."}]
    assert pair.rejected == [{"role": "assistant", "content": "Two words."}]
    assert pair.margin == pytest.approx(0.7)
    assert (pair.chosen_scores, pair.rejected_scores) == ({"one": 0.8}, {"one": 0.1})
    assert [message["role"] for message in pair.prompt] == ["user", "assistant", "user"]
    turns = (Turn("s", "Be kind.", "system"), Turn("u", "Hi.", "user"), Turn("m", "Yes?", "model"))
    [pair] = preferences([ranking(GOOD, BAD, turns=turns)], Counter())
    assert [message["role"] for message in pair.prompt] == ["system", "user", "assistant"]


@pytest.mark.parametrize("filters", [{"margin": 0.7}, {"length_ratio": 2.0}, {"agreement": True}])
def test_pairs_at_a_limit_are_kept(filters):
    better, worse = (replace(each, value=value) for each, value in ((GOOD, 0.75), (BAD, 0.05)))
    worse = replace(worse, scores=better.scores)
    assert len([*preferences([ranking(better, worse)], Counter(), **filters)]) == 1


@pytest.mark.parametrize(("filters", "candidates", "why"), [
    ({"margin": 0.9}, (GOOD, BAD), "too close"),
    ({"margin": 0.0}, (GOOD, candidate("Same.", 0.8, one=0.8)), "too close"),
    ({"length_ratio": 1.5}, (GOOD, BAD), "lengths too different"),
    ({"agreement": True}, (GOOD, candidate("x", 0.1, one=0.9)), "metrics disagree"),
    ({}, (GOOD, candidate("Four  words are here.", 0.1)), "the same text"),
    ({}, (GOOD, candidate("", None)), FEW),
    ({}, [candidate(text, 0.8, vetoed=("one",)) for text in "ab"], FEW),
])  # fmt: skip
def test_pairs_that_do_not_hold_are_left_out_and_counted(filters, candidates, why):
    refused = Counter()
    assert not list(preferences([ranking(*candidates)], refused, **filters))
    assert refused == {why: 1}
    for impossible in ({"margin": -1.0}, {"length_ratio": 0.5}):
        with pytest.raises(InputError):
            list(preferences([], Counter(), **impossible))


JOB = {"id": "job", "turns": ["What do you do for a living?"],
       "candidates": ["I like turtles.", "I teach maths at a school.", ""]}  # fmt: skip


@pytest.fixture
def records(tmp_path):
    path = tmp_path / "candidates.jsonl"
    path.write_text(json.dumps(JOB) + "\n", "utf-8")
    return path


def test_the_best_candidate_is_shown_and_all_are_written(records, tmp_path, capsys):
    written = tmp_path / "ranked.jsonl"
    assert main(["rerank", str(records), "-o", str(written)]) == 0
    [row] = map(json.loads, written.read_text("utf-8").splitlines())
    assert [candidate["index"] for candidate in row["candidates"]] == [1, 0, 2]
    assert row["candidates"][0]["scores"][0]["metric"] == "relevance"
    capsys.readouterr()
    assert main(["rerank", str(records)]) == 0
    output = capsys.readouterr().out
    lines = [line.strip() for line in output.splitlines()]
    place = next(number for number, line in enumerate(lines) if "I teach maths" in line)
    assert lines[place + 1].startswith("relevance 0.")
    assert place < next(number for number, line in enumerate(lines) if "turtles" in line)
    assert "a later candidate is best in 1" in " ".join(output.split())


def test_a_record_without_candidates_is_said_and_the_others_are_ranked(records, capsys):
    records.write_text('{"turns": ["Hi."]}\n' + json.dumps(JOB) + "\n", "utf-8")
    assert main(["rerank", str(records), "--json"]) == 4
    output = capsys.readouterr()
    assert json.loads(output.out)["conversation"] == "job"
    assert "candidates: missing" in output.err


def test_a_metric_that_only_vetoes_is_run_too(records, capsys):
    command = ["rerank", str(records), "-m", "relevance", "--veto", "log_length=1.5", "--json"]
    assert main(command) == 0
    row = json.loads(capsys.readouterr().out)
    vetoed = {candidate["index"]: candidate["vetoed"] for candidate in row["candidates"]}
    assert vetoed == {1: [], 0: ["log_length"], 2: []}


@pytest.mark.parametrize(("options", "problem"), [
    (["--weight", "relevance"], "METRIC=VALUE"), (["--weight", "relevance=heavy"], "not a number"),
    (["--candidates", "replies"], "no record could be used"),
    (["--margin", "0.2", "--agreement"], "--margin, --agreement: only pairs are filtered"),
    (["--pairs", "--margin", "-1"], "a margin must be 0"),
])  # fmt: skip
def test_options_that_do_not_fit_are_refused(records, options, problem, capsys):
    assert main(["rerank", str(records), *options]) == 2
    assert problem in " ".join(capsys.readouterr().err.split())


def test_pairs_for_training_are_written(records, tmp_path, capsys):
    written = tmp_path / "pairs.jsonl"
    assert main(["rerank", "--pairs", str(records), "-o", str(written)]) == 0
    [row] = map(json.loads, written.read_text("utf-8").splitlines())
    assert row["chosen"][0]["content"] == "I teach maths at a school."
    assert row["rejected"][0]["content"] == "I like turtles."
    assert "1 pair from 1 context" in capsys.readouterr().out
    for option in (["--margin", "1"], ["--length-ratio", "1.5"]):
        assert main(["rerank", "--pairs", str(records), *option]) == 0
        assert "1 left out: " in capsys.readouterr().out
