from __future__ import annotations

import random
import sqlite3
from contextlib import closing

import numpy as np
import pytest

from grice.errors import BundleError, InputError
from grice.knowledge.lookup import StoredKnowledge, best_known
from grice.knowledge.store import Axes, BundledStore
from grice.knowledge.wording import head_text
from grice.models.bundle import open_bundle
from grice.records import Triple

KNOWN = [
    Triple("PersonX bakes a cake", "xWant", "to eat the cake", source="atomic2020"),
    Triple("PersonX bakes a cake", "xWant", "to share it", source="atomic2018"),
    Triple("PersonX bakes a cake", "xReact", "proud", source="atomic2018"),
    Triple("PersonX bakes a cake", "xWant", "to eat the cake", source="atomic2018"),
    Triple("PersonX misses the train", "xReact", "annoyed", source="atomic2018"),
    Triple("PersonX buys an old house", "oReact", "surprised", source="atomic2018"),
]
SETTINGS = {"schema": "atomic2020"}
TABLES = """
CREATE TABLE relations (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE sources (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE heads (id INTEGER PRIMARY KEY, text TEXT NOT NULL);
CREATE TABLE tails (id INTEGER PRIMARY KEY, text TEXT NOT NULL);
CREATE TABLE triples (
    head INTEGER NOT NULL, relation INTEGER NOT NULL, tail INTEGER NOT NULL,
    source INTEGER NOT NULL, PRIMARY KEY (head, relation, tail)
) WITHOUT ROWID;
"""


def write_store(folder, triples):
    """Write triples.sqlite and having.npy; return the heads in order of their numbers."""
    columns = {"heads": "head", "relations": "relation", "tails": "tail", "sources": "source"}
    texts = {
        table: list(dict.fromkeys(getattr(triple, field) for triple in triples))
        for table, field in columns.items()
    }
    rows = [
        tuple(texts[table].index(getattr(triple, field)) for table, field in columns.items())
        for triple in triples
    ]
    with closing(sqlite3.connect(folder / "triples.sqlite")) as connection:
        connection.executescript(TABLES)
        for table, names in texts.items():
            connection.executemany(f"INSERT INTO {table} VALUES (?, ?)", enumerate(names))
        connection.executemany("INSERT OR IGNORE INTO triples VALUES (?, ?, ?, ?)", rows)
        connection.commit()
    having = np.zeros((len(texts["heads"]), len(texts["relations"])), np.bool_)
    for head, relation, *_ in rows:
        having[head, relation] = True
    np.save(folder / "having.npy", having)
    return texts["heads"]


@pytest.fixture
def build(tmp_path, encoder, write_card):
    def make(triples):
        folder = tmp_path / "tiny"
        folder.mkdir()
        heads = write_store(folder, triples)
        vectors = np.stack(encoder.encode([head_text(head) for head in heads]))
        axes = Axes(np.eye(encoder.dimensions, dtype=np.float32), 1 / 127)
        short = np.rint(axes.shorten(vectors) / axes.scale)
        np.save(folder / "heads.npy", np.clip(short, -127, 127).astype(np.int8))
        np.savez(folder / "axes.npz", axes=axes.axes, scale=np.float32(axes.scale))
        return write_card(folder, "knowledge", SETTINGS)

    return make


@pytest.fixture
def store(build):
    return BundledStore(open_bundle(build(KNOWN)))


@pytest.fixture
def many():
    words = "bakes buys paints drops old new red cake house train boat lamp".split()  # noqa: SIM905
    draw = random.Random(5)
    heads = {f"PersonX {' '.join(draw.sample(words, 4))}" for _ in range(300)}
    return [Triple(head, "xWant", "to rest", source="made") for head in sorted(heads)]


def test_known_tails_come_with_their_source_and_only_once(store):
    assert len(store) == 5
    assert store.tails_of("PersonX bakes a cake", "xWant") == [KNOWN[0], KNOWN[1]]
    assert store.tails_of("personx bakes a cake ", "xReact") == [KNOWN[2]]


def test_an_unknown_head_has_no_tails_and_an_unknown_relation_is_an_error(store):
    assert store.tails_of("PersonX flies", "xWant") == []
    assert store.tails_of("PersonX bakes a cake", "xNeed") == []
    with pytest.raises(InputError, match="did you mean 'xWant'"):
        store.tails_of("PersonX bakes a cake", "xwants")


