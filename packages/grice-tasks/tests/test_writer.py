"""Texts by a language model: lines of a model, and the choice among candidates."""

import json

from grice.cli import main
from grice_tasks.explagraphs.samples import Prediction, Sample
from grice_tasks.explagraphs.written import WrittenGraphs
from grice_tasks.situatedgen.written import SentenceWriter


class Fixed:
    """A writer of given candidates; longer texts are likelier true."""

    identity = "fixed"

    def __init__(self, *candidates):
        self.candidates, self.prompts = list(candidates), []

    def write(self, prompt, *, count, max_tokens):
        self.prompts.append(prompt)
        return self.candidates

    def agrees(self, questions):
        return [0.01 * len(question) for question in questions]


def test_the_chain_that_keeps_the_rules_is_taken_and_the_last_fact_tells_the_stance():
    writer = Fixed(
        "zoos; loves; cages)(cages; is a; harm",  # no relation of the schema
        "animals; is a; benefit",  # one fact
        "The zoos; have; small cages)(small cages; leads to; pain)(pain; is a; harm)(harm; is",
    )
    sample = Sample("1", "Zoos should be abolished.", "Zoos have\nsmall cages, animals suffer.")
    graph = "(zoos; has property; small cages)(small cages; causes; pain)(pain; is a; harm)"
    (prediction,) = WrittenGraphs(writer).predict([sample], stances=["counter"])
    assert prediction == Prediction("1", "counter", f"{graph}(harm; not desires; abolished)")
    assert writer.prompts[0].endswith("suffer.\nThe argument counters the belief.\nFacts: (")
    (prediction,) = WrittenGraphs(writer).predict([sample])
    assert prediction == Prediction("1", "support", f"{graph}(harm; desires; abolished)")
    assert WrittenGraphs(Fixed("zoos; is a; zoos")).predict([sample])[0].graph == ""


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
