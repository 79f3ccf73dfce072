import msgspec
import networkx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grice.data import Triple
from grice.errors import InputError
from grice.models.loader import ModelLoader
from grice_tasks.explagraphs.check import check_graph
from grice_tasks.explagraphs.distance import edit_distance
from grice_tasks.explagraphs.embedding import TokenLikeness
from grice_tasks.explagraphs.graph import Graph, read_graph
from grice_tasks.explagraphs.samples import Prediction, Sample, read_predictions, read_samples
from grice_tasks.explagraphs.scores import (
    ScoreOptions,
    bleu,
    match_facts,
    rouge_2_precision,
    rouge_l,
    score_parts,
    score_sample,
    score_table,
)
from grice_tasks.explagraphs.wording import nonsense_graph
from grice_tasks.overlap import rouge_2

RELEASED = "G-ROUGE-2 as released"
OVERLAPS = {
    "g_bleu": (bleu, "G-BLEU"),
    "g_rouge_2_released": (rouge_2_precision, f"{RELEASED} (pair score = ROUGE-2 precision)"),
    "g_rouge_2": (rouge_2, "G-ROUGE-2 with pair score = F"),
    "g_rouge_l": (rouge_l, "G-ROUGE-L with pair score = F"),
}
GOLD = "(zoos; has property; small cages)(small cages; causes; pain)(pain; desires; abolished)"
TEXTS = "Zoos should be abolished.", "Animals in zoos live in small cages."
ZOO = Sample("1", *TEXTS, "support", (GOLD,))
RIGHT = Prediction("1", "support", GOLD)
WRONG = Prediction("1", "counter", GOLD)
SHORT = Prediction("1", "support", GOLD[: GOLD.rindex("(")])


def near(value):
    return pytest.approx(value, abs=1e-6)


def test_worked_matchings_and_likeness_of_facts(golden):
    for case in golden("explagraphs_cases")["matching"]:
        match = match_facts(case["scores_pred_by_gold"])
        assert match == near((case["precision"], case["recall"], case["f1"]))
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
        assert edit_distance(mine, gold) == (pair["ged"], pair["ged_const"], True)
        for key, (alike, _) in zip(keys, OVERLAPS.values(), strict=True):
            match = match_facts([[alike(a, b) for b in gold.facts] for a in mine.facts])
            assert match == near(tuple(pair[key]))


CONCEPT = st.sampled_from("abcde")
FACT = st.builds(Triple, CONCEPT, st.sampled_from(["is a", "causes"]), CONCEPT)
# networkx turns a self-loop into any fact at a cost of 1; they pass no rules anyway.
FACTS = st.lists(FACT.filter(lambda edge: edge.head != edge.tail), min_size=1, max_size=5)
SMALL = FACTS.map(lambda edges: Graph(tuple(edges)))


@given(SMALL, SMALL)
def test_the_edit_distance_is_that_of_networkx(mine, gold):
    def simple(graph):
        made = networkx.DiGraph()
        made.add_nodes_from((name, {"label": name}) for name in graph.concepts)
        for edge in graph.edges:
            made.add_edge(edge.head, edge.tail, label=edge.relation)
        return made

    def same(node, other):
        return node["label"] == other["label"]

    pair = simple(mine), simple(gold)
    exact = networkx.graph_edit_distance(*pair, node_match=same, edge_match=same)
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
    options = ScoreOptions(gate=gate)
    scores = [score_sample(samples[each.id], each, options) for each in predictions]
    assert len(scores) == expected["n"]
    assert all(score.exact for score in scores)

    def mean(measure):
        return sum(score.values[measure] for score in scores) / len(scores)

    for measure, title in (("sa", "SA"), ("stca", "StCA"), ("ged", "GED")):
        assert mean(measure) == near(expected[title])
    for measure, (_, title) in OVERLAPS.items():
        assert mean(f"{measure}_precision") == near(expected[title]["P"])
        assert mean(f"{measure}_recall") == near(expected[title]["R"])
        assert mean(measure) == near(expected[title]["F1"])


def test_the_nonsense_chain_scores_as_recorded(golden, graphs_folder):
    samples = read_samples(graphs_folder / "dev.jsonl.gz")
    # The recorded chain leaves open which word fills a text of too few; it broke 2 of 398 so.
    scores = [
        score_sample(each, Prediction(each.id, each.stance, nonsense_graph(*texts)))
        for each in samples
        for texts in [(each.belief, each.argument)]
    ]
    filler = golden("explagraphs_predictions")["nonsense_filler"]["with_gold_stance"]
    for measure, expected in (("stca", filler["StCA"]), ("ged", filler["GED"]),
                              ("g_bleu", filler["G-BLEU"]["F1"])):  # fmt: skip
        value = sum(score.values[measure] for score in scores) / len(scores)
        assert value == pytest.approx(expected, abs=0.0051)


