"""A fingerprint of a corpus finds what stands in it, and nothing else."""

from __future__ import annotations

import doctest
import random

import pytest

import grice.evaluation.overlap
from grice.errors import InputError
from grice.evaluation.overlap import MOST, Fingerprint, fingerprint, overlap


def corpus(start, stop):
    return [f"We counted {i} birds over the lake today." for i in range(start, stop)]


def test_examples():
    assert doctest.testmod(grice.evaluation.overlap).failed == 0


def test_what_stands_in_a_small_corpus_is_found_however_it_is_written():
    known = fingerprint(corpus(0, 300))
    assert known.seen == 1
    written = [
        "we counted 7 BIRDS over the lake, today",
        "We counted 900 birds over the lake today.",
    ]
    result = overlap(known, written)
    assert (result.texts, result.checked, result.matches) == (2, 2, 1)
    assert result.examples == (written[0],)
    assert overlap(known, corpus(1000, 2000)).matches == 0


def test_short_texts_are_no_sign():
    known = fingerprint([*corpus(0, 10), "Yes, please."])
    result = overlap(known, ["Yes, please.", "yes please"])
    assert (result.texts, result.short, result.checked) == (0, 1, 0)
    assert result.share is None
    assert "nothing can be said" in result.says


def test_a_large_corpus_shows_a_random_share_of_the_overlap_and_the_rate_holds():
    """2,000 of 20,000 hashes are kept; a fifth of the evaluated texts stands in the corpus."""
    known = fingerprint(corpus(0, 20_000), most=2_000)
    assert known.seen == pytest.approx(0.1, rel=0.1)
    result = overlap(known, corpus(16_000, 36_000))
    assert result.checked == pytest.approx(2_000, rel=0.15)
    assert result.share.low <= 0.2 <= result.share.high
    assert result.share.high - result.share.low < 0.05
    assert all(text in set(corpus(16_000, 20_000)) for text in result.examples)


def test_order_and_repetition_do_not_matter():
    texts = corpus(0, 5_000)
    mixed = texts * 2
    random.Random(0).shuffle(mixed)
    assert fingerprint(texts, most=700) == fingerprint(mixed, most=700)


def test_the_stored_form_is_the_same_again_and_small():
    known = fingerprint(corpus(0, 60_000))
    data = known.to_bytes()
    assert len(known.hashes) == MOST
    assert len(data) <= 200_000
    assert Fingerprint.from_bytes(data) == known


@pytest.mark.parametrize(
    "data", [b"", b"\xff\xfe", b"{}\n", fingerprint(corpus(0, 9)).to_bytes()[:-1]]
)
def test_a_broken_file_is_refused(data):
    with pytest.raises(InputError, match="fingerprint"):
        Fingerprint.from_bytes(data)
