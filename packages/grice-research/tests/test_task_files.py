from __future__ import annotations

import json
from collections import Counter, defaultdict

import pytest

from grice.errors import InputError, RecordError
from grice.records import Triple
from grice_research.triplets.folds import make_folds, near_duplicates
from grice_research.triplets.negatives import is_symmetric
from grice_research.triplets.task_files import Negative, read_folds, read_items, read_negatives
from grice_tasks.cider.experiments import merge_labels


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


def test_own_folds_keep_near_duplicates_together(dialogues, cider_folder):
    texts = {
        dialogue.id: dialogue.context for dialogue in dialogues if dialogue.context is not None
    }
    pairs = near_duplicates(texts)
    assert len(pairs) == 20
    released = read_folds(cider_folder / "folds.tsv")
    assert sum(released[a] != released[b] for a, b in pairs) == 13
    folds = make_folds(texts, seed=1)
    assert all(folds[a] == folds[b] for a, b in pairs)
    sizes = Counter(folds.values())
    assert set(sizes) == {1, 2, 3, 4, 5}
    assert max(sizes.values()) - min(sizes.values()) <= 1
    assert make_folds(dict(reversed(texts.items())), seed=1) == folds
    assert make_folds(texts, seed=2) != folds
    with pytest.raises(InputError, match="folds=1"):
        make_folds(texts, folds=1)


def test_relations_that_hold_in_both_directions():
    assert is_symmetric("Antonym")
    assert not is_symmetric("Causes")


WORDS = "we all went down to the big old market near the river to buy some bread and cheese"


def test_folds_keep_texts_together_that_share_most_runs_of_words():
    texts = {f"t{i}": f"text number {i} says something of its own each time {i}" for i in range(9)}
    texts |= {"one": WORDS, "two": WORDS + " again", "three": " ".join(reversed(WORDS.split()))}
    assert near_duplicates(texts) == [("one", "two")]
    folds = make_folds(texts, folds=3, seed=4)
    assert folds["one"] == folds["two"]
    assert sorted(Counter(folds.values()).values()) == [4, 4, 4]
    assert make_folds(dict(reversed(texts.items())), folds=3, seed=4) == folds
    for number in (1, 12):
        with pytest.raises(InputError, match=f"folds={number}: from 2 to 11"):
            make_folds(texts, folds=number)


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
