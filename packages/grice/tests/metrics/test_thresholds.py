"""Weights and thresholds of metrics, on both sides, with a model that answers as a test says."""

import math
import re

import numpy as np
import pytest

from grice.data import Conversation, Response, Turn
from grice.metrics.declaration import find_metrics
from grice.models.protocols import TokenScore

FLAWS = ("any", "contradiction", "repetition", "unanswered", "nonsense", "dull")


class Model:
    """Any model: it has an answer for each text, or one for all others."""

    identity = "made"
    flaws = property(lambda self: FLAWS[: len(self.others)])

    def __init__(self, others=1.0, **answers):
        self.others, self.answers, self.asked = others, answers, []

    def of(self, texts):
        self.asked.append(texts)
        return [self.answers.get(text, self.others) for text in texts]

    def truncated(self, texts):
        return [False for _ in texts]

    def encode(self, texts):  # cosines to a text of 1
        return [np.array([cosine, math.sqrt(1 - cosine**2)]) for cosine in self.of(texts)]

    def classify(self, pairs):
        return self.of([pair.right for pair in pairs])

    def surprises(self, texts):
        return [list(enumerate(nats)) for nats in self.of(texts)]

    def log_odds(self, responses):
        return np.array(self.of(response.text for response in responses))

    def token_scores(self, prompts):  # after the history, then after own turns
        self.asked.append(prompts)
        return [[[TokenScore(0, 1, self.others[len(self.asked) - 1])]] for _ in prompts]


def judged(name, texts, model, knowledge=(), speakers="ab"):
    """Return the judgement of two speakers in turn, or of the last of their turns."""
    metric = find_metrics().named(name)
    turns = tuple(Turn(speakers[i % len(speakers)], text) for i, text in enumerate(texts))
    item = Conversation("c", turns)
    if metric.judges == "response":
        *history, last = turns
        places = tuple(range(len(history)))
        said = last.text, last.speaker, tuple(history), places, (), knowledge
        item = Response("c", len(places), *said)
    [judgement] = metric.function(
        [item], **{name: model if given else None for name, given in metric.models.items()}
    )
    return judgement


def odds(*terms):
    return pytest.approx(1 / (1 + math.exp(-math.fsum(terms))), abs=1e-6)


KETTLE, FROGS, BLUE = (
    "Red kettles whistle. Blue birds sing.",
    "Green frogs jump.",
    "Red frogs jump.",
)
FOUR = "I have booked a table for four on Friday at 7 pm."
WRONG = "My mistake, that was another booking."
TABLES = "My mistake, we sell tables and plants."
FILMS, DOGS = ["Do you like films?", "Yes."], ["I have two dogs.", "Nice."]
WORK, WHICH = "Where do you work?", "Which is it?"


def booked(complaint, reply, cosine=0.6):
    return ["A table on Friday.", FOUR, complaint, reply], Model(1.0, **{reply: cosine})


def kettles(reply, turn, sentence):
    return Model(0.0, **{reply: 1.0, KETTLE: turn, "Red kettles whistle.": sentence})


@pytest.mark.parametrize(("name", "texts", "model", "value"), [
    ("repetition", [KETTLE, "Hm.", FROGS], kettles(FROGS, 0.5, 0.25), odds(4.35, -3.25, -0.85)),
    ("repetition", [KETTLE, "Hm.", BLUE], kettles(BLUE, 0.25, 0.5), odds(4.35, -1.625, -1.7, -0.9)),
    ("repetition", ["Oh yes. We eat tea.", "Hm.", "Do we all like it? Oh yes."],
     Model(1.0, **{"We eat tea.": 0.5}), odds(4.35, -6.5, -1.7)),
    ("repetition", *booked("No, two people.", FOUR.replace("four", "two")),
     odds(-2.13, 3.34 / 6, 2.53)),
    ("repetition", *booked("That is wrong.", "Yours is by the window upstairs."),
     odds(-2.13, -0.9381, 3.34)),
    ("repetition", *booked("I said a bench, wrong!", FOUR.replace("table", "bench"), 0.2),
     odds(-2.13, 0.1239, 3.34 / 6, 1.82)),
    ("repetition", *booked("Say that again?", FOUR.replace("have ", "")), odds(-2.13, -2.5311, 10)),
    ("repetition", *booked("What do you mean?", "Chairs for dinner are reserved on Friday."),
     odds(-2.13, -1.33635, 2.505, 2.745)),
    ("repetition", *booked("x" + "a " * 497 + "wrong", WRONG), odds(-2.13, -0.9381, 3.34, 3.11)),
    ("repetition", *booked("xx" + "a " * 497 + "wrong", WRONG), odds(-1.59)),
    ("repetition", *booked("On that Friday?", WRONG), odds(-2.13, -0.9381, 3.34, 3.11)),
    ("repetition", *booked("Is it that Friday?", WRONG), odds(-1.59)),
    ("repetition", ["Hi.", "We sell tablets and planes.", "That is wrong.", TABLES],
     Model(1.0, **{TABLES: 0.5}), odds(-2.13, -0.75225, 3.34 / 3, 3.11)),
    ("user_frustration", [*FILMS, "No sense!"], Model(), 0),
    ("user_frustration", [*FILMS, "Never mind."], Model(), 0.6),
    ("user_frustration", [*FILMS, "What cheese?"], Model(), 0.75),
    ("user_frustration", [*FILMS, "So, do you?"], Model(0.75, **{FILMS[0]: 1}), 0.85),
    ("user_frustration", [*FILMS, "So, do you?"], Model(0.749, **{FILMS[0]: 1}), 1),
    ("responsiveness", [WORK, "I work at home."], Model(0.4, **{WORK: 1}), odds(1.32, 0.5, -0.95)),
    ("responsiveness", [WORK, "I paint walls."], Model(0.1, **{WORK: 1}), odds(0.33, -0.5, -0.95)),
    ("responsiveness", [WHICH, "Blue paint."], Model(0.2, **{WHICH: 1}), odds(0.66, -0.95)),
    ("fluency", ["Hi.", "one two ten."], Model([3.0, 0.0]), odds(-2.09 * 1.5, 0.71)),
    ("contradiction", [*DOGS, "I have no dogs."], Model(0.4), odds(math.log(1.5), 0.5)),
    ("likelihood", ["Hi.", "one"], Model([-2.5, -4.0]), odds(-0.083 * 2.5, 0.233 * 1.5, 0.5)),
])  # fmt: skip
def test_a_value_is_the_weighted_sum(name, texts, model, value):
    assert judged(name, texts, model).value == value


