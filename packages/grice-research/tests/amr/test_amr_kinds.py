import json
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from grice.cli import main
from grice.data import Conversation, Turn
from grice.errors import InputError
from grice.perturb import Material, perturb
from grice_research.amr.graphs import concept, nodes, parts, read_graph, written
from grice_research.amr.sources import amrlib_models, graphs_of_file

GRAPHS = json.loads(Path(__file__).with_name("graphs.json").read_text("utf-8"))
WHOLE = Conversation("c", tuple(Turn("AB"[i % 2], text) for i, text in enumerate(GRAPHS)))


def material(graphs):
    return Material(resources={"graphs": graphs, "sentences": str})


def changes_of(kind, graphs, seeds, talk=None):
    """Yield what each seed changes in a talk of one speaker, whose turns have graphs."""
    talk = talk or Conversation("a", tuple(Turn("A", text) for text in graphs))
    for seed in range(seeds):
        yield from perturb(talk, kind, seed=seed, material=material(graphs.get)).changes


KINDS = ["amr-coreference", "amr-contradiction", "amr-irrelevancy", "amr-decreased-engagement"]


@pytest.mark.parametrize("kind", [*KINDS, "deam-amr"])
@pytest.mark.parametrize("seed", range(6))
def test_changed_graphs_can_be_read_and_hold_each_variable_once(kind, seed):
    perturbed = perturb(WHOLE, kind, seed=seed, material=material(GRAPHS.get))
    assert perturbed is not None
    for change in perturbed.changes:
        for place in change.turns:
            tree = read_graph(perturbed.conversation.turns[place].text)
            names = [node[0] for _, node in nodes(tree)]
            assert len(set(names)) == len(names)
            assert set(re.findall(r":\S+ ([a-z]\d*)(?=[\s)])", written(tree))) <= set(names)


def test_a_contradiction_is_what_the_same_speaker_stated_before():
    for change in changes_of("amr-contradiction", GRAPHS, 8, WHOLE):
        [host] = change.turns
        earlier = int(re.search(r"turn (\d+) again", change.what)[1])
        assert earlier < host
        assert (host - earlier) % 2 == 0
        copied, before, after = (
            parts(read_graph(graph))
            for graph in (GRAPHS[WHOLE.turns[earlier].text],
                          GRAPHS[WHOLE.turns[host].text], change.after))  # fmt: skip
        stated = [graph for graph in copied if "amr-unknown" not in written(graph)]
        assert len(after) == len(before) + len(stated)


def test_what_only_asks_or_bids_cannot_be_contradicted():
    graphs = {
        "Do you like dogs?": "(l / like-01 :polarity (a / amr-unknown) :ARG0 (y / you))",
        "Fine.": "(f / fine-03)",
        "Show me the dog.": "(s / show-01 :mode imperative :ARG0 (y / you) :ARG1 (d / dog))",
        "Here.": "(h / here)",
        "Good.": "(g / good-02)",
    }
    for change in changes_of("amr-contradiction", graphs, 20):
        assert change.what.startswith("turn 1 again")


def test_relations_that_amr_made_up_are_not_exchanged():
    graphs = {
        "My sister bakes.": "(b / bake-01 :ARG0 (p / person :ARG0-of (h / have-rel-role-91 "
        ":ARG1 (i / i) :ARG2 (s / sister))))",
        "He sings.": "(s / sing-01 :ARG0 (h / he))",
    }
    for change in changes_of("amr-irrelevancy", graphs, 20):
        assert "-91" not in change.what


def test_a_sentence_that_refers_to_another_stands_for_itself():
    graph = (
        "(m / multi-sentence :snt1 (l / love-01 :ARG0 (i / i) :ARG1 (d / dog)) "
        ":snt2 (w / walk-01 :ARG0 i :ARG1 d :ARG2 i))"
    )
    second = parts(read_graph(graph))[1]
    whole = "(w / walk-01 :ARG0 (i / i) :ARG1 (d / dog) :ARG2 i)"
    assert " ".join(written(second).split()) == whole
    for change in changes_of("amr-decreased-engagement", {"I love my dog. I walk it.": graph}, 8):
        tree = read_graph(change.after)
        names = {node[0] for _, node in nodes(tree)}
        assert set(re.findall(r":\S+ ([a-z]\d*)(?=[\s)])", written(tree))) <= names


def test_questions_and_details_are_taken_out():
    ways = {change.what for change in changes_of("amr-decreased-engagement", GRAPHS, 60, WHOLE)}
    assert {"question, sentence 2, taken out", ":op1 station taken out",
            ":ARG1 rain taken out"} <= ways  # fmt: skip
    assert not any("taken out" in way and way.startswith(":ARG0") for way in ways)


def test_without_graphs_it_says_what_is_needed():
    with pytest.raises(InputError, match="--resource graphs"):
        perturb(WHOLE, "amr-irrelevancy")
    assert perturb(WHOLE, "amr-irrelevancy", material=material(lambda _: None)) is None


