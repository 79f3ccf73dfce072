from __future__ import annotations

import pytest

from grice.errors import InputError
from grice.models.loader import ModelLoader
from grice_research.triplets.cider import best_tails
from grice_tasks.cider.reading import read_texts

TEXT = "I overslept this morning . I missed the bus . My boss was angry with me ."


@pytest.fixture(scope="module")
def models():
    return ModelLoader(mode="exact", workers=1, cache=None).load("builtin:triplets")


def read(text, models):
    (reading,) = read_texts([text], models.encoder.hidden_states)
    return reading


def test_an_answer_is_an_event_or_a_thing_of_the_text_and_not_the_head(models):
    asked = [("missed the bus", "Causes"), ("overslept this morning", "Causes")]
    tails = best_tails(read(TEXT, models), asked, models)
    assert len(tails) == 2
    for (head, _), answer in zip(asked, tails, strict=True):
        assert answer
        assert answer in TEXT
        assert not set(answer.split()) & set(head.split())


def test_the_relation_decides_and_not_what_else_is_asked(models):
    reading = read("The cook is in the kitchen . He cut his finger and cried .", models)
    place, cause = best_tails(reading, [("cook", "AtLocation"), ("cried", "Causes")], models)
    assert place == "kitchen"
    assert best_tails(reading, [("cried", "Causes")], models) == [cause]


@pytest.mark.parametrize("text", ["bus", "", "bus !"])
def test_a_text_that_says_nothing_else_has_no_answer(models, text):
    assert best_tails(read(text, models), [("bus", "Causes")], models) == [""]


def test_an_unknown_relation_is_named_even_where_nothing_answers(models):
    with pytest.raises(InputError, match="Nope"):
        best_tails(read("bus", models), [("bus", "Nope")], models)


def test_heads_that_read_spans_alone_too_have_no_answer(models):
    class Beside:
        def in_context(self):
            return None

    tails = best_tails(read(TEXT, models), [("bus", "IsA")], models._replace(links=Beside()))
    assert tails == [""]