def words(name, *models):
    return name, ["Hi.", "They are brown."], models


@pytest.mark.parametrize(("name", "texts", "models", "reasons"), [
    ("repetition", [KETTLE, "Hm.", FROGS], [kettles(FROGS, 0.5, 0.32), kettles(FROGS, 0.5, 0.33)],
     ["most similar", "repeats"]),
    ("repetition", ["Oh yes.", "Hm.", "Oh yes."], [Model()], ["fewer than 3"]),
    ("user_frustration", [*FILMS, "Never mind."], [Model()], ["after .* gives up"]),
    ("user_frustration", [*FILMS, "???"], [Model()], ["after .* asks for"]),
    ("user_frustration", ["Hi.", *["Yes.", "Never mind."] * 2, "Yes.", "No sense!"], [Model()],
     ["after .* complains"]),
    ("responsiveness", [WORK, "I work at home."], [Model(c, **{WORK: 1}) for c in (0.13, 0.14)],
     ["does not answer", "answers"]),
    (*words("fluency", Model([0.335]), Model([0.345])), ["mean", "unexpected"]),
    ("contradiction", [*DOGS, "I have no dogs."], [Model(0.62), Model(0.63)],
     ["no clear", "contra"]),
    ("contradiction", [*DOGS, "I sleep."], [Model()], ["the reply contains no"]),
    ("contradiction", ["Hello.", DOGS[0]], [Model()], ["no earlier statement"]),
    ("fluency", ["Hi.", "Yes, sure."], [Model([1.0])], ["fewer than 3"]),
    (*words("likelihood", Model([-5.7, -5.6]), Model([-5.8, -5.7])), ["mean", "less"]),
    (*words("likelihood", Model([-1.0, -1.0]), Model([-1.0, -1.1])), ["mean", "the others"]),
    (*words("sensibleness", *(Model([*two, 0, 0]) for two in ([1, 2.51], [1, 2.49], [0, 9]))),
     [r"most .* contradiction \(0.92\)$", "most .* or unanswered", "prob"]),
    (*words("sensibleness", Model([0.01, 0.0])), ["most"]),
])  # fmt: skip
def test_a_reason_is_that_of_its_side(name, texts, models, reasons):
    found = [judged(name, texts, model).reason for model in models]
    assert all(map(re.match, reasons, found)), found


def test_a_sentence_is_compared_with_the_four_nearest():
    said = "I have two dogs. I have one cat. I eat red fruit. I like big trees. I read old books."
    judged("contradiction", [said, "Nice.", "I have six birds."], model := Model(0.4))
    assert len(model.asked[1]) == 4


@pytest.mark.parametrize(("reply", "source"), [("It has zogs.", "zog"), ("It has zos.", "zos")])
def test_a_word_of_four_letters_may_have_an_ending(reply, source):
    assert judged("groundedness", ["Hi.", reply], Model(), (source,)).value == 1
    assert judged("groundedness", ["Hi.", "It has zos."], Model(), ("zo",)).value == 0


@pytest.mark.parametrize(("speakers", "odds", "flaw"), [
    ("ab", {"repetition": 9, "unanswered": 5}, "unanswered"),
    ("aba", {"repetition": 9}, "repetition"), ("aaa", {"unanswered": 9, "dull": 5}, "dull"),
    ("baa", {"unanswered": 9}, "unanswered"), ("ab", {"contradiction": 9}, "contradiction"),
    ("aba", {"any": 40, "dull": 40}, "dull"),
])  # fmt: skip
def test_of_the_flaws_that_are_possible_the_most_likely_is_named(speakers, odds, flaw):
    model = Model([{"any": 3, **odds}.get(name, 0.0) for name in FLAWS])
    score = judged("sensibleness", ["They are brown."] * len(speakers), model, speakers=speakers)
    assert score.evidence[0].name == flaw
    assert re.fullmatch(rf"most likely flaw: {flaw} \([\d.]+\)", score.reason)
