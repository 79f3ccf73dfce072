import csv
import gzip
import json

import pytest

from grice.cli import main
from grice.data import Triple
from grice.errors import RecordError
from grice_tasks.cider.files import Annotated, Dialogue, cider_schema, dump_dialogue, read_dialogues
from grice_tasks.cider.statistics import compare_counts, count, merge_labels

TEXT = "A: I missed the bus    B: You are late"
GOOD = ["missed the bus", "Causes", "late", [5, 19], [34, 38], 0]
LATENT = ["missed the bus", "Causes", "boss is angry", [5, 19], [-1, -1], 1]


@pytest.fixture
def file(tmp_path):
    def write(*triplets):
        path = tmp_path / "one.jsonl.gz"
        line = json.dumps({"id": "d", "utterances": TEXT, "triplets": triplets})
        path.write_bytes(gzip.compress(f"{line}\n".encode()))
        return path

    return write


def rows_of(table):
    with table.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


def test_the_relations_are_the_released_table(data_folder):
    schema, rows = cider_schema(), rows_of(data_folder / "cider/relations.tsv")
    assert [row["label"] for row in rows] == list(schema.relations)
    for row in rows:
        relation = schema[row["label"]]
        stated = relation.title, relation.category, relation.surface, relation.question
        names = ("paper_name", "category", "nli_surface", "question")
        assert stated == tuple(row[name] for name in names)
        assert relation.symmetric == (row["symmetric"] == "1")
        assert relation.negative == (row["negated"] == "1")
        assert (row["label"] in schema.group("new")) == (row["new_vs_conceptnet"] == "1")
    for row in rows_of(data_folder / "cider/raw_relation_map.tsv"):
        renamed = schema.renamed(Triple("a", row["raw_label"], "b"))
        if row["direction"] == "dropped" or not row["mapped_label"]:
            assert renamed.relation not in schema.relations
        else:
            head = "b" if row["direction"] == "swapped" else "a"
            assert (renamed.head, renamed.relation) == (head, row["mapped_label"])
            assert renamed.relation in schema.relations


def test_the_released_file_is_read_and_written_as_it_is(dialogues, tmp_path):
    assert sum(len(dialogue.triplets) for dialogue in dialogues) == 4539
    path = tmp_path / "again.jsonl"
    path.write_text("".join(f"{dump_dialogue(dialogue)}\n" for dialogue in dialogues))
    assert read_dialogues(path).dialogues == dialogues
    assert json.loads(dump_dialogue(dialogues[0]))["triplets"][0][3] == [122, 134]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [(["missed the bus", "Cause", "late", [5, 19], [34, 38], 0], "did you mean 'Causes'"),
     (["missed a bus", "Causes", "late", [5, 17], [34, 38], 0], "where the text has"),
     (["missed the bus", "Causes", "late", [19, 5], [34, 38], 0], "reversed"),
     (["missed the bus", "Causes", "late", [5, 19], [34, 380], 0], "outside the text"),
     (["late", "Causes", "late", [34, 38], [34, 38], 0], "the same stretch"),
     (["missed the bus", "Causes", " ", [5, 19], [-1, -1], 1], "the tail is empty"),
     (["missed the bus", "Causes", "late", [5], [34, 38], 0], "a start and an end")],
)  # fmt: skip
def test_an_invalid_triplet_is_refused_or_left_out(file, wrong, message):
    path = file(GOOD, wrong)
    with pytest.raises(RecordError, match=message) as caught:
        read_dialogues(path)
    assert (caught.value.line, caught.value.field) == (1, "triplets[1]")
    loaded = read_dialogues(path, invalid="skip")
    assert [triplet.tail for triplet in loaded.dialogues[0].triplets] == ["late"]
    assert message in loaded.problems[0]


def test_the_command_counts_and_names_what_it_leaves_out(file, tmp_path, capsys):
    (tmp_path / "bad.jsonl").write_text("{}\n")
    for name, problem in (("none.jsonl", "cannot be read"), ("bad.jsonl", "a line needs id")):
        assert main(["cider", "stats", str(tmp_path / name)]) == 2
        assert problem in capsys.readouterr().err
    bad = file(["missed the bus", "Cauzes", "late", [5, 19], [34, 38], 0], LATENT)
    assert main(["cider", "stats", str(bad)]) == 2
    assert "did you mean 'Causes'" in capsys.readouterr().err
    assert main(["cider", "stats", str(bad), "--invalid", "skip", "--json"]) == 4
    assert "unknown relation 'Cauzes'" in capsys.readouterr().err
    good = file(GOOD, LATENT)
    assert main(["cider", "stats", str(good), "--json"]) == 0
    rows = {row["name"]: row for row in map(json.loads, capsys.readouterr().out.splitlines())}
    assert {"value": 2, "printed": 4539, "same": False}.items() <= rows["triplets"].items()
    assert (rows["Causes"]["value"], main(["cider", "stats", str(good)])) == (2, 0)
    assert "4539" in capsys.readouterr().out


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
    assert sum(row.same is True for row in rows) == 48
    assert {row.name for row in rows if row.same is False} == {
        "turns between head and tail: 0, 1, 2-5, 6-8, over 8",
        "same speaker, different speakers",
        "fewest, most turns",
        "most words in a turn",
        "of a relation of no experiment",
    }
    assert all(row.why for row in rows if row.same is False)


def test_labels_are_merged_dropped_and_kept_once():
    triplets = [("train", "Causes", "win"), ("win", "AchievedBy", "train"),
                ("win", "RelatedTo", "train")]  # fmt: skip
    annotated = tuple(Annotated(*triplet, None, None) for triplet in triplets)
    merged = merge_labels(Dialogue("d", "made", None, "", annotated))
    assert merged == ((Triple("train", "Causes", "win"),), 1, 1)
