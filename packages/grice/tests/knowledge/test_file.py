"""A file of your own knowledge: made, changed, looked up, and never quietly wrong."""

from __future__ import annotations

import random
import shutil
import sqlite3
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from grice.errors import BundleError, InputError, OutputError
from grice.knowledge import edit
from grice.knowledge.build import Author, Below, author, build
from grice.knowledge.edit import add, check_base, drop_vectors, remove
from grice.knowledge.file import Change, KnowledgeFile
from grice.knowledge.lookup import StoredKnowledge
from grice.knowledge.overlay import Overlay
from grice.knowledge.protocols import KnowledgeBase
from grice.knowledge.schema import load_schema
from grice.knowledge.sources import open_triples
from grice.knowledge.wording import head_text
from grice.records import Triple

ANN = Author("ann", "2026-01-01T00:00:00Z")
BOB = Author("bob", "2026-02-02T00:00:00Z")
ROWS = """head\trelation\ttail\tsource
PersonX bakes a cake\txWant\tto eat the cake\tatomic2020
PersonX bakes a cake\txWant\tto share it\tatomic2018
PersonX bakes a cake\txReact\tproud\tatomic2018
PersonX bakes a cake\txWant\tto eat the cake\tatomic2018
PersonX misses the train\txReact\tannoyed\tatomic2018
PersonX buys an old house\toReact\tsurprised\tatomic2018
"""


class Counting:
    """An encoder that remembers what it was asked."""

    def __init__(self, encoder):
        self.identity = encoder.identity
        self._encoder = encoder
        self.asked = []

    def encode(self, texts):
        self.asked += texts
        return self._encoder.encode(texts)


@pytest.fixture
def make(tmp_path):
    def making(name="base.kb", text=ROWS, by=ANN, **options):
        source = tmp_path / "rows.tsv"
        source.write_text(text, "utf-8")
        opened = open_triples(str(source))
        built = build(tmp_path / name, [opened], opened.schema, by, **options)
        return tmp_path / name, built

    return making


@pytest.fixture
def path(make):
    return make()[0]


@pytest.fixture
def overlaid(tmp_path, path):
    """Opens a file on top of the one above after some changes."""
    base = KnowledgeFile(path)
    own = tmp_path / "own.kb"
    below = Below("file:base.kb", base)

    def overlay(*triples, without=()):
        add(own, triples, ANN, below=below)
        for triple in without:
            remove(own, triple, ANN, below=below)
        return Overlay(KnowledgeFile(own), base)

    return overlay


def test_equal_rows_stand_once_with_their_first_source(make):
    path, built = make()
    assert (built.triples, built.repeated, built.broken) == (5, 1, 0)
    file = KnowledgeFile(path)
    assert len(file) == 5
    assert file.tails_of("personx bakes a CAKE", "xWant") == [
        Triple("PersonX bakes a cake", "xWant", "to eat the cake", source="atomic2020"),
        Triple("PersonX bakes a cake", "xWant", "to share it", source="atomic2018"),
    ]
    assert file.counts() == {"xReact": 2, "xWant": 2, "oReact": 1}
    assert file.origins() == {"atomic2018": 4, "atomic2020": 1}


def test_a_file_has_the_same_hash_whoever_makes_it_and_when(make):
    first, second = make("one.kb")[0], make("two.kb", by=BOB)[0]
    assert KnowledgeFile(first).content == KnowledgeFile(second).content
    other = make("three.kb", text=ROWS.replace("proud", "glad"))[0]
    assert KnowledgeFile(other).content != KnowledgeFile(first).content


def test_who_and_when_stay_with_every_change(path):
    new = Triple("PersonX bakes a cake", "xWant", "to sell it", source="my shop")
    assert add(path, [new, new], BOB) == 1
    assert add(path, [new], BOB) == 0
    edit.edit(path, new, "to sell it dear", ANN)
    remove(path, Triple("PersonX misses the train", "xReact", "annoyed"), BOB)
    file = KnowledgeFile(path)
    assert file.history() == [
        Change(*BOB[::-1], "remove", "PersonX misses the train", "xReact", "annoyed", "atomic2018"),
        Change(*ANN[::-1], "edit", "PersonX bakes a cake", "xWant", "to sell it dear", "my shop",
               "to sell it"),
        Change(*BOB[::-1], "add", "PersonX bakes a cake", "xWant", "to sell it", "my shop"),
        Change(*ANN[::-1], "build", source=str(path.parent / "rows.tsv")),
    ]  # fmt: skip
    changed = file.tails_of("PersonX bakes a cake", "xWant")
    assert [triple.tail for triple in changed] == [
        "to sell it dear",
        "to eat the cake",
        "to share it",
    ]
    assert file.change_of(changed[0]).action == "edit"
    assert file.change_of(changed[1]).action == "build"
    assert file.change_of(new) is None


