from __future__ import annotations

import random
import sqlite3
from contextlib import closing

import numpy as np
import pytest

from grice.models import cache as cache_module
from grice.models.cache import Cache, CachedEncoder, CachedSpanTagger, cache_files
from grice.models.embedded import Hidden
from grice.models.protocols import TaggedSpan


class CountingEncoder:
    """Encodes a text as its length and remembers what it was asked."""

    identity = "counting"

    def __init__(self):
        self.asked = []

    def encode(self, texts):
        self.asked += texts
        return [np.array([len(text), 0.5], np.float32) for text in texts]

    def hidden(self, texts):
        empty = Hidden(np.zeros((0, 2), np.float32), [])
        return [(empty, vector) for vector in self.encode(texts)]

    def truncated(self, texts):
        return [False for _ in texts]


@pytest.fixture
def counting():
    return CountingEncoder()


def test_each_distinct_text_is_encoded_once(counting):
    encoder = CachedEncoder(counting, Cache(None))
    first = encoder.encode(["a", "bb", "a", "ccc"])
    second = encoder.encode(["ccc", "dddd", "a"])
    assert counting.asked == ["a", "bb", "ccc", "dddd"]
    assert [vector[0] for vector in first + second] == [1, 2, 1, 3, 3, 4, 1]
    assert all(vector.dtype == np.float32 for vector in first + second)


def test_a_folder_keeps_answers_for_the_next_run(counting, tmp_path):
    for _ in range(2):
        cache = Cache(tmp_path / "shared")
        assert CachedEncoder(counting, cache).encode(["hello"])[0][0] == 5
        cache.close()
    assert counting.asked == ["hello"]


def test_another_model_gets_no_answers_of_this_one(counting):
    cache = Cache(None)
    CachedEncoder(counting, cache).encode(["a"])
    other = CountingEncoder()
    other.identity = "other"
    CachedEncoder(other, cache).encode(["a"])
    assert other.asked == ["a"]


def test_reading_token_states_leaves_the_vectors_behind(counting):
    encoder = CachedEncoder(counting, Cache(None))
    encoder.hidden(["a", "bb"])
    encoder.encode(["bb", "a"])
    assert counting.asked == ["a", "bb"]


def test_odd_texts_are_told_apart(counting):
    encoder = CachedEncoder(counting, Cache(None))
    texts = ["?", "\ud800", "\udfff", "", "\x00", "é", "e\u0301"]
    encoder.encode(texts)
    assert counting.asked == texts


def test_spans_come_back_as_they_were():
    class Tagger:
        identity = "tagger"

        def tag(self, texts):
            return [(TaggedSpan(0, len(text), "event", 0.25),) for text in texts]

    tagger = CachedSpanTagger(Tagger(), Cache(None))
    assert tagger.tag(["abc"]) == tagger.tag(["abc"]) == [(TaggedSpan(0, 3, "event", 0.25),)]


def test_a_damaged_cache_is_left_out_with_a_warning(counting, tmp_path):
    (tmp_path / cache_module.FILE).write_bytes(b"this is no database" * 100)
    with pytest.warns(UserWarning, match="the cache cannot be used and is left out"):
        cache = Cache(tmp_path)
    assert CachedEncoder(counting, cache).encode(["hello"])[0][0] == 5


def test_a_cache_in_an_impossible_place_is_left_out_with_a_warning(counting, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.warns(UserWarning, match="left out"):
        cache = Cache(tmp_path / "file" / "below")
    assert CachedEncoder(counting, cache).encode(["hello"])[0][0] == 5


def test_a_cache_that_breaks_on_the_way_costs_no_answer(counting, tmp_path):
    cache = Cache(tmp_path)
    encoder = CachedEncoder(counting, cache)
    encoder.encode(["a"])
    with sqlite3.connect(tmp_path / cache_module.FILE) as other:
        other.execute("DROP TABLE answers")
    with pytest.warns(UserWarning, match="left out"):
        assert encoder.encode(["a", "bb"])[1][0] == 2


def test_a_cache_that_has_grown_too_large_starts_empty(counting, tmp_path, monkeypatch):
    cache = Cache(tmp_path)
    CachedEncoder(counting, cache).encode(["a"])
    cache.close()
    monkeypatch.setattr(cache_module, "LIMIT", 10)
    cache = Cache(tmp_path)
    CachedEncoder(counting, cache).encode(["a"])
    cache.close()
    assert counting.asked == ["a", "a"]


def entries(folder):
    with closing(sqlite3.connect(folder / cache_module.FILE)) as connection:
        return connection.execute("SELECT rowid, key, value FROM answers").fetchall()


def rewrite(folder, column, rowid, value):
    with closing(sqlite3.connect(folder / cache_module.FILE)) as connection, connection:
        connection.execute(f"UPDATE answers SET {column} = ? WHERE rowid = ?", (value, rowid))


def test_no_flipped_bit_reaches_an_answer(counting, tmp_path):
    texts = [f"text {'x' * i}" for i in range(60)]
    cache = Cache(tmp_path)
    expected = CachedEncoder(counting, cache).encode(texts)
    cache.close()
    rng = random.Random(5)
    for rowid, key, value in entries(tmp_path):
        column, whole = ("key", key) if rowid % 5 == 0 else ("value", value)
        flipped = bytearray(whole)
        flipped[rng.randrange(len(flipped))] ^= 1 << rng.randrange(8)
        rewrite(tmp_path, column, rowid, bytes(flipped))
    counting.asked.clear()
    cache = Cache(tmp_path)
    assert np.array_equal(CachedEncoder(counting, cache).encode(texts), expected)
    assert sorted(counting.asked) == sorted(texts)
    counting.asked.clear()
    assert np.array_equal(CachedEncoder(counting, cache).encode(texts), expected)
    assert counting.asked == []
    cache.close()


@pytest.mark.parametrize("value", [None, 7, "text", b"", b"abc"])
def test_an_entry_that_is_no_answer_is_computed_again(counting, tmp_path, value):
    cache = Cache(tmp_path)
    encoder = CachedEncoder(counting, cache)
    encoder.encode(["a"])
    rewrite(tmp_path, "value", 1, value)
    assert encoder.encode(["a"])[0][0] == 1
    assert counting.asked == ["a", "a"]
    cache.close()


def test_an_answer_under_the_key_of_another_is_not_given(counting, tmp_path):
    cache = Cache(tmp_path)
    encoder = CachedEncoder(counting, cache)
    encoder.encode(["a", "bb"])
    (_, _, first), (rowid, _, _) = entries(tmp_path)
    rewrite(tmp_path, "value", rowid, first)
    assert [vector[0] for vector in encoder.encode(["a", "bb"])] == [1, 2]
    cache.close()


def test_a_cache_of_an_earlier_layout_is_not_used_and_can_be_cleared(counting, tmp_path):
    old = tmp_path / "answers.sqlite"
    old.write_bytes(b"of another layout")
    cache = Cache(tmp_path)
    assert CachedEncoder(counting, cache).encode(["a"])[0][0] == 1
    cache.close()
    assert old in cache_files(tmp_path)
