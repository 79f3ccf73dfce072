"""Relevance: the metric with a classifier whose answers are known, and the model that ships."""

import numpy as np
import pytest

from grice.data import Response, Turn, TurnEvidence
from grice.errors import ModelFolderError
from grice.metrics.relevance import relevance
from grice.models.embedded import EmbeddedEncoder
from grice.models.folder import open_folder
from grice.models.loader import ModelLoader, read_settings
from grice.models.protocols import Pair
from grice.models.ranker import PairHead, PairSettings, pair_features
from grice.scoring import load


class SharedWords:
    """Answers with the share of the reply's words that the history holds."""

    identity = "shared-words"

    def classify(self, pairs):
        return [self._share(*pair) for pair in pairs]

    def _share(self, left, right):
        left_words = {word for text in left for word in text.split()}
        words = right.split()
        return sum(word in left_words for word in words) / len(words)

    def truncated(self, texts):
        return [len(text) > 100 for text in texts]


def judge(*texts, **options):
    history = tuple(Turn("AB"[i % 2], text) for i, text in enumerate(texts[:-1]))
    response = Response("t", len(history), texts[-1], "A", history, tuple(range(len(history))))
    [judgement] = relevance.function([response], model=SharedWords(), **options)
    return judgement


def test_evidence_is_what_each_turn_does():
    judgement = judge("red green", "blue", "red blue")
    assert judgement.value == 1.0
    assert judgement.evidence == (TurnEvidence(0, 0.5), TurnEvidence(1, 0.5))
    assert judgement.reason == "most relevant to turn 0 (contribution +0.50)"


def test_only_so_many_turns_are_read():
    assert judge("red", "blue", "red", history=1).value == 0
    assert judge("red", "blue", "red", history=2).value == 1


@pytest.mark.parametrize(("texts", "reason"), [
    (("red", "red"), "relevant to turn 0 (contribution +0.50)"),
    (("red", "tea"), "not relevant to turn 0 (contribution -0.50)"),
    (("red", "blue", "green"), "low relevance to all turns (most: turn 0, +0.00)"),
    (("red", "red", "red"), "no turn contributes 0.005 or more"),
    (("blue", "red", "red a b"), "low relevance to all turns (most: turn 1, +0.33)"),
    (("blue", "red", "red a"), "most relevant to turn 1 (contribution +0.50)"),
])  # fmt: skip
def test_the_reason_is_the_turn_on_the_side_of_the_value(texts, reason):
    assert judge(*texts).reason == reason


class Length(SharedWords):
    """Answers with a number that stands in the only turn, or 0.5."""

    def _share(self, left, right):
        return next((float(word) for text in left for word in text.split() if "0." in word), 0.9)


@pytest.mark.parametrize(("value", "how"), [("0.49", "not relevant"), ("0.51", "relevant")])
def test_the_reason_goes_with_the_side_of_one_half(value, how):
    history = (Turn("B", value),)
    response = Response("t", 1, "green", "A", history, (0,))
    (judgement,) = relevance.function([response], model=Length())
    assert judgement.reason == f"{how} to turn 0 (contribution {float(value) - 0.5:+.2f})"


def test_a_text_that_is_read_in_part_is_flagged():
    assert judge("red " * 40, "red").flags == ("truncated",)
    assert judge("red", "red").flags == ()


def test_a_fitting_reply_scores_above_one_that_is_out_of_place():
    before = ["Do you have any plans for the weekend?", "We might go hiking if the rain stops."]
    with load("relevance") as grader:
        [fits] = grader.score([*before, "Which mountains do you want to walk in?"])
        [odd] = grader.score([*before, "My printer needs a new cartridge of ink."])
    assert fits.value > odd.value + 0.2


def test_what_is_said_twice_is_read_once_and_lowers_the_score():
    once = judge("red green", "red blue green.")
    twice = judge("red green", "red blue green. red blue green.")
    assert once.value > 0
    assert twice.value == pytest.approx(once.value / 2)
    assert twice.reason == "50% of its words repeat earlier sentences or ask for a rating"