def test_words_are_found_by_their_stem_and_by_their_beginning_without_an_index(path):
    file = KnowledgeFile(path)
    assert [triple.tail for triple in file.find(["baking", "proud"], 5)] == ["proud"]
    assert [triple.head for triple in file.find(["house"], 5)] == ["PersonX buys an old house"]
    assert file.find(["cake"], 1) == file.find(["cake"], 9)[:1]
    assert file.find(['"', "'; DROP TABLE"], 5) == []
    assert file.find([" "], 5) == []
    file._indexed = lambda: False
    assert [triple.tail for triple in file.find(["bak", "prou"], 5)] == ["proud"]
    assert file.find(["ake", "proud"], 5) == []


def test_texts_are_found_exactly_in_any_case(overlaid, path):
    file = KnowledgeFile(path)
    assert [triple.tail for triple in file.exact("PERSONX BAKES A CAKE", 9)] == [
        "to eat the cake", "to share it", "proud",
    ]  # fmt: skip
    assert [triple.head for triple in file.exact("Annoyed", 9)] == ["PersonX misses the train"]
    assert file.exact("cake", 9) == []
    own = Triple("PersonX naps", "xReact", "proud", source="me")
    overlay = overlaid(own, without=[Triple("PersonX bakes a cake", "xReact", "proud")])
    assert overlay.exact("proud", 9) == [own]


def test_nearest_heads_are_those_of_exhaustive_search(make, encoder):
    words = "bakes buys paints drops old new red cake house train boat lamp".split()  # noqa: SIM905
    draw = random.Random(5)
    heads = sorted({f"PersonX {' '.join(draw.sample(words, 4))}" for _ in range(300)})
    text = "head\trelation\ttail\n" + "".join(f"{head}\txWant\tto rest\n" for head in heads)
    file = KnowledgeFile(make(text=text)[0])
    asked = [head_text(head.replace("old", "very old")) for head in heads[:20]]
    nearest = file.nearest_heads(asked, 5, encoder=encoder, relation="xWant")
    vectors = np.stack(encoder.encode([head_text(head) for head in heads]))
    for vector, near in zip(encoder.encode(asked), nearest, strict=True):
        exact = sorted((vectors @ vector).tolist(), reverse=True)[:5]
        assert [neighbour.similarity for neighbour in near] == pytest.approx(exact, abs=1e-6)
    alone = [file.nearest_heads([text], 5, encoder=encoder, relation="xWant")[0] for text in asked]
    assert alone == nearest
    assert file.nearest_heads(asked, 5, encoder=encoder, relation="xNeed") == [[] for _ in asked]


def test_vectors_of_heads_are_made_once_and_kept(path, encoder):
    counting = Counting(encoder)
    first = KnowledgeFile(path)
    content = first.content
    near = first.nearest_heads(["he bakes"], 2, encoder=counting)
    assert len(counting.asked) == 1 + 3
    second = KnowledgeFile(path)
    assert (second.content, second.encoded_heads()) == (content, 3)
    counting.asked.clear()
    assert second.nearest_heads(["he bakes"], 2, encoder=counting) == near
    assert counting.asked == ["he bakes"]
    counting.identity = "another"
    second.nearest_heads(["he bakes"], 2, encoder=counting)
    assert len(counting.asked) == 1 + 1 + 3


def test_a_changed_vector_is_noticed_and_can_be_dropped(path, encoder):
    KnowledgeFile(path).nearest_heads(["he bakes"], 1, encoder=encoder)
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE vectors SET vector = zeroblob(96) WHERE head = 1")
    connection.close()
    file = KnowledgeFile(path)
    for looking in (
        lambda: file.nearest_heads(["he bakes"], 1, encoder=encoder),
        file.check_vectors,
    ):
        with pytest.raises(BundleError, match="the vector of 'PersonX bakes a cake'; drop all"):
            looking()
    drop_vectors(path)
    KnowledgeFile(path).check_vectors()


