from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grice.errors import InputError
from grice_tasks.explagraphs.check import check_graph
from grice_tasks.explagraphs.samples import read_predictions, read_samples

NAMES = {"min3": "min_facts", "belief2": "belief_concepts", "arg2": "argument_concepts"}
BELIEF, ARGUMENT = "Zoos should be abolished.", "Animals in zoos live in small cages."
GOOD = "(zoos; has property; small cages)(small cages; causes; pain)(pain; desires; abolished)"


def test_worked_cases_of_the_released_rules(golden):
    for case in golden("explagraphs_cases")["structure"]:
        verdict = check_graph(case["graph"], case["belief"], case["argument"])
        expected = [NAMES.get(rule, rule) for rule in case["expect"]["failed_rules"]]
        assert list(verdict.broken) == expected, case["name"]
        assert verdict.ok == case["expect"]["ok"]


@pytest.mark.parametrize("system", ["maxmargin/max_margin", "codex/codex_few_shot"])
def test_failures_of_released_predictions(golden, graphs_folder, system):
    file, name = system.split("/")
    samples = {gold.id: gold for gold in read_samples(graphs_folder / "dev.jsonl.gz")}
    count = Counter()
    for prediction in read_predictions(graphs_folder / f"pred_{file}_dev.jsonl.gz"):
        sample = samples[prediction.id]
        count.update(check_graph(prediction.graph, sample.belief, sample.argument).broken)
    recorded = golden("explagraphs_predictions")[name]["rule_failures_any_stance"]
    assert count == Counter({NAMES.get(rule, rule): n for rule, n in recorded.items()})


@pytest.mark.parametrize("split", ["train", "dev"])
def test_gold_graphs_pass(golden, graphs_folder, split):
    samples = read_samples(graphs_folder / f"{split}.jsonl.gz")
    recorded = golden("explagraphs_stats")["structural_correctness_of_gold"][split]["exceptions"]
    failed = [
        [sample.id, list(verdict.broken)]
        for sample in samples
        if not (verdict := check_graph(sample.graphs[0], sample.belief, sample.argument)).ok
    ]
    assert failed == [[name, [NAMES[rule] for rule in rules]] for name, rules in recorded]
    # Whole words, as the task says them, hold for every gold graph, the exception included.
    assert all(check_graph(sample.graphs[0], sample.belief, sample.argument, rules="paper").ok
               for sample in samples)  # fmt: skip


@pytest.mark.parametrize(("graph", "rules"), [
    (GOOD, ()), (GOOD + "(zoos; has property; small cages)", ("duplicates",)),
    (GOOD + "(abolished; has context; zoos)", ("acyclic",)),
    (GOOD + "(a; is a; b)", ("connected",)), (GOOD.replace("(pain", " (pain"), ("form",)),
    (GOOD.replace("causes", "cause"), ("relation",)),
    (GOOD.replace("pain", "very great long pain"), ("concept_words",)),
    (GOOD.replace("abolished", "abolish"), ("belief_concepts",)),
    (GOOD + "".join(f"(abolished; causes; n{i})" for i in range(6)), ("max_facts",)),
])  # fmt: skip
def test_rules_of_the_paper(graph, rules):
    assert check_graph(graph, BELIEF, ARGUMENT, rules="paper").broken == rules


def test_reasons_say_what_and_where():
    graph = GOOD.replace("causes", "cause") + "(abolished; has context; zoos)"
    relation, cycle = check_graph(graph, BELIEF, ARGUMENT, rules="paper").failures
    assert relation.reason == "unknown relation 'cause'; did you mean 'causes'?"
    assert (relation.fact, graph[relation.position :][:12]) == (1, "(small cages")
    assert cycle.reason == "a cycle: zoos → small cages → pain → abolished → zoos"
    with pytest.raises(InputError, match="did you mean 'paper'"):
        check_graph(GOOD, BELIEF, ARGUMENT, rules="papers")


@pytest.mark.parametrize("rules", ["paper", "released"])
@pytest.mark.parametrize("graph", [
    "", "(", "()", "(" * 10_000, "(a; b" * 10_000, "(" * 10_000 + ";", ")" * 10_000,
    "(a; r; b)" * 10_000, "".join(f"(n{i}; r{i}; n{i + 1})" for i in range(10_000)),
    "".join(f"(n{i}; causes; n{(i + 1) % 10_000})" for i in range(10_000)),
])  # fmt: skip  # fmt: skip
def test_anything_gets_a_short_verdict(graph, rules):
    verdict = check_graph(graph, "a", "b", rules=rules)
    assert not verdict.ok
    assert len(verdict.failures) < 60
    assert all(len(failure.reason) < 400 for failure in verdict.failures)


@given(st.text(alphabet="ab;() ", max_size=50), st.sampled_from(["paper", "released"]))
def test_no_text_raises(text, rules):
    check_graph(text, "a b", "b", rules=rules)
