from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from grice.cli import main
from grice.models.protocols import Generated
from grice_tasks.explagraphs.check import check_graph
from grice_tasks.explagraphs.language_model import LanguageGraphSettings, LanguageModelGraphs
from grice_tasks.explagraphs.protocols import GraphPredictor
from grice_tasks.explagraphs.samples import Sample
from tiny_decoder import write, write_place

SAMPLE = Sample("1", "Zoos should be abolished.", "Animals in zoos live in small cages and suffer.")
GOOD = "(zoos; has property; small cages)(small cages; causes; suffer)(suffer; causes; abolished)"
EXAMPLE = Sample("0", "Dogs are nice.", "They bark.", "counter", ("(dogs; capable of; bark)",))


class Scripted:
    """A language model that writes what it is told, and finds what agrees likelier."""

    identity = "scripted"

    def __init__(self, *texts):
        self.texts, self.asked = texts, []

    def generate(self, prompts, *, count=1, shown="", stop="\n", max_tokens=64):
        self.asked += [(count, shown, prompt) for prompt in prompts]
        return [tuple(Generated(text, -1.0) for text in self.texts[:count]) for _ in prompts]

    def log_probabilities(self, prompts, texts):
        return [-1.0 if "I agree" in prompt else -2.0 for prompt in prompts]


def graphs_of(*texts, bias=0.0):
    model = Scripted(*texts)
    stated = LanguageGraphSettings(base="model:medium", stance_weight=1.0, stance_bias=bias)
    return LanguageModelGraphs(model, stated, [EXAMPLE], "tiny"), model


def test_the_stance_is_that_under_which_the_argument_is_likelier():
    graphs, _ = graphs_of()
    assert isinstance(graphs, GraphPredictor)
    assert graphs.stances([(SAMPLE.belief, SAMPLE.argument)]) == [("support", 1.0)]
    graphs, _ = graphs_of(bias=-3.0)
    assert graphs.stances([(SAMPLE.belief, SAMPLE.argument)]) == [("counter", 2.0)]


def test_a_valid_graph_is_taken_as_it_was_written():
    graphs, model = graphs_of(GOOD)
    (written,) = graphs.write([SAMPLE], ["support"])
    assert written == (GOOD, 1, 0)
    ((count, shown, prompt),) = model.asked
    assert count == 1
    assert shown.endswith("Stance: counter\nGraph: (dogs; capable of; bark)\n\n")
    assert prompt.endswith("Stance: support\nGraph:")


def test_other_answers_are_looked_at_where_the_first_is_not_valid():
    graphs, _ = graphs_of("nonsense", "(zoos; is a; place)", GOOD)
    (written,) = graphs.write([SAMPLE], ["support"])
    assert written == (GOOD, 4, 0)


def test_the_first_answer_is_repaired_where_none_is_valid():
    graphs, _ = graphs_of("(zoos; has property; small cages)(small cages; causes; suffer)")
    (written,) = graphs.write([SAMPLE], ["support"])
    assert "(zoos; has property; small cages)" in written.text
    assert written.edits > 0


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.text(max_size=60),
            st.text("(); abczoos", max_size=80),
            st.lists(st.sampled_from(["zoos", "cages", "causes", "is a", ";", "(", ")"])).map(
                " ".join
            ),
        ),
        max_size=3,
    )
)
def test_whatever_a_model_writes_a_valid_graph_comes_out(texts):
    graphs, _ = graphs_of(*texts)
    (prediction,) = graphs.predict([SAMPLE])
    assert prediction.stance == "support"
    assert check_graph(prediction.graph, SAMPLE.belief, SAMPLE.argument).ok


def test_texts_without_words_give_an_empty_graph():
    graphs, _ = graphs_of("")
    (prediction,) = graphs.predict([Sample("2", "?", "!")], stances=["counter"])
    assert (prediction.stance, prediction.graph) == ("counter", "")


def test_the_command_takes_any_model_of_graphs(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("GRICE_CACHE", str(tmp_path / "cache"))
    example = {"id": "0", "belief": EXAMPLE.belief, "argument": EXAMPLE.argument,
               "stance": "counter", "graph": EXAMPLE.graphs[0]}  # fmt: skip
    place = write_place(
        tmp_path / "place",
        "language-model-graphs",
        write(tmp_path / "tiny", max_tokens=256),
        "stance_weight = 1.0\nstance_bias = 0.0",
        examples_jsonl=json.dumps(example) + "\n",
    )
    texts = ["--belief", SAMPLE.belief, "--argument", SAMPLE.argument]
    assert main(["explagraphs", "generate", *texts, "--model", f"file:{place}"]) == 0
    line = json.loads(capsys.readouterr().out)
    assert line["stance"] in ("support", "counter")
    assert check_graph(line["graph"], SAMPLE.belief, SAMPLE.argument).ok
    assert main(["explagraphs", "generate", *texts, "--model", "bundle:relevance"]) == 2
    assert "where a GraphPredictor is needed" in capsys.readouterr().err