def test_stored_knowledge_is_a_knowledge_base(path, encoder):
    base = StoredKnowledge(KnowledgeFile(path), encoder)
    assert isinstance(base, KnowledgeBase)
    wishes, nothing = base.tails(["PersonX bakes a big cake", "x"], ["xWant", "xNeed"], 5)
    assert [triple.tail for triple in wishes] == ["to eat the cake", "to share it"]
    assert nothing == []
    good, bad, unknown = base.plausibility(
        [
            Triple("PersonX bakes a cake", "xWant", "PersonX wants to eat the cake"),
            Triple("PersonX bakes a cake", "xWant", "PersonX wants to fly"),
            Triple("PersonX bakes a cake", "xNeed", "to find flour"),
        ]
    )
    assert good == pytest.approx(1.0, abs=2e-3)
    assert 0.0 <= bad < good
    assert unknown == 0.0
    with pytest.raises(InputError, match="2 heads and 1 relations"):
        base.tails(["a", "b"], ["xWant"], 5)
    with pytest.raises(InputError, match="0 tails"):
        base.tails(["a"], ["xWant"], 0)
    with pytest.raises(InputError, match="did you mean 'xWant'"):
        base.tails(["a"], ["xwant"], 1)


def test_an_empty_file_on_top_changes_nothing(overlaid, path, encoder):
    overlay, base = overlaid(), KnowledgeFile(path)
    triples = [
        Triple("PersonX bakes a big cake", "xWant", "to eat"),
        Triple("PersonX misses a train", "xReact", "sad"),
        Triple("PersonX bakes", "xNeed", "flour"),
    ]
    for events in (["he bakes", "he misses"], []):
        assert overlay.nearest_heads(events, 3, encoder=encoder) == base.nearest_heads(
            events, 3, encoder=encoder
        )
    over, under = (StoredKnowledge(store, encoder) for store in (overlay, base))
    assert over.best_known(triples) == under.best_known(triples)
    assert over.tails(["PersonX bakes"], ["xWant"], 3) == under.tails(
        ["PersonX bakes"], ["xWant"], 3
    )
    assert len(overlay) == len(base)


def test_a_known_triple_added_moves_only_what_is_like_it(make, tmp_path, encoder):
    more = "".join(f"PersonX misses the {vehicle}\txWant\tto run\n" for vehicle in ("bus", "boat"))
    base = KnowledgeFile(make(text=ROWS.replace("\tatomic2020", "") + more)[0])
    triples = [
        Triple("PersonX bakes a cake", "xWant", "PersonX wants to sell it"),
        Triple("PersonX misses the train", "xWant", "PersonX wants to sell it"),
        Triple("PersonX misses the train", "xReact", "PersonX feels annoyed"),
    ]
    before = StoredKnowledge(base, encoder).best_known(triples)
    new = Triple("PersonX bakes a cake", "xWant", "to sell it", source="shop")
    add(tmp_path / "own.kb", [new], ANN, below=Below("file:base.kb", base))
    overlay = Overlay(KnowledgeFile(tmp_path / "own.kb"), base)
    after = StoredKnowledge(overlay, encoder).best_known(triples)
    assert after[0].source == "shop"
    assert after[0].tail_similarity > before[0].tail_similarity
    assert after[1:] == before[1:]


def test_added_knowledge_never_makes_what_is_known_less_alike(make, tmp_path, encoder):
    words = "bakes buys paints old new red cake house train boat".split()  # noqa: SIM905
    draw = random.Random(11)

    def event():
        return f"PersonX {' '.join(draw.sample(words, 3))}"

    rows = "".join(f"{event()}\txWant\tto {' '.join(draw.sample(words, 2))}\n" for _ in range(60))
    base = KnowledgeFile(make(text="head\trelation\ttail\n" + rows)[0])
    triples = [Triple(event(), "xWant", f"to {draw.choice(words)}") for _ in range(40)]
    before = StoredKnowledge(base, encoder).best_known(triples)
    for i in range(6):
        own = tmp_path / f"own{i}.kb"
        add(own, [Triple(event(), "xWant", f"to {draw.choice(words)}")], ANN,
            below=Below("file:base.kb", base))  # fmt: skip
        after = StoredKnowledge(Overlay(KnowledgeFile(own), base), encoder).best_known(triples)
        for old, new in zip(before, after, strict=True):
            assert new.tail_similarity >= old.tail_similarity
            # Heads of the same words are equally near here; one that is added too comes first.
            tied = new.head_similarity == old.head_similarity
            assert new == old or tied or new.source == "ann"


