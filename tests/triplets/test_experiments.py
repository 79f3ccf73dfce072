from __future__ import annotations

import json
from collections import Counter, defaultdict

import pytest

from grice.errors import InputError, RecordError
from grice.knowledge.schema import load_schema
from grice.records import Triple
from grice.triplets.experiments import (
    is_symmetric,
    make_folds,
    merge_labels,
    near_duplicates,
)
from grice.triplets.files import (
    Negative,
    read_folds,
    read_items,
    read_negatives,
)
from grice.triplets.records import Annotated, Dialogue
from grice.triplets.statistics import compare_counts, count


def test_the_rule_gives_the_triplets_of_the_experiments_exactly(dialogues, items):
    by_dialogue = defaultdict(list)
    for one in items:
        by_dialogue[one.dialogue].append(Triple(one.head, one.relation, one.tail))
    merged = {one.id: merge_labels(one) for one in dialogues}
    for name, found in merged.items():
        assert list(found.kept) == by_dialogue[name]
    assert sum(len(one.kept) for one in merged.values()) == 4386
    assert sum(one.dropped for one in merged.values()) == 64
    assert sum(one.repeated for one in merged.values()) == 89


def test_statistics_are_the_recorded_ones(dialogues, golden):
    recorded = {one["id"]: one["value"] for one in golden("cider_stats")["items"]}
    found = count(dialogues)
    assert found["triplets per dialogue"] == pytest.approx(recorded["size"]["avg_triplets"])
    for source, pair in recorded["by_source"].items():
        assert list(found[f"{source}: dialogues, triplets"]) == pair
    for name, recipe in (
        ("dialogues with under 3, 3-5, 6-10, over 10 triplets", "triplets_per_dialogue"),
        ("span pairs with one, with several relations", "span_pairs"),
        ("turns between head and tail: 0, 1, 2-5, 6-8, over 8", "utterance_distance_turns"),
        ("same speaker, different speakers", "speaker"),
    ):
        assert list(found[name]) == recorded[recipe], name
    assert found["most words in a turn"] == recorded["turn_words"]["max"]
    for name, wanted in recorded["relation_counts_experiment"].items():
        assert found[name] == wanted


def test_every_mismatch_with_the_paper_is_named(dialogues):
    rows = compare_counts(dialogues)
    wrong = {one.name for one in rows if one.same is False}
    assert wrong == {
        "turns between head and tail: 0, 1, 2-5, 6-8, over 8",
        "same speaker, different speakers",
        "fewest, most turns",
        "most words in a turn",
        "of a relation of no experiment",
    }
    assert all(one.why for one in rows if one.same is False)


def test_own_folds_keep_near_duplicates_together(dialogues, cider_folder):
    texts = {one.id: one.context for one in dialogues if one.context is not None}
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


# Without the released files


def talk(name, *sides):
    text = "A: " + " , ".join(dict.fromkeys(part for h, _, t in sides for part in (h, t)))
    return Dialogue(name, "made", None, text, tuple(Annotated(h, r, t, None, None, False)
                                                    for h, r, t in sides))  # fmt: skip


def test_labels_are_merged_dropped_and_kept_once():
    schema = load_schema("cider")
    turned = next(name for name in sorted(schema.aliases) if is_turned(schema, name))
    other = schema.renamed(Triple("late", turned, "bus"))
    found = merge_labels(
        talk("d", (other.head, other.relation, other.tail), ("late", turned, "bus"),
             ("bus", "RelatedTo", "late"))
    )  # fmt: skip
    assert (other.head, other.tail) == ("bus", "late")
    assert found == ((other,), 1, 1)


def is_turned(schema, name):
    return schema.renamed(Triple("a", name, "b")).head == "b"


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
    (found,) = read_items(items)
    assert (found.question, found.options, found.label) == ((1, 4), ("a", "b", "c", "late"), 3)
    folds, negatives = tmp_path / "folds.tsv", tmp_path / "negatives.tsv"
    folds.write_text("dialogue\ttest_fold\nt\t2\n")
    negatives.write_text("dialogue\ti\tstrategy\th\tr\tt\ttrain\nt\t0\tspan\ta\tCauses\tb\t1\n")
    assert read_folds(folds) == {"t": 2}
    assert read_negatives(negatives) == [Negative("t", 0, "span", "a", "Causes", "b", True)]
    items.write_text("{}\n")
    with pytest.raises(RecordError, match=r"experiment\.jsonl:1: "):
        read_items(items)
