"""``grice situatedgen``: from questions to statements, marked ones, and pairs of them."""

from __future__ import annotations

import json

from grice.cli import main

QUESTIONS = (
    {"id": "a", "question": "In what month is it hot in Spain?", "answer": "July"},
    {"id": "b", "question": "In what month is it cold in Chile?", "answer": "July"},
    {"id": "c", "question": "In what month is it hot in Chile?", "answer": "January"},
    {"id": "d", "question": "Is the sky green?", "answer": False},
)


def test_questions_become_pairs_of_statements_that_differ_in_place_and_time(tmp_path, capsys):
    questions, folder = tmp_path / "questions.jsonl", tmp_path / "built"
    questions.write_text("\n".join(map(json.dumps, QUESTIONS)) + "\n", "utf-8")
    assert main(["situatedgen", "build", str(questions), "-o", str(folder), "--json"]) == 0
    counts = json.loads(capsys.readouterr().out)["counts"]
    assert counts["statements with context"] == 3
    assert counts["statement without context"] == 1
    assert counts["pair refused: shared entity"] == 2
    assert counts["pairs mined"] == 1
    lines = [line for file in folder.glob("*.jsonl") for line in file.read_text().splitlines()]
    assert [json.loads(line)["ids"] for line in lines] == [["a", "c"]]
    assert json.loads(lines[0])["statements"][0] == "It is hot in Spain in July."
