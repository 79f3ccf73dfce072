"""Answers are computed once, and a damaged or unusable cache costs no result."""

import random
import sqlite3
from contextlib import closing

import numpy as np
import pytest

from grice.models import cache as cache_module
from grice.models.cache import FILE, Cache, cache_files


class Counting:
    """Encodes a text as its length and counts the texts."""

    def __init__(self):
        self.identity, self.asked = "counting", []

    def encode(self, texts):
        self.asked += texts
        return [np.array([len(text), 0.5], np.float32) for text in texts]

    def cached(self, cache, texts):
        return cache.cached_arrays(self.identity, texts, self.encode, np.float16)


@pytest.fixture
def counting():
    return Counting()


def encoded(encoder, folder, texts):
    """Return the vectors of texts by a cache in a folder, opened and closed."""
    cache = Cache(folder)
    vectors = encoder.cached(cache, texts)
    cache.close()
    return vectors


def test_each_distinct_text_is_encoded_once(counting):
    cache = Cache(None)
    first = counting.cached(cache, ["a", "bb", "a", "ccc"])
    second = counting.cached(cache, ["ccc", "dddd", "a"])
    assert counting.asked == ["a", "bb", "ccc", "dddd"]
    assert [vector[0] for vector in first + second] == [1, 2, 1, 3, 3, 4, 1]
    assert all(vector.dtype == np.float32 for vector in first + second)


def test_answers_stay_for_the_next_run_of_the_same_model_and_text(counting, tmp_path):
    texts = ["?", "\ud800", "\udfff", "", "\x00", "é", "e\u0301"]
    for _ in range(2):
        assert encoded(counting, tmp_path / "shared", texts)[-1][0] == 2
    assert counting.asked == texts
    counting.identity = "other"
    encoded(counting, tmp_path / "shared", texts)
    assert counting.asked == texts * 2


def test_an_unusable_cache_is_left_out_with_a_warning(counting, tmp_path):
    (tmp_path / FILE).write_bytes(b"this is no database" * 100)
    for folder in (tmp_path, tmp_path / FILE / "below"):
        with pytest.warns(UserWarning, match="the cache cannot be used and is ignored"):
            assert encoded(counting, folder, ["hello"])[0][0] == 5


def test_a_cache_that_breaks_during_a_run_costs_no_answer(counting, tmp_path):
    cache = Cache(tmp_path)
    counting.cached(cache, ["a"])
    with sqlite3.connect(tmp_path / FILE) as other:
        other.execute("DROP TABLE answers")
    with pytest.warns(UserWarning, match="ignored"):
        assert counting.cached(cache, ["a", "bb"])[1][0] == 2


def test_a_cache_too_large_or_of_another_layout_is_not_used(counting, tmp_path, monkeypatch):
    old = tmp_path / "answers.sqlite"
    old.write_bytes(b"of another layout")
    encoded(counting, tmp_path, ["a"])
    assert old in cache_files(tmp_path)
    monkeypatch.setattr(cache_module, "LIMIT", 10)
    encoded(counting, tmp_path, ["a"])
    assert counting.asked == ["a", "a"]


def entries(folder):
    with closing(sqlite3.connect(folder / FILE)) as connection:
        return connection.execute("SELECT rowid, key, value FROM answers").fetchall()


def rewrite(folder, column, rowid, value):
    with closing(sqlite3.connect(folder / FILE)) as connection, connection:
        connection.execute(f"UPDATE answers SET {column} = ? WHERE rowid = ?", (value, rowid))


def test_no_flipped_bit_reaches_an_answer(counting, tmp_path):
    texts = [f"text {'x' * i}" for i in range(60)]
    expected, rng = encoded(counting, tmp_path, texts), random.Random(5)
    for rowid, key, value in entries(tmp_path):
        column, whole = ("key", key) if rowid % 5 == 0 else ("value", value)
        flipped = bytearray(whole)
        flipped[rng.randrange(len(flipped))] ^= 1 << rng.randrange(8)
        rewrite(tmp_path, column, rowid, bytes(flipped))
    for asked in (sorted(texts), []):
        counting.asked.clear()
        assert np.array_equal(encoded(counting, tmp_path, texts), expected)
        assert sorted(counting.asked) == asked


@pytest.mark.parametrize("value", [None, 7, "text", b"", b"abc", "of another key"])
def test_a_damaged_entry_is_computed_again(counting, tmp_path, value):
    encoded(counting, tmp_path, ["a", "bb"])
    (_, _, first), (rowid, _, _) = entries(tmp_path)
    rewrite(tmp_path, "value", rowid, first if value == "of another key" else value)
    assert [vector[0] for vector in encoded(counting, tmp_path, ["a", "bb"])] == [1, 2]
    assert counting.asked == ["a", "bb", "bb"]
