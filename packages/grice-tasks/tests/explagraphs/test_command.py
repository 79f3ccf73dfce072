from __future__ import annotations

import json

import pytest

from grice.cli import main

GOOD = (
    "(zoos; has property; small cages)(small cages; causes; suffering)"
    "(suffering; desires; abolished)"
)


@pytest.fixture
def files(tmp_path):
    samples, predictions = tmp_path / "gold.jsonl", tmp_path / "out.jsonl"
    sample = {"belief": "Zoos should be abolished.", "argument": "Animals live in small cages.",
              "stance": "support"}  # fmt: skip
    lines = [{"id": name, **sample, "graph": GOOD} for name in "abc"]
    samples.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    answers = [("a", GOOD.replace("zoos", "small")), ("b", GOOD.replace("causes", "cause"))]
    predictions.write_text(
        "".join(json.dumps({"id": i, "stance": "support", "graph": g}) + "\n" for i, g in answers),
        "utf-8",
    )
    return str(samples), str(predictions)


def rows(capsys):
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_check_names_rule_reason_and_place(files, capsys):
    assert main(["explagraphs", "check", files[0], "--rules", "paper"]) == 1
    text = capsys.readouterr().out
    assert "argument_concepts: only 'small cages' comes from the argument" in text
    assert "0 of 3 graphs are correct under the paper rules" in text
    assert main(["explagraphs", "check", *files, "--json"]) == 1
    first, second = rows(capsys)
    assert (first["id"], first["ok"]) == ("a", False)
    assert second["broken"] == ["relation", "argument_concepts"]
    assert "did you mean 'causes'" in second["failures"][0]["reason"]


def test_score_prints_system_and_baselines(files, capsys):
    assert main(["explagraphs", "score", *files, "--gate", "none", "--json"]) == 0
    out = capsys.readouterr()
    by_measure = {
        (row["row"], row["measure"]): row for row in map(json.loads, out.out.splitlines())
    }
    assert "no prediction for 1 of 3 samples: left out" in out.err
    assert by_measure["out.jsonl", "sa"]["value"] == 1
    assert by_measure["out.jsonl", "stca"]["value"] == 0
    assert by_measure["nonsense", "stca"]["value"] == 1
    assert by_measure["out.jsonl", "ged"]["n"] == 2
    assert 0 < by_measure["out.jsonl", "g_bleu"]["value"] < 1
    assert main(["explagraphs", "score", *files]) == 0
    assert "nonsense, polarity" in capsys.readouterr().out


def test_score_by_shape_gives_each_part_of_the_gold_graphs(files, capsys):
    assert main(["explagraphs", "score", *files, "--by", "shape", "--gate", "none", "--json"]) == 0
    by_part = {(row["part"], row["measure"]): row for row in rows(capsys)}
    assert {part for part, _ in by_part} == {"depth 1 to 3", "linear"}
    assert by_part["linear", "sa"]["value"] == 1
    assert by_part["linear", "sa"]["n"] == 2
    assert main(["explagraphs", "score", *files, "--by", "shape"]) == 0
    shown = capsys.readouterr()
    assert "depth 1 to 3" in shown.out
    assert "no prediction for 1 of 3 samples: left out" in shown.err
    assert main(["explagraphs", "score", files[1], files[0], "--by", "shape"]) == 2


def test_draw_writes_the_chosen_sample(files, tmp_path, capsys):
    picture = tmp_path / "b.svg"
    assert main(["explagraphs", "draw", *files, "--id", "b", "-o", str(picture)]) == 0
    assert ">cause<" in picture.read_text("utf-8")
    assert main(["explagraphs", "draw", files[0]]) == 0
    assert capsys.readouterr().out.startswith("<svg")
    assert main(["explagraphs", "draw", files[0], "--id", "d"]) == 2
    assert "no graph of a sample 'd'" in capsys.readouterr().err


def test_predictions_without_their_sample_are_named(files, tmp_path, capsys):
    other = tmp_path / "other.jsonl"
    other.write_text('{"id":"z","stance":"support","graph":"()"}\n', "utf-8")
    assert main(["explagraphs", "check", files[0], str(other)]) == 2
    assert "no sample 'z'" in capsys.readouterr().err


def test_what_is_generated_is_a_sample_for_the_other_actions(tmp_path, capsys):
    made = tmp_path / "made.jsonl"
    words = ["--belief", "School uniforms should be banned.", "--argument",
             "They are expensive for poor families."]  # fmt: skip
    assert main(["explagraphs", "generate", *words, "-o", str(made)]) == 0
    assert main(["explagraphs", "check", str(made), "--json"]) == 0
    [checked] = rows(capsys)
    assert checked["ok"] is True
    assert main(["explagraphs", "draw", str(made)]) == 0
    assert capsys.readouterr().out.startswith("<svg")


def test_stats_lists_relations_by_number_and_then_by_name(files, capsys):
    assert main(["explagraphs", "stats", files[0]]) == 0
    shown = capsys.readouterr().out
    # All three stand in every graph: nothing but their names tells which comes first.
    places = [shown.index(f" {name} ") for name in ("causes", "desires", "has property")]
    assert places == sorted(places)


def test_stats_are_printed_as_tables(files, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["explagraphs", "stats", files[0]]) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    assert out.startswith("3 graphs, 0 with a cycle")
    lines = [line.split() for line in out.splitlines() if line.strip()]
    assert ["concepts", "4", "4", "4.000"] in lines
    assert ["facts", "3", "3", "3.000"] in lines
    assert any(line[:2] == ["has", "property"] for line in lines)


def test_facts_are_compared_by_vectors_if_asked(files, capsys):
    samples, predictions = files
    words = [
        "explagraphs",
        "score",
        samples,
        predictions,
        "--embedding",
        "--gate",
        "none",
        "--json",
    ]
    assert main(words) == 0
    values = {row["row"]: row["value"] for row in rows(capsys) if row["measure"] == "g_embedding"}
    # Ungated, the graphs differ from those of people by one word each.
    assert 0.9 < values["out.jsonl"] < 1


def test_samples_without_a_graph_are_named(tmp_path, capsys):
    path = tmp_path / "bare.jsonl"
    path.write_text('{"id": "x", "belief": "b", "argument": "a"}\n')
    assert main(["explagraphs", "check", str(path)]) == 2
    assert "no sample has a graph" in capsys.readouterr().err
