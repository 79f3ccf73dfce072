import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grice_tasks.explagraphs.check import check_graph
from grice_tasks.explagraphs.classifiers import KernelHead, Scaling, projections, random_features
from grice_tasks.explagraphs.features import Reading, informativeness_features
from grice_tasks.explagraphs.generator import Slot, Template, Templates, generate_graphs
from grice_tasks.explagraphs.graph import Graph, read_graph
from grice_tasks.explagraphs.samples import Prediction, Sample
from grice_tasks.explagraphs.scores import ScoreOptions, score_samples
from grice_tasks.explagraphs.wording import nonsense_graph

BELIEF = "Zoos should be abolished."
ARGUMENT = "Animals in zoos live in small cages and suffer."
GOOD = "(zoos; has property; small cages)(small cages; causes; suffer)(suffer; causes; abolished)"


@pytest.fixture(scope="module")
def classifiers(exact_models):
    return exact_models.load("builtin:graphs")


def graph(text):
    return read_graph(text).graph


def reading(text, belief=BELIEF, argument=ARGUMENT):
    return Reading(belief, argument, graph(text))


def test_answers_and_graphs_do_not_depend_on_neighbours_or_case(classifiers):
    mine, other = reading(GOOD), reading("(cats; is a; dogs)", "Cats are nice.", "Dogs bark.")
    alone = classifiers.informativeness([mine])[0]
    assert classifiers.informativeness([mine, other])[0] == alone
    pairs = [(BELIEF, graph(GOOD)), ("x", other.graph)]
    alone = classifiers.meanings([(BELIEF, graph(GOOD.upper()))])[0]
    assert classifiers.meanings(pairs)[0] == alone
    samples = [Sample("a", BELIEF, ARGUMENT), Sample("b", "Cars kill people.", "Cars are fast.")]
    both = generate_graphs(samples, classifiers, stances=["support", "counter"])
    assert generate_graphs(samples[1:], classifiers, stances=["counter"]) == both[1:]
    assert both[0].stance == "support"


def test_the_order_of_the_facts_does_not_matter(classifiers):
    edges = graph(GOOD).edges
    orders = [Graph(edges), Graph(edges[::-1]), Graph((edges[1], edges[0], edges[2]))]
    readings = [Reading(BELIEF, ARGUMENT, order) for order in orders]
    for answers in (
        [each.value for each in classifiers.informativeness(readings)],
        [each.support for each in classifiers.meanings([(BELIEF, order) for order in orders])],
    ):
        assert answers == pytest.approx([answers[0]] * 3, abs=1e-5)


@pytest.mark.parametrize("text", ["", "(a; is a; b)", "(; is a; b)", "(a; is a; b)(b; is a; a)",
                                  "(a; resembles; b)", "(a; is a; a)", GOOD])  # fmt: skip
def test_any_graph_gets_an_answer_within_its_range(classifiers, text):
    odd = reading(text, "", "")
    assert 0 <= classifiers.informativeness([odd])[0].value < 1
    (meaning,) = classifiers.meanings([("", odd.graph)])
    assert meaning.label in ("support", "counter", "incorrect")
    assert sum(meaning) == pytest.approx(1, abs=0.5)
    for stance, margin in classifiers.stances([("", "")]):
        assert stance in ("support", "counter")
        assert margin >= 0
    assert len(classifiers.importance(odd, "counter")) == len(odd.graph.edges)


@pytest.mark.parametrize(("belief", "argument", "good"), [
    (BELIEF, ARGUMENT, GOOD),
    ("Fast food should be banned.", "Fast food is unhealthy and makes people obese.",
     "(fast food; has property; unhealthy)(unhealthy; causes; obese)(obese; desires; banned)"),
    ("We should subsidize journalism.", "Journalism is important to inform citizens.",
     "(journalism; used for; inform citizens)(inform citizens; has property; important)"
     "(important; desires; subsidize)"),
])  # fmt: skip
def test_a_chain_of_long_words_is_less_informative(classifiers, belief, argument, good):
    texts = good, nonsense_graph(belief, argument)
    full, empty = classifiers.informativeness([reading(x, belief, argument) for x in texts])
    assert full.value == min(full.written, full.accepted) > empty.value
    assert empty.value == min(empty.written, empty.accepted)
    assert classifiers.informativeness([reading("")])[0][:3] == (0, 0, 0)


