from __future__ import annotations

import pytest

from grice.errors import InputError
from grice.models.protocols import Generated, Generator
from grice_research.graphs.pipelines import code_prompt, few_shot, rationalizing, reasoning
from grice_tasks.explagraphs.published import (
    graph_in,
    sequence_prompt,
    sequence_target,
    stance_input,
)
from grice_tasks.explagraphs.reader import read_graph
from grice_tasks.explagraphs.samples import Sample

SAMPLE = Sample("a", 'Zoos are "bad".', "Animals suffer.", "support", ("(zoos; is a; place)",))


class Writer:
    """Writes one text for every prompt and remembers the prompts."""

    identity = "writer"

    def __init__(self, text):
        self.text, self.prompts = text, []

    def generate(self, prompts, *, count):
        self.prompts += prompts
        return [(Generated(self.text, -1.0),)[:count] if self.text else () for _ in prompts]


class Judge:
    """Says counter, or with a graph what its first relation starts with."""

    def stances(self, pairs):
        return [("counter", 1.0) for _ in pairs]

    def stances_with_graphs(self, readings):
        return [
            ("counter" if "not" in str(reading.graph) else "support", 1.0) for reading in readings
        ]


def test_rationalizing_asks_for_a_graph_of_the_predicted_stance():
    writer = Writer("(zoos; is a; place)")
    assert isinstance(writer, Generator)
    explained = rationalizing([SAMPLE], writer, Judge())
    assert writer.prompts[0].endswith("</s> Argument: Animals suffer. </s> Stance: counter")
    assert (explained[0].stance, explained[0].graph) == ("counter", "(zoos; is a; place)")


def test_reasoning_reads_the_stance_off_the_graph():
    writer = Writer("Graph: (zoos; not desires; animals).")
    explained = reasoning([SAMPLE], writer, Judge())
    assert "Stance" not in writer.prompts[0]
    assert (explained[0].stance, explained[0].graph) == ("counter", "(zoos; not desires; animals)")
    assert reasoning([SAMPLE], Writer(""), Judge())[0].graph == ""


def test_few_shot_prompts_are_code_and_answers_are_read_back():
    prompt = few_shot([SAMPLE])(Sample("b", "B", "A"), "counter")
    assert prompt.count("class ExplanationGraph:") == 2
    assert '("zoos", "is a", "place"),' in prompt
    assert 'self.belief = "Zoos are \\"bad\\"."' in prompt
    assert prompt.endswith("self.graph = [\n")
    compile(code_prompt(SAMPLE, "support", SAMPLE.graphs[0]), "prompt", "exec")
    code = '("a b", "causes", "c"),\n ("c", "is a", "d")]\nclass Other: ("x", "is a", "y")'
    assert graph_in(code) == "(a b; causes; c)(c; is a; d)"
    with pytest.raises(InputError, match="needs a stance and a graph"):
        few_shot([Sample("b", "B", "A")])
    writer = Writer(code)
    rationalizing([SAMPLE], writer, Judge(), prompt=few_shot([SAMPLE]))
    assert writer.prompts[0].startswith("class ExplanationGraph")


def test_nothing_is_repaired():
    assert graph_in("(a; is; b") == "(a; is; b"
    assert graph_in("(a; is; b)(c; d)") == "(a; is; b)(c; d)"


def test_the_target_is_depth_first_and_in_lower_case():
    graph = read_graph("(B; is a; D)(A; is a; B)").graph
    assert sequence_target(graph) == "(a; is a; b)(b; is a; d)"
    assert sequence_prompt("b", "a") == (
        "Generate an Explanation Graph for Belief: b </s> Argument: a"
    )


def test_classifier_inputs_equal_the_worked_cases(golden):
    for case in golden("explagraphs_cases")["classifier_inputs"]:
        graph = read_graph(case["graph"]).graph
        assert sequence_target(graph) == case["seca_text_b"]
        texts = stance_input(case["belief"], case["argument"], graph)
        assert texts == (case["ea_text_a"], case["ea_full_text_b"])
