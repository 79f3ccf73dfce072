from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grice.cli import main
from grice.models.loader import ModelLoader
from grice_tasks.explagraphs.check import check_graph
from grice_tasks.explagraphs.features import Reading
from grice_tasks.explagraphs.generator import generate_graphs
from grice_tasks.explagraphs.graph import Graph, read_graph
from grice_tasks.explagraphs.samples import Prediction, Sample
from grice_tasks.explagraphs.scores import classifier_measures
from grice_tasks.explagraphs.wording import nonsense_graph

BELIEF = "Zoos should be abolished."
ARGUMENT = "Animals in zoos live in small cages and suffer."
GOOD = "(zoos; has property; small cages)(small cages; causes; suffer)(suffer; causes; abolished)"


@pytest.fixture(scope="module")
def classifiers():
    models = ModelLoader(mode="exact", workers=1, cache=None)
    yield models.load("bundle:graphs")
    models.close()


def graph(text):
    return read_graph(text).graph


def test_classifiers_answer_within_their_ranges(classifiers):
    ((stance, margin),) = classifiers.stances([(BELIEF, ARGUMENT)])
    assert stance in ("support", "counter")
    assert margin >= 0
    (meaning,) = classifiers.meanings([(BELIEF, graph(GOOD))])
    assert meaning.label in ("support", "counter", "incorrect")
    assert sum(meaning) == pytest.approx(1, abs=0.5)
    assert len(classifiers.importance(Reading(BELIEF, ARGUMENT, graph(GOOD)), "support")) == 3


def test_answers_do_not_depend_on_neighbours_or_case(classifiers):
    reading = Reading(BELIEF, ARGUMENT, graph(GOOD))
    other = Reading("Cats are nice.", "Dogs bark.", graph("(cats; is a; dogs)"))
    assert (
        classifiers.informativeness([reading, other])[0]
        == classifiers.informativeness([reading])[0]
    )
    assert (
        classifiers.meanings([(BELIEF, graph(GOOD)), ("x", other.graph)])[0]
        == classifiers.meanings([(BELIEF, graph(GOOD.upper()))])[0]
    )


def test_no_order_of_the_facts_matters(classifiers):
    edges = graph(GOOD).edges
    orders = [Graph(edges), Graph(edges[::-1]), Graph((edges[1], edges[0], edges[2]))]
    readings = [Reading(BELIEF, ARGUMENT, order) for order in orders]
    for answers in (
        [judgement.value for judgement in classifiers.informativeness(readings)],
        [
            meaning.support
            for meaning in classifiers.meanings([(BELIEF, order) for order in orders])
        ],
        [margin for _, margin in classifiers.stances_with_graphs(readings)],
    ):
        assert answers == pytest.approx([answers[0]] * 3, abs=1e-5)


@pytest.mark.parametrize("text", ["", "(a; is a; b)", "(; is a; b)", "(a; is a; b)(b; is a; a)",
                                  "(a; resembles; b)", "(a; is a; a)"])  # fmt: skip
def test_odd_graphs_get_an_answer(classifiers, text):
    reading = Reading("", "", graph(text))
    assert 0 <= classifiers.informativeness([reading])[0].value < 1
    assert classifiers.meanings([("", reading.graph)])
    assert classifiers.stances_with_graphs([reading])
    assert len(classifiers.importance(reading, "counter")) == len(reading.graph.edges)


def test_a_chain_of_long_words_has_little_informativeness(classifiers):
    texts = [
        (BELIEF, ARGUMENT, GOOD),
        ("Fast food should be banned.", "Fast food is unhealthy and makes people obese.",
         "(fast food; has property; unhealthy)(unhealthy; causes; obese)(obese; desires; banned)"),
        ("We should subsidize journalism.", "Journalism is important to inform citizens.",
         "(journalism; used for; inform citizens)(inform citizens; has property; important)"
         "(important; desires; subsidize)"),
    ]  # fmt: skip
    for belief, argument, good in texts:
        nonsense = nonsense_graph(belief, argument)
        meaningful, empty = classifiers.informativeness(
            [Reading(belief, argument, graph(text)) for text in (good, nonsense)]
        )
        assert meaningful.value > empty.value


