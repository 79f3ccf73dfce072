"""The relations of CIDER are those that were released."""

from __future__ import annotations

import csv

from grice.data import Triple
from grice_tasks.cider.files import cider_schema


def test_cider_is_the_released_table(data_folder):
    schema = cider_schema()
    with (data_folder / "cider/relations.tsv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    assert [row["label"] for row in rows] == list(schema.relations)
    for row in rows:
        relation = schema[row["label"]]
        stated = (relation.title, relation.category, relation.surface, relation.question)
        assert stated == (
            row["paper_name"], row["category"], row["nli_surface"], row["question"],
        )  # fmt: skip
        assert (relation.symmetric, relation.negative) == (
            row["symmetric"] == "1", row["negated"] == "1",
        )  # fmt: skip
        assert (row["label"] in schema.group("new")) == (row["new_vs_conceptnet"] == "1")


def test_the_aliases_of_cider_are_the_released_map(data_folder):
    schema = cider_schema()
    with (data_folder / "cider/raw_relation_map.tsv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            renamed = schema.renamed(Triple("a", row["raw_label"], "b"))
            if row["direction"] == "dropped" or not row["mapped_label"]:
                assert schema.problems(renamed)
            else:
                head = "b" if row["direction"] == "swapped" else "a"
                assert (renamed.head, renamed.relation) == (head, row["mapped_label"])
                assert not schema.problems(renamed)