def test_a_broken_graph_is_shown_with_line_and_caret(tmp_path):
    with pytest.raises(InputError, match=r"line 2:\n.*:ARG0 y / you\)\n +\^"):
        read_graph("(l / like-01\n  :ARG0 y / you)")
    file = tmp_path / "graphs.amr"
    file.write_text("# ::snt Fine.\n(f / fine-03)\n\n# ::snt Bad.\n(b / bad-07\n")
    with pytest.raises(InputError, match=r"graphs\.amr:5: not an AMR graph"):
        graphs_of_file(file)
    file.write_text("nothing here")
    with pytest.raises(InputError, match="no graph"):
        graphs_of_file(file)


def test_the_command_takes_a_file_of_graphs(tmp_path, capsys):
    graphs, chat = tmp_path / "graphs.amr", tmp_path / "chat.txt"
    graphs.write_text("\n\n".join(f"# ::snt {text}\n{graph}" for text, graph in GRAPHS.items()))
    chat.write_text("".join(f"{turn.speaker}: {turn.text}\n" for turn in WHOLE.turns))
    words = ["perturb", str(chat), "--kind", "amr-coreference", "--resource", f"graphs={graphs}"]
    assert main(words) == 0
    assert "(" in json.loads(capsys.readouterr().out)["meta"]["changes"][0]["after"]


class FakeParser:
    """Stub of amrlib 0.7's ``load_stog_model``: graphs begin with metadata."""

    def parse_sents(self, sents, add_metadata=True, disable_progress=True):
        return [f"# ::snt {text}\n{GRAPHS[text]}" if text in GRAPHS else None for text in sents]


class FakeGenerator:
    """Stub of ``load_gtos_model``: texts, and whether each was cut off."""

    def generate(self, graphs, disable_progress=True, use_tense=True):
        assert not any(graph.startswith("#") for graph in graphs)
        return [f"said {concept(read_graph(graph))}" for graph in graphs], [False] * len(graphs)


def fake_amrlib(monkeypatch, **functions):
    module = ModuleType("amrlib")
    for name, function in functions.items():
        setattr(module, name, function)
    monkeypatch.setitem(sys.modules, "amrlib", module)


def test_graphs_come_from_amrlib_and_go_back_to_words(monkeypatch, tmp_path, capsys):
    fake_amrlib(monkeypatch, load_stog_model=FakeParser, load_gtos_model=FakeGenerator)
    graphs, sentences = amrlib_models()
    assert graphs("He hates the rain.") == GRAPHS["He hates the rain."]
    assert graphs("What no parser reads") is None
    assert sentences(GRAPHS["He hates the rain."]) == "said hate-01"
    models = Material((), {"graphs": graphs, "sentences": sentences})
    assert perturb(WHOLE, "amr-irrelevancy", material=models).changes[0].after.startswith("said ")
    chat = tmp_path / "chat.txt"
    chat.write_text("".join(f"{turn.speaker}: {turn.text}\n" for turn in WHOLE.turns))
    assert main(["perturb", str(chat), "--kind", "deam-amr"]) == 0
    changed = json.loads(capsys.readouterr().out)
    assert any(turn["text"].startswith("said ") for turn in changed["turns"])

    def missing():
        raise FileNotFoundError("no model_stog")

    fake_amrlib(monkeypatch, load_stog_model=missing, load_gtos_model=FakeGenerator)
    with pytest.raises(InputError, match=r"no model_stog.*graphs=FILE"):
        amrlib_models()
    monkeypatch.setitem(sys.modules, "amrlib", None)
    with pytest.raises(InputError, match="amrlib"):
        amrlib_models()


@pytest.mark.data
def test_the_hand_made_conversation_can_be_changed_as_expected(data_folder, golden):
    graphs = graphs_of_file(data_folder / "amr" / "handmade.amr")
    for expected in golden("amr_golden")["handmade_eligibility"]:
        tree = read_graph(graphs[expected["text"]])
        assert len(parts(tree)) == expected["sentences"]
        concepts = [concept(node) for _, node in nodes(tree)]
        assert ("amr-unknown" in concepts) == expected["question"]
        lemmas = [name[:-3] for name in concepts if re.fullmatch(r"[a-z]+-\d\d", name)]
        assert lemmas == expected["single_token_predicate_lemmas"]
        lone = {expected["text"]: graphs[expected["text"]]}
        ways = {change.what for change in changes_of("amr-decreased-engagement", lone, 25)}
        able = {"question_removal": any("question" in way for way in ways),
                "sentence_removal": any("follows" in way for way in ways),
                "op_arg_removal": any(way.startswith(":") for way in ways)}  # fmt: skip
        applicable = set(expected["applicable_decrease_engagement"])
        assert {name for name, can in able.items() if can} == applicable
