"""Files of contrasting sentences from Python, as the command takes them."""

from __future__ import annotations

import json

import pytest

from grice_tasks.situatedgen.files import score_files

PAIRS = [
    ("July", "Spain", "summer", "Chile", "winter"),
    ("May", "Ohio", "spring", "Kenya", "autumn"),
]


def write(path, records):
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    return path


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
