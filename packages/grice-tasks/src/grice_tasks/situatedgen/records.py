"""Records of each step of the pipeline: JSON lines, one record a line.

question -> statement -> marked statement (entities, keywords) -> pair -> sample of a split.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar

import msgspec

from grice.errors import InputError, RecordError
from grice.models.protocols import TaggedSpan
from grice_tasks.lines import check_distinct, decode_row, read_lines, read_rows

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

Context: TypeAlias = Literal["GEO", "TEMP"]
CONTEXTS: dict[str, Context] = {"GPE": "GEO", "DATE": "TEMP", "TIME": "TEMP", "EVENT": "TEMP"}
"""Kind of context by entity label."""
Form: TypeAlias = Literal["claim", "yes_no", "choice", "fact"]
"""``claim`` true or false, ``yes_no``, ``choice``, or ``fact``, which holds as it is."""
Labelled = TypeVar("Labelled", "Entity", TaggedSpan)


class Question(msgspec.Struct, frozen=True, omit_defaults=True):
    """A question with its answer, or a claim with its truth."""

    id: str  # its part before ``::`` is the source
    question: str
    answer: bool | str = True  # for a yes/no question or a claim whether it holds
    form: Form = "choice"


class Statement(msgspec.Struct, frozen=True, omit_defaults=True):
    """A sentence that holds."""

    id: str
    statement: str


class Entity(msgspec.Struct, frozen=True):
    """A named entity, with the label of OntoNotes (``GPE``, ``DATE``, ``PERSON``, …)."""

    text: str
    label: str


class Marked(msgspec.Struct, frozen=True, omit_defaults=True):
    """A statement with its entities and keywords."""

    id: str
    statement: str
    entities: tuple[Entity, ...] = ()
    keywords: tuple[str, ...] = ()  # entities, then nouns outside of them, in order
    masked: str = ""  # the sentence with a mark in place of every keyword


class MinedPair(msgspec.Struct, frozen=True, omit_defaults=True):
    """Two statements that may contrast."""

    ids: tuple[str, str]
    score: float  # likeness of the masked sentences, -1 to 1
    context: tuple[Context, ...]
    contrast: float | None = None  # how sure the model is that swapping makes it worse, 0 to 1


class Sample(msgspec.Struct, frozen=True, omit_defaults=True):
    """An input with its reference."""

    id: str
    keywords: tuple[str, ...]  # the shuffled input
    keywords_pos: tuple[int, ...]  # for each keyword the reference sentence it is from, 0 or 1
    statements: tuple[str, str]
    statement: str = ""
    ids: tuple[str, str] = ("", "")
    context: tuple[Context, ...] = ()
    entities: tuple[tuple[Entity, ...], tuple[Entity, ...]] = ((), ())

    @property
    def reference(self) -> str:
        """The text to compare with."""
        return self.statement or " ".join(self.statements)


class Output(msgspec.Struct, frozen=True, omit_defaults=True):
    """Output of a system for a sample."""

    id: str
    output: str


class KeywordLine(msgspec.Struct, frozen=True):
    """An input line: keywords, perhaps with an id; other fields are not read."""

    keywords: tuple[str, ...]
    id: str | int | None = None


class _SampleLine(msgspec.Struct, kw_only=True):
    id: str | int | None = None
    keywords: tuple[str, ...]
    keywords_pos: tuple[int, ...]
    statements: tuple[str, str]
    statement: str = ""
    ids: tuple[str, str] = ("", "")
    context: tuple[Context, ...] = ()
    entities: tuple[tuple[Entity, ...], tuple[Entity, ...]] = ((), ())


class _GivenLine(msgspec.Struct):
    id: str | int | None = None
    question: str | None = None
    answer: bool | str | None = None
    statement: str | None = None
    form: Form | None = None


def contexts_in(entities: Iterable[Labelled]) -> list[tuple[Labelled, Context]]:
    """Return the entities that give context, each with its kind."""
    return [(entity, CONTEXTS[entity.label]) for entity in entities if entity.label in CONTEXTS]


def context_of(entities: Iterable[Entity]) -> frozenset[Context]:
    """Return the kinds of context that entities give."""
    return frozenset(kind for _, kind in contexts_in(entities))


def read_samples(path: Path) -> list[Sample]:
    """Return the samples of a file; without an id one is named by its number from 0."""
    samples = []
    for number, (line, row) in enumerate(read_rows(path, _SampleLine)):
        if len(row.keywords) != len(row.keywords_pos) or not set(row.keywords_pos) <= {0, 1}:
            places = f"{len(row.keywords)} keywords with places {list(row.keywords_pos)}"
            problem = f"{places}: each needs its own, 0 or 1"
            raise RecordError(problem, file=str(path), line=line, field="keywords_pos")
        if not row.keywords:
            raise RecordError("no keyword", file=str(path), line=line, field="keywords")
        name = str(number if row.id is None else row.id)
        samples.append(Sample(name, *msgspec.structs.astuple(row)[1:]))
    check_distinct(path, (sample.id for sample in samples))
    if not samples:
        raise InputError(f"{path}: no sample")
    return samples


def read_keywords(path: Path) -> list[tuple[str, tuple[str, ...]]]:
    """Return the id and the keywords of each line; an id that is missing is its number from 0."""
    rows = (row for _, row in read_rows(path, KeywordLine))
    return [
        (str(number if row.id is None else row.id), row.keywords) for number, row in enumerate(rows)
    ]


def read_outputs(path: Path) -> list[Output]:
    """Return a system's outputs: JSON lines with ``id`` and ``output``, or plain lines in order."""
    lines = list(read_lines(path))
    if not all(line.lstrip().startswith("{") for _, line in lines):
        return [Output(str(place), line.strip()) for place, (_, line) in enumerate(lines)]
    outputs = [decode_row(path, number, line, Output) for number, line in lines]
    check_distinct(path, (output.id for output in outputs))
    return outputs


def read_given(path: Path) -> list[Question | Statement]:
    """Return the questions and statements of a file.

    A line of JSON has ``statement``, or ``question`` with ``answer`` and, if it cannot be told
    from these, ``form``; a line that is no JSON is a statement. Without an id a record is named
    by the file and its line.
    """
    given: list[Question | Statement] = []
    for number, line in read_lines(path):
        name = f"{path.stem}::{number - 1}"
        if not line.lstrip().startswith("{"):
            given.append(Statement(name, line.strip()))
            continue
        row = decode_row(path, number, line, _GivenLine)
        name = name if row.id is None else str(row.id)
        if row.statement is not None:
            given.append(Statement(name, row.statement.strip()))
        elif row.question is not None and row.answer is not None:
            given.append(_question(name, row.question, row.answer, row.form))
        else:
            problem = "neither a statement nor a question with its answer"
            raise RecordError(problem, file=str(path), line=number)
    if not given:
        raise InputError(f"{path}: no question and no statement in it")
    check_distinct(path, (record.id for record in given))
    return given


def _question(name: str, question: str, answer: bool | str, form: Form | None) -> Question:  # noqa: FBT001
    """Return a question of the stated form, or of the one that answer and mark show."""
    word = answer.strip().lower() if isinstance(answer, str) else str(answer).lower()
    if form is None and not isinstance(answer, bool) and word not in ("true", "yes", "false", "no"):
        form = "choice"
    if form == "choice":
        return Question(name, question, str(answer), "choice")
    if form == "fact":
        return Question(name, question, True, "fact")
    asks = question.rstrip().endswith("?") and form != "claim"
    return Question(name, question, word in ("true", "yes"), "yes_no" if asks else "claim")
