"""Options and models under the names they had."""

from __future__ import annotations

import warnings

import pytest

import grice
from grice.cli import main
from grice.errors import MetricError
from grice.evaluation.scores import current_signature, read_scores
from grice.metrics.declaration import Example, metric
from grice.models.bundle import open_bundle, shipped_model
from grice.records import Judgement, Score, to_json

TALK = ["What do you do?", "I got fired because I made a mistake at work."]
FORMER = ["--commonsense-most", "1", "--commonsense-share", "0.25"]
NOW = ["--commonsense-max-triples", "1", "--commonsense-relevance-weight", "0.25"]


def test_a_former_option_does_the_same_and_says_what_it_is_called(capsys):
    def scored(options):
        assert main(["explain", *TALK, "-m", "commonsense", "--json", "--no-cache", *options]) == 0
        return capsys.readouterr()

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        former, now = scored(FORMER), scored(NOW)
    assert former.out == now.out
    assert "option 'most' is called 'max_triples' now" in former.err
    assert "called" not in now.err
    with pytest.raises(SystemExit):
        main(["explain", "--help", "-m", "commonsense"])
    shown = capsys.readouterr().out
    assert "--commonsense-max-triples" in shown
    assert "--commonsense-most" not in shown


def test_a_former_option_works_in_python():
    with pytest.warns(FutureWarning, match="'pool' is called 'aggregation' now"):
        grader = grice.load("commonsense", options={"commonsense": {"pool": "mean"}})
    assert "|aggregation:mean|" in grader.signatures["commonsense"]
    grader.close()
    both = {"commonsense": {"pool": "mean", "aggregation": "mean"}}
    with pytest.warns(FutureWarning), pytest.raises(MetricError, match="given twice"):
        grice.load("commonsense", options=both)


def test_scores_written_under_former_names_are_read_under_those_of_now(tmp_path):
    signature = "commonsense:5|scorer:cosine|read:both|most:3|relevance:fit@b090ccaf+x@1|mode:fast"
    score = Score("c", 1, "commonsense", 0.5, "ok", None, (), (), signature)
    file = tmp_path / "scores.jsonl"
    file.write_text(to_json(score) + "\n")
    now = (
        "commonsense:5|scorer:cosine|scope:both|max_triples:3|"
        "relevance:context-relevance@b090ccaf+x@1|mode:fast"
    )
    assert [score.signature for _, score in read_scores(str(file))] == [now]
    assert current_signature(now) == now
    assert current_signature("another:1|most:3") == "another:1|most:3"


def test_a_former_bundle_is_the_one_of_now():
    with pytest.warns(FutureWarning, match="bundle:fit is called bundle:context-relevance now"):
        assert shipped_model.find("fit") == open_bundle("context-relevance")


def test_a_former_name_must_stand_for_an_option():
    declare = metric(
        "mine",
        version="1",
        summary="?",
        judges="response",
        source="Our own.",
        example=Example(["a", "b"], 0, 1),
        renamed={"old": "new"},
    )
    with pytest.raises(MetricError, match="renamed names 'new'"):

        @declare
        def mine(responses):
            return [Judgement(0.5) for _ in responses]
