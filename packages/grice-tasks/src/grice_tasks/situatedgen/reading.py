"""Questions and statements as people have them: JSON lines of either, or plain lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

from grice.errors import InputError, RecordError
from grice_tasks.lines import check_distinct, read_lines
from grice_tasks.situatedgen.records import Question, Statement

if TYPE_CHECKING:
    from pathlib import Path

YES_NO = frozenset(("true", "yes", "false", "no"))


class _Line(msgspec.Struct):
    id: str | int | None = None
    question: str | None = None
    answer: bool | str | None = None
    statement: str | None = None
    form: Literal["claim", "yes_no", "choice", "fact"] | None = None


def read_given(path: Path) -> list[Question | Statement]:
    """Return the questions and statements of a file.

    A line of JSON has ``statement``, or ``question`` with ``answer`` and, if it cannot be told
    from these, ``form``; a line that is no JSON is a statement. What has no id is named by the
    file and its line.
    """
    given: list[Question | Statement] = []
    for number, line in read_lines(path):
        name = f"{path.stem}::{number - 1}"
        if not line.lstrip().startswith("{"):
            given.append(Statement(name, line.strip()))
            continue
        try:
            record = msgspec.json.decode(line, type=_Line)
        except msgspec.MsgspecError as error:
            raise RecordError(str(error), file=str(path), line=number) from error
        name = name if record.id is None else str(record.id)
        if record.statement is not None:
            given.append(Statement(name, record.statement.strip()))
        elif record.question is not None and record.answer is not None:
            given.append(_question(name, record.question, record.answer, record.form))
        else:
            raise RecordError(
                "neither a statement nor a question with its answer", file=str(path), line=number
            )
    if not given:
        raise InputError(f"{path}: no question and no statement in it")
    check_distinct(path, (record.id for record in given))
    return given


def _question(
    name: str,
    question: str,
    answer: bool | str,  # noqa: FBT001 - the answer
    form: str | None,
) -> Question:
    """Return a question of the form that was said, or that its answer and its mark show."""
    asks = question.rstrip().endswith("?")
    word = answer.strip().lower() if isinstance(answer, str) else ""
    closed = isinstance(answer, bool) or (word in YES_NO and form in (None, "yes_no", "claim"))
    if form == "choice" or (form is None and not closed):
        return Question(name, question, str(answer), "choice")
    holds = answer if isinstance(answer, bool) else word in ("true", "yes")
    if form == "fact":
        return Question(name, question, True, "fact")
    return Question(name, question, holds, "yes_no" if asks and form != "claim" else "claim")
