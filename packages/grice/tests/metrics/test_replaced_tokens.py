from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace

from grice.errors import BundleError
from grice.metrics.coherence.replaced_tokens import (
    REPLACED_TOKEN_FEATURES,
    CachedReplacedTokens,
    ReplacedTokenDetector,
    ReplacedTokens,
    replaced_token_features,
)
from grice.models.bundle import open_bundle
from grice.models.cache import Cache, CachedEncoder
from grice.models.embedded import EmbeddedEncoder, Hidden
from grice.models.mlp import Mlp

D = 4


def first_number():
    """Return a network that gives the first number of a token's own state."""
    weight = np.zeros((4 * D, 2), np.float32)
    weight[D, 0], weight[D, 1] = 1, -1
    both = np.array([[1], [-1]], np.float32)
    return Mlp([(weight, np.zeros(2, np.float32)), (both, np.zeros(1, np.float32))])


def states(*values):
    vectors = np.zeros((len(values), D), np.float32)
    vectors[:, 0] = values
    return vectors


HEAD = ReplacedTokenDetector(first_number(), 1, 2.0, "stub")


def test_a_word_is_as_odd_as_its_worst_piece():
    text = "Rex's skateboarding, no."
    offsets = [(0, 0), (0, 3), (3, 4), (4, 5), (6, 11), (11, 19), (19, 20), (21, 23), (23, 24)]
    hidden = Hidden(states(9, 0, 1, 2, -1, 4, 8, -2, 5, 9), [*offsets, (0, 0)])
    verdict = HEAD.judge(text, hidden)
    assert verdict.words == (("rex's", 2.0), ("skateboarding", 4.0), ("no", -2.0))
    soft, worst, mean, above, most = verdict.whole
    # The first and the last token stand for no text.
    assert most == 8
    assert worst == pytest.approx((8 + 5 + 4) / 3)
    assert mean == pytest.approx(np.mean([0, 1, 2, -1, 4, 8, -2, 5]))
    assert 8 < soft < 8.01
    assert above == pytest.approx(sum(np.logaddexp(0, [0, 1, 2, -1, 4, 8, -2, 5])))


@pytest.mark.parametrize("count", [0, 2])
def test_a_text_without_a_token_has_no_odd_word(count):
    verdict = HEAD.judge("", Hidden(states(*[1.0] * count), [(0, 0)] * count))
    assert verdict.words == ()
    assert verdict.whole[0] == -3


def replaced(**odds):
    return ReplacedTokens((0, 0, 0, 0, 0), tuple(odds.items()))


def test_words_are_counted_apart_that_stand_in_another_turn():
    features = replaced_token_features(
        [replaced(gardens=1, dog=2), replaced(rose=0), replaced(gardening=3, gone=-1)]
    )
    assert features.shape == (3, REPLACED_TOKEN_FEATURES)
    # "gardens" and "gardening" are taken for one word; "dog" is short, "gone" stands alone.
    assert features[:, 5].tolist() == [1, -3, 3]
    assert features[:, 6].tolist() == [-3, 0, -1]
    assert features[:, 7].tolist() == [2, -3, -3]


class StateEncoder:
    """Gives states of as many tokens as there are letters, and counts what it encodes."""

    identity = "states"

    def __init__(self):
        self.asked = []

    def hidden(self, texts):
        self.asked += texts
        return [(Hidden(states(*range(len(text))), [(i, i + 1) for i in range(len(text))]),
                 np.ones(2, np.float32)) for text in texts]  # fmt: skip

    def encode(self, texts):
        return [vector for _, vector in self.hidden(texts)]


def test_states_that_others_ask_for_are_read_along():
    bare = StateEncoder()
    cache = Cache(None)
    encoder = CachedEncoder(bare, cache)
    judge = CachedReplacedTokens(HEAD, encoder, cache)
    encoder.hidden(["hello"])
    verdicts = judge.replaced_tokens(["hello", "goodbye", "hello"])
    assert bare.asked == ["hello", "goodbye"]
    assert verdicts[0] == verdicts[2] == HEAD.judge("hello", bare.hidden(["hello"])[0][0])
    # And what reads states leaves the vectors behind.
    asked = len(bare.asked)
    encoder.encode(["goodbye"])
    assert len(bare.asked) == asked


@pytest.fixture(scope="module")
def shipped():
    bundle = open_bundle("coherence")
    encoder = EmbeddedEncoder(open_bundle(bundle.card.encoder), mode="exact", threads=1)
    return ReplacedTokenDetector.open(bundle, encoder.identity), encoder


def judged(shipped, *texts):
    head, encoder = shipped
    states = encoder.hidden(texts)
    return [head.judge(text, state) for text, (state, _) in zip(texts, states, strict=True)]


@pytest.mark.parametrize(("text", "odd", "word"), [
    ("I went to the store to buy some milk.", "I went to the store to buy some opinion.",
     "opinion"),
    ("My dog loves to play in the park.", "My dog loves to announce in the park.", "announce"),
    ("We had a lovely dinner last night.", "We had a lovely dinner last triangle.", "triangle"),
])  # fmt: skip
def test_a_word_from_elsewhere_is_odd(shipped, text, odd, word):
    whole, broken = judged(shipped, text, odd)
    assert broken.whole[0] > whole.whole[0]
    assert max(broken.words, key=lambda scored_word: scored_word[1])[0] == word


def test_a_text_is_judged_the_same_whatever_is_encoded_beside_it(shipped):
    texts = ["Where did you go on holiday?", "To Spain.", "x" * 900, "What is it like in spring?"]
    together = judged(shipped, *texts)
    assert together == [judged(shipped, text)[0] for text in texts]


def test_a_bundle_without_settings_is_refused():
    bundle = open_bundle("coherence")
    bare = replace(bundle, card=replace(bundle.card, settings={"reach": 1}))
    with pytest.raises(BundleError, match="sharpness"):
        ReplacedTokenDetector.open(bare, "encoder")