def test_saying_again_what_was_said_before_pays_nothing():
    judgement = judge("red green blue.", "yes", "Red green blue.")
    reason = "100% of its words repeat earlier sentences or ask for a rating"
    assert (judgement.value, judgement.reason) == (0.0, reason)
    assert judge("Thank you.", "Thank you.").value == 1.0


def head_of(folder, encoder):
    return PairHead(folder, read_settings(folder, PairSettings), encoder)


@pytest.fixture(scope="module")
def encoder():
    return ModelLoader().load("builtin:encoder", EmbeddedEncoder)


@pytest.fixture
def head(encoder):
    return head_of(open_folder("relevance"), encoder)


def test_the_cosine_with_the_last_turn_adds_its_weight_to_the_log_odds(encoder):
    folder = open_folder("relevance")
    pair = Pair(("Hi, how was your weekend?", "We went camping at the lake."), "Was the lake cold?")
    without, with_cosine = (
        PairHead(folder, PairSettings(decay=0.6, weight_cosine=weight), encoder).classify([pair])[0]
        for weight in (0.0, 3.0)
    )
    last, reply = encoder.encode([pair.left[-1], pair.right])
    gained = np.log(with_cosine / (1 - with_cosine)) - np.log(without / (1 - without))
    assert gained == pytest.approx(3.0 * float(last @ reply), abs=1e-4)


def test_where_a_side_holds_no_word_the_answer_is_balanced(head):
    wordless = [((), "Yes."), (("Well?",), " \n"), (("", "  "), "Yes."), ((), ""),
                (("Well?",), "\u200b"), (("\u200b",), "Yes.")]  # fmt: skip
    assert head.classify([Pair(*sides) for sides in wordless]) == [0.5] * 6
    assert head.classify([]) == []


@pytest.mark.parametrize(("history", "longer"), [
    (("Do you like tea?", "I do.", "Black?"), ("Do you like tea?", "", "I do.", "Black?", " ")),
    (("Are you well?", "Yes.", "Why?", "A cake."),
     ("Once upon a time.", "Are you well?", "Yes.", "Why?", "A cake.")),
])  # fmt: skip
def test_the_last_four_turns_that_are_not_blank_are_read(head, history, longer):
    short, long = head.classify([Pair(history, "Green."), Pair(longer, "Green.")])
    assert short == long


def test_the_order_of_the_turns_matters(head):
    turns = ("Any plans?", "I will bake.")
    there, back = head.classify([Pair(turns, "A cake?"), Pair(turns[::-1], "A cake?")])
    assert there != back


def test_features_are_what_their_description_says():
    left = np.zeros((2, 4, 4), np.float32)
    left[:, 3, 1] = left[0, 2, 0] = 1
    right = np.array([[0, 0.6, 0.8, 0]] * 2, np.float32)
    features, norm = pair_features(left, right, (right, left[:, 3]), decay=0.5), np.sqrt(1.25)
    expected = [
        [0, 2, 0, 0], [1 / norm, 2 / norm, 0, 0], [0, 1.2, 1.6, 0],  # last turn, history, reply
        [0, 2.4, 0, 0], [0, 2.4 / norm, 0, 0],  # their products
        [0, 0.8, 1.6, 0], [0, 2.4, 0, 0],  # the difference, the towers
    ]  # fmt: skip
    assert features[0, :28].reshape(7, 4) == pytest.approx(np.array(expected))
    assert features[0, 28:] == pytest.approx([2.4, 2.4 / norm, 0, 2.4, 2.4])
    assert features[1, 4:8] == pytest.approx([0, 2, 0, 0])  # nothing before the last turn


def test_an_encoder_of_another_width_is_refused():
    class Narrow:
        identity = "narrow"

        def encode(self, texts):
            return [np.ones(2, np.float32) / np.float32(np.sqrt(2))] * len(texts)

        def truncated(self, texts):
            return [False] * len(texts)

    with pytest.raises(ModelFolderError, match="of 384 numbers, the encoder narrow gives 2"):
        head_of(open_folder("relevance"), Narrow()).classify([Pair(("a",), "b")])
