"""Relations of one inventory as those of another, and ``grice kb add --from`` with them."""

from __future__ import annotations

import json

import pytest

from grice.cli import main
from grice.errors import InputError
from grice.knowledge.mapping import find_mapping
from grice.knowledge.schema import load_schema
from grice.records import Triple

LINKS = (
    ("missed the bus", "Causes", "late"),
    ("wanted to call", "ObstructedBy", "lost my phone"),
    ("late", "Implies", "busy"),
    ("stayed at home", "HappensIn", "winter"),
    ("buy a car", "HasPrerequisite", "find a job"),
)


@pytest.fixture
def links(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    span = {"turn": 0, "start": 0, "end": 1}
    rows = [
        {"conversation": "talk", "head": head, "relation": relation, "tail": tail,
         "head_span": span, "tail_span": span, "confidence": 0.9, "explicit": True,
         "source": "triplets"}
        for head, relation, tail in LINKS
    ]  # fmt: skip
    path = tmp_path / "links.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path.name


def kept(kb, capsys):
    capsys.readouterr()
    assert main(["kb", "info", kb, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


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


def test_links_go_into_knowledge_of_atomics_relations(links, capsys):
    assert main(["kb", "add", "--from", links, "--to", "my.kb", "--who", "ann"]) == 0
    output = " ".join(capsys.readouterr().out.split())
    assert "my.kb: 3 added, 0 were there" in output
    assert "renamed, ObstructedBy as HinderedBy: 1" in output
    assert "renamed, HasPrerequisite as xNeed: 1" in output
    assert "left out, atomic2020 has no Implies (what follows by reason" in output
    assert (
        "left out, atomic2020 has no HappensIn (there are no times, AtLocation is of places): 1"
        in (output)
    )
    facts = kept("my.kb", capsys)
    assert facts["own triples"] == 3
    assert facts["sources"]["triplets"] == 3
    assert {change["who"] for change in facts["changes"]} == {"ann"}
    assert main(["kb", "tails", "missed the bus", "Causes", "--kb", "my.kb", "--json"]) == 0
    (triple,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert (triple["tail"], triple["source"]) == ("late", "triplets")
    assert main(["kb", "add", "--from", links, "--to", "my.kb"]) == 0
    assert "0 added, 3 were there" in capsys.readouterr().out


def test_links_go_into_knowledge_of_conceptnets_and_of_their_own_relations(links, tmp_path, capsys):
    (tmp_path / "few.tsv").write_text("head\trelation\ttail\ndog\tIsA\tanimal\n")
    assert main(["kb", "build", "few.tsv", "--schema", "conceptnet", "-o", "few.kb"]) == 0
    assert main(["kb", "add", "--from", links, "--to", "few.kb"]) == 0
    out = capsys.readouterr().out
    assert "few.kb: 3 added" in out
    assert "renamed" not in out
    assert kept("few.kb", capsys)["relations"]["ObstructedBy"] == 1
    assert main(["kb", "build", links, "-o", "own.kb"]) == 0
    assert kept("own.kb", capsys)["relations"]["Implies"] == 1
    assert main(["kb", "add", "--from", links, "--to", "own.kb"]) == 0
    assert "0 added, 5 were there" in capsys.readouterr().out


def test_links_are_built_on_other_knowledge_in_its_relations(links, capsys):
    assert main(["kb", "build", links, "--on", "bundle:atomic", "-o", "my.kb"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "my.kb: 3 triples" in out
    assert "left out, atomic2020 has no Implies (what follows by reason" in out
    facts = kept("my.kb", capsys)
    assert (facts["own triples"], facts["relations"]["Causes"]) == (3, 1)
    words = ["kb", "build", links, "--schema", "cider", "--on", "bundle:atomic", "-o", "other.kb"]
    assert main(words) == 2
    assert "bundle:atomic has the relations of atomic2020, not of cider: leave out --schema" in (
        " ".join(capsys.readouterr().err.split())
    )


def test_an_unknown_relation_of_a_link_adds_nothing(links, tmp_path, capsys):
    path = tmp_path / links
    path.write_text(path.read_text().replace('"Implies"', '"Implise"'))
    assert main(["kb", "add", "--from", links, "--to", "my.kb"]) == 2
    assert "links.jsonl:3: unknown relation 'Implise'; did you mean 'Implies'" in " ".join(
        capsys.readouterr().err.split()
    )
    assert not (tmp_path / "my.kb").exists()
