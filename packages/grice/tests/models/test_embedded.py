import random

import numpy as np
import pytest

from grice.models.embedded import EmbeddedEncoder
from grice.models.loader import ModelLoader

WORDS = "we went to the old market by train and bought some fresh bread for dinner".split()  # noqa: SIM905


@pytest.fixture(scope="module")
def texts():
    rng = random.Random(3)
    return [" ".join(rng.choices(WORDS, k=rng.randint(1, 30))) for _ in range(60)]


def opened(mode="exact", workers=1, place="builtin:encoder"):
    """Return an encoder with an empty cache."""
    return ModelLoader(mode=mode, workers=workers).load(place, EmbeddedEncoder)


@pytest.fixture(scope="module", params=["exact", "fast"])
def encoder(request):
    return opened(request.param)


@pytest.mark.parametrize("mode", ["exact", "fast"])
def test_vectors_do_not_depend_on_batch_order_or_threads(mode, texts):
    whole, rng = opened(mode).encode(texts), random.Random(5)
    for size in (1, 7):
        order = rng.sample(range(len(texts)), len(texts))
        for start in range(0, len(texts), size):
            batch = order[start : start + size]
            vectors = opened(mode).encode([texts[i] for i in batch])
            for i, vector in zip(batch, vectors, strict=True):
                assert np.array_equal(vector, whole[i]), texts[i]
    assert np.array_equal(opened(mode, workers=3).encode(texts), whole)


def test_fast_stays_near_exact(texts):
    exact, fast = opened("exact"), opened("fast")
    assert exact.identity != fast.identity
    cosines = [a @ b for a, b in zip(exact.encode(texts), fast.encode(texts), strict=True)]
    assert min(cosines) > 0.95  # the bound that docs/concepts/reproducibility.md states
    assert min(cosines) < 0.99999


def test_vectors_are_of_unit_length_and_near_by_meaning(encoder):
    cat, kitten, tax = vectors = encoder.encode(
        ["A cat sleeps on the sofa.", "A kitten naps on the couch.", "Taxes are due in April."]
    )
    for vector in vectors:
        assert vector.dtype == np.float32
        assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-3)
        assert np.array_equal(vector, vector.astype(np.float16))
    assert cat @ kitten > 0.6 > 0.3 > cat @ tax


def test_odd_texts_are_read_and_those_without_a_word_give_zeros(encoder):
    for text in ("", "   ", "\n\t", "\u200b"):
        assert not encoder.encode([text])[0].any()
    for text in ("\x00", "\ud800", "😀" * 300, "日本語のテキスト", "a" * 5000):
        assert np.isfinite(encoder.encode([text, "and a plain one"])[0]).all()
    assert (encoder.encode([]), encoder.truncated(["word\ud800 " * 255])) == ([], [True])


def test_of_a_long_text_the_end_is_read(encoder):
    end = " ".join(["hello there friend"] * 200)
    same_end = "Something else entirely was said here before. " * 400 + end
    long, short, very_long = encoder.encode([end, "hello there friend", same_end])
    assert np.array_equal(long, very_long)
    assert encoder.truncated([end, "hello there friend", same_end]) == [True, False, True]
    assert encoder.truncated(["word " * 254, "word " * 255]) == [False, True]
    assert not np.array_equal(long, short)


def test_hidden_states_carry_offsets_into_the_text(encoder):
    text = "Ünïted we stood, 😀 together."
    hidden, nothing = encoder.hidden_states([text, " "])
    assert hidden.states.shape == (len(hidden.offsets), encoder.dimensions)
    assert hidden.offsets[0] == hidden.offsets[-1] == (0, 0)
    pieces = [text[start:end] for start, end in hidden.offsets[1:-1]]
    assert "".join(pieces) == text.replace(" ", "")
    assert nothing.states.shape == (0, encoder.dimensions)
    long = "first words that are cut off. " * 500 + "the very end"
    start, end = encoder.hidden_states([long])[0].offsets[-2]
    assert (long[start:end], end) == ("end", len(long))
    for first, then in (("hidden_states", "encode"), ("encode", "hidden_states")):
        once = opened()  # vectors come with the states, and are held on request
        once.holds_states = True
        getattr(once, first)([text])
        once._engine = None
        np.testing.assert_equal(getattr(once, then)([text]), getattr(opened(), then)([text]))
