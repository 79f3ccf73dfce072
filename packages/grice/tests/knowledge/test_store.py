"""Known triples, stored and your own: look-ups, nearest heads and known tails."""

import random
import sqlite3
from contextlib import closing

import numpy as np
import pytest

from grice.data import Triple
from grice.errors import InputError, ModelFolderError, RecordError
from grice.knowledge.schema import head_text, load_schema
from grice.knowledge.store import Axes, StoredKnowledge, read_triples
from grice.models.folder import open_folder

SCHEMA = load_schema("atomic2020")
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
def knowledge(build, encoder):
    return StoredKnowledge(open_folder(build(KNOWN)), encoder)


WORDS = ("bakes", "buys", "paints", "drops", "old", "new", "red", "cake", "house", "train", "boat")


def events(seed, count, words=4):
    draw = random.Random(seed)
    return sorted({f"PersonX {' '.join(draw.sample(WORDS, words))}" for _ in range(count)})


def test_known_tails_have_their_source_and_come_once(knowledge):
    assert len(knowledge) == 5
    assert knowledge.tails_of("PersonX bakes a cake", "xWant") == [KNOWN[0], KNOWN[1]]
    assert knowledge.tails_of("PersonX bakes a cake", "xWant", 1) == [KNOWN[0]]
    assert knowledge.tails_of("personx bakes a cake ", "xReact") == [KNOWN[2]]
    assert knowledge.tails_of("PersonX flies", "xWant") == []
    assert knowledge.tails_of("PersonX bakes a cake", "xNeed") == []
    with pytest.raises(InputError, match="did you mean 'xWant'"):
        knowledge.tails_of("PersonX bakes a cake", "xwants")


@pytest.mark.parametrize("own", [False, True])
def test_nearest_heads_are_those_of_exhaustive_search(build, encoder, own):
    heads = events(5, 300)
    rows = [Triple(head, "xWant", "to rest", source="made") for head in heads]
    stored = StoredKnowledge(open_folder(build(KNOWN if own else rows)), encoder)
    knowledge = stored.with_triples(rows if own else [], "own")
    asked = [head.replace("old", "very old") for head in heads[:40]]
    vectors = np.stack(encoder.encode([head_text(head) for head in heads]))
    together = knowledge.nearest(asked, 5)
    for event, nearest in zip(asked, together, strict=True):
        (vector,) = encoder.encode([head_text(event)])
        exact = sorted((vectors @ vector).tolist(), reverse=True)[:5]
        found = [near.similarity for near in nearest if near.head in heads][:5]
        assert found == pytest.approx(exact, abs=1e-6 if own else 0.03)
    assert [knowledge.nearest([event], 5)[0] for event in asked] == together
    assert (knowledge.nearest(asked[::-1], 5), knowledge.nearest([], 5)) == (together[::-1], [])


def test_the_best_known_tail_is_under_the_relation_asked_for(knowledge):
    asked = [
        Triple("PersonX bakes a big cake", "xWant", "PersonX wants to eat the cake"),
        Triple("PersonX bakes a cake", "oReact", "surprised"),
        Triple("PersonX bakes a cake", "xNeed", "to find flour"),
    ]
    wish, surprise, nothing = knowledge.best_known(asked)
    assert (wish.head, wish.tail, wish.source) == (
        "PersonX bakes a cake", "to eat the cake", "atomic2020",
    )  # fmt: skip
    assert wish.tail_similarity == pytest.approx(1.0, abs=2e-3)
    assert 0 < wish.head_similarity < 1
    assert surprise.head == "PersonX buys an old house"
    assert nothing is None
    assert knowledge.best_known([]) == []


def test_the_folder_is_never_written(build, encoder):
    folder = build(KNOWN)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    opened = StoredKnowledge(open_folder(folder), encoder)
    assert opened.find(["cake"], 9)
    assert opened.nearest(["PersonX bakes a cake"], 3)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_files_that_do_not_belong_together_are_refused(build, encoder, write_card):
    folder = build(KNOWN)
    np.save(folder / "heads.npy", np.zeros((2, 48), np.int8))
    write_card(folder, "knowledge", SETTINGS)
    with pytest.raises(ModelFolderError, match=r"shape \(2, 48\), \(3, 48\) is needed"):
        StoredKnowledge(open_folder(folder), encoder)
    (folder / "triples.sqlite").write_bytes(b"SQLite format 3\0" + b"no data base" * 100)
    write_card(folder, "knowledge", SETTINGS)
    with pytest.raises(ModelFolderError, match="not a store of triples"):
        StoredKnowledge(open_folder(folder), encoder)


