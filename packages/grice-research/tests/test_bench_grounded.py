"""The bench of replies judged for support: what is left out, and the floors."""

import gzip
import json
from types import SimpleNamespace

import pytest

import grice
from grice_research.benches import grounded
from grice_research.context import Skipped


def row(reply, label, knowledge="The tower stands in Porto."):
    return {
        "set": "made", "knowledge": knowledge, "message": "Where?", "response": reply,
        "label": label,
    }  # fmt: skip


@pytest.fixture
def context(tmp_path):
    rows = [row(f"It stands in Porto, number {i}.", "supported") for i in range(6)]
    rows += [row(f"Lisbon has {i} bridges, they say.", "not_supported") for i in range(6)]
    rows += [row("Thanks!", "generic")]
    (tmp_path / "grounded_replies").mkdir()
    lines = "\n".join(map(json.dumps, rows)).encode()
    (tmp_path / "grounded_replies" / "grounded_replies.jsonl.gz").write_bytes(gzip.compress(lines))
    with grice.load("groundedness") as grader:
        yield SimpleNamespace(
            folder=tmp_path, grader=lambda name: (grader, {name: "groundedness:1"})
        )


def test_what_is_made_up_scores_lower_and_stands_beside_its_floors(context):
    rows = {(each.row, each.measure): each.estimate for each in grounded.measure(context)}
    assert rows[grounded.METRIC, grounded.AREA].value == 1
    assert rows[grounded.FLOOR, grounded.AREA].value == 1
    assert rows[grounded.METRIC, grounded.AREA].n == 12


def test_floors_count_words_and_numbers_that_stand_in_the_knowledge():
    (item,) = grounded.read_judged([row("It stands in Porto, 7 times.", "supported")])
    assert grounded.floors(item) == {
        grounded.FLOOR: 3 / 6, "fewer words": -6.0, "no number of its own": -1.0,
    }  # fmt: skip


def test_without_the_set_it_is_skipped(tmp_path):
    with pytest.raises(Skipped, match="grounded_replies"):
        list(grounded.measure(SimpleNamespace(folder=tmp_path)))