@given(st.text(max_size=40), st.text(max_size=40))
def test_the_nonsense_chain_is_well_formed_for_any_text(belief, argument):
    verdict = check_graph(nonsense_graph(belief, argument), belief, argument, rules="paper")
    assert set(verdict.broken) <= {"belief_concepts", "argument_concepts"}


def test_gates_decide_which_graphs_are_compared():
    compared = {
        gate: [score_sample(ZOO, each, ScoreOptions(gate=gate)).compared for each in (WRONG, SHORT)]
        for gate in ("paper", "structure", "none")
    }
    assert compared == {"paper": [False, False], "structure": [True, False], "none": [True, True]}
    failed = score_sample(ZOO, WRONG).values
    assert (failed["stca"], failed["ged"], failed["g_bleu"]) == (0, 1, 0)
    part = score_sample(ZOO, SHORT, ScoreOptions(gate="none")).values
    assert part["ged"] == pytest.approx(2 / 24)
    assert (part["g_bleu_precision"], part["g_bleu_recall"]) == near((1, 2 / 3))


def test_worked_gating(golden):
    gating = golden("explagraphs_cases")["gating"]
    scores = [
        score_sample(ZOO, Prediction("1", "support" if row["stance_ok"] else "counter",
                                     GOLD if row["struct_ok"] else SHORT.graph))
        for row in gating["rows"]
    ]  # fmt: skip
    assert sum(score.values["sa"] for score in scores) / 5 == near(gating["SA"])
    assert sum(score.values["stca"] for score in scores) / 5 == near(gating["StCA"])
    for row, score in zip(gating["rows"], scores, strict=True):
        assert (score.values["ged"] == 1) == (row["ged"] == 1)


def test_of_two_gold_graphs_each_measure_takes_the_nearer():
    both = msgspec.structs.replace(ZOO, graphs=("(a; is a; b)(b; is a; c)(c; is a; d)", GOLD))
    values = score_sample(both, RIGHT).values
    assert (values["ged"], values["g_rouge_l"]) == (0, 1)


def test_a_table_shows_baselines_and_parts_by_depth_and_linearity_of_the_gold_graph():
    samples = [ZOO, Sample("2", "a", "b", "support", (GOLD,))]
    rows = score_table(samples, [RIGHT], name="gold")
    assert [row.name for row in rows] == ["gold", "nonsense", "polarity", "nonsense, polarity"]
    assert [row.measures["stca"].value for row in rows] == [1, 1, 1, 1]
    assert ([row.missing for row in rows], rows[0].measures["ged"].n) == ([1] * 4, 1)
    fork = "(zoos; is a; place)(zoos; causes; harm)(harm; antonym of; banned)"
    samples = [ZOO, Sample("2", "All zoos", "They do harm.", "support", (fork,))]
    parts = score_parts(samples, [RIGHT, Prediction("2", "support", GOLD)])
    by_name = {part.name: part.measures for part in parts}
    assert by_name.keys() == {"depth 1 to 3", "linear", "non-linear"}
    assert by_name["linear"]["sa"].n == by_name["non-linear"]["sa"].n == 1
    assert by_name["depth 1 to 3"]["ged"].n == 2


def test_arguments_that_do_not_fit_are_refused():
    with pytest.raises(InputError, match=r"1 predictions belong to no sample, .* '7'"):
        score_table([ZOO], [Prediction("7", "support", GOLD)])
    with pytest.raises(InputError, match="did you mean 'none'"):
        score_sample(ZOO, RIGHT, ScoreOptions(gate="non"))
    with pytest.raises(InputError, match="no gold stance"):
        score_sample(Sample("1", "a", "b"), RIGHT)
    many = "".join(f"(n{i}; is a; n{i + 1})" for i in range(10_000))
    with pytest.raises(InputError, match=r"'1' has 10,000 facts"):
        score_sample(msgspec.structs.replace(ZOO, graphs=(many,)), RIGHT)


@pytest.mark.parametrize(("text", "other", "share"), [
    ("", "ant", 0), ("ant bee", "bee ant", 1 / 2), ("ant bee cow dog", "bee ant dog bee", 1 / 2),
])  # fmt: skip
def test_the_words_in_the_same_order_are_counted(text, other, share):
    assert rouge_l(text, other) == near(share)


def test_facts_are_compared_by_the_vectors_of_their_tokens():
    likeness = TokenLikeness(ModelLoader(mode="fast").load("builtin:encoder"))
    assert likeness("zoos; is a; place", "zoos; is a; place") == pytest.approx(1)
    close = likeness("a zoo; is a; location", "zoos; is a; place")
    far = likeness("music; causes; headache", "zoos; is a; place")
    assert 0 <= far < close < 1
    assert likeness("zoos; is a; place", "a zoo; is a; location") == pytest.approx(close)
    assert likeness("; ; ", "zoos; is a; place") == 0
    score = score_sample(ZOO, RIGHT, ScoreOptions(likeness={"g_embedding": likeness}))
    assert score.values["g_embedding"] == pytest.approx(1)