def test_own_triples_come_first_and_once(knowledge):
    own = [
        Triple("personx bakes a cake", "xWant", "to share it", source="me"),
        Triple("PersonX naps", "xReact", "proud", source="me"),
    ]
    merged = knowledge.with_triples(own, "own")
    assert merged.identity == f"own+{knowledge.identity}"
    assert (len(merged), len(knowledge)) == (6, 5)
    tails = merged.tails_of("PersonX bakes a cake ", "xWant")
    assert [triple.source for triple in tails] == ["me", "atomic2020"]
    assert merged.find(["proud"], 9) == [own[1], KNOWN[2]]
    assert (merged.find(["na", "prou"], 9), merged.find(["na%"], 9)) == ([own[1]], [])
    assert merged.exact("PROUD", 1) == [own[1]]
    assert merged.counts("relation") == {"xWant": 3, "xReact": 3, "oReact": 1}
    assert merged.counts("source") == {"atomic2020": 1, "atomic2018": 4, "me": 2}


def test_own_triples_never_make_known_ones_less_similar(build, encoder):
    draw, heads = random.Random(11), events(11, 150, 3)
    rows = [Triple(h, "xWant", f"to {draw.choice(WORDS)}", source="made") for h in heads[::2]]
    base = StoredKnowledge(open_folder(build(rows)), encoder)
    triples = [Triple(head, "xWant", f"to {draw.choice(WORDS)}") for head in heads[1::4]]
    before = base.best_known(triples)
    for head in draw.sample(heads, 6):
        new = Triple(head, "xWant", f"to {draw.choice(WORDS)}", source="ann")
        after = base.with_triples([new], "more").best_known(triples)
        for old, now in zip(before, after, strict=True):
            assert now.tail_similarity >= old.tail_similarity


ROW = '{"head": "PersonX runs", "relation": "xWant", "tail": "to rest", "source": "me"}'


@pytest.mark.parametrize(("name", "text", "source"), [
    ("a.tsv", "PersonX runs\txWant\tto rest\tme\n\n", "me"),
    ("a.tsv", "\ufeffTail\tHead\tsource\trelation\nto rest\tPersonX  runs\tme\txWant", "me"),
    ("a.jsonl", ROW, "me"),
    ("a.tsv", "PersonX runs\txWant\tto rest\nPersonX runs\txWant\tto  rest\tlater", "a.tsv"),
])  # fmt: skip
def test_tables_and_json_lines_are_read(tmp_path, name, text, source):
    path = tmp_path / name
    path.write_text(text, "utf-8")
    assert read_triples(path, SCHEMA) == [Triple("PersonX runs", "xWant", "to rest", source=source)]


@pytest.mark.parametrize(("name", "line", "message"), [
    ("a.tsv", "PersonX runs\txWnt\tto rest", "no relation 'xWnt'; did you mean"),
    ("a.tsv", " \txWant\t ", "a.tsv:2: head of 0 characters; 1 to 1,000"),
    ("a.tsv", "PersonX runs\txWant", "a.tsv:2: no tail: texts head, relation and tail are"),
    ("a.tsv", f"PersonX runs\txWant\t{'x' * 1001}", "a.tsv:2: tail of 1,001 characters"),
    ("a.jsonl", "[]", "a.jsonl:2: a JSON object is needed"),
    ("a.jsonl", "{", "a.jsonl:2: no JSON: "),
    ("a.jsonl", '{"head": "a", "relation": "xWant"}', "a.jsonl:2: no tail"),
])  # fmt: skip
def test_the_first_line_that_is_no_triple_is_named(tmp_path, name, line, message):
    path = tmp_path / name
    good = ROW if path.suffix == ".jsonl" else "PersonX eats\txWant\tto sleep"
    path.write_text(f"{good}\n{line}\n")
    with pytest.raises(RecordError) as raised:
        read_triples(path, SCHEMA)
    assert message in str(raised.value)


def test_a_file_that_is_no_text_is_refused(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_bytes(b"PersonX \xff runs")
    with pytest.raises(ModelFolderError, match=r"a\.tsv: not UTF-8 at byte 8"):
        read_triples(path, SCHEMA)
    with pytest.raises(ModelFolderError, match="cannot be read"):
        read_triples(tmp_path, SCHEMA)
