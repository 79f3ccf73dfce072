"""Texts by a language model: a grammar on tokens, and the choice among candidates."""

import json

import numpy as np
import pytest

from grice.cli import main
from grice_tasks.explagraphs.samples import Sample
from grice_tasks.explagraphs.written import WrittenGraphs, begins_graph
from grice_tasks.situatedgen.written import SentenceWriter
from grice_tasks.writer import Allowed

TOKENS = ["x", "(a; is a; b)", "\n", ""]
GRAPH = "(zoos; has property; small cages)(small cages; causes; suffer)(suffer; causes; abolished)"


class Fixed:
    """A writer of given candidates; longer texts make more sense."""

    identity = "fixed"

    def __init__(self, *candidates):
        self.candidates, self.prompts = list(candidates), []

    def write(self, prompt, allows, *, count, max_tokens):
        self.prompts.append(prompt)
        return self.candidates

    def sense(self, texts):
        return [0.01 * len(text) for _, text in texts]

    def agrees(self, questions):
        return [0.01 * len(question) for question in questions]


@pytest.mark.parametrize("temperature", [0.0, 0.7])
def test_only_tokens_of_the_grammar_are_taken_and_the_line_ends_when_it_may(temperature):
    logits, ids = np.array([3.0, 1.0, 2.5, 2.0], np.float32), []
    select = Allowed(lambda ids: "".join(TOKENS[i] for i in ids), begins_graph, temperature, 1)
    while not ids or ids[-1] == 1:
        ids.append(select(logits, ids))
    assert ids[:3] == [1, 1, 1], "a graph has three facts at least"
    assert ids[-1] in (2, 3)
    assert len(ids) <= 7


def test_the_graph_that_keeps_the_rules_is_taken_and_the_stance_is_told(exact_models, capsys):
    writer = Fixed(f"({'long ' * 3}; is a; b)", GRAPH.upper(), "(zoos; is a; zoos)")
    graphs = WrittenGraphs(writer, exact_models.load("builtin:graphs"))
    sample = Sample("1", "Zoos should be abolished.", "Zoos have\nsmall cages, animals suffer.")
    (prediction,) = graphs.predict([sample], stances=["counter"])
    assert (prediction.stance, prediction.graph) == ("counter", GRAPH)
    assert writer.prompts[0].endswith("animals suffer.\nThe argument counters the belief.\nGraph:")
    assert (
        "1 graph may speak for the other stance, the first of sample '1'" in capsys.readouterr().err
    )
    graphs.predict([sample], stances=["support"])
    assert WrittenGraphs(Fixed(), graphs._classifiers).predict([sample])[0].graph == ""
    assert capsys.readouterr().err == ""


def test_of_the_sentences_with_most_keywords_the_likeliest_true_are_taken():
    written = SentenceWriter(Fixed("Owls sleep. Cats.", "Cats eat. Owls sleep.", "Owls go. It is."))
    assert written.generate([["owls", "cats", "sleep"], []]) == ["Cats eat. Owls sleep.", ""]


def test_a_baseline_says_so_and_a_larger_preset_does_not_fall_back_to_it(
    tmp_path, capsys, monkeypatch
):
    monkeypatch.setenv("GRICE_MODELS", str(tmp_path))
    (tmp_path / "k.jsonl").write_text(json.dumps({"id": "1", "keywords": ["Paris"]}), "utf-8")
    generate = ["situatedgen", "generate", str(tmp_path / "k.jsonl")]
    assert main(generate) == 0
    assert "a baseline that needs no language model" in capsys.readouterr().err
    assert main([*generate, "--models", "large"]) == 2
    out, err = capsys.readouterr()
    assert (out, "run: grice models get model:large" in err) == ("", True)
