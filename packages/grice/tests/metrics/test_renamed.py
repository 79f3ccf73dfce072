"""Former names of options and models."""

from __future__ import annotations

import pytest

from grice.cli import main
from grice.data import Score, to_json
from grice.evaluation.scores import current_signature, read_scores
from grice.models.folder import open_folder, shipped_model


def test_a_former_option_is_refused_with_its_present_name(capsys):
    assert (
        main(["explain", "What?", "I fell.", "-m", "commonsense", "--commonsense-most", "1"]) == 2
    )
    message = capsys.readouterr().err
    assert "--commonsense-most is no longer available: use --commonsense-max-triples" in message


def test_signatures_are_read_with_the_present_names_of_models(tmp_path):
    signature = "commonsense:5|scope:both|relevance:fit@b090ccaf+x@1|mode:fast"
    score = Score("c", 1, "commonsense", 0.5, "ok", None, (), (), signature)
    file = tmp_path / "scores.jsonl"
    file.write_text(to_json(score) + "\n")
    now = "commonsense:5|scope:both|relevance:context-relevance@b090ccaf+x@1|mode:fast"
    assert [score.signature for _, score in read_scores(str(file))] == [now]
    assert current_signature(now) == now


def test_a_former_model_is_the_present_one():
    with pytest.warns(FutureWarning, match="builtin:fit is called builtin:context-relevance now"):
        assert shipped_model.find("fit") == open_folder("context-relevance")
