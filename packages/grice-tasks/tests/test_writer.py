"""Texts by a language model: a grammar on tokens, and the choice among candidates."""

import json
from functools import partial

import numpy as np
import pytest

from grice.cli import main
from grice_tasks.explagraphs.check import check_graph
from grice_tasks.explagraphs.samples import Sample
from grice_tasks.explagraphs.written import WrittenGraphs, begins_chain
from grice_tasks.situatedgen.written import SentenceWriter
from grice_tasks.writer import Allowed

BELIEF, ARGUMENT = "Zoos should not be allowed.", "Zoos have\nsmall cages, animals suffer."
TOKENS = ["x", "zoos; has property; small cages", "; harm; not be allowed", "\n", ""]


class Fixed:
    """A writer of given candidates, which agrees with questions by their length."""

    identity = "fixed"

    def __init__(self, *candidates):
        self.candidates, self.prompts = list(candidates), []

    def write(self, prompt, allows, *, count, max_tokens):
        self.prompts.append(prompt)
        return self.candidates

    def agrees(self, questions):
        return [0.01 * len(question) for question in questions]


@pytest.mark.parametrize("temperature", [0.0, 0.7])
def test_only_tokens_of_the_grammar_are_taken_and_the_line_ends_when_it_may(temperature):
    logits, ids = np.array([3.0, 1.0, 2.5, 2.0, 1.5], np.float32), []
    begins = partial(begins_chain, belief=BELIEF, argument=ARGUMENT)
    select = Allowed(lambda ids: "".join(TOKENS[i] for i in ids), begins, temperature, 1)
    while not ids or ids[-1] < 3:
        ids.append(select(logits, ids))
    assert ids[:2] == [1, 2], "from the belief over the argument to a value and back"
    assert len(ids) == 3


def test_the_truest_chain_is_taken_and_its_graph_keeps_the_rules_and_the_stance():
    writer = Fixed(
        "zoos; has property; small cages; harm",
        "zoos; has property; small cages; harm; not be allowed",
        "ZOOS; has property; small cages; causes; animal suffering; harm; not be allowed",
        "zoos; has property; small cages; harm; allowed",
    )
    sample = Sample("1", BELIEF, ARGUMENT)
    (written,) = WrittenGraphs(writer).predict([sample])
    graph = (
        "(zoos; has property; small cages)(small cages; causes; animal suffering)"
        "(animal suffering; is a; harm)(harm; desires; not be allowed)"
    )
    assert (written.stance, written.graph) == ("support", graph)
    assert check_graph(graph, BELIEF, " ".join(ARGUMENT.split())).ok
    assert writer.prompts[0].endswith("suffer.\nThe argument supports the belief.\nChain:")
    assert WrittenGraphs(Fixed()).predict([sample], stances=["counter"])[0].graph == ""


def test_the_sentences_with_most_keywords_are_taken():
    written = SentenceWriter(
        Fixed("Owls sleep by day.", "Owls sleep. Cats go.", "Owls sleep. Cats eat.", "Owls go.")
    )
    words = ["owls", "cats", "sleep"]
    assert written.generate([words, []]) == ["Owls sleep. Cats eat.", ""]


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
