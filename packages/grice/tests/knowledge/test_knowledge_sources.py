from __future__ import annotations

import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grice.errors import InputError, RecordError
from grice.knowledge.source_formats import SOURCES
from grice.knowledge.sources import open_triples
from grice.records import Triple

ATOMIC = (
    "event,oEffect,oReact,oWant,xAttr,xEffect,xIntent,xNeed,xReact,xWant,prefix,split\n"
    'PersonX runs,[],"[""none""]",[],"[""fit"", ""quick""]",[],[],[],[],'
    '"[""to rest""]","[""runs""]",trn\n'
)
CONCEPTNET = (
    "/a/[/r/IsA/,/c/en/guide_dog/,/c/en/dog/]\t/r/IsA\t/c/en/guide_dog/n\t/c/en/dog\t{}\n"
    "/a/[/r/IsA/,/c/fr/chien/,/c/fr/animal/]\t/r/IsA\t/c/fr/chien\t/c/fr/animal\t{}\n"
    "/a/[/r/ExternalURL/,/c/en/dog/,x]\t/r/ExternalURL\t/c/en/dog\thttp://a.example/dog\t{}\n"
)
KOGITO = (
    json.dumps({"head": "PersonX runs", "relation": "xWant", "tails": ["to rest", "to win"]})
    + "\n"
    + json.dumps({"head": "PersonX runs", "relation": "xAttr", "tails": "fit"})
    + "\n"
)
LINK = '{"head":"it rained","relation":"Causes","tail":"stayed in","head_span":{"turn":0}}\n'


@pytest.fixture
def read(tmp_path):
    def reading(text, name="triples.tsv", **options):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return open_triples(str(path), **options)

    return reading


def kept(file):
    return [row.triple for row in file.rows if not isinstance(row, RecordError) and not row.skipped]


@pytest.mark.parametrize(
    ("text", "form", "schema", "expected"),
    [
        (ATOMIC, "atomic", "atomic2020",
         [("PersonX runs", "xAttr", "fit"), ("PersonX runs", "xAttr", "quick"),
          ("PersonX runs", "xWant", "to rest")]),
        ("PersonX runs\txWant\tto rest\n", "atomic2020", "atomic2020",
         [("PersonX runs", "xWant", "to rest")]),
        (CONCEPTNET, "conceptnet", "conceptnet", [("guide dog", "IsA", "dog")]),
        ("IsA\tguide dog\tdog\t2.0\n", "conceptnet-100k", "conceptnet",
         [("guide dog", "IsA", "dog")]),
        (KOGITO, "kogito", "atomic2020",
         [("PersonX runs", "xWant", "to rest"), ("PersonX runs", "xWant", "to win"),
          ("PersonX runs", "xAttr", "fit")]),
        (LINK, "links", "cider", [("it rained", "Causes", "stayed in")]),
        ("tail\tnote\trelation\thead\nto rest\tx\txWant\tPersonX runs\n", "table", "atomic2020",
         [("PersonX runs", "xWant", "to rest")]),
        ('head,relation,tail\nPersonX runs,xWant,"to rest, then eat"\n', "table", "atomic2020",
         [("PersonX runs", "xWant", "to rest, then eat")]),
    ],
)  # fmt: skip
def test_every_format_is_recognised_and_read(read, text, form, schema, expected):
    file = read(text)
    assert (file.format, file.schema.name) == (form, schema)
    triples = kept(file)
    assert [(triple.head, triple.relation, triple.tail) for triple in triples] == expected
    assert {triple.source for triple in triples} == {"triples.tsv"}


def test_every_format_has_a_case_above():
    assert {source.name for source in SOURCES} == {
        "atomic", "atomic2020", "conceptnet", "conceptnet-100k", "kogito", "links", "table",
    }  # fmt: skip


def test_a_gzipped_table_names_its_sources(read):
    text = "head\trelation\ttail\tsource\na b\txWant\tto rest\tann\nc d\txWant\tto win\t\n"
    triples = kept(read(gzip.compress(text.encode())))
    assert [triple.source for triple in triples] == ["ann", "triples.tsv"]


def test_what_is_skipped_on_purpose_says_why(read):
    skipped = [row.skipped for row in read(CONCEPTNET).rows]
    assert skipped == ["", "not English", "links to another data base"]
    assert [row.skipped for row in read("a b\txWant\tnone\n").rows] == ["tail says none"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("PersonX runs\txWnt\tto rest", "t.tsv:2: unknown relation 'xWnt'; did you mean 'xWant'"),
        ("PersonX runs\txWant\t ", "t.tsv:2: empty tail"),
        ("\txWant\tto rest", "t.tsv:2: empty head"),
        ("PersonX runs\txWant", "t.tsv:2: 2 columns, head, relation and tail, parted by tabs"),
        ("PersonX runs\txWant\ta\0b", "t.tsv:2: NUL byte at byte 20"),
        ("PersonX runs\txWant\t" + "very " * 300, "t.tsv:2: tail: 1,499 characters"),
    ],
)
def test_a_broken_row_is_named_with_its_line_and_reading_goes_on(read, line, message):
    text = f"PersonX eats\txWant\tto sleep\n{line}\nPersonX sits\txWant\tto stand\n"
    rows = list(read(text, "t.tsv").rows)
    assert len(rows) == 3
    assert isinstance(rows[1], RecordError)
    assert message in str(rows[1])
    assert rows[2].triple == Triple("PersonX sits", "xWant", "to stand", source="t.tsv")


