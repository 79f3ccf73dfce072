"""A metric whose model was trained on evaluated texts is marked, any other is not."""

from __future__ import annotations

import csv
import json

import pytest

import made_sets
from grice.cli import main
from grice.errors import BundleError
from grice.evaluation.datasets import load_rated
from grice.evaluation.trained import Guard, Model, models_named, record_selection, record_texts
from grice.models.bundle import open_bundle

ELSEWHERE = [f"We counted {i} birds over the lake today." for i in range(300)]


def judged(tmp_path, own_relevance, capsys, *more):
    words = ["meta-eval", "relevance", "--on", "fed_turn", "--data", str(tmp_path), "--no-cache"]
    assert main([*words, "--relevance-model", f"file:{own_relevance}", *more]) == 0
    return capsys.readouterr().out


def test_a_bundle_trained_on_a_third_of_the_replies_is_marked_with_that_share(
    rated_turns, own_relevance, tmp_path, capsys
):
    replies = made_sets.long_replies(rated_turns)
    record_texts(own_relevance, [text.upper() for text in replies[::3]] + ELSEWHERE)
    table = tmp_path / "table.csv"
    (block,) = json.loads(judged(tmp_path, own_relevance, capsys, "--json", "--csv", str(table)))
    rows = {row["metric"]: row for row in block["rows"]}
    ours = {entry["model"]: entry for entry in rows["relevance"]["trained"]}
    overlap = ours["relevance"]["overlap"]
    assert (overlap["checked"], overlap["matches"]) == (len(replies), len(replies[::3]))
    share = overlap["share"]
    assert share["value"] == pytest.approx(1 / 3, abs=0.02)
    assert share["low"] < share["value"] < share["high"]
    assert ours["relevance"]["says"].startswith("relevance was trained on about 3")
    assert ours["encoder"] == {"model": "encoder", "overlap": None, "says": "not recorded"}
    assert [entry["says"] for entry in rows["cosine_last_turn"]["trained"]] == ["not recorded"]
    assert rows["log_length"].get("trained", []) == []
    records = csv.DictReader(table.read_text().splitlines())
    lines = {
        record["metric"]: record["trained_on"] for record in records if record["level"] == "turn"
    }
    assert lines["relevance"] == (
        f"relevance {share['value']:.6f}; encoder not recorded; dialogue 0.000000"
    )
    assert lines["log_length"] == ""


def test_the_tables_show_the_mark_and_say_what_it_means(
    rated_turns, own_relevance, tmp_path, capsys, monkeypatch
):
    monkeypatch.setenv("COLUMNS", "80")
    record_texts(own_relevance, made_sets.long_replies(rated_turns))
    page, paper = tmp_path / "page.html", tmp_path / "table.tex"
    out = judged(tmp_path, own_relevance, capsys, "--report", str(page), "--latex", str(paper))
    assert "relevance !" in out
    assert "log_length !" not in out
    assert "! relevance: relevance was trained on about 100 %" in " ".join(out.split())
    assert "training texts not recorded: encoder" in out
    assert max(map(len, out.splitlines())) <= 80
    assert "<p>! relevance: relevance was trained on about 100 %" in page.read_text()
    assert "relevance$^{!}$ & " in paper.read_text()
    assert "was trained on about 100 \\%" in paper.read_text()


def test_a_bundle_trained_on_other_texts_is_not_marked(
    rated_turns, own_relevance, tmp_path, capsys
):
    record_texts(own_relevance, ELSEWHERE)
    out = judged(tmp_path, own_relevance, capsys)
    assert "!" not in out
    (report,) = Guard(rated_turns).look([Model("relevance", open_bundle(own_relevance))])
    assert not report.mark
    assert report.overlap.matches == 0
    assert report.says.startswith("none of")


def test_contexts_count_like_replies(tmp_path, own_relevance):
    context = "What did you think of the long train ride?"
    lines = [{"context": [context], "response": "Fine.", "ratings": i} for i in range(1, 9)]
    rated = load_rated(made_sets.write(tmp_path / "own.jsonl", lines), None)
    record_texts(own_relevance, [context])
    (report,) = Guard(rated).look([Model("relevance", open_bundle(own_relevance))])
    assert (report.overlap.texts, report.overlap.matches) == (1, 1)
    assert report.overlap.share.low is None
    assert report.mark == "!"