def test_informativeness_is_the_lower_of_two_classifiers(classifiers):
    chain = nonsense_graph(BELIEF, ARGUMENT)
    judgements = classifiers.informativeness(
        [Reading(BELIEF, ARGUMENT, graph(text)) for text in (GOOD, chain)]
    )
    assert all(
        judgement.value == min(judgement.written, judgement.accepted) for judgement in judgements
    )
    assert {judgement.written < judgement.accepted for judgement in judgements} == {True, False}
    assert classifiers.informativeness([Reading(BELIEF, ARGUMENT, graph(""))])[0][:3] == (0, 0, 0)


def test_gated_measures_are_zero_behind_the_gate(classifiers):
    sample = Sample("a", BELIEF, ARGUMENT, "support", (GOOD,))
    right = classifier_measures([sample], {"a": Prediction("a", "support", GOOD)}, classifiers)["a"]
    wrong = classifier_measures([sample], {"a": Prediction("a", "counter", GOOD)}, classifiers)["a"]
    assert (wrong["seca"], wrong["ea"]) == (0, 0)
    assert wrong["informativeness"] == right["informativeness"] > 0
    free = classifier_measures(
        [sample], {"a": Prediction("a", "counter", GOOD)}, classifiers, gate="structure"
    )
    assert free["a"] == right
    many = "".join(f"(n{i}; is a; n{i + 1})" for i in range(10_000))
    assert (
        classifier_measures([sample], {"a": Prediction("a", "support", many)}, classifiers)["a"][
            "informativeness"
        ]
        == 0
    )


WORDS = st.lists(
    st.sampled_from(
        [
            "zoos",
            "should",
            "be",
            "banned",
            "animals",
            "suffer",
            "not",
            "money!",
            "(a;",
            "b)",
            "é",
            "7",
            "people's",
        ]
    ),
    max_size=8,
).map(" ".join)


@given(WORDS, WORDS)
def test_generated_graphs_are_valid_whatever_the_texts(classifiers, belief, argument):
    (prediction,) = generate_graphs([Sample("a", belief, argument)], classifiers)
    verdict = check_graph(prediction.graph, belief, argument)
    # Texts without two words, or of the same ones, have no two concepts to copy; everything else
    # holds even then.
    assert not set(verdict.broken) - {"belief_concepts", "argument_concepts", "min_facts",
                                      "triples"}  # fmt: skip
    words, others = set(belief.split()), set(argument.split())
    if min(len(words), len(others)) > 3 and len(words ^ others) > 1:
        assert verdict.ok, (prediction.graph, verdict)


def test_generation_is_the_same_alone_and_among_others(classifiers):
    samples = [Sample("a", BELIEF, ARGUMENT), Sample("b", "Cars kill people.", "Cars are fast.")]
    both = generate_graphs(samples, classifiers, stances=["support", "counter"])
    assert generate_graphs(samples[1:], classifiers, stances=["counter"]) == both[1:]
    assert both[0].stance == "support"


def test_commands_generate_and_judge(tmp_path, capsys):
    assert main(["explagraphs", "generate", "--belief", BELIEF, "--argument", ARGUMENT]) == 0
    made = json.loads(capsys.readouterr().out)
    assert check_graph(made["graph"], BELIEF, ARGUMENT, rules="paper").ok
    samples, out = tmp_path / "s.jsonl", tmp_path / "out.jsonl"
    line = {"id": "0", "belief": BELIEF, "argument": ARGUMENT, "stance": made["stance"],
            "graph": GOOD}  # fmt: skip
    samples.write_text(json.dumps(line) + "\n", "utf-8")
    assert main(["explagraphs", "generate", str(samples), "-o", str(out)]) == 0
    assert main(["explagraphs", "score", str(samples), str(out), "--judges", "--json"]) == 0
    rows = [json.loads(row) for row in capsys.readouterr().out.splitlines()]
    values = {(row["row"], row["measure"]): row["value"] for row in rows}
    assert values["out.jsonl", "stca"] == 1
    assert 0 <= values["nonsense", "informativeness"] <= 1
    assert main(["explagraphs", "stats", str(samples), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["shapes"]["n"] == 1
    assert main(["explagraphs", "generate", "--belief", "", "--argument", ""]) == 0
    shown = capsys.readouterr()
    assert json.loads(shown.out)["graph"] == ""
    assert "too few words" in " ".join(shown.err.split())
    assert main(["explagraphs", "generate", "--belief", BELIEF]) == 2
    assert main(["explagraphs", "generate"]) == 2
    assert "SAMPLES" in capsys.readouterr().err
