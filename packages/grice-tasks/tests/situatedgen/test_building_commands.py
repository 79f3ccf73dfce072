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
    paths = [tmp_path / f"{name}.jsonl" for name in ("questions", "statements", "marked", "pairs")]
    paths[0].write_text("\n".join(map(json.dumps, QUESTIONS)) + "\n", "utf-8")
    for action, source, result in zip(
        ("statements", "mark", "mine"), paths[:-1], paths[1:], strict=True
    ):
        assert main(["situatedgen", action, str(source), "-o", str(result)]) == 0
    _, statements, marked, pairs = (
        [json.loads(line) for line in path.read_text("utf-8").splitlines()] for path in paths
    )
    assert [each["statement"] for each in statements[:2]] == [
        "It is hot in Spain in July",
        "It is cold in Chile in July",
    ]
    assert [each["keywords"] for each in marked] == [
        ["Spain", "July"],
        ["Chile", "July"],
        ["Chile", "January"],
    ]
    assert [each["ids"] for each in pairs] == [["a", "c"]]
    warned = capsys.readouterr().err
    assert "1 statement without context" in warned
    assert "2 pairs refused: shared entity" in warned
