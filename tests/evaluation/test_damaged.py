from __future__ import annotations

import gzip
import json

import pytest

from grice.cli import main
from grice.errors import InputError
from grice.evaluation.damaged import EVERY, accuracy, read_pairs


def write(folder, name, records):
    (folder / "rated").mkdir(exist_ok=True)
    with gzip.open(folder / "rated" / f"{name}.jsonl.gz", "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(record) + "\n" for record in records)
    return folder


@pytest.fixture
def replies(tmp_path):
    """Write twelve contexts, each with a reply cut short, one made longer, and one left as is."""
    records = []
    for i in range(12):
        context = [f"Do you like river number {i}?"]
        reply = "Yes, I like to sit there for hours."
        for kind, damaged in (
            ("cut", "Yes."),
            ("padded", reply + " And then some more words about it."),
            ("same", "yes i like to sit there for HOURS"),
        ):
            records.append({"id": f"{kind}_{i}", "kind": kind, "context": context,
                            "response": reply, "response_perturbed": damaged})  # fmt: skip
    return write(tmp_path, "robust_turn_pairs", records)


@pytest.fixture
def dialogues(tmp_path):
    def turns(*texts):
        return [{"speaker": None, "text": text} for text in texts]

    records = [
        {
            "id": f"fed_{i}",
            "kind": "original",
            "origin": i,
            "turns": turns("Hi!", "Hello.", f"I am {i}."),
        }
        for i in range(4)
    ]
    for i in range(4):
        records += [
            {"id": f"longer_{i}", "kind": "longer", "origin": i,
             "turns": turns("Hi!", "Hello.", "What?", "What?")},
            {"id": f"repeat_self_{i}", "kind": "repeat_self", "origin": i,
             "turns": turns("Oh.", "Oh.")},
            {"id": f"decode_consistent_{i:03}", "kind": "decode_consistent", "origin": None,
             "turns": turns("I am old.", "So am I.")},
            {"id": f"decode_contradiction_{i:03}", "kind": "decode_contradiction", "origin": None,
             "turns": turns("I am old.", "So am I.", "I am young.")},
            {"id": f"lost_{i}", "kind": "lost", "origin": 99, "turns": turns("Where?", "There.")},
        ]  # fmt: skip
    return write(tmp_path, "robust_dialogues", records)


def test_pairs_of_the_same_words_are_left_out_and_counted(replies):
    found = read_pairs("robust_turn_pairs", replies)
    assert found.same == {"same": 12}
    assert {pair.kind for pair in found.pairs} == {"cut", "padded"}
    assert len({pair.source for pair in found.pairs}) == 12
    for pair in found.pairs:
        assert pair.original.turns[:-1] == pair.damaged.turns[:-1]
        assert pair.original.targets == pair.damaged.targets == (1,)


def test_a_damaged_conversation_is_set_beside_what_it_was_made_from(dialogues):
    found = read_pairs("robust_dialogues", dialogues)
    beside = {pair.damaged.id: pair.original.id for pair in found.pairs}
    assert beside["longer_2"] == "fed_2"
    assert beside["decode_contradiction_001"] == "decode_consistent_001"
    assert found.left_out == {"repeat_self": 4, "lost": 4}


def test_the_share_is_over_pairs_and_its_interval_over_sources():
    # Ten versions of each of four sources, all right or all wrong together, are four facts.
    together = accuracy([[1.0] * 10, [1.0] * 10, [0.0] * 10, [1.0] * 10])
    apart = accuracy([[1.0]] * 30 + [[0.0]] * 10)
    assert together.value == apart.value == 0.75
    assert together.n == apart.n == 40
    assert together.high - together.low > 2 * (apart.high - apart.low)
    assert accuracy([[0.5], [0.5], [0.5]]).value == 0.5


def judged(folder, name, capsys, *metrics):
    words = ["meta-eval", *metrics, "--on", name, "--data", str(folder), "--json", "--no-cache"]
    assert main(words) == 0
    (block,) = json.loads(capsys.readouterr().out)
    return block, {row["metric"]: row for row in block["rows"]}


def test_length_sees_what_was_cut_and_is_fooled_by_what_was_padded(replies, capsys):
    block, rows = judged(replies, "robust_turn_pairs", capsys)
    length = rows["log_length"]
    assert length["trivial"]
    assert length["kinds"]["cut"]["value"] == 1
    assert length["kinds"]["padded"]["value"] == 0
    assert length["kinds"][EVERY]["value"] == 0.5
    assert length["kinds"][EVERY]["n"] == 24
    # The number of turns is the same on both sides: a tie, half right.
    assert rows["turn_count"]["kinds"][EVERY]["value"] == 0.5
    assert rows["turn_count"]["ties"] == 1
    assert (block["pairs"], block["sources"], block["same"]) == (24, 12, {"same": 12})


def test_the_terminal_shows_floors_kinds_and_what_was_left_out(dialogues, capsys):
    assert main(["meta-eval", "--on", "robust_dialogues", "--data", str(dialogues),
                 "--no-cache"]) == 0  # fmt: skip
    shown = capsys.readouterr()
    assert "turn_count (floor)" in shown.out
    assert "decode_contradiction" in shown.out
    assert "4 records of repeat_self have no known original" in " ".join(shown.err.split())


def test_a_missing_collection_is_named_with_its_source(tmp_path):
    with pytest.raises(InputError, match="comp-analysis"):
        read_pairs("robust_turn_pairs", tmp_path)
