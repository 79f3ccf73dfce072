from __future__ import annotations

import numpy as np

from grice.models.word_vectors import WordVectors


def test_the_order_of_words_does_not_count(encoder):
    words = WordVectors(encoder)
    first, second, other = words.encode(["dogs bite men", "Men bite dogs!", "cats bite men"])
    assert (first == second).all()
    assert float(first @ other) < 0.99
    assert abs(np.linalg.norm(first) - 1) < 1e-3
    assert words.identity == "words(words)"


def test_a_text_without_a_word_has_no_vector(encoder):
    words = WordVectors(encoder)
    (nothing, something) = words.encode(["?!", "well"])
    assert not nothing.any()
    assert something.any()
    assert words.encode([]) == []
    assert words.truncated(["a " * 300, "a"]) == [True, False]
