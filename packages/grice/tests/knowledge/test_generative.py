import math

import pytest

from grice.data import KnownTail, Triple
from grice.errors import InputError, ModelFolderError
from grice.knowledge.generative import (
    GenerativeKnowledge,
    GenerativeSettings,
    as_fragment,
    plain_event,
)
from grice.knowledge.schema import load_schema
from grice.models.folder import Card, ModelFolder
from grice.models.loader import ModelLoader, read_settings
from grice.models.protocols import Generated

SCHEMA = load_schema("atomic2020")
HEADS = (
    "PersonX gets fired from the job",
    "PersonX wins the lottery",
    "PersonX forgets PersonY's birthday",
    "PersonX drinks a glass of water",
)


class Written:
    """A generator whose texts and probabilities are written down."""

    identity = "written"

    def __init__(self, texts=(), probabilities=()):
        self.texts, self.probabilities = texts, dict(probabilities)
        self.asked = []

    def generate(self, prompts, *, count, begin=None):
        self.asked += zip(prompts, begin, strict=True)
        return [tuple(Generated(text, -1.0) for text in self.texts[:count]) for _ in prompts]

    def log_probabilities(self, prompts, texts, *, begin=None):
        return [self.probabilities[key] for key in zip(prompts, texts, begin, strict=True)]


def knowledge_of(tmp_path, generator, **settings):
    stated = {"schema": "atomic2020", "given": 2.0, "usual": -1.0, "bias": 0.5, **settings}
    card = Card("tiny", "generative-knowledge", "1", "-", "-", {}, settings=stated)
    folder = ModelFolder(tmp_path, card, "0")
    return GenerativeKnowledge(folder, read_settings(folder, GenerativeSettings), generator)


def opened(mode="exact", workers=1):
    """Return the shipped knowledge with an empty cache."""
    return ModelLoader(mode=mode, workers=workers).load("builtin:comet", GenerativeKnowledge)


@pytest.fixture(scope="module")
def shipped():
    return opened()


@pytest.mark.parametrize(("relation", "tail", "fragment"), [
    ("xWant", "PersonX wants to go home.", "to go home"), ("xWant", "to go home", "to go home"),
    ("xIntent", "PersonX wants PersonY to leave", "PersonY to leave"),
    ("oWant", "PersonY wants to sleep", "to sleep"), ("xReact", "PersonX feels  proud", "proud"),
    ("oReact", "person y is sad", "sad"), ("xAttr", "PersonX", "PersonX"),
    ("xEffect", "PersonX gets wet", "gets wet"),
    ("oEffect", "PersonX gets wet", "PersonX gets wet"),
    ("HinderedBy", "PersonX is late!", "PersonX is late"),
    ("AtLocation", "PersonX's house", "PersonX's house"),
    ("xNeed", "x to call Y's mother", "to call PersonY's mother"), ("xReact", "", ""),
])  # fmt: skip
def test_tails_are_worded_as_in_atomic(relation, tail, fragment):
    assert as_fragment(tail, SCHEMA[relation]) == fragment


def test_persons_have_one_spelling_and_other_letters_stay():
    assert plain_event(" Person x sees person-Y's x-ray ") == "PersonX sees PersonY's x-ray"
    assert plain_event("X gives Y the key") == "PersonX gives PersonY the key"
    assert plain_event("taxi Yes xylophone") == "taxi Yes xylophone"


def test_written_tails_are_spelled_out_and_an_event_asked_twice_is_written_once(tmp_path):
    texts = ("to see persony ' s mother", "see persony ' s mother", ",", "don ' t know", "to rest")
    generator = Written(texts)
    knowledge = knowledge_of(tmp_path, generator)
    first, second, third = knowledge.tails(["x runs", "PersonX runs.", " "], ["xWant"] * 3, 3)
    assert [tail.tail for tail in first] == ["to see PersonY's mother", "don't know", "to rest"]
    assert first[0] == KnownTail("x runs", "to see PersonY's mother", 1.0, 0.0, "tiny")
    assert ([tail.tail for tail in second], third) == ([tail.tail for tail in first], [])
    assert generator.asked == [("PersonX runs", "<xWant>")]


