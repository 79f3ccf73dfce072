from __future__ import annotations

import csv
import gzip
import json
import math
import re

import pytest

from grice.cli import main
from grice.errors import InputError
from grice.evaluation.pairs import EVERY, Pair, read_pairs, shares
from grice.evaluation.table import score_table
from grice.records import Conversation
from grice.scoring import load


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
            ("same", reply),
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


def test_pairs_of_one_text_are_left_out_and_counted(replies):
    pair_set = read_pairs("robust_turn_pairs", replies)
    assert pair_set.same == {"same": 12}
    assert {pair.kind for pair in pair_set.pairs} == {"cut", "padded"}
    assert len({pair.source for pair in pair_set.pairs}) == 12
    for pair in pair_set.pairs:
        assert pair.original.turns[:-1] == pair.damaged.turns[:-1]
        assert pair.original.targets == pair.damaged.targets == (1,)


def test_a_damaged_conversation_is_set_beside_what_it_was_made_from(dialogues):
    pair_set = read_pairs("robust_dialogues", dialogues)
    beside = {pair.damaged.id: pair.original.id for pair in pair_set.pairs}
    assert beside["longer_2"] == "fed_2"
    assert beside["decode_contradiction_001"] == "decode_consistent_001"
    assert pair_set.left_out == {"repeat_self": 4, "lost": 4}


