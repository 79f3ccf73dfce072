from __future__ import annotations

import random
from typing import TYPE_CHECKING

import msgspec
import numpy as np
import pytest

from grice.errors import BundleError
from grice.metrics.relevance import PairHead, PairSettings, history_summary, pair_features
from grice.models.bundle import open_bundle
from grice.models.embedded import EmbeddedEncoder
from grice.models.loader import read_settings
from grice.models.protocols import Pair, PairClassifier

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice.models.protocols import Vector

WORDS = ["we", "went", "to", "the", "old", "market", "and", "bought", "fresh", "bread"]


class CountingEncoder:
    """Passes calls on and remembers what it was asked."""

    def __init__(self, encoder: EmbeddedEncoder) -> None:
        self.identity = encoder.identity
        self.calls: list[list[str]] = []
        self._encoder = encoder

    def encode(self, texts: Sequence[str]) -> list[Vector]:
        self.calls.append(list(texts))
        return self._encoder.encode(texts)

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        return self._encoder.truncated(texts)


def head_of(bundle, encoder):
    return PairHead(bundle, read_settings(bundle, PairSettings), encoder)


@pytest.fixture(scope="module")
def engine():
    return EmbeddedEncoder(open_bundle("encoder"), mode="exact", threads=1)


@pytest.fixture
def encoder(engine):
    return CountingEncoder(engine)


@pytest.fixture
def head(encoder):
    return head_of(open_bundle("relevance"), encoder)


@pytest.fixture(scope="module")
def pairs():
    rng = random.Random(11)
    texts = [" ".join(rng.choices(WORDS, k=rng.randint(1, 12))) for _ in range(30)]
    return [
        Pair(tuple(rng.choices(texts, k=rng.randint(0, 6))), rng.choice(texts)) for _ in range(40)
    ]


def test_it_is_a_pair_classifier_that_names_its_weights_and_its_encoder(head, encoder):
    assert isinstance(head, PairClassifier)
    assert head.identity.startswith("relevance@")
    assert encoder.identity in head.identity


def test_fitting_replies_beat_unfitting_ones(head):
    history = ("Hi, how was your weekend?", "Great, we went camping at the lake.")
    fits, fails = head.classify(
        [
            Pair(history, "Oh nice! Did you go swimming there?"),
            Pair(history, "The printer needs a new cartridge of ink."),
        ]
    )
    assert fails < 0.5 < fits


def test_the_cosine_with_the_last_turn_adds_its_weight_to_the_log_odds(encoder):
    bundle = open_bundle("relevance")
    pair = Pair(("Hi, how was your weekend?", "We went camping at the lake."), "Was the lake cold?")
    without, with_cosine = (
        PairHead(bundle, PairSettings(decay=0.6, weight_cosine=weight), encoder).classify([pair])[0]
        for weight in (0.0, 3.0)
    )
    last, reply = encoder.encode([pair.left[-1], pair.right])
    gained = np.log(with_cosine / (1 - with_cosine)) - np.log(without / (1 - without))
    assert gained == pytest.approx(3.0 * float(last @ reply), abs=1e-4)


def test_a_result_does_not_depend_on_its_neighbours(head, pairs):
    whole = head.classify(pairs)
    rng = random.Random(2)
    for size in (1, 7):
        order = rng.sample(range(len(pairs)), len(pairs))
        for start in range(0, len(pairs), size):
            part = order[start : start + size]
            assert head.classify([pairs[i] for i in part]) == [whole[i] for i in part]


def test_more_pairs_than_one_block_holds(head, pairs):
    whole = head.classify(pairs * 8)
    assert whole == head.classify(pairs) * 8


def test_every_distinct_text_is_encoded_once_in_one_call(head, encoder):
    head.classify([Pair(("a dog", "a cat"), "a bird"), Pair(("a cat", "a bird"), "a dog")])
    assert [sorted(call) for call in encoder.calls] == [["a bird", "a cat", "a dog"]]