def test_what_is_taken_out_below_is_not_there_and_its_head_neither(overlaid, path, encoder):
    gone = [
        Triple("PersonX bakes a cake", "xWant", tail) for tail in ("to eat the cake", "to share it")
    ]
    overlay = overlaid(without=gone)
    assert overlay.tails_of("PersonX bakes a cake", "xWant") == []
    assert overlay.nearest_heads(["he bakes a cake"], 2, encoder=encoder, relation="xWant") == [[]]
    assert overlay.find(["eat"], 9) == []
    assert len(overlay) == 3
    assert [triple.tail for triple in overlay.find(["cake"], 9)] == ["proud"]
    assert len(KnowledgeFile(path)) == 5


def test_what_is_taken_out_can_be_told_again_and_changed(overlaid, tmp_path):
    wish = Triple("PersonX bakes a cake", "xWant", "to share it")
    overlay = overlaid(wish, without=[])
    assert len(overlay) == 5
    edit.edit(tmp_path / "own.kb", wish, "to share it at once", BOB)
    tails = [
        triple.tail
        for triple in Overlay(KnowledgeFile(tmp_path / "own.kb"), overlay.base).tails_of(
            "PersonX bakes a cake", "xWant"
        )
    ]
    assert tails[0] == "to share it at once"


def test_a_triple_that_is_not_there_is_no_change(overlaid, tmp_path, path):
    content = KnowledgeFile(path).content
    unknown = Triple("PersonX flies", "xWant", "to land")
    for changing in (
        lambda: remove(path, unknown, ANN),
        lambda: edit.edit(path, unknown, "to rise", ANN),
        lambda: overlaid(without=[unknown]),
    ):
        with pytest.raises(InputError, match="'PersonX flies' xWant 'to land' is not there"):
            changing()
    taken = Triple("PersonX bakes a cake", "xReact", "proud")
    overlaid(without=[taken])
    with pytest.raises(InputError, match="was taken out before"):
        overlaid(without=[taken])
    same = Triple("PersonX bakes a cake", "xWant", "to share it")
    with pytest.raises(InputError, match="is there already"):
        edit.edit(path, same, "to eat the cake", ANN)
    assert KnowledgeFile(path).content == content


@pytest.mark.parametrize(
    ("triple", "message"),
    [
        (
            Triple("PersonX runs", "xWnt", "to rest"),
            "unknown relation 'xWnt'; did you mean 'xWant'",
        ),
        (Triple(" ", "xWant", "to rest"), "empty head"),
        (Triple("PersonX runs", "xWant", "\t"), "empty tail"),
        (Triple("PersonX runs", "xWant", "a\0b"), "NUL is no part of a text"),
    ],
)
def test_all_triples_are_added_or_none(path, triple, message):
    content = KnowledgeFile(path).content
    with pytest.raises(InputError, match=message):
        add(path, [Triple("PersonX runs", "xWant", "to win"), triple], ANN)
    assert KnowledgeFile(path).content == content


def test_blanks_and_scripts_are_kept_apart(path):
    assert add(path, [Triple("PersonX  runs ", "xWant", " to\trest")], ANN) == 1
    assert add(path, [Triple("PersonX runs", "xWant", "to rest")], ANN) == 0
    assert add(path, [Triple("PersonX läuft 🏃", "xWant", "走り続ける")], ANN) == 1
    file = KnowledgeFile(path)
    assert file.tails_of("PersonX läuft 🏃", "xWant")[0].tail == "走り続ける"
    assert len(file.find(["🏃"], 3)) == 1


def test_a_new_file_needs_something_to_lie_on(tmp_path):
    with pytest.raises(InputError, match=r"new\.kb: no such file; make it with grice kb build"):
        add(tmp_path / "new.kb", [Triple("PersonX runs", "xWant", "to rest")], ANN)


def test_a_file_that_is_there_is_not_replaced_by_mistake(make, path):
    with pytest.raises(OutputError, match="is there already; add to it with grice kb add"):
        make()
    assert make(text="a b\txWant\tto rest\n", replace=True)[1].triples == 1