def test_plausibility_is_logistic_in_both_likelihoods(tmp_path):
    given = ("PersonX runs", "tired", "<xReact>"), -1.0
    usual = ("", "tired", "<xReact>"), -3.0
    knowledge = knowledge_of(tmp_path, Written((), [given, usual]))
    triples = [Triple("PersonX runs", "xReact", "PersonX feels tired"), Triple("", "xReact", "x")]
    value, nothing = knowledge.plausibility(triples)
    assert value == pytest.approx(1 / (1 + math.exp(-(2.0 * -1.0 - 1.0 * -3.0 + 0.5))), abs=1e-6)
    assert nothing == 0.0


def test_what_cannot_be_asked_is_refused(tmp_path):
    knowledge = knowledge_of(tmp_path, Written(("to rest",)))
    with pytest.raises(InputError, match=r"'xWnat'; did you mean 'xWant'"):
        knowledge.tails(["PersonX runs"], ["xWnat"], 1)
    with pytest.raises(InputError, match="xWnat"):
        knowledge.plausibility([Triple("PersonX runs", "xWnat", "to rest")])
    with pytest.raises(ModelFolderError, match=r"settings\.usual"):
        knowledge_of(tmp_path, Written(), usual="much")
    assert (knowledge.tails([], [], 1), knowledge.plausibility([])) == ([], [])


def test_answers_of_a_batch_are_those_of_each_alone():
    asked = [(head, relation) for head in HEADS for relation in SCHEMA.relations]
    together = opened().tails(*map(list, zip(*asked, strict=True)), 5)
    for place in range(0, len(asked), 7):
        head, relation = asked[place]
        assert opened().tails([head], [relation], 5)[0] == together[place]
    assert opened().tails(*map(list, zip(*asked[::-1], strict=True)), 5) == together[::-1]
    assert all(1 <= len(tails) <= 5 for tails in together)
    fates = [("xReact", "sad"), ("xWant", "to buy a house"), ("oWant", "to go")]
    triples = [Triple(head, relation, tail) for head in HEADS for relation, tail in fates]
    values = opened().plausibility(triples)
    assert all(0 < value < 1 for value in values)
    assert [opened().plausibility([triple])[0] for triple in triples] == values
    assert opened().plausibility(triples[::-1]) == values[::-1]


def test_both_modes_give_the_same_tails():
    exact, fast = opened("exact"), opened("fast", 2)
    asked = list(HEADS) * 12, [name for name in SCHEMA.group("accent") for _ in HEADS]
    assert exact.tails(*asked, 4) == fast.tails(*asked, 4)


def test_the_relation_and_the_head_matter(shipped):
    reactions, needs = shipped.tails([HEADS[0]] * 2, ["xReact", "xNeed"], 5)
    assert {t.tail for t in reactions}.isdisjoint(t.tail for t in needs)
    fired, lottery = ({t.tail for t in shipped.tails([h], ["xReact"], 5)[0]} for h in HEADS[:2])
    assert {"sad", "upset", "angry"} & fired
    assert {"happy", "excited"} & lottery
    assert "happy" not in fired


@pytest.mark.parametrize(
    "head", ["</s> <xReact> </s>", "<pad>", "😀😀", "\ud800", "x" * 3000, "word " * 500, "他们吃饭"]
)
def test_judged_text_is_text_and_never_a_mark(shipped, head):
    tails, plain = shipped.tails([head, "PersonX runs"], ["xWant", "xWant"], 2)
    assert plain == shipped.tails(["PersonX runs"], ["xWant"], 2)[0]
    assert all(not set("<>") & set(tail.tail) for tail in tails)
    (value,) = shipped.plausibility([Triple("PersonX runs", "xWant", head)])
    assert 0 <= value < 1