def test_what_made_scores_of_a_file_is_known_by_their_signature(tmp_path, capsys):
    path = made_sets.fed_turn(tmp_path)
    scores = tmp_path / "scores.jsonl"
    words = ["score", str(path), "-m", "relevance,log_length", "--no-cache"]
    assert main([*words, "-o", str(scores), "--json"]) == 0
    capsys.readouterr()
    assert main(["meta-eval", "--on", "fed_turn", "--data", str(tmp_path), "--json", "--no-cache",
                 "--scores", str(scores)]) == 0  # fmt: skip
    (block,) = json.loads(capsys.readouterr().out)
    rows = {row["metric"]: row for row in block["rows"]}
    ours = {entry["model"]: entry["overlap"] for entry in rows["relevance"]["trained"]}
    assert ours["relevance"]["matches"] == 0
    assert ours["encoder"] is None
    assert [entry["says"] for entry in rows["log_length"]["trained"]] == ["not recorded"]
    assert models_named("m:1|model:relevance@00000000") == (("relevance", None),)


def test_recording_texts_changes_neither_digest_nor_anything_else(own_relevance):
    before = open_bundle(own_relevance)
    record_texts(own_relevance, ELSEWHERE)
    record_texts(own_relevance, ELSEWHERE[:100])
    after = open_bundle(own_relevance)
    assert after.digest == before.digest
    assert after.card.files == before.card.files
    assert after.card.quality == before.card.quality
    assert after.training_texts() == own_relevance / "texts.fp"
    assert (own_relevance / "card.toml").read_text().count("\ntexts_sha256") == 1


def test_a_changed_fingerprint_is_refused_by_name(rated_turns, own_relevance, tmp_path, capsys):
    record_texts(own_relevance, ELSEWHERE)
    path = own_relevance / "texts.fp"
    path.write_bytes(path.read_bytes()[:-5] + bytes(5))
    models = [Model("relevance", open_bundle(own_relevance))]
    with pytest.raises(BundleError, match=r"texts\.fp is not the file its card describes"):
        Guard(rated_turns).look(models)
    path.unlink()
    with pytest.raises(BundleError, match=r"texts\.fp is missing"):
        Guard(rated_turns).look(models)
    words = ["meta-eval", "relevance", "--on", "fed_turn", "--data", str(tmp_path), "--no-cache"]
    assert main([*words, "--relevance-model", f"file:{own_relevance}"]) != 0
    assert "texts.fp is missing" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["atomic", "events", "plausibility", "relevance"])
def test_what_was_trained_here_has_its_texts_recorded(rated_turns, name):
    (report,) = Guard(rated_turns).look([Model(name, open_bundle(name))])
    assert report.overlap is not None
    assert report.overlap.seen > 0.1
    assert not report.mark


def test_texts_that_only_chose_settings_are_marked_apart(
    rated_turns, own_relevance, tmp_path, capsys
):
    record_texts(own_relevance, ELSEWHERE)
    before = open_bundle(own_relevance).digest
    record_selection(own_relevance, made_sets.long_replies(rated_turns)[::2])
    assert open_bundle(own_relevance).digest == before
    page, paper, table = (tmp_path / name for name in ("page.html", "table.tex", "table.csv"))
    out = judged(tmp_path, own_relevance, capsys, "--report", str(page), "--latex", str(paper),
                 "--csv", str(table))  # fmt: skip
    words = " ".join(out.split())
    assert "relevance ~" in words
    assert "relevance !" not in words
    assert "~ relevance: settings of relevance were chosen on about 5" in words
    assert "was trained on" not in words
    assert "~ relevance: settings of relevance were chosen on" in page.read_text()
    assert "$^{\\sim}$" in paper.read_text()
    lines = {row["metric"]: row for row in csv.DictReader(table.read_text().splitlines())
             if row["level"] == "turn"}  # fmt: skip
    assert lines["relevance"]["chosen_on"].startswith("relevance 0.5")
    assert lines["relevance"]["trained_on"].startswith("relevance 0.000000")


def test_texts_that_trained_and_chose_are_said_to_have_done_both(rated_turns, own_relevance):
    record_texts(own_relevance, made_sets.long_replies(rated_turns))
    record_selection(own_relevance, made_sets.long_replies(rated_turns))
    (report,) = Guard(rated_turns).look([Model("relevance", open_bundle(own_relevance))])
    assert report.mark == "!"
    assert report.chosen.matches
    assert "was trained on about 100 %" in report.says
    assert "were chosen on about 100 %" in report.says


def test_shipped_cards_state_what_chose_their_settings():
    for name in ("events", "plausibility"):
        path = open_bundle(name).selection_texts()
        assert path is not None
        assert path.name == "selection.fp"


def test_a_changed_selection_file_is_refused(own_relevance):
    record_selection(own_relevance, ELSEWHERE)
    (own_relevance / "selection.fp").write_bytes(b"other")
    with pytest.raises(BundleError, match="not the file its card describes"):
        open_bundle(own_relevance).selection_texts()