def test_schemas_that_differ_are_not_overlaid(tmp_path, path):
    other = tmp_path / "cn.kb"
    build(other, (), load_schema("conceptnet"), ANN)
    with pytest.raises(BundleError, match="schema is 'conceptnet', the knowledge below"):
        Overlay(KnowledgeFile(other), KnowledgeFile(path))


def test_other_knowledge_below_is_noticed(overlaid, path):
    overlay = overlaid(Triple("PersonX runs", "xWant", "to rest"))
    assert check_base(overlay.file, overlay.base) is None
    add(path, [Triple("PersonX runs", "xWant", "to win")], ANN)
    changed = KnowledgeFile(path)
    assert "made on top of base@" in check_base(overlay.file, changed)


def spoil(path, statement):
    connection = sqlite3.connect(path)
    with connection:
        connection.execute(statement)
    connection.close()


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("UPDATE texts SET text = 'to burn it' WHERE text = 'to share it'", "of the table texts"),
        ("DELETE FROM triples WHERE id = 2", "of the table triples"),
        ("UPDATE triples SET source = 1", "of the table triples"),
        ("UPDATE changes SET who = 'eve'", "of the table changes"),
        ("INSERT INTO hidden VALUES (1, 1, 1, 2)", "of the table hidden"),
        ("UPDATE about SET value = 'bundle:other' WHERE key = 'base'", "its seal does not fit"),
        ("UPDATE marks SET mark = x'00'", "its seal does not fit"),
        ("DELETE FROM about", "its seal does not fit"),
        ("PRAGMA user_version = 9", "written in layout 9; this grice reads layout 1"),
        ("PRAGMA application_id = 1", "an SQLite data base, but not one of grice kb build"),
        ("DROP TABLE marks", "no such table: marks"),
    ],
)
def test_whatever_else_wrote_into_the_file_is_noticed(path, statement, message):
    spoil(path, statement)
    with pytest.raises(BundleError, match=message):
        KnowledgeFile(path)
    with pytest.raises((BundleError, OutputError)):
        add(path, [Triple("PersonX runs", "xWant", "to rest")], ANN)


def test_a_schema_of_another_version_is_noticed(path, monkeypatch):
    import msgspec

    from grice.knowledge import file as module

    moved = msgspec.structs.replace(load_schema("atomic2020"), version="2")
    monkeypatch.setattr(module, "load_schema", lambda name: moved)
    with pytest.raises(BundleError, match="made with version 1 of the schema 'atomic2020', this"):
        KnowledgeFile(path)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "the file is empty"),
        (b"head,relation,tail\n", "not a file of knowledge"),
        (b"\xff\xfe\0\0" * 99, "not a file of knowledge"),
    ],
)
def test_what_is_no_file_of_knowledge_is_refused(tmp_path, body, message):
    other = tmp_path / "other.kb"
    other.write_bytes(body)
    with pytest.raises(BundleError, match=message):
        KnowledgeFile(other)
    with pytest.raises((BundleError, OutputError)):
        add(other, [Triple("PersonX runs", "xWant", "to rest")], ANN)
    assert other.read_bytes() == body


def test_a_file_that_is_not_there_suggests_its_neighbour(path):
    with pytest.raises(
        BundleError, match=r"bas\.kb: no such file of knowledge; did you mean 'base"
    ):
        KnowledgeFile(path.with_name("bas.kb"))


def test_a_file_cut_off_anywhere_is_refused(path):
    whole = path.read_bytes()
    for length in range(1, len(whole), 1500):
        path.write_bytes(whole[:length])
        with pytest.raises(BundleError):
            KnowledgeFile(path)


def test_a_flipped_byte_is_noticed_or_says_nothing(make, encoder):
    text = ROWS + "".join(f"PersonX does thing {i}\txWant\tto do {i}\tmade\n" for i in range(60))
    path = make(text=text)[0]
    whole = path.read_bytes()
    expected = sorted(map(repr, KnowledgeFile(path).all()))
    draw = random.Random(7)
    noticed = 0
    for place in draw.sample(range(len(whole)), 150):
        spoiled = bytearray(whole)
        spoiled[place] ^= 1 << draw.randrange(8)
        path.write_bytes(spoiled)
        try:
            file = KnowledgeFile(path)
        except BundleError:
            noticed += 1
            continue
        assert sorted(map(repr, file.all())) == expected
        for i in (0, 30, 59):
            assert len(file.tails_of(f"personx does thing {i}", "xWant")) == 1
        file.close()
    assert noticed > 20


