"""Tasks of Label Studio: what people put into ``data``, and predictions."""

import json

import pytest

import grice
from grice.errors import RecordError


@pytest.fixture
def reading(tmp_path):
    def records(*tasks):
        path = tmp_path / "tasks.json"
        path.write_text(json.dumps(tasks))
        return list(grice.read(path))

    return records


def test_turns_of_the_tags_chat_and_paragraphs_are_a_conversation(reading):
    chat, paragraphs = reading(
        {"id": 1, "data": {"messages": [{"role": "user", "content": "Hi."}], "topic": "walks"}},
        {"id": 2, "data": {"talk": [{"author": "Ann", "text": "Hi."}]}, "annotations": []},
    )
    assert [turn.role for turn in chat.turns] == ["user"]
    assert chat.meta == {"topic": "walks"}
    assert [(turn.speaker, turn.text) for turn in paragraphs.turns] == [("Ann", "Hi.")]
    assert (paragraphs.id, paragraphs.meta) == ("2", {"annotations": []})


def test_the_first_prediction_is_a_proposal(reading):
    result = [
        {"from_name": "overall", "type": "number", "value": {"number": 4}},
        {"from_name": "issues", "type": "choices", "value": {"choices": ["dull"]}},
        {"from_name": "span", "type": "labels", "value": {"start": 0, "labels": ["x"]}},
    ]
    data = {"context": "Is it far?", "response": "Ten minutes."}
    [talk] = reading({"id": 3, "data": data, "predictions": [{"result": result, "score": 0.5}]})
    assert talk.targets == (1,)
    assert talk.meta["proposal"] == {
        "overall": 4,
        "issues": ["dull"],
        "span": {"start": 0, "labels": ["x"]},
    }


@pytest.mark.parametrize(
    ("task", "field"),
    [
        ({"data": {"talk": [{"author": "Ann", "text": 3}]}}, "data.talk[0].text"),
        ({"data": {"image": "x.png"}}, "data"),
        ({"data": {"talk": [{"author": "A", "text": "Hi."}]}, "predictions": 3}, "predictions"),
    ],
)
def test_a_task_that_cannot_be_read_is_named(reading, task, field):
    whole = {"data": {"talk": [{"author": "Ann", "text": "Hi."}]}}
    kept, problem = reading(whole, task)
    assert kept.turns[0].text == "Hi."
    assert isinstance(problem, RecordError)
    assert problem.field == field