@pytest.mark.parametrize(
    "pair",
    [
        Pair((), "Yes."),
        Pair(("Well?",), " \n"),
        Pair(("", "  "), "Yes."),
        Pair((), ""),
        Pair(("Well?",), "\u200b"),
        Pair(("\u200b",), "Yes."),
    ],
)
def test_where_there_is_nothing_to_judge_the_answer_is_balanced(head, pair):
    assert head.classify([pair]) == [0.5]


def test_no_pairs(head):
    assert head.classify([]) == []


def test_blank_turns_are_passed_over(head):
    history = ("Do you like tea?", "I do.", "Green or black?")
    with_blanks = ("Do you like tea?", "", "I do.", "Green or black?", " ")
    plain, blanks = head.classify([Pair(history, "Green."), Pair(with_blanks, "Green.")])
    assert plain == blanks


def test_only_the_last_four_turns_are_read(head):
    read = ("Are you well?", "Yes.", "Any plans?", "I will bake a cake.")
    short, long = head.classify(
        [Pair(read, "What kind of cake?"), Pair(("Once upon a time.", *read), "What kind of cake?")]
    )
    assert short == long


def test_texts_that_are_too_long_are_told(head):
    assert head.truncated(["Short.", "word " * 400]) == [False, True]


def test_the_order_of_the_turns_matters(head):
    there, back = head.classify(
        [
            Pair(("Any plans?", "I will bake."), "A cake?"),
            Pair(("I will bake.", "Any plans?"), "A cake?"),
        ]
    )
    assert there != back


def test_features_are_what_their_description_says():
    left = np.zeros((1, 4, 4), np.float32)
    left[0, 2, 0] = left[0, 3, 1] = 1
    right = np.array([[0, 0.6, 0.8, 0]], np.float32)
    towers = (right, left[:, 3])
    features = pair_features(left, right, towers, decay=0.5)
    assert features.shape == (1, 7 * 4 + 5)
    last, whole, reply, last_product, whole_product, difference, met = features[0, :28].reshape(
        7, 4
    )
    norm = np.sqrt(1.25)
    assert last == pytest.approx([0, 2, 0, 0])
    assert whole == pytest.approx([1 / norm, 2 / norm, 0, 0])
    assert reply == pytest.approx([0, 1.2, 1.6, 0])
    assert last_product == pytest.approx([0, 2.4, 0, 0])
    assert whole_product == pytest.approx([0, 2.4 / norm, 0, 0])
    assert difference == pytest.approx([0, 0.8, 1.6, 0])
    assert met == pytest.approx([0, 2.4, 0, 0])
    assert features[0, 28:] == pytest.approx([2.4, 2.4 / norm, 0, 2.4, 2.4])


def test_the_summary_holds_last_whole_and_previous_turn():
    left = np.zeros((2, 4, 4), np.float32)
    left[:, 3, 1] = left[0, 2, 0] = 1
    summary = history_summary(left, decay=0.5)
    norm = np.sqrt(1.25)
    assert summary[0] == pytest.approx([0, 2, 0, 0, 1 / norm, 2 / norm, 0, 0, 2, 0, 0, 0])
    assert summary[1] == pytest.approx([0, 2, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0])


def test_a_bundle_without_its_decay_is_refused(encoder):
    bundle = open_bundle("relevance")
    broken = msgspec.structs.replace(
        bundle, card=msgspec.structs.replace(bundle.card, settings={"decay": 3})
    )
    with pytest.raises(BundleError, match=r"settings\.decay: expected `float` <= 1.0, found 3"):
        head_of(broken, encoder)


def test_an_encoder_of_another_width_is_refused():
    class Narrow:
        identity = "narrow"

        def encode(self, texts):
            return [np.ones(2, np.float32) / np.float32(np.sqrt(2))] * len(texts)

        def truncated(self, texts):
            return [False] * len(texts)

    with pytest.raises(BundleError, match="vectors of 384 numbers, the encoder narrow gives 2"):
        head_of(open_bundle("relevance"), Narrow()).classify([Pair(("a",), "b")])
