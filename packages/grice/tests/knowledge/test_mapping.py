"""Relations of one inventory as those of another."""

from __future__ import annotations

import pytest

from grice.errors import InputError
from grice.knowledge.mapping import find_mapping
from grice.knowledge.schema import load_schema
from grice.records import Triple


@pytest.mark.parametrize("target", ["atomic2020", "conceptnet"])
def test_every_relation_is_mapped_or_dropped_with_a_reason(target):
    mapping = find_mapping("cider", target)
    assert not mapping.mapped.keys() & mapping.dropped.keys()
    assert mapping.mapped.keys() | mapping.dropped.keys() == load_schema("cider").relations.keys()
    assert set(mapping.mapped.values()) <= load_schema(target).relations.keys()
    assert all(mapping.dropped.values())


def test_denials_and_both_directions_stay_what_they_are():
    for target in ("atomic2020", "conceptnet"):
        mapping = find_mapping("cider", target)
        for name, other in mapping.mapped.items():
            mine, theirs = load_schema("cider")[name], load_schema(target)[other]
            assert (mine.negative, mine.symmetric) == (theirs.negative, theirs.symmetric), name


def test_a_triple_is_renamed_dropped_or_refused():
    mapping = find_mapping("cider", "atomic2020")
    renamed = mapping.renamed(Triple("win", "CausesDesire", "play", source="triplets"))
    assert renamed == Triple("win", "xWant", "play", source="triplets")
    assert mapping.renamed(Triple("win", "Implies", "played well")) is None
    with pytest.raises(InputError, match="no mapping of the relation 'xNeed'"):
        mapping.renamed(Triple("win", "xNeed", "play"))
    assert find_mapping("atomic2020", "cider") is None
