from __future__ import annotations

import json
from collections import defaultdict

import pytest

from grice.data import Triple
from grice.errors import RecordError
from grice_research.triplets.cider import Negative, read_folds, read_items, read_negatives
from grice_tasks.cider.statistics import merge_labels


def test_the_rule_gives_the_triplets_of_the_experiments_exactly(dialogues, items):
    by_dialogue = defaultdict(list)
    for item in items:
        by_dialogue[item.dialogue].append(Triple(item.head, item.relation, item.tail))
    merged = {dialogue.id: merge_labels(dialogue) for dialogue in dialogues}
    for name, merged_items in merged.items():
        assert list(merged_items.kept) == by_dialogue[name]
    assert sum(len(dialogue_items.kept) for dialogue_items in merged.values()) == 4386
    assert sum(dialogue_items.dropped for dialogue_items in merged.values()) == 64
    assert sum(dialogue_items.repeated for dialogue_items in merged.values()) == 89


WORDS = "we all went down to the big old market near the river to buy some bread and cheese"


def test_released_tables_are_read(tmp_path):
    items = tmp_path / "experiment.jsonl"
    row = {"d": "t", "i": 0, "h": "bus", "r": "Causes", "t": "late", "hl": "bus", "tl": "late",
           "qa": [1, 4], "mcq": ["a", "b", "c", "late"], "label": 3}  # fmt: skip
    items.write_text(json.dumps(row) + "\n")
    (item,) = read_items(items)
    assert (item.question, item.options, item.label) == ((1, 4), ("a", "b", "c", "late"), 3)
    folds, negatives = tmp_path / "folds.tsv", tmp_path / "negatives.tsv"
    folds.write_text("dialogue\ttest_fold\nt\t2\n")
    negatives.write_text("dialogue\ti\tstrategy\th\tr\tt\ttrain\nt\t0\tspan\ta\tCauses\tb\t1\n")
    assert read_folds(folds) == {"t": 2}
    assert read_negatives(negatives) == [Negative("t", 0, "span", "a", "Causes", "b", True)]
    items.write_text("{}\n")
    with pytest.raises(RecordError, match=r"experiment\.jsonl:1: "):
        read_items(items)
