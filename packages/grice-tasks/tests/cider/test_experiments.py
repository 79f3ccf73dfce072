from __future__ import annotations

import pytest

from grice.data import Triple
from grice_tasks.cider.files import Annotated, Dialogue, cider_schema
from grice_tasks.cider.statistics import compare_counts, count, merge_labels


def test_statistics_are_the_recorded_ones(dialogues, golden):
    recorded = {item["id"]: item["value"] for item in golden("cider_stats")["items"]}
    counts = count(dialogues)
    assert counts["triplets per dialogue"] == pytest.approx(recorded["size"]["avg_triplets"])
    for source, pair in recorded["by_source"].items():
        assert list(counts[f"{source}: dialogues, triplets"]) == pair
    for name, recipe in (
        ("dialogues with under 3, 3-5, 6-10, over 10 triplets", "triplets_per_dialogue"),
        ("span pairs with one, with several relations", "span_pairs"),
        ("turns between head and tail: 0, 1, 2-5, 6-8, over 8", "utterance_distance_turns"),
        ("same speaker, different speakers", "speaker"),
    ):
        assert list(counts[name]) == recorded[recipe], name
    assert counts["most words in a turn"] == recorded["turn_words"]["max"]
    for name, wanted in recorded["relation_counts_experiment"].items():
        assert counts[name] == wanted


def test_every_mismatch_with_the_paper_is_named(dialogues):
    rows = compare_counts(dialogues)
    wrong = {row.name for row in rows if row.same is False}
    assert wrong == {
        "turns between head and tail: 0, 1, 2-5, 6-8, over 8",
        "same speaker, different speakers",
        "fewest, most turns",
        "most words in a turn",
        "of a relation of no experiment",
    }
    assert all(row.why for row in rows if row.same is False)


# Without the released files


def talk(name, *sides):
    text = "A: " + " , ".join(dict.fromkeys(part for h, _, t in sides for part in (h, t)))
    return Dialogue(name, "made", None, text, tuple(Annotated(h, r, t, None, None, False)
                                                    for h, r, t in sides))  # fmt: skip


def test_labels_are_merged_dropped_and_kept_once():
    schema = cider_schema()
    turned = next(name for name in sorted(schema.aliases) if is_turned(schema, name))
    other = schema.renamed(Triple("late", turned, "bus"))
    merged = merge_labels(
        talk("d", (other.head, other.relation, other.tail), ("late", turned, "bus"),
             ("bus", "RelatedTo", "late"))
    )  # fmt: skip
    assert (other.head, other.tail) == ("bus", "late")
    assert merged == ((other,), 1, 1)


def is_turned(schema, name):
    return schema.renamed(Triple("a", name, "b")).head == "b"
