"""Questions of choice and their answers: where the answer is put."""

from __future__ import annotations

import pytest

from grice_tasks.situatedgen.statements import Plan, plan_choice


@pytest.mark.parametrize(
    ("question", "answer", "statement"),
    [
        ("People use a fork to", "eat", "People use a fork to eat"),
        ("A day has ___ hours.", "24", "A day has 24 hours."),
        ("A person visits Paris in what season?", "spring", "A person visits Paris in spring"),
        ("You keep milk where?", "the fridge", "You keep milk in the fridge"),
        ("Where people ski?", "the Alps", "people ski in the Alps"),
        ("What grows best in a desert?", "a cactus", "A cactus grows best in a desert"),
        ("Which planet is red?", "Mars", "Mars is red"),
        ("Which season usually has snow?", "winter", "Winter has snow"),
        ("Who might say a prayer?", "a monk", "A monk might say a prayer"),
        ("I saw tracks. What animal is shy?", "a deer", "I saw tracks. A deer is shy"),
    ],
)
def test_the_answer_stands_where_the_question_asks_for_it(question, answer, statement):
    assert plan_choice(question, answer) == Plan(statement, "", "")


@pytest.mark.parametrize(
    ("question", "answer", "plan"),
    [
        ("If it rains, what do people carry?", "an umbrella",
         Plan("If it rains, ", "do people carry?", "an umbrella")),
        ("In what month is it coldest in Chile?", "July",
         Plan("", "is it coldest in Chile?", "in July")),
        ("Where would you find canals?", "venice", Plan("", "would you find canals?", "in venice")),
        ("What can Alice drive?", "a car.", Plan("", "can Alice drive?", "a car")),
        ("Why would someone sleep?", "they are tired",
         Plan("", "would someone sleep?", "they are tired")),
    ],
)  # fmt: skip
def test_a_question_with_an_auxiliary_is_turned_round(question, answer, plan):
    assert plan_choice(question, answer) == plan


@pytest.mark.parametrize(("question", "answer"), [("", "July"), ("Where is it hot?", " . ")])
def test_without_a_question_or_an_answer_there_is_no_statement(question, answer):
    assert plan_choice(question, answer) is None
