from __future__ import annotations

import msgspec
import networkx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grice.data import Triple
from grice.errors import InputError
from grice_tasks.explagraphs.check import check_graph
from grice_tasks.explagraphs.distance import edit_distance
from grice_tasks.explagraphs.graph import Graph, read_graph
from grice_tasks.explagraphs.samples import Prediction, Sample, read_predictions, read_samples
from grice_tasks.explagraphs.scores import (
    Match,
    best_gold,
    bleu,
    match_facts,
    rouge_2_precision,
    rouge_l,
    score_sample,
    score_table,
)
from grice_tasks.explagraphs.wording import graph_polarity, nonsense_graph, word_polarity
from grice_tasks.overlap import rouge_2

OVERLAPS = {
    "g_bleu": (bleu, "G-BLEU"),
    "g_rouge_2_released": (
        rouge_2_precision, "G-ROUGE-2 as released (pair score = ROUGE-2 precision)"
    ),
    "g_rouge_2": (rouge_2, "G-ROUGE-2 with pair score = F"),
    "g_rouge_l": (rouge_l, "G-ROUGE-L with pair score = F"),
}  # fmt: skip
CONCEPT = st.sampled_from("abcde")
SMALL = st.lists(
    st.builds(Triple, CONCEPT, st.sampled_from(["is a", "causes"]), CONCEPT).filter(
        # networkx turns a self-loop into any fact at a cost of 1; they pass no rules anyway.
        lambda edge: edge.head != edge.tail
    ),
    min_size=1,
    max_size=5,
).map(lambda edges: Graph(tuple(edges)))
GOLD = (
    "(zoos; has property; small cages)(small cages; causes; suffering)"
    "(suffering; desires; abolished)"
)
ZOO = Sample(
    "1", "Zoos should be abolished.", "Animals in zoos live in small cages.", "support", (GOLD,)
)


def near(value):
    return pytest.approx(value, abs=1e-6)


def test_worked_matchings(golden):
    cases = golden("explagraphs_cases")
    for case in cases["matching"]:
        match = match_facts(case["scores_pred_by_gold"])
        assert [match.precision, match.recall, match.f1] == near(
            [case["precision"], case["recall"], case["f1"]]
        )
    two = cases["two_references"]
    match = best_gold([Match(*two[gold].values()) for gold in ("gold1", "gold2")])
    assert [match.precision, match.recall, match.f1] == near(list(two["result"].values()))


def test_worked_likeness_of_facts(golden):
    for case in golden("explagraphs_cases")["edge_text_scores"]:
        pair = case["pred"], case["gold"]
        assert bleu(*pair) == near(case["bleu"])
        assert rouge_2_precision(*pair) == near(case["rouge2"]["p"])
        assert rouge_2(*pair) == near(case["rouge2"]["f"])
        assert rouge_l(*pair) == near(case["rougeL"]["f"])


def test_scored_pairs(golden):
    keys = ("g_bleu", "g_rouge2_script", "g_rouge2_f", "g_rougeL_f")
    for pair in golden("explagraphs_pairs")["pairs"]:
        mine, gold = (read_graph(pair[side]).graph for side in ("pred", "gold"))
        distance = edit_distance(mine, gold)
        assert (distance.edits, distance.scale, distance.exact) == (
            pair["ged"],
            pair["ged_const"],
            True,
        )
        texts = [
            [f"{e.head}; {e.relation}; {e.tail}" for e in graph.edges] for graph in (mine, gold)
        ]
        for key, (alike, _) in zip(keys, OVERLAPS.values(), strict=True):
            match = match_facts([[alike(fact, other) for other in texts[1]] for fact in texts[0]])
            assert [match.precision, match.recall, match.f1] == near(pair[key])


@given(SMALL, SMALL)
def test_the_edit_distance_is_that_of_networkx(mine, gold):
    def simple(graph):
        made = networkx.DiGraph()
        for edge in graph.edges:
            made.add_node(edge.head, label=edge.head)
            made.add_node(edge.tail, label=edge.tail)
            made.add_edge(edge.head, edge.tail, label=edge.relation)
        return made

    def same(node, other):
        return node["label"] == other["label"]

    exact = networkx.graph_edit_distance(
        simple(mine), simple(gold), node_match=same, edge_match=same
    )
    distance = edit_distance(mine, gold)
    assert (distance.edits, distance.exact) == (exact, True)
    assert edit_distance(gold, mine).edits == exact


