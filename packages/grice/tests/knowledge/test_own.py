"""Triples of your own: read strictly, and merged so that the stored ones stay as they are."""

from __future__ import annotations

import random

import numpy as np
import pytest

from grice.errors import BundleError, GriceError, RecordError
from grice.knowledge.lookup import StoredKnowledge
from grice.knowledge.own import MergedStore, read_triples, with_triple
from grice.knowledge.schema import load_schema
from grice.knowledge.wording import head_text
from grice.records import Triple

SCHEMA = load_schema("atomic2020")
KNOWN = [
    Triple("PersonX bakes a cake", "xWant", "to eat the cake", source="atomic2020"),
    Triple("PersonX bakes a cake", "xWant", "to share it", source="atomic2018"),
    Triple("PersonX bakes a cake", "xReact", "proud", source="atomic2018"),
    Triple("PersonX misses the train", "xReact", "annoyed", source="atomic2018"),
    Triple("PersonX buys an old house", "oReact", "surprised", source="atomic2018"),
]


class Nothing:
    """A store that knows nothing: what is merged with it stands alone."""

    identity, schema = "nothing", SCHEMA

    def __len__(self):
        return 0

    def nearest_heads(self, texts, count, *, encoder, relation=None):
        return [[] for _ in texts]

    def tails_of(self, head, relation, count=None):
        _ = SCHEMA[relation]
        return []

    def find(self, words, count):
        return []

    exact = find

    def counts(self):
        return {}

    origins = counts


def merged(own, base=None):
    base = MergedStore(KNOWN, Nothing(), "base") if base is None else base
    return MergedStore(own, base, "own")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.tsv", "PersonX runs\txWant\tto rest\tme\n\n"),
        ("a.tsv", "\ufeffTail\tHead\tsource\trelation\nto rest\tPersonX  runs\tme\txWant\n"),
        (
            "a.jsonl",
            '{"head": "PersonX runs", "relation": "xWant", "tail": "to rest", "source": "me"}',
        ),
    ],
)
def test_tables_and_json_lines_are_read(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text, "utf-8")
    assert read_triples(path, SCHEMA) == [Triple("PersonX runs", "xWant", "to rest", source="me")]


def test_equal_triples_stand_once_and_have_the_name_of_the_file_as_source(tmp_path):
    path = tmp_path / "mine.tsv"
    path.write_text("PersonX runs\txWant\tto rest\nPersonX runs\txWant\tto  rest\tlater\n")
    assert read_triples(path, SCHEMA) == [
        Triple("PersonX runs", "xWant", "to rest", source="mine.tsv")
    ]


@pytest.mark.parametrize(
    ("name", "line", "message"),
    [
        ("a.tsv", "PersonX runs\txWnt\tto rest", "a.tsv:2: unknown relation 'xWnt'; did you mean"),
        ("a.tsv", " \txWant\tto rest", "a.tsv:2: empty head"),
        ("a.tsv", "PersonX runs\txWant", "a.tsv:2: no tail: head, relation and tail are needed"),
        ("a.tsv", f"PersonX runs\txWant\t{'x' * 1001}", "a.tsv:2: tail of 1,001 characters"),
        ("a.jsonl", "[]", "a.jsonl:2: an object is needed"),
        ("a.jsonl", "{", "a.jsonl:2: no JSON: "),
        ("a.jsonl", '{"head": "a", "relation": "xWant"}', "a.jsonl:2: tail: a text is needed"),
    ],
)
def test_the_first_line_that_is_no_triple_is_named(tmp_path, name, line, message):
    path = tmp_path / name
    good = {".tsv": "PersonX eats\txWant\tto sleep", "onl": (
        '{"head": "PersonX eats", "relation": "xWant", "tail": "to sleep"}'
    )}[name[-4:] if name.endswith("tsv") else name[-3:]]  # fmt: skip
    path.write_text(f"{good}\n{line}\n")
    with pytest.raises(RecordError) as raised:
        read_triples(path, SCHEMA)
    assert message in str(raised.value)


