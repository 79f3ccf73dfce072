"""Names of columns and fields that logs have, and what they are read as."""

import json

import grice


def test_who_sends_a_message_is_its_speaker(tmp_path):
    table = tmp_path / "chat.csv"
    table.write_text("conversation_id,sender,text\n1,bot,Hello!\n1,bot,Anybody?\n1,Ann,Yes.\n")
    [talk] = grice.read(table)
    assert [turn.speaker for turn in talk.turns] == ["bot", "bot", "Ann"]


def test_a_prompt_and_its_completion_are_a_context_and_a_response(tmp_path):
    lines = tmp_path / "log.jsonl"
    lines.write_text(json.dumps({"prompt": "Is it far?", "completion": "Ten minutes."}))
    table = tmp_path / "log.csv"
    table.write_text("prompt,completion\nIs it far?,Ten minutes.\n")
    for file in (lines, table):
        [talk] = grice.read(file)
        assert [turn.text for turn in talk.turns] == ["Is it far?", "Ten minutes."]
        assert talk.targets == (1,)