def test_a_search_that_is_cut_off_says_so():
    def chain(count, name):
        return Graph(tuple(Triple(f"{name}{i}", "is a", f"{name}{i + 1}") for i in range(count)))

    distance = edit_distance(chain(400, "a"), chain(300, "b"))
    assert not distance.exact
    assert distance.edits >= 401
    assert edit_distance(chain(8, "a"), chain(8, "b")).exact


@pytest.mark.parametrize("system", ["maxmargin/max_margin", "codex/codex_few_shot"])
@pytest.mark.parametrize("gate", ["paper/with", "structure/without"])
def test_released_predictions(golden, graphs_folder, system, gate):
    file, name = system.split("/")
    gate, recorded = gate.split("/")
    expected = golden("explagraphs_predictions")[name][f"{recorded}_stance_gate"]
    samples = {sample.id: sample for sample in read_samples(graphs_folder / "dev.jsonl.gz")}
    predictions = read_predictions(graphs_folder / f"pred_{file}_dev.jsonl.gz")
    scores = [
        score_sample(samples[prediction.id], prediction, gate=gate) for prediction in predictions
    ]
    assert len(scores) == expected["n"]
    assert all(score.exact for score in scores)

    def mean(measure):
        return sum(score.values[measure] for score in scores) / len(scores)

    assert mean("sa") == near(expected["SA"])
    assert mean("stca") == near(expected["StCA"])
    assert mean("ged") == near(expected["GED"])
    for measure, (_, title) in OVERLAPS.items():
        assert mean(f"{measure}_precision") == near(expected[title]["P"])
        assert mean(f"{measure}_recall") == near(expected[title]["R"])
        assert mean(measure) == near(expected[title]["F1"])


def test_the_baselines_are_those_that_were_recorded(golden, graphs_folder):
    samples = read_samples(graphs_folder / "dev.jsonl.gz")
    recorded = golden("explagraphs_stats")["stance_baselines_dev"]["values"]
    right = sum(graph_polarity(sample.graphs[0]) == sample.stance for sample in samples)
    assert right / len(samples) == near(recorded["gold-graph negation parity"])
    right = sum(
        word_polarity(sample.belief, sample.argument) == sample.stance for sample in samples
    )
    assert right / len(samples) == near(recorded["negation parity rule"])
    # The recorded chain leaves open which word fills a text of too few; it broke 2 of 398 so.
    chains = [Prediction(sample.id, sample.stance, nonsense_graph(sample.belief, sample.argument))
              for sample in samples]  # fmt: skip
    scores = [score_sample(*pair) for pair in zip(samples, chains, strict=True)]
    filler = golden("explagraphs_predictions")["nonsense_filler"]["with_gold_stance"]
    for measure, expected in (("stca", filler["StCA"]), ("ged", filler["GED"]),
                              ("g_bleu", filler["G-BLEU"]["F1"])):  # fmt: skip
        value = sum(score.values[measure] for score in scores) / len(scores)
        assert value == pytest.approx(expected, abs=0.0051)


@given(st.text(max_size=40), st.text(max_size=40))
def test_the_nonsense_chain_is_well_formed_for_any_text(belief, argument):
    verdict = check_graph(nonsense_graph(belief, argument), belief, argument, rules="paper")
    assert set(verdict.broken) <= {"belief_concepts", "argument_concepts"}


def test_gates_decide_what_is_compared():
    wrong = Prediction("1", "counter", GOLD)
    short = Prediction("1", "support", GOLD[: GOLD.rindex("(")])
    compared = {
        gate: [score_sample(ZOO, prediction, gate=gate).compared for prediction in (wrong, short)]
        for gate in ("paper", "structure", "none")
    }
    assert compared == {"paper": [False, False], "structure": [True, False], "none": [True, True]}
    failed = score_sample(ZOO, wrong).values
    assert (failed["stca"], failed["ged"], failed["g_bleu"]) == (0, 1, 0)
    part = score_sample(ZOO, short, gate="none").values
    assert part["ged"] == pytest.approx(2 / 24)
    assert (part["g_bleu_precision"], part["g_bleu_recall"]) == near((1, 2 / 3))


