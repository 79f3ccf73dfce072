from __future__ import annotations

import pytest

from grice.data import Triple
from grice.errors import InputError
from grice.knowledge.schema import load_schema

WRITTEN = """
name = "tiny"
version = "1"
source = "none"
[groups]
few = ["before"]
[relations]
before = { gloss = "happens before", tail = "clause", inverse = "after" }
after = { gloss = "happens after", tail = "clause", inverse = "before" }
"""


@pytest.fixture
def written(tmp_path):
    def write(text):
        path = tmp_path / "tiny.toml"
        path.write_text(text, "utf-8")
        return path

    return write


def test_atomic_has_its_relations_and_those_of_accent():
    schema = load_schema("atomic2020")
    assert len(schema.relations) == 23
    assert schema.group("accent") == (
        "xNeed", "xAttr", "xReact", "xEffect", "xWant", "xIntent",
        "oEffect", "oReact", "oWant", "isAfter", "HasSubEvent", "HinderedBy",
    )  # fmt: skip
    assert schema["isAfter"].inverse == "isBefore"


def test_conceptnet_has_its_relations():
    schema = load_schema("conceptnet")
    assert len(schema.group("cn100k")) == 34
    assert {name for name, relation in schema.relations.items() if relation.symmetric} == {
        "Antonym", "DistinctFrom", "EtymologicallyRelatedTo", "LocatedNear", "RelatedTo",
        "SimilarTo", "Synonym",
    }  # fmt: skip


def test_an_own_inventory_is_read_by_path(written):
    assert load_schema(written(WRITTEN)).group("few") == ("before",)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('["before"]', '["befor"]', "groups.few: unknown relation 'befor'; did you mean 'before'"),
        ('inverse = "after"', 'inverse = "afterwards"', "inverse 'afterwards' is unknown"),
        ('inverse = "before"', 'inverse = "after"', "is not its inverse in turn"),
        ('tail = "clause"', 'tail = "poem"', r"\$.relations"),
        ("gloss", "glos", r"\$.relations"),
        (
            "[relations]",
            "[aliases]\nthen = { relation = 'aftr' }\n[relations]",
            "aliases.then: unknown relation 'aftr'; did you mean 'after'",
        ),
        (
            "[relations]",
            "[aliases]\nafter = { relation = 'before' }\n[relations]",
            "aliases.after: is a relation itself",
        ),
        ("[groups]", "[groups", "tiny.toml"),
    ],
)
def test_a_broken_inventory_is_refused_with_the_place(written, old, new, message):
    with pytest.raises(InputError, match=message):
        load_schema(written(WRITTEN.replace(old, new)))


def test_unknown_names_are_met_with_the_nearest_known():
    with pytest.raises(InputError, match="did you mean 'atomic2020'"):
        load_schema("atomic2000")
    with pytest.raises(InputError, match="no relation 'xwant'; did you mean 'xWant'"):
        _ = load_schema("atomic2020")["xwant"]
    with pytest.raises(InputError, match="no group 'acent'; did you mean 'accent'"):
        load_schema("atomic2020").group("acent")


def test_the_checker_names_every_problem():
    schema = load_schema("conceptnet")
    assert schema.problems(Triple("rain", "Causes", "wet streets")) == ()
    assert schema.problems(Triple(" ", "Cause", "")) == (
        "unknown relation 'Cause'; did you mean 'Causes'?",
        "empty head",
        "empty tail",
    )


def test_a_negation_holds_both_ways(written):
    bad = WRITTEN.replace('inverse = "after"', 'inverse = "after", negation = "after"')
    with pytest.raises(InputError, match="negation 'after' is not its negation in turn"):
        load_schema(written(bad))