def test_a_write_that_is_killed_leaves_what_was_there(path, tmp_path):
    content = KnowledgeFile(path).content
    script = textwrap.dedent(
        """
        import os, signal, sys
        from pathlib import Path
        from grice.knowledge import edit
        from grice.knowledge.build import Author
        from grice.records import Triple
        real = edit.remark
        def dying(connection, touched):
            real(connection, touched)
            connection.execute("PRAGMA cache_size = 1")
            connection.execute("CREATE TABLE filler AS SELECT * FROM texts, texts AS t, texts AS u")
            os.kill(os.getpid(), signal.SIGKILL)
        edit.remark = dying
        edit.add(Path(sys.argv[1]), [Triple("PersonX runs", "xWant", "to rest")],
                 Author("x", "y"))
        """
    )
    done = subprocess.run([sys.executable, "-c", script, str(path)], check=False)
    assert done.returncode == -9
    assert path.with_name("base.kb-journal").exists(), "the kill must fall into the write"
    copy = tmp_path / "copy.kb"
    shutil.copy(path, copy)  # without its journal: half-written
    with pytest.raises(BundleError):
        KnowledgeFile(copy)
    assert KnowledgeFile(path).content == content
    assert add(path, [Triple("PersonX runs", "xWant", "to rest")], ANN) == 1


def test_a_full_disk_leaves_what_was_there(path, monkeypatch):
    content = KnowledgeFile(path).content
    real = sqlite3.connect

    def small(*args, **options):
        connection = real(*args, **options)
        if not options.get("uri"):
            connection.execute("PRAGMA max_page_count = 1")  # no page more than there are
        return connection

    monkeypatch.setattr(edit.sqlite3, "connect", small)
    many = [Triple(f"PersonX runs {i}", "xWant", "to rest") for i in range(2000)]
    with pytest.raises(OutputError, match="disk is full; its content is as it was"):
        add(path, many, ANN)
    assert KnowledgeFile(path).content == content
    with pytest.raises(OutputError, match=r"new\.kb: cannot be written: database or disk is full"):
        build(path.with_name("new.kb"), (), load_schema("atomic2020"), ANN)
    assert sorted(child.name for child in path.parent.iterdir()) == ["base.kb", "rows.tsv"]


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(OutputError, match=r"new\.kb: cannot be written: there is no folder"):
        build(tmp_path / "no" / "new.kb", (), load_schema("atomic2020"), ANN)


def test_a_file_that_cannot_be_written_is_still_read(path, encoder, monkeypatch):
    counting = Counting(encoder)
    real = sqlite3.connect

    def reading_only(*args, **options):
        if not options.get("uri"):
            raise sqlite3.OperationalError("attempt to write a readonly database")
        return real(*args, **options)

    monkeypatch.setattr(sqlite3, "connect", reading_only)
    file = KnowledgeFile(path)
    assert len(file.nearest_heads(["he bakes"], 2, encoder=counting)[0]) == 2
    assert file.encoded_heads() == 0
    with pytest.raises(OutputError, match="attempt to write a readonly database; its content is"):
        add(path, [Triple("PersonX runs", "xWant", "to rest")], ANN)


def test_two_writers_wait_for_each_other(path):
    script = (
        "import sys; from pathlib import Path\n"
        "from grice.knowledge.build import Author\n"
        "from grice.knowledge.edit import add\n"
        "from grice.records import Triple\n"
        "for i in range(5):\n"
        "    add(Path(sys.argv[1]), [Triple(f'{sys.argv[2]} {i}', 'xWant', 'to rest')],"
        " Author('x', 'y'))\n"
    )
    both = [subprocess.Popen([sys.executable, "-c", script, str(path), who]) for who in ("a", "b")]
    assert [process.wait() for process in both] == [0, 0]
    assert len(KnowledgeFile(path)) == 5 + 10


def test_time_and_user_can_be_stated(monkeypatch):
    assert author("ann", "then") == Author("ann", "then")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1767225600")
    assert author("ann").at == "2026-01-01T00:00:00Z"
    monkeypatch.delenv("SOURCE_DATE_EPOCH")
    assert author().at.endswith("Z")
    assert author().who
