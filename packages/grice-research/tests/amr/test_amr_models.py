import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tiny_published as tiny
from grice.cli import main
from grice.data import Conversation, Turn
from grice.errors import InputError
from grice.models.protocols import Generated
from grice.perturb import Material, perturb
from grice_research.amr.graphs import nodes, read_graph, written
from grice_research.amr.models import parsed_texts, sequence_of, tree_of

NAMES = st.sampled_from(
    ["dog", "i", "like-01", "have-rel-role-91", "name", "ärger", "multi-sentence", "amr-unknown"]
)
ROLES = st.sampled_from([":ARG0", ":ARG1-of", ":op1", ":time", ":mod", ":mode", ":snt1"])
VALUES = st.sampled_from([(":polarity", "-"), (":quant", "6"), (":op1", '"New York (3)"')])


@st.composite
def graphs(draw):
    """A graph whose branches lead to new nodes, to earlier and later ones, and to values."""
    count = draw(st.integers(1, 6))
    branches = [[("/", draw(NAMES))] for _ in range(count)]
    tree = [(f"v{i}", branches[i]) for i in range(count)]
    for i in range(1, count):
        branches[draw(st.integers(0, i - 1))].append((draw(ROLES), tree[i]))
    for own in branches:
        own.extend(draw(st.lists(VALUES, max_size=1)))
        own.extend(
            (draw(ROLES), f"v{draw(st.integers(0, count - 1))}")
            for _ in range(draw(st.integers(0, 2)))
        )
    return tree[0]


@given(graphs())
def test_a_graph_comes_back_from_its_sequence(tree):
    sequence = sequence_of(tree)
    again = tree_of(sequence)
    assert sequence_of(again) == sequence
    assert [node[1][0] for _, node in nodes(again)] == [node[1][0] for _, node in nodes(tree)]
    assert sequence_of(read_graph(written(again))) == sequence


@given(st.lists(graphs(), min_size=3, max_size=5), st.integers(0, 9))
def test_whatever_graph_a_parser_writes_can_be_changed(trees, seed):
    written_graphs = {f"Turn {i}.": written(tree) for i, tree in enumerate(trees)}
    turns = tuple(Turn("AB"[i % 2], text) for i, text in enumerate(written_graphs))
    material = Material(resources={"graphs": written_graphs.get, "sentences": str})
    perturbed = perturb(Conversation("c", turns), "deam-amr", seed=seed, material=material)
    for change in perturbed.changes if perturbed else ():
        assert read_graph(change.after)


@given(st.text(alphabet='( ):a-1"/_\n', max_size=40))
def test_what_a_parser_writes_is_a_graph_or_refused(text):
    try:
        tree = tree_of(text)
    except InputError:
        return
    read_graph(written(tree))


@pytest.mark.parametrize("text", ["", "like-01 )", "( like-01 dog )", "( like-01 :ARG0 )", "( )"])
def test_what_is_no_graph_is_refused(text):
    with pytest.raises(InputError, match="not an AMR graph"):
        tree_of(text)


class Parser:
    """Writes the same four graphs to everything."""

    identity = "stub"

    def __init__(self, *graphs):
        self.graphs = graphs

    def write(self, prompts, search):
        assert (search.beams, search.returned) == (4, 4)
        return [tuple(Generated(text, -1.0) for text in self.graphs) for _ in prompts]


def test_the_first_graph_that_can_be_read_counts_and_may_lack_brackets_at_the_end():
    parsed = parsed_texts(Parser("( :ARG0", "( rain-01 )", "( snow-01 )", ""), ["It rains."])
    assert parsed == {"It rains.": "(r / rain-01)"}
    assert parsed_texts(Parser("", "", "", ""), ["It rains."]) == {}
    whole = read_graph("(l / like-01 :ARG0 (i / i) :ARG1 (d / dog))")
    assert written(tree_of("( like-01 :ARG0 ( i ) :ARG1 ( dog")) == written(whole)


VERBS = {"like": "like-01", "hate": "hate-01", "want": "want-01", "buy": "buy-01"}
THINGS = ["tea", "soup", "maps", "songs", "dogs", "boats"]
PEOPLE = ["i", "you", "they"]


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """A parser and a generator that know sentences of three words."""
    tiny.torch_and_transformers()
    folder = tmp_path_factory.mktemp("amr")
    pairs = {f"{who} {verb} {thing}": f"(x / {frame} :ARG0 (y / {who}) :ARG1 (z / {thing}))"
             for who in PEOPLE for verb, frame in VERBS.items() for thing in THINGS}  # fmt: skip
    file = folder / "pairs.amr"
    file.write_text("\n\n".join(f"# ::snt {text}\n{graph}" for text, graph in pairs.items()))
    sequences = [sequence_of(read_graph(graph)) for graph in pairs.values()]
    base = tiny.write_t5(folder / "t5", [*pairs, *pairs.values(), *sequences], 500)
    values = {"epochs": 25, "batch": 16, "learning_rate": 0.005, "precision": "bfloat16"}
    made = {system: folder / system for system in ("amr-parser", "amr-generator")}
    for system, out in made.items():
        assert main(tiny.command(system, file, base, out, **values)) == 0
    return [f"file:{out}" for out in made.values()]


@pytest.fixture
def chat(tmp_path):
    file = tmp_path / "chat.txt"
    file.write_text("A: i like tea\nB: you hate soup\nA: they want maps\nB: i buy songs\n")
    return file


def test_models_write_the_graphs_and_say_changed_ones_in_words(models, chat, capsys):
    parser, generator = models
    command = ["perturb", str(chat), "--kind", "amr-irrelevancy", "--resource", f"parser={parser}"]
    capsys.readouterr()
    assert main([*command, "--resource", f"generator={generator}"]) == 0
    (change,) = json.loads(capsys.readouterr().out)["meta"]["changes"]
    assert change["after"] != change["before"]
    assert set(change["after"].split()) <= {*PEOPLE, *VERBS, *THINGS}
    assert main(command) == 0
    (change,) = json.loads(capsys.readouterr().out)["meta"]["changes"]
    assert read_graph(change["after"])


@pytest.mark.parametrize(
    ("words", "problem"),
    [(["deam", "--resource", "parser=file:x"], "no resource is read by deam"),
     (["deam-amr", "--resource", "parser=file:x", "--resource", "graphs=x"], "leave one out"),
     (["deam-amr", "--resource", "parsers=file:x"], "read graphs, parser and generator"),
     (["deam-amr", "--resource", "parser"], "write NAME=VALUE"),
     (["deam-amr", "--resource", "parser=builtin:encoder"], "encoder")],
)  # fmt: skip
def test_models_in_the_wrong_place_are_refused(words, problem, chat, capsys):
    assert main(["perturb", str(chat), "--kind", *words]) == 2
    assert problem in capsys.readouterr().err
