"""Files of knowledge from Python, as ``grice kb`` handles them."""

from __future__ import annotations

import pytest

from grice.errors import InputError, RecordError
from grice.knowledge.build import author
from grice.knowledge.file import KnowledgeFile
from grice.knowledge.files import (
    build_files,
    check_knowledge,
    describe_knowledge,
    read_triples,
    schema_name,
)

BY = author("Ann", "2020-01-01T00:00:00Z")
ROWS = "PersonX bakes a cake\txWant\tto eat it\nPersonX bakes a cake\txWant\tto share it\n"


@pytest.fixture
def rows(tmp_path):
    path = tmp_path / "rows.tsv"
    path.write_text(ROWS)
    return path


def test_files_of_triples_become_one_of_knowledge(rows, tmp_path):
    more = tmp_path / "more.tsv"
    more.write_text("PersonX bakes a cake\txWant\tto eat it\nPersonX sleeps\txEffect\trests\n")
    out = tmp_path / "my.kb"
    made = build_files(out, [str(rows), str(more)], BY)
    assert (made.built.triples, made.built.repeated, made.built.broken) == (3, 1, 0)
    assert [name for name, _ in made.formats] == [str(rows), str(more)]
    assert made.schema == schema_name(out)
    knowledge = KnowledgeFile(out)
    facts = describe_knowledge(knowledge, "", changes=5)
    assert facts.relations == {"xWant": 2, "xEffect": 1}
    assert (facts.facts["triples"], facts.own["on top of"]) == (3, "nothing")
    assert [change.who for change in facts.history] == ["Ann", "Ann"]
    assert (
        check_knowledge(knowledge, lambda base: pytest.fail(f"nothing lies below: {base}")) is None
    )
    knowledge.close()


def test_triples_are_read_in_the_relations_asked_for(rows, tmp_path):
    read = read_triples(str(rows), "atomic2020")
    assert [triple.tail for triple in read.triples] == ["to eat it", "to share it"]
    assert not read.skipped
    rows.write_text(f"{ROWS}PersonX sleeps\txNothing\trests\n")
    with pytest.raises(RecordError, match=r"rows\.tsv:3"):
        read_triples(str(rows), "atomic2020")
    with pytest.raises(InputError, match="cannot be read"):
        read_triples(str(tmp_path / "none.tsv"), "atomic2020")