def test_another_encoding_is_named_with_the_line(read):
    text = b"PersonX eats\txWant\tto sleep\n" + "PersonX isst\txWant\tKäse\n".encode("latin1")
    _, broken = read(text, "t.tsv").rows
    assert "t.tsv:2: not UTF-8: byte 0xe4" in str(broken)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty; there is no triple in it"),
        ("once upon a time\n", "not a known file of triples; it begins with 'once upon a time'"),
        (b"SQLite format 3\0" + b"x" * 99, "this is an SQLite data base"),
        ("he\u0301\0\0\0\n", "not a known file of triples"),
        ('{"id": 1}\n', "looks like kogito, but holds no triple there"),
        (
            '{"head": "a", "relation": "likes", "tails": ["b"]}\n',
            r"no inventory has its relations \('likes'\); say which relations",
        ),
        ("a\tCauses\tb\n", "are in atomic2020, conceptnet, cider: say which with --schema"),
    ],
)
def test_what_is_no_file_of_triples_is_refused(read, text, message):
    with pytest.raises(InputError, match=message):
        read(text)


def test_unknown_names_are_met_with_the_nearest(read, tmp_path):
    with pytest.raises(InputError, match="did you mean 'kogito'"):
        read(KOGITO, format="cogito")
    with pytest.raises(InputError, match="did you mean 'conceptnet'"):
        read(KOGITO, schema="conceptnett")
    with pytest.raises(InputError, match=r"none\.tsv: cannot be read: No such file"):
        open_triples(str(tmp_path / "none.tsv"))


def test_a_stated_schema_renames_what_it_calls_otherwise(read):
    (triple,) = kept(read("win\tAchievedBy\ttrain\n", schema="cider", format="atomic2020"))
    assert (triple.head, triple.relation, triple.tail) == ("train", "Causes", "win")


@given(st.lists(st.binary(max_size=40), max_size=8))
def test_whatever_the_bytes_every_line_is_a_row_or_a_fault(tmp_path_factory, lines):
    path = tmp_path_factory.mktemp("any") / "any.tsv"
    body = b"\n".join(line.replace(b"\n", b" ") for line in lines)
    path.write_bytes(b"a b\txWant\tto rest\n" + body)
    rows = list(open_triples(str(path), format="atomic2020", schema="atomic2020").rows)
    assert rows[0].triple.tail == "to rest"
    for row in rows:
        assert isinstance(row, RecordError) or row.triple.head.strip()


FAULTY = [
    ("atomic", ATOMIC, "PersonX sits,[]", "2 columns, 12 as in the first line are needed"),
    ("atomic", ATOMIC, 'PersonX sits,[],[],[],"[""a",[],[],[],[],[],[],trn', "xAttr: "),
    ("atomic", ATOMIC, "PersonX sits,[],[],[],7,[],[],[],[],[],[],trn", "a JSON list of tails"),
    ("conceptnet", CONCEPTNET, "/a/x\tIsA\tdog\tanimal", "name, relation (/r/…), start and end"),
    ("conceptnet-100k", "IsA\tguide dog\tdog\t2.0\n", "IsA\tdog", "relation, head and tail"),
    ("kogito", KOGITO, "[1]", "an object with head, relation and tails is needed"),
    ("kogito", KOGITO, '{"head": 7, "relation": "xWant", "tails": []}', "head: a text is needed"),
    ("kogito", KOGITO, '{"head": "a", "relation": "xWant"}', "tails: a list of texts is needed"),
    ("kogito", KOGITO, '{"head": "a", ', "triples.tsv:"),
    ("table", "head\trelation\ttail\nPersonX runs\txWant\tto rest\n", "PersonX sits\txWant",
     "2 columns, 3 as in the first line are needed"),
]  # fmt: skip


@pytest.mark.parametrize(("form", "whole", "line", "message"), FAULTY)
def test_a_broken_line_of_any_format_costs_no_other(read, form, whole, line, message):
    good = kept(read(whole, format=form))
    rows = list(read(f"{whole}{line}\n\n{'' if form in HEADED else whole}", format=form).rows)
    faults = [str(row) for row in rows if isinstance(row, RecordError)]
    assert len(faults) == 1
    assert f"triples.tsv:{whole.count(chr(10)) + 1}: " in faults[0]
    assert message in faults[0]
    triples = [row.triple for row in rows if not isinstance(row, RecordError) and not row.skipped]
    assert triples == good * (1 if form in HEADED else 2)


HEADED = ("atomic", "table")
"""Formats whose first line names the columns."""


@pytest.mark.parametrize("form", ["atomic", "conceptnet", "kogito", "table"])
def test_a_line_that_is_no_text_is_named_in_any_format(read, form):
    whole = {"atomic": ATOMIC, "conceptnet": CONCEPTNET, "kogito": KOGITO,
             "table": "head\trelation\ttail\nPersonX runs\txWant\tto rest\n"}[form]  # fmt: skip
    rows = list(read(whole.encode() + b"caf\xe9\n", format=form).rows)
    assert "not UTF-8" in str(rows[-1]) or "utf-8" in str(rows[-1]).lower()