def test_a_file_that_is_no_text_is_refused(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_bytes(b"PersonX \xff runs")
    with pytest.raises(BundleError, match=r"a\.tsv: not UTF-8 at byte 8"):
        read_triples(path, SCHEMA)
    with pytest.raises(GriceError, match="cannot be read"):
        read_triples(tmp_path, SCHEMA)


def test_own_triples_come_first_and_once():
    own = [
        Triple("personx bakes a cake", "xWant", "to share it", source="me"),
        Triple("PersonX naps", "xReact", "proud", source="me"),
    ]
    store = merged(own)
    assert len(store) == 6
    assert [triple.source for triple in store.tails_of("PersonX bakes a cake ", "xWant")] == [
        "me",
        "atomic2020",
    ]
    assert store.find(["proud"], 9) == [own[1], KNOWN[2]]
    assert store.find(["na", "prou"], 9) == [own[1]]
    assert store.exact("PROUD", 1) == [own[1]]
    assert store.counts() == {"xWant": 3, "xReact": 3, "oReact": 1}
    assert store.origins() == {"atomic2020": 1, "atomic2018": 4, "me": 2}


def test_nearest_heads_are_those_of_exhaustive_search(encoder):
    words = "bakes buys paints drops old new red cake house train boat lamp".split()  # noqa: SIM905
    draw = random.Random(5)
    heads = sorted({f"PersonX {' '.join(draw.sample(words, 4))}" for _ in range(300)})
    store = merged([Triple(head, "xWant", "to rest") for head in heads], Nothing())
    asked = [head_text(head.replace("old", "very old")) for head in heads[:20]]
    nearest = store.nearest_heads(asked, 5, encoder=encoder, relation="xWant")
    vectors = np.stack(encoder.encode([head_text(head) for head in heads]))
    for vector, near in zip(encoder.encode(asked), nearest, strict=True):
        exact = sorted((vectors @ vector).tolist(), reverse=True)[:5]
        assert [neighbour.similarity for neighbour in near] == pytest.approx(exact, abs=1e-6)
    alone = [store.nearest_heads([text], 5, encoder=encoder, relation="xWant")[0] for text in asked]
    assert alone == nearest
    assert store.nearest_heads(asked, 5, encoder=encoder, relation="xNeed") == [[] for _ in asked]


def test_a_triple_that_is_added_moves_only_what_is_like_it(encoder):
    base = StoredKnowledge(merged([]), encoder)
    triples = [
        Triple("PersonX bakes a cake", "xWant", "PersonX wants to sell it"),
        Triple("PersonX misses the train", "xReact", "PersonX feels annoyed"),
    ]
    before = base.best_known(triples)
    new = Triple("PersonX bakes a cake", "xWant", "to sell it", source="shop")
    after = with_triple(base, new).best_known(triples)
    assert after[0].source == "shop"
    assert after[0].tail_similarity > before[0].tail_similarity
    assert after[1:] == before[1:]


def test_added_knowledge_never_makes_what_is_known_less_alike(encoder):
    words = "bakes buys paints old new red cake house train boat".split()  # noqa: SIM905
    draw = random.Random(11)

    def event():
        return f"PersonX {' '.join(draw.sample(words, 3))}"

    rows = [Triple(event(), "xWant", f"to {' '.join(draw.sample(words, 2))}") for _ in range(60)]
    base = StoredKnowledge(MergedStore(rows, Nothing(), "base"), encoder)
    triples = [Triple(event(), "xWant", f"to {draw.choice(words)}") for _ in range(40)]
    before = base.best_known(triples)
    for _ in range(6):
        new = Triple(event(), "xWant", f"to {draw.choice(words)}", source="ann")
        after = with_triple(base, new).best_known(triples)
        for old, now in zip(before, after, strict=True):
            assert now.tail_similarity >= old.tail_similarity
            # Heads of the same words are equally near here; one that is added too comes first.
            tied = now.head_similarity == old.head_similarity
            assert now == old or tied or now.source == "ann"