def test_of_two_gold_graphs_each_measure_takes_the_nearer():
    far = "(a; is a; b)(b; is a; c)(c; is a; d)"
    both = Sample(ZOO.id, ZOO.belief, ZOO.argument, ZOO.stance, (far, GOLD))
    values = score_sample(both, Prediction("1", "support", GOLD)).values
    assert (values["ged"], values["g_rouge_l"]) == (0, 1)


def test_a_table_shows_the_baselines_below_the_system():
    rows = score_table([ZOO, Sample("2", "a", "b", "support", (GOLD,))],
                       [Prediction("1", "support", GOLD)], name="gold")  # fmt: skip
    assert [row.name for row in rows] == ["gold", "nonsense", "polarity", "nonsense, polarity"]
    assert [row.measures["stca"].value for row in rows] == [1, 1, 1, 1]
    assert [row.missing for row in rows] == [1] * 4
    assert rows[0].measures["ged"].n == 1


def test_predictions_of_other_samples_are_refused():
    with pytest.raises(InputError, match=r"1 predictions belong to no sample, .* '7'"):
        score_table([ZOO], [Prediction("7", "support", GOLD)])
    with pytest.raises(InputError, match="did you mean 'none'"):
        score_sample(ZOO, Prediction("1", "support", GOLD), gate="non")
    with pytest.raises(InputError, match="no gold stance"):
        score_sample(Sample("1", "a", "b"), Prediction("1", "support", GOLD))


WORDS = st.lists(st.sampled_from(["ant", "bee", "cow", "dog"]), max_size=8).map(" ".join)


@given(WORDS, WORDS)
def test_the_longest_common_subsequence_is_that_of_the_plain_table(mine, gold):
    words, other = mine.split(), gold.split()
    table = [[0] * (len(other) + 1) for _ in range(len(words) + 1)]
    for i, word in enumerate(words, 1):
        for j, other_word in enumerate(other, 1):
            table[i][j] = (
                table[i - 1][j - 1] + 1
                if word == other_word
                else max(table[i - 1][j], table[i][j - 1])
            )
    shared = table[-1][-1]
    assert rouge_l(mine, gold) == near(2 * shared / (len(words) + len(other)) if shared else 0)


def test_worked_gating(golden):
    gating = golden("explagraphs_cases")["gating"]
    broken = GOLD[: GOLD.rindex("(")]
    scores = []
    for row in gating["rows"]:
        stance = "support" if row["stance_ok"] else "counter"
        graph = GOLD if row["struct_ok"] else broken
        scores.append(score_sample(ZOO, Prediction("1", stance, graph)))
    assert sum(score.values["sa"] for score in scores) / 5 == near(gating["SA"])
    assert sum(score.values["stca"] for score in scores) / 5 == near(gating["StCA"])
    for row, score in zip(gating["rows"], scores, strict=True):
        assert (score.values["ged"] == 1) == (row["ged"] == 1)


def test_a_gold_graph_of_thousands_of_facts_is_refused_by_name():
    many = "".join(f"(n{i}; is a; n{i + 1})" for i in range(10_000))
    sample = Sample("big", "zoos", "cages", "support", (many,))
    with pytest.raises(InputError, match=r"'big' has 10,000 facts"):
        score_sample(sample, Prediction("big", "support", "(a; is a; b)"), gate="none")


def test_of_three_samples_every_interval_lies_between_0_and_1_and_none_is_certain():
    right = Prediction("1", "support", GOLD)
    samples = [ZOO, msgspec.structs.replace(ZOO, id="2", belief="Zoos should be closed.")]
    samples.append(msgspec.structs.replace(ZOO, id="3", stance="counter"))
    answers = [msgspec.structs.replace(right, id=sample.id) for sample in samples]
    for row in score_table(samples, answers):
        for measure, estimate in row.measures.items():
            assert 0 <= estimate.low <= estimate.value <= estimate.high <= 1, (row.name, measure)
            assert estimate.high - estimate.low > 0.2, (row.name, measure)