def test_the_nearest_head_of_a_known_event_is_itself(store, encoder):
    (heads,) = StoredKnowledge(store, encoder).nearest(["PersonX bakes a cake"], 2)
    assert heads[0].head == "PersonX bakes a cake"
    assert heads[0].similarity == pytest.approx(1.0, abs=0.03)
    assert heads[0].similarity > heads[1].similarity


def test_nearest_heads_are_those_of_exhaustive_search(build, encoder, many):
    store = BundledStore(open_bundle(build(many)))
    asked = ["PersonX bakes old red cake", "PersonX buys new boat", "PersonX paints"]
    heads = [triple.head for triple in many]
    vectors = np.stack(encoder.encode([head_text(head) for head in heads]))
    for event, nearest in zip(
        asked, StoredKnowledge(store, encoder).nearest(asked, 5), strict=True
    ):
        (vector,) = encoder.encode([head_text(event)])
        exact = sorted((vectors @ vector).tolist(), reverse=True)[:5]
        assert [near.similarity for near in nearest] == pytest.approx(exact, abs=0.03)


def test_answers_do_not_depend_on_batch_mates_or_order(build, encoder, many):
    store = BundledStore(open_bundle(build(many)))
    asked = [triple.head.replace("old", "very old") for triple in many[:40]]
    together = StoredKnowledge(store, encoder).nearest(asked, 3)
    alone = [StoredKnowledge(store, encoder).nearest([event], 3)[0] for event in asked]
    assert together == alone
    assert StoredKnowledge(store, encoder).nearest(asked[::-1], 3) == together[::-1]


def test_the_best_known_tail_is_read_under_the_relation_asked_for(store, encoder):
    asked = [
        Triple("PersonX bakes a big cake", "xWant", "PersonX wants to eat the cake"),
        Triple("PersonX bakes a cake", "oReact", "surprised"),
        Triple("PersonX bakes a cake", "xNeed", "to find flour"),
    ]
    wish, surprise, nothing = best_known(store, asked, encoder=encoder, heads=2, tails=2)
    assert (wish.head, wish.tail, wish.source) == (
        "PersonX bakes a cake", "to eat the cake", "atomic2020",
    )  # fmt: skip
    assert wish.tail_similarity == pytest.approx(1.0, abs=2e-3)
    assert 0 < wish.head_similarity < 1
    assert surprise.head == "PersonX buys an old house"
    assert nothing is None


def test_nothing_asked_gives_nothing(store, encoder):
    assert StoredKnowledge(store, encoder).nearest([], 3) == []
    assert best_known(store, [], encoder=encoder, heads=2, tails=2) == []


def test_the_folder_is_never_written(build, encoder):
    folder = build(KNOWN)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    opened = BundledStore(open_bundle(folder))
    assert opened.find(["cake"], 9)
    assert StoredKnowledge(opened, encoder).nearest(["PersonX bakes a cake"], 3)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_files_that_do_not_belong_together_are_refused(build, write_card):
    folder = build(KNOWN)
    np.save(folder / "heads.npy", np.zeros((2, 48), np.int8))
    write_card(folder, "knowledge", SETTINGS)
    with pytest.raises(BundleError, match=r"shape \(2, 48\), triples.sqlite has 3 heads"):
        BundledStore(open_bundle(folder))


def test_a_file_that_is_no_store_is_refused(build, write_card):
    folder = build(KNOWN)
    (folder / "triples.sqlite").write_bytes(b"SQLite format 3\0" + b"no data base" * 100)
    write_card(folder, "knowledge", SETTINGS)
    with pytest.raises(BundleError, match="not a store of triples"):
        BundledStore(open_bundle(folder))


def test_another_kind_of_bundle_is_refused():
    with pytest.raises(BundleError, match="not 'knowledge'"):
        BundledStore(open_bundle("encoder"))


def test_the_shipped_store_knows_everyday_events():
    store = BundledStore(open_bundle("atomic"))
    assert store.counts().keys() == set(store.schema.group("accent"))
    assert len(store) > 200_000
    assert store.tails_of("PersonX accepts the dare", "xWant")