def test_gated_measures_are_zero_behind_the_gate(classifiers):
    def values(stance, text, **gate):
        sample, answer = Sample("a", BELIEF, ARGUMENT, "support", (GOOD,)), {}
        answer["a"] = Prediction("a", stance, text)
        options = ScoreOptions(likeness={}, classifiers=classifiers, **gate)
        (score,) = score_samples([sample], answer, options)
        return [score.values[name] for name in ("seca", "ea", "informativeness")]

    right, wrong = values("support", GOOD), values("counter", GOOD)
    assert wrong[:2] == [0, 0]
    assert wrong[2] == right[2] > 0
    assert values("counter", GOOD, gate="structure") == right
    assert values("counter", "".join(f"(n{i}; is a; n{i + 1})" for i in range(10_000)))[2] == 0


WORDS = ["zoos", "should", "be", "banned", "animals", "suffer", "not", "money!"]
WORDS += ["(a;", "b)", "é", "7", "people's"]
TEXT = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)


@given(TEXT, TEXT)
def test_generated_graphs_are_valid_for_any_texts(classifiers, belief, argument):
    (prediction,) = generate_graphs([Sample("a", belief, argument)], classifiers)
    verdict = check_graph(prediction.graph, belief, argument)
    # Texts without two words, or of the same ones, have no two concepts to copy; everything else
    # holds even then.
    allowed = {"belief_concepts", "argument_concepts", "min_facts", "triples"}
    assert not set(verdict.broken) - allowed
    words, others = set(belief.split()), set(argument.split())
    if min(len(words), len(others)) > 3 and len(words ^ others) > 1:
        assert verdict.ok, (prediction.graph, verdict)


def test_random_features_approach_the_gaussian_kernel_and_never_change():
    rows = np.random.default_rng(0).standard_normal((20, 6)).astype(np.float32)
    made = random_features(rows, projections(6, 20_000, 0))
    distance = ((rows[:, None] - rows[None]) ** 2).sum(axis=2)
    assert np.abs(made @ made.T - np.exp(-distance / 2)).max() < 0.04
    assert np.allclose(projections(3, 2, 0)[0][0], [1.7640524, 0.4001572])


def test_a_head_comes_back_from_its_arrays():
    draws = np.random.default_rng(1)
    scaling = Scaling(np.zeros(5, np.float32), np.full(5, 0.5, np.float32))
    weight = draws.standard_normal((64, 3)).astype(np.float16).astype(np.float32)
    head = KernelHead(scaling, weight, np.ones(3, np.float32), seed=3)
    again = KernelHead.load(head.arrays("x"), "x")
    for row in draws.standard_normal((4, 5)).astype(np.float32):
        assert (head(row[:2], row[2:]) == again(row[:2], row[2:])).all()


@pytest.mark.parametrize(("text", "plausible", "expected"), [
    ("(zoos; causes; harm)(harm; part of; animals)", [0.9, 0.3], [0.6, 0.3, 0.3, 0.5]),
    ("(zoos; causes; harm)(harm; part of; animals)(zoos; causes; pain)(animals; desires; pain)",
     [0.9, 0.3, 0.8, 0.7], [0.675, 0.3, 0.7, 0.25]),
    ("(zoos; is a; place)(animals; is a; being)", [0.9, 0.9], [0.9, 0.9, 0, 0]),
    ("(place; is a; being)", [0.9], [0.9, 0.9, 0, 0]),
])  # fmt: skip
def test_mean_least_connection_and_share_of_doubtful_facts(text, plausible, expected):
    given_facts = np.array(plausible, np.float32)
    found = informativeness_features(BELIEF, "Animals suffer.", graph(text), given_facts)
    assert found.tolist() == pytest.approx(expected)


def test_the_nearest_templates_are_of_the_stance_and_survive_saving(tmp_path):
    slots = Slot("belief", 0, 0.5), Slot("outside", 0, 0, "harm")
    template = Template("support", slots, ((0, 3, 1),))
    other = Template("counter", (Slot("belief", 0, 1), Slot("argument", 0, 1)), ((1, 2, 0),))
    texts = np.array([[[1, 0], [0, 1]], [[0, 1], [1, 0]]], np.float32)
    concepts = np.array([[1, 0], [0, 1], [0, 1], [1, 0], [-1, 0], [0, -1]], np.float32)
    made = Templates([template, other, template], np.concatenate([texts, -texts[:1]]), concepts)
    made.save(tmp_path)
    read = Templates.load(tmp_path / "cases.json", tmp_path / "cases.npz")
    for templates in (made, read):
        nearest = templates.nearest(np.array([1, 0]), np.array([0, 1]), "support", 5)
        assert [template.stance for template, _ in nearest] == ["support", "support"]
        assert nearest[0][1].tolist() == [[1, 0], [0, 1]]
        assert len(templates.nearest(np.array([1, 0]), np.array([0, 1]), "support", 1)) == 1
