from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace

from grice.errors import BundleError
from grice.metrics.coherence import Dialogue
from grice.metrics.coherence.dialogues import (
    ALONE,
    AROUND,
    AT_ONCE,
    BESIDE,
    ORDER,
    WHOLE,
    DialogueHead,
    DialogueSettings,
    Towers,
    context_free_features,
    dialogue_features,
    flaw_features,
    order_features,
    own_turns,
    pooled,
    turn_blocks,
)
from grice.metrics.coherence.features import NUMBERS
from grice.metrics.coherence.replaced_tokens import NOTHING, ReplacedTokens
from grice.models.bundle import open_bundle
from grice.models.loader import read_settings

D = 8


def unit(count, seed=0, size=D):
    vectors = np.random.default_rng(seed).normal(size=(count, size)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def a_chain(count):
    """Return fits of turns that each fit best after the one before them."""
    places = np.arange(count)
    return np.where(places[None, :] == places[:, None] + 1, 0.9, 0.1).astype(np.float32)


class FixedEncoder:
    identity = "fixed"

    def encode(self, texts):
        return [unit(1, seed=sum(map(ord, text)), size=384)[0] for text in texts]

    def truncated(self, texts):
        return [False] * len(texts)


class FixedWords:
    """Finds texts odd that say so."""

    identity = "fixed"

    def replaced_tokens(self, texts):
        return [ReplacedTokens((6, 4, 1, 12, 6), (("odd", 6.0),)) if "odd" in text else NOTHING
                for text in texts]  # fmt: skip


def head_of(bundle):
    settings = read_settings(bundle, DialogueSettings)
    return DialogueHead(bundle, settings, FixedEncoder(), FixedWords())


@pytest.fixture(scope="module")
def head():
    return head_of(open_bundle("coherence"))


def thread(count):
    return Dialogue(
        tuple("AB"[i % 2] for i in range(count)), tuple(f"turn {i}" for i in range(count))
    )


def test_a_turn_knows_where_its_speaker_spoke_last():
    assert own_turns(["a", "b", "b", "a"]).tolist() == [-1, -1, 1, 0]


def test_the_first_turn_has_nothing_before_it_and_the_last_nothing_after_it():
    blocks = turn_blocks(unit(4), own_turns("abab"))
    assert blocks.shape == (4, 6 * D)
    assert not blocks[0, D : 5 * D].any()
    assert blocks[0, 5 * D :].any()
    assert not blocks[3, 5 * D :].any()


def test_towers_without_weights_compare_a_turn_with_what_was_said():
    nothing = [[(np.zeros((size, D), np.float32), np.zeros(D, np.float32))] for size in (3 * D, D)]
    vectors = unit(5)
    vectors[4] = vectors[1]
    fits = Towers(*nothing, decay=0.0).fits(vectors)
    np.testing.assert_allclose(fits, vectors @ vectors.T, atol=1e-5)


def test_a_turn_that_was_moved_fits_worse_than_others_would():
    order = np.array([0, 1, 4, 2, 3, 5])
    intact, moved = (order_features(fits) for fits in (a_chain(6), a_chain(6)[order][:, order]))
    assert intact.shape == (6, ORDER)
    assert moved[2, :3].max() < intact[2, :3].min()
    # The turns around it belong together, and it belongs after another.
    assert moved[2, 6] > intact[2, 6]
    assert moved[2, 8] > 0 > intact[2, 8]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_few_turns_have_numbers_too(count):
    assert np.isfinite(order_features(a_chain(count))).all()


def test_pooling_gives_mean_lowest_quarter_and_lowest():
    outputs = np.array([[1, 8], [2, 7], [3, 6], [4, 5], [5, 4], [6, 3], [7, 2], [8, 1]], np.float32)
    np.testing.assert_allclose(pooled(outputs), [4.5, 1.5, 1, 4.5, 1.5, 1])
    np.testing.assert_allclose(pooled(outputs[:1]), [1, 1, 1, 8, 8, 8])


def test_who_is_called_what_does_not_count():
    outputs, numbers = unit(6, size=2), unit(6, size=NUMBERS + ORDER)
    beside, alone = unit(6, size=BESIDE), unit(6, size=ALONE)
    features = [dialogue_features(outputs, numbers, beside, alone, speakers)
             for speakers in ("ababab", "bababa")]  # fmt: skip
    assert features[0].shape == (WHOLE,)
    np.testing.assert_array_equal(*features)


def test_how_turns_sound_by_themselves_does_not_depend_on_their_order():
    alone, speakers, order = unit(6, size=ALONE), np.array(list("aababc")), [3, 1, 5, 0, 4, 2]
    features = context_free_features(alone, speakers)
    np.testing.assert_allclose(
        features, context_free_features(alone[order], speakers[order]), atol=1e-6
    )
    np.testing.assert_allclose(features[:ALONE], alone.mean(axis=0), atol=1e-6)
    worst = np.minimum(np.minimum(alone[[0, 1, 3]].mean(0), alone[[2, 4]].mean(0)), alone[5])
    np.testing.assert_allclose(features[ALONE:], worst, atol=1e-6)


def test_a_conversation_is_read_the_same_whatever_is_read_beside_it(head):
    short, other = thread(7), thread(12)
    alone = head.read([short])
    assert head.read([other, short])[1] == alone[0]
    assert len(alone[0][1]) == 7
    assert head.read([Dialogue((), ())]) == [(0.5, ())]


def test_a_long_conversation_is_read_in_stretches(head):
    long = thread(400)
    _, turns = head.read([long])[0]
    _, first = head.read([Dialogue(long.speakers[:300], long.texts[:300])])[0]
    assert len(turns) == 400
    # The first stretch is the same; of the second, what is far away counts for little.
    assert turns[:AT_ONCE] == first[:AT_ONCE]
    np.testing.assert_allclose(turns[: 300 - AROUND], first[: 300 - AROUND], atol=0.05)


def test_a_bundle_without_settings_is_refused():
    bundle = open_bundle("coherence")
    bare = replace(bundle, card=replace(bundle.card, settings={}))
    with pytest.raises(BundleError, match="decay"):
        head_of(bare)


def test_odd_words_and_what_is_said_again_stand_beside_each_other():
    texts = ["I have a dog.", "odd", "I have a dog. Really."]
    features = flaw_features(FixedWords().replaced_tokens(texts), "aba", texts)
    assert features.shape == (3, BESIDE)
    assert features[1, 0] == 6
    assert features[2, -3] == pytest.approx(4 / 5)