def share_of(values, versions):
    """Return the share of originals above 0 by a metric of these values, and of its ties."""
    talks = [Conversation(str(i), ()) for i in range(len(values))]
    whole = Conversation("whole", ())
    pairs = [Pair("k", str(i // versions), whole, talk) for i, talk in enumerate(talks)]
    return shares(
        pairs, {"whole": 0.0, **{talk.id: v for talk, v in zip(talks, values, strict=True)}}
    )


def test_the_share_is_over_pairs_and_its_interval_over_sources():
    # Ten versions of each of four sources, all right or all wrong together, are four facts.
    values = [-1.0] * 20 + [1.0] * 10 + [-1.0] * 10
    together, apart = (share_of(values, versions).kinds[EVERY] for versions in (10, 1))
    assert together.value == apart.value == 0.75
    assert together.n == apart.n == 40
    assert together.high - together.low > 2 * (apart.high - apart.low)
    tied = share_of([0.0, 0.0, 0.0], 1)
    assert (tied.kinds[EVERY].value, tied.ties) == (0.5, 1.0)


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
    assert "turn_count (trivial)" in shown.out
    assert "decode_contradiction" in shown.out
    assert "no known original of 4 records of repeat_self" in " ".join(shown.err.split())


def test_a_missing_collection_is_named_with_its_source(tmp_path):
    with pytest.raises(InputError, match="comp-analysis"):
        read_pairs("robust_turn_pairs", tmp_path)


def test_a_draw_is_a_part_that_the_order_of_the_file_does_not_change(replies, capsys):
    whole = {pair.damaged.id for pair in read_pairs("robust_turn_pairs", replies).pairs}
    drawn = read_pairs("robust_turn_pairs", replies, most=7)
    ids = {pair.damaged.id for pair in drawn.pairs}
    assert len(ids) == 7
    assert ids < whole
    assert drawn.of == len(whole) == 24
    assert len(drawn.rated.items) == 14
    path = replies / "rated" / "robust_turn_pairs.jsonl.gz"
    with gzip.open(path, "rt") as file:
        records = [json.loads(line) for line in file]
    write(replies, "robust_turn_pairs", records[::-1])
    again = read_pairs("robust_turn_pairs", replies, most=7)
    assert {pair.damaged.id for pair in again.pairs} == ids
    other = read_pairs("robust_turn_pairs", replies, most=7, seed=1)
    assert {pair.damaged.id for pair in other.pairs} != ids
    block, rows = judged(replies, "robust_turn_pairs", capsys, "--most", "7")
    assert (block["pairs"], block["of"]) == (7, 24)
    assert rows["log_length"]["signature"].endswith("|pairs:2,most:7,seed:0")


@pytest.fixture
def exported(replies, tmp_path, capsys):
    """Return what the command writes in each form, and its JSON."""
    forms = ("csv", "latex", "report")
    flags = [word for form in forms for word in (f"--{form}", str(tmp_path / form))]
    _, rows = judged(replies, "robust_turn_pairs", capsys, *flags)
    return *((tmp_path / form).read_text("utf-8") for form in forms), rows


def test_the_spreadsheet_has_a_line_for_each_metric_and_kind(exported):
    sheet, _, _, rows = exported
    lines = list(csv.DictReader(sheet.splitlines()))
    assert len(lines) == sum(len(row["kinds"]) for row in rows.values())
    for line in lines:
        assert line["data"] == "robust_turn_pairs"
        proportion = rows[line["metric"]]["kinds"][line["aspect"]]
        assert int(line["n"]) == proportion["n"]
        assert int(line["groups"]) == 12
        for name, bound in (("accuracy", "value"), ("accuracy_low", "low"),
                            ("accuracy_high", "high")):  # fmt: skip
            assert float(line[name]) == pytest.approx(proportion[bound], abs=1e-6)
        assert line["spearman"] == ""
        assert (line["ties"] == "") == (line["aspect"] != EVERY)


def test_the_table_for_papers_has_a_line_for_each_kind_and_a_column_for_each_metric(exported):
    _, latex, _, rows = exported
    cut = next(line for line in latex.splitlines() if line.startswith("cut & 12 & "))
    assert cut.count(" & ") == len(rows) + 1
    for row in rows.values():
        assert f"{row['kinds']['cut']['value']:.3f}" in cut
        assert f"[{row['kinds']['cut']['low']:.3f}, {row['kinds']['cut']['high']:.3f}]" in cut
    assert "\\shortstack{\\emph{log}\\\\\\emph{length}}" in latex
    assert latex.count("{") == latex.count("}")


def test_the_page_shows_the_shares_and_loads_nothing(exported):
    _, _, page, rows = exported
    kinds = sum(len(row["kinds"]) for row in rows.values())
    assert page.count('<circle class="share"') == page.count('class="interval"') == kinds
    assert page.count("<figure>") == len(rows)
    assert f"{rows['cosine_last_turn']['kinds']['padded']['value']:.3f}" in page
    assert "12 pairs of one text are left out" in page
    assert not re.search(r"<script|(src|href)=|url\(|@import", page)


@pytest.fixture(scope="module")
def published(data_folder):
    """The published pairs of replies; to read them all takes seconds, so they are read once."""
    return read_pairs("robust_turn_pairs", data_folder)


WORD = re.compile(r"[a-z0-9']+")


def features(talk):
    """Return the trivial scores of the golden file, by its recipe."""
    *earlier, reply = (turn.text for turn in talk.turns)
    before = earlier[-1] if earlier else ""
    words = WORD.findall(reply.lower())
    kinds = set(words)
    return {
        "log_words": math.log(1 + len(reply.split())),
        "overlap_last_turn": len(kinds.intersection(WORD.findall(before.lower())))
        / max(1, len(kinds)),
        "distinct_word_share": len(kinds) / max(1, len(words)),
        "question": float("?" in reply),
    }


@pytest.mark.data
def test_trivial_scores_get_the_recomputed_shares_of_every_kind(golden, published):
    expectation = golden("robust_pairs_golden")
    assert published.same == expectation["dropped"]
    talks = [talk for pair in published.pairs for talk in (pair.original, pair.damaged)]
    values = {talk.id: features(talk) for talk in talks}
    for feature in ("log_words", "overlap_last_turn", "distinct_word_share", "question"):
        kinds = shares(published.pairs, {name: of[feature] for name, of in values.items()}).kinds
        assert set(kinds) - {EVERY} == set(expectation["values"])
        for kind, expected in expectation["values"].items():
            assert kinds[kind].n == expected["n"]
            assert kinds[kind].value == pytest.approx(expected[feature], abs=5e-7), (kind, feature)


@pytest.mark.data
def test_floors_that_ship_get_the_recomputed_shares(golden, published):
    expectation = golden("robust_pairs_golden")
    with load("log_length", "overlap_last_turn") as grader:
        table = score_table(grader, grader.signatures, published.rated)
    ids = [item.conversation.id for item in published.rated.items]
    for metric, feature in (("log_length", "log_words"),
                            ("overlap_last_turn", "overlap_last_turn")):  # fmt: skip
        column = table.column(metric, published.rated)
        kinds = shares(published.pairs, dict(zip(ids, column.values, strict=True))).kinds
        for kind, expected in expectation["values"].items():
            assert kinds[kind].value == pytest.approx(expected[feature], abs=5e-7), (metric, kind)


def test_perturb_prints_the_share_of_broken_conversations_that_score_lower(tmp_path, capsys):
    texts = ["Do you have a dog?", "Yes, a small one. It is brown.", "Is it old?", "It is ten."]
    lines = [
        json.dumps({"id": "same", "turns": [f"{text} {i}" for text in texts]}) for i in range(6)
    ]
    file = tmp_path / "talks.jsonl"
    file.write_text("\n".join(lines) + "\n")
    words = ["perturb", str(file), "--kind", "half-swap", "--kind", "turn-order"]
    assert main([*words, "--score", "turn_count,log_length", "--json", "--no-cache"]) == 0
    block = json.loads(capsys.readouterr().out)
    assert block["pairs"] == 12
    assert block["sources"] == 6, "the ids of records may be the same"
    rows = {row["metric"]: row for row in block["rows"]}
    count = rows["turn_count"]
    assert set(count["kinds"]) == {EVERY, "half-swap", "turn-order"}
    share = count["kinds"]["half-swap"]
    assert (share["value"], share["n"], count["ties"]) == (0.5, 6, 1.0), "a tie counts half"
    assert share["low"] < 0.5 < share["high"]
    broken = tmp_path / "broken.jsonl"
    assert main([*words, "--score", "turn_count", "-o", str(broken), "--no-cache"]) == 0
    assert "chance is .500" in capsys.readouterr().out
    assert len(broken.read_text().splitlines()) == 12


def test_where_nothing_can_be_broken_perturb_says_so(tmp_path, capsys):
    file = tmp_path / "talk.jsonl"
    file.write_text('{"turns": ["Hi."]}\n')
    assert main(["perturb", str(file), "--kind", "half-swap", "--score", "log_length"]) == 2
    assert "no conversation could be broken" in capsys.readouterr().err
