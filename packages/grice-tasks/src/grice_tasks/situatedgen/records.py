"""Records of each step of the pipeline: JSON lines, one record a line.

question -> statement -> marked statement (entities, keywords) -> pair -> sample of a split.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar

import msgspec

from grice.errors import InputError, RecordError
from grice.models.protocols import TaggedSpan
from grice_tasks.lines import check_distinct, read_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

Context: TypeAlias = Literal["GEO", "TEMP"]
CONTEXTS: dict[str, Context] = {"GPE": "GEO", "DATE": "TEMP", "TIME": "TEMP", "EVENT": "TEMP"}
"""Kind of context by entity label."""
Record = TypeVar("Record", bound=msgspec.Struct)
Labelled = TypeVar("Labelled", "Entity", TaggedSpan)


class Question(msgspec.Struct, frozen=True, omit_defaults=True):
    """A question with its answer, or a claim with its truth."""

    id: str  # name; its part before ``::`` is the source
    question: str
    answer: bool | str = True  # for a yes/no question or a claim whether it holds
    form: Literal["claim", "yes_no", "choice", "fact"] = "choice"  # ``claim`` true or false


class Statement(msgspec.Struct, frozen=True, omit_defaults=True):
    """A sentence that holds."""

    id: str
    statement: str


class Entity(msgspec.Struct, frozen=True):
    """A named entity, with the label of OntoNotes (``GPE``, ``DATE``, ``PERSON``, …)."""

    text: str
    label: str


class Marked(msgspec.Struct, frozen=True, omit_defaults=True):
    """A statement with what is in it."""

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
    contrast: float | None = None  # how sure the plausibility model is that swapping makes it worse


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


class _SampleLine(msgspec.Struct):
    keywords: tuple[str, ...]
    keywords_pos: tuple[int, ...]
    statements: tuple[str, str]
    statement: str = ""
    ids: tuple[str, str] = ("", "")
    id: str | int | None = None
    context: tuple[Context, ...] = ()
    entities: tuple[tuple[Entity, ...], tuple[Entity, ...]] = ((), ())


def contexts_in(entities: Iterable[Labelled]) -> list[tuple[Labelled, Context]]:
    """Return the entities that give context, each with its kind."""
    return [(entity, CONTEXTS[entity.label]) for entity in entities if entity.label in CONTEXTS]


def context_of(entities: Iterable[Entity]) -> frozenset[Context]:
    """Return the kinds of context that entities give."""
    return frozenset(kind for _, kind in contexts_in(entities))


def read_records(path: Path, kind: type[Record]) -> Iterator[Record]:
    """Yield the records of a file of JSON lines; ``-`` is standard input, gzip is unpacked."""
    decoder = msgspec.json.Decoder(kind)
    for number, line in read_lines(path):
        try:
            yield decoder.decode(line)
        except msgspec.MsgspecError as error:
            fields = ", ".join(
                field.name for field in msgspec.structs.fields(kind) if field.required
            )
            raise RecordError(
                f"{error}; a line needs {fields}", file=str(path), line=number
            ) from error


def read_samples(path: Path) -> list[Sample]:
    """Return the samples of a file, the released one or one of your own.

    A sample without an id is named by its number from 0, as in the released files.
    """
    samples = []
    for number, line in enumerate(read_records(path, _SampleLine)):
        if len(line.keywords) != len(line.keywords_pos) or not set(line.keywords_pos) <= {0, 1}:
            raise RecordError(
                f"{len(line.keywords)} keywords with places {list(line.keywords_pos)}: each needs "
                "its own, 0 or 1",
                file=str(path),
                line=number + 1,
                field="keywords_pos",
            )
        if not line.keywords:
            raise RecordError("no keyword", file=str(path), line=number + 1, field="keywords")
        name = str(number) if line.id is None else str(line.id)
        samples.append(
            Sample(
                name,
                line.keywords,
                line.keywords_pos,
                line.statements,
                line.statement,
                line.ids,
                line.context,
                line.entities,
            )
        )
    check_distinct(path, [sample.id for sample in samples])
    if not samples:
        raise InputError(f"{path}: no sample")
    return samples


def read_outputs(path: Path) -> list[Output]:
    """Return a system's outputs: JSON lines with ``id`` and ``output``, or plain lines in order."""
    lines = list(read_lines(path))
    if not all(line.lstrip().startswith("{") for _, line in lines):
        return [Output(str(place), line.strip()) for place, (_, line) in enumerate(lines)]
    outputs = []
    for number, line in lines:
        try:
            outputs.append(msgspec.json.decode(line, type=Output, strict=False))
        except msgspec.MsgspecError as error:
            raise RecordError(str(error), file=str(path), line=number) from error
    check_distinct(path, [output.id for output in outputs])
    return outputs


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
