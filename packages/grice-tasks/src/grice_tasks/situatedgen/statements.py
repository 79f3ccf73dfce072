"""From questions to statements: the first step of the pipeline.

Claims hold as they are. A yes/no question is turned by the published rules: the auxiliary moves
behind the subject, do-support vanishes and with it the tense, "not" stands where the answer is no.
A multiple-choice question takes its answer in place of the words that ask.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Protocol

from grice_tasks.situatedgen.choices import Plan, plan_choice
from grice_tasks.situatedgen.records import Question, Statement

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MAPPED = {"did": "does", "will": "would", "shall": "should", "may": "might", "had": "has"}
SUPPORT = frozenset(("do", "does", "did"))
AUXILIARY = re.compile(
    r"(?:is|are|was|were|am|do|does|did|can|could|will|would|shall|should|may|might|must|has|have|"
    r"had)\b",
    re.IGNORECASE,
)


class Clauses(Protocol):
    """Says where the predicate of a yes/no question starts."""

    def predicate_starts(self, questions: Sequence[str]) -> list[int]:
        """Return for each question the first character behind its subject."""
        ...


def to_statements(questions: Iterable[Question], clauses: Clauses) -> list[Statement]:
    """Return a statement for each question that gives one.

    A claim that is false gives none, nor does a yes/no question of unknown shape.
    """
    asked = list(questions)
    plans = {question.id: plan for question in asked if (plan := _plan(question)) is not None}
    inner = {name: plan.inner for name, plan in plans.items() if plan.inner}
    starts = dict(zip(inner, clauses.predicate_starts(list(inner.values())), strict=True))
    statements = []
    for question in asked:
        if question.id not in plans:
            continue
        plan = plans[question.id]
        holds = question.answer if isinstance(question.answer, bool) else True
        middle = yes_no_statement(plan.inner, holds, starts[question.id]) if plan.inner else ""
        if plan.before:
            middle = middle[:1].lower() + middle[1:] if plan.before.endswith(", ") else middle
        text = f"{plan.before}{middle} {plan.after}".strip()
        statements.append(Statement(question.id, text[:1].upper() + text[1:]))
    return statements


def _plan(question: Question) -> Plan | None:
    if question.form in ("claim", "fact"):
        text = question.question.strip()
        return Plan(text, "", "") if question.answer and text else None
    if question.form == "choice":
        return plan_choice(question.question, str(question.answer))
    front = _front(question.question)
    return None if front is None else Plan("", front, "")


def _front(question: str) -> str | None:
    """Return a yes/no question that starts with its auxiliary; None if it has none.

    A clause before the only comma moves to the end.

    >>> _front("If it rains, is the street wet?")
    'is the street wet if it rains?'
    """
    text = question.strip()
    if not text.endswith("?"):
        return None
    text = text.rstrip("? ")
    if not AUXILIARY.match(text):
        before, comma, after = text.partition(",")
        after = after.strip()
        if not comma or not AUXILIARY.match(after):
            return None
        text = f"{after} {before[:1].lower()}{before[1:]}"
    return f"{text}?"


def yes_no_statement(question: str, answer: bool, start: int) -> str:  # noqa: FBT001 - the answer
    """Return the statement of a yes/no question that starts with its auxiliary.

    >>> yes_no_statement("Is July in Chile cold?", True, 17)
    'July in Chile is cold'

    Args:
        answer: Whether it holds.
        start: Where its predicate starts.
    """
    text = question.rstrip("? ")
    auxiliary, _, _ = text.partition(" ")
    subject = text[len(auxiliary) : start].strip()
    predicate = text[start:].strip()
    word = auxiliary.lower()
    if auxiliary[:1].isupper():  # only the first word of the question was mapped
        word = MAPPED.get(word, word)
    middle = [] if word in SUPPORT else [word]
    middle += [] if answer else ["not"]
    statement = " ".join(filter(None, [subject, *middle, predicate]))
    return statement[:1].upper() + statement[1:]
