"""Files of contrasting sentences from Python, as the command takes them."""

from __future__ import annotations

import json

import pytest

from grice.errors import InputError
from grice_tasks.situatedgen.files import mine_file, score_files, split_files, statements_of_file

PAIRS = [
    ("July", "Spain", "summer", "Chile", "winter"),
    ("May", "Ohio", "spring", "Kenya", "autumn"),
]


def write(path, records):
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    return path


def marked(name, statement, place, keywords):
    text = statement
    for word in keywords:
        text = text.replace(word, "[MASK]")
    return {
        "id": name,
        "statement": statement,
        "masked": text,
        "keywords": keywords,
        "entities": [{"text": place, "label": "GPE"}],
    }


@pytest.fixture
def samples(tmp_path):
    records = []
    for month, place, season, other, opposite in PAIRS:
        first, second = f"{month} is {season} in {place}.", f"{month} is {opposite} in {other}."
        records.append(
            {
                "id": month,
                "keywords": [month, place, season, other, opposite],
                "keywords_pos": [0, 0, 0, 1, 1],
                "statements": [first, second],
                "entities": [[{"text": place, "label": "GPE"}], [{"text": other, "label": "GPE"}]],
                "context": ["GEO"],
            }
        )
    return write(tmp_path / "samples.jsonl", records)


def test_a_system_is_scored_beside_trivial_outputs(samples, tmp_path):
    lines = [{"id": "July", "output": "July is summer in Spain. July is winter in Chile."}]
    outputs = write(tmp_path / "system.jsonl", lines)
    systems = score_files(samples, outputs)
    assert [rows[0].name for rows in systems] == [
        "system.jsonl",
        "halved keywords",
        "swapped reference",
        "reference",
    ]
    assert {row.context for row in systems[0]} == {"ALL", "GEO"}
    assert systems[0][0].problems["no output"] == 1
    assert systems[-1][0].measures["rouge_l"].value == pytest.approx(1)


def test_statements_are_mined_and_split(tmp_path, encoder):
    records = [
        marked("a", "July is hot in Spain", "Spain", ["Spain"]),
        marked("b", "July is hot in Chile", "Chile", ["Chile"]),
    ]
    statements = write(tmp_path / "marked.jsonl", records)
    pairs, refused = mine_file(statements, encoder)
    assert len(pairs) + sum(refused.values()) == 1
    with pytest.raises(InputError, match="no statement"):
        mine_file(write(tmp_path / "none.jsonl", []), encoder)


def test_statements_stand_as_they_are_and_claims_that_are_false_do_not(tmp_path, clauses):
    lines = [
        {"id": "a", "statement": "July is hot in Spain."},
        {"id": "b", "question": "July is hot in Chile.", "answer": "false", "form": "claim"},
    ]
    statements, lost = statements_of_file(write(tmp_path / "given.jsonl", lines), clauses)
    assert [statement.id for statement in statements] == ["a"]
    assert lost == 1


def test_samples_are_written_in_splits(tmp_path):
    statements, pairs = [], []
    for i, (month, place, season, other, opposite) in enumerate(PAIRS * 4):
        ids = [f"{i}a", f"{i}b"]
        statements.append(marked(ids[0], f"{month} {i} is {season} in {place}", place, [place]))
        statements.append(marked(ids[1], f"{month} {i} is {opposite} in {other}", other, [other]))
        pairs.append({"ids": ids, "score": 0.9, "context": ["GEO"]})
    folder = tmp_path / "splits"
    between = split_files(
        write(tmp_path / "pairs.jsonl", pairs), write(tmp_path / "marked.jsonl", statements), folder
    )
    lines = [line for path in folder.iterdir() for line in path.read_text().splitlines()]
    assert len(lines) + between == len(pairs)
