from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grice_tasks.explagraphs.check import check_graph
from grice_tasks.explagraphs.repair import repair_graph
from grice_tasks.explagraphs.samples import read_predictions, read_samples

BELIEF, ARGUMENT = "Zoos should be abolished.", "Animals in zoos live in small cages."
GOOD = (
    "(zoos; has property; small cages)(small cages; causes; suffering)"
    "(suffering; desires; abolished)"
)


def test_a_valid_graph_is_left_alone():
    repair = repair_graph(GOOD, BELIEF, ARGUMENT)
    assert (repair.graph, repair.edits) == (GOOD, ())


@pytest.mark.parametrize("rules", ["paper", "released"])
@pytest.mark.parametrize(
    ("graph", "kinds"),
    [
        (GOOD.replace(")(", ") ("), ["rewrite"]),
        (GOOD.replace("causes", "cause"), ["relation"]),
        (GOOD[:-1] + "((", ["rewrite"]),
        (GOOD.replace("small cages", "very small iron cages"), ["rename"]),
        (GOOD + "(abolished; has context; zoos)", ["remove"]),
        (GOOD.replace("; suffering", "; sufferings"), ["rename"]),
        (GOOD[: GOOD.rindex("(")], ["add"]),
        (GOOD.replace("abolished", "abolition"), ["rename"]),
        # One edit that answers two broken rules comes before one for each.
        (GOOD.replace("causes", "cause") + "(abolished; has context; zoos)", ["remove"]),
        (
            GOOD.replace("causes", "cause").replace("suffering", "a very great suffering"),
            ["rename", "relation"],
        ),
    ],
)
def test_one_edit_per_flaw(graph, kinds, rules):
    repair = repair_graph(graph, BELIEF, ARGUMENT, rules=rules)
    assert [edit.kind for edit in repair.edits] == kinds
    assert check_graph(repair.graph, BELIEF, ARGUMENT, rules=rules).ok
    assert not repair.verdict.ok


@pytest.mark.parametrize("rules", ["paper", "released"])
def test_an_empty_graph_is_filled(rules):
    repair = repair_graph("", BELIEF, ARGUMENT, rules=rules)
    assert check_graph(repair.graph, BELIEF, ARGUMENT, rules=rules).ok


@pytest.mark.parametrize("rules", ["paper", "released"])
@pytest.mark.parametrize(
    ("graph", "edits"),
    [
        ("(sport; is a; fun)(chess; not is a; boring)", 2),
        ("(sport; has context; chess)(fun; is a; boring)", 1),
        ("(chess; has context; fun)", 2),
    ],
)
def test_texts_whose_words_are_all_in_the_graph_get_facts_between_them(graph, edits, rules):
    repair = repair_graph(graph, "Chess should be fun sport.", "Chess is boring.", rules=rules)
    assert len(repair.edits) == edits
    assert check_graph(
        repair.graph, "Chess should be fun sport.", "Chess is boring.", rules=rules
    ).ok


def test_only_one_edit_is_called_the_smallest_repair():
    repair = repair_graph(GOOD.replace("causes", "cause"), BELIEF, ARGUMENT)
    assert (len(repair.edits), repair.smallest) == (1, True)
    graph = (
        "(criminal entrapment; causes; arrests)(arrests; has context; helpful)"
        "(criminal entrapment; causes; setting up innocent people)"
        "(setting up innocent people; has context; not helpful)"
    )
    texts = (
        "Entrapment is helpful.",
        "Criminal entrapment leads to arrests but it sets up otherwise innocent people.",
    )
    two = repair_graph(graph, *texts)
    # A phrase in the place of another one is a single edit that makes the graph valid too.
    assert check_graph(graph.replace("setting up innocent people", "entrapment"), *texts).ok
    assert (len(two.edits), two.smallest) == (2, False)


def test_what_is_not_repaired_says_why():
    long = "".join(f"(n{i}; causes; n{i + 1})" for i in range(60))
    repair = repair_graph(long, BELIEF, ARGUMENT)
    assert (repair.graph, repair.reason) == (None, "60 facts are too many to repair")
    assert repair_graph("", "", "").reason == (
        "none found within 6 edits: the belief has 0 words, and 2 concepts must come from it"
    )
    assert repair_graph("", BELIEF, "No.", rules="paper").reason == (
        "none found within 6 edits: the argument has 1 word, and 2 concepts must come from it"
    )


@settings(max_examples=40)
@given(st.text(alphabet="ab;() ", max_size=30), st.sampled_from(["paper", "released"]))
def test_a_proposal_is_always_valid(text, rules):
    repair = repair_graph(text, "a ab abb", "b ba", rules=rules)
    assert repair.graph is None or check_graph(repair.graph, "a ab abb", "b ba", rules=rules).ok
    assert (repair.graph is None) == (repair.reason is not None)


def test_every_released_prediction_that_fails_is_repaired(graphs_folder):
    samples = {sample.id: sample for sample in read_samples(graphs_folder / "dev.jsonl.gz")}
    predictions = read_predictions(graphs_folder / "pred_maxmargin_dev.jsonl.gz")
    repairs = [
        repair_graph(
            prediction.graph, samples[prediction.id].belief, samples[prediction.id].argument
        )
        for prediction in predictions
    ]
    failed = [repair for repair in repairs if not repair.verdict.ok]
    assert len(failed) == 170
    assert all(repair.graph is not None for repair in failed)
    assert sum(len(repair.edits) == 1 for repair in failed) > len(failed) / 2
