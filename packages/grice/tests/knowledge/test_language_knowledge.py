from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grice.errors import BundleError
from grice.knowledge.generative import GenerativeKnowledge
from grice.knowledge.language_model import (
    CausalTails,
    LanguageKnowledgeSettings,
    language_model_knowledge,
    verbalised,
)
from grice.knowledge.protocols import KnowledgeBase, TailProbabilities
from grice.knowledge.schema import load_schema
from grice.metrics.commonsense.scorers import Sources, find_scorer
from grice.models.bundle import Bundle, Card, file_sha256
from grice.models.protocols import Generated
from grice.records import Triple

SCHEMA = load_schema("atomic2020")
TIRED = Triple("PersonX is tired", "xWant", "to sleep")


class Scripted:
    """A language model that writes what it is told, and likes what stands in its prompts."""

    identity = "scripted"

    def __init__(self, texts=()):
        self.texts, self.asked = texts, []

    def generate(self, prompts, *, count=1, shown="", stop="\n", max_tokens=64):
        self.asked.append((tuple(prompts), shown))
        return [tuple(Generated(text, -1.0) for text in self.texts[:count]) for _ in prompts]

    def log_probabilities(self, prompts, texts):
        self.asked.append((tuple(prompts), tuple(texts)))
        return [
            -1.0 if prompt.startswith("Alex is tired") else -3.0
            for prompt, _ in zip(prompts, texts, strict=True)
        ]


def opened(model, tmp_path, examples=(TIRED,)):
    stated = {"schema": "atomic2020", "given": 1.0, "usual": -1.0, "bias": 0.0}
    settings = LanguageKnowledgeSettings(base="model:medium", **stated)
    bundle = Bundle(tmp_path, Card("tiny", "language-model-knowledge", "1", "-", "-", {}), "0")
    return GenerativeKnowledge(bundle, settings, CausalTails(model, SCHEMA, examples))


def test_a_triple_is_verbalised_with_names_and_without_blanks():
    assert verbalised("PersonX meets PersonY", "oReact", SCHEMA) == (
        "Alex meets Sam. As a result, Sam or others feel"
    )
    assert verbalised("", "xWant", SCHEMA) == "As a result, Alex wants"
    assert verbalised("bread", "AtLocation", SCHEMA) == "Bread is located or found at, in or on"
    assert verbalised("PersonX takes ___", "xNeed", SCHEMA).startswith("Alex takes something.")


def test_tails_are_written_after_the_examples_of_their_relation(tmp_path):
    model = Scripted(("to go home", "to thank Sam", "to go home."))
    knowledge = opened(model, tmp_path)
    asked = (["PersonX works", "PersonX works"], ["xWant", "xNeed"])
    wants, needs = knowledge.tails(*asked, 2)
    assert [tail.tail for tail in wants] == ["to go home", "to thank PersonY"]
    assert [tail.tail for tail in needs] == [tail.tail for tail in wants]
    shown = {prompts[0]: before for prompts, before in model.asked}
    assert shown["Alex works. As a result, Alex wants"] == (
        "Alex is tired. As a result, Alex wants to sleep\n"
    )
    assert shown["Alex works. But before, Alex needed"] == ""
    assert isinstance(knowledge, KnowledgeBase)


def test_a_tail_is_plausible_if_its_head_makes_it_likelier(tmp_path):
    knowledge = opened(Scripted(), tmp_path)
    assert isinstance(knowledge, TailProbabilities)
    other = Triple("PersonX is awake", "xWant", "to sleep")
    likely, unlikely = knowledge.plausibility([TIRED, other])
    assert likely > 0.8 > unlikely == 0.5
    assert knowledge.plausibility([Triple("", "xWant", "to sleep")]) == [0.0]


@given(st.lists(st.text(), max_size=4), st.sampled_from(sorted(SCHEMA.relations)))
def test_whatever_a_model_writes_tails_are_different_and_hold_a_word(texts, relation):
    knowledge = opened(Scripted(texts), None)
    (tails,) = knowledge.tails(["PersonX works"], [relation], 3)
    assert len(tails) <= 3
    assert len({tail.tail.lower() for tail in tails}) == len(tails)
    assert all(any(map(str.isalnum, tail.tail)) for tail in tails)


def test_knowledge_judges_triples_in_the_place_of_the_networks(tmp_path):
    knowledge = opened(Scripted(), tmp_path)
    sources = Sources(knowledge, knowledge, None)
    assert find_scorer("calibrated")([TIRED], sources) == knowledge.plausibility([TIRED])
    with pytest.raises(Exception, match="needs a bundle with networks"):
        find_scorer("bert")([TIRED], sources)


def test_an_example_of_no_relation_is_named_with_its_line(tmp_path):
    path = tmp_path / "examples.tsv"
    path.write_text("PersonX is tired\txWant\tto sleep\nPersonX eats\txWish\tbread\n")
    (tmp_path / "card.toml").write_text("")
    settings = {"base": "-", "schema": "atomic2020", "given": 1.0, "usual": 0.0, "bias": 0.0}
    files = {"examples.tsv": file_sha256(path)}
    card = Card("tiny", "language-model-knowledge", "1", "-", "-", files, settings=settings)

    class Opener:
        def part(self, *_):
            return Scripted()

    with pytest.raises(BundleError, match=r"examples\.tsv: line 2: head, a relation of atomic2020"):
        language_model_knowledge.open(Bundle(tmp_path, card, "0"), Opener())
