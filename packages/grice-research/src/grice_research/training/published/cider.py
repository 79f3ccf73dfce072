"""CIDER's four tasks as its models learn them.

A line is a triplet of a dialogue: ``dialogue``, ``context``, ``head``, ``relation`` and ``tail``;
beside them ``label`` (entailment), ``start``, the character at which the tail stands in the context
(spans), or ``options`` and ``answer``, the number of the right one (choices).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from grice.errors import RecordError
from grice_research.training.published.files import TrainingExample, binary, records_of, text_field
from grice_tasks.cider.records import cider_schema

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from grice.knowledge.schema import Relation

ENTAILMENT = {"1": "entailment", "0": "contradiction"}
"""Names of the labels in the published head of three, whose third, neutral, is not trained."""


class _Line(NamedTuple):
    number: int
    record: dict[str, object]
    dialogue: str
    context: str
    head: str
    relation: str
    tail: str
    schema: Relation

    @property
    def question(self) -> str:
        """The paper's question for the tail; the head stands in single quotes."""
        return self.schema.question.replace("X", self.head, 1)


def entailment(path: Path) -> Iterator[TrainingExample]:
    """Yield whether a dialogue entails a triplet, worded as the paper words it."""
    for line in _lines(path):
        label = ENTAILMENT[binary(path, line.number, line.record)]
        hypothesis = f"{line.head} {line.schema.surface} {line.tail}"
        yield TrainingExample(line.context, label, line.dialogue, line.relation, (hypothesis,))


def relations(path: Path) -> Iterator[TrainingExample]:
    """Yield the relation of two spans; lines whose label is 0 are none."""
    for line in _lines(path):
        if line.record.get("label", 1) in (1, "1"):
            pair = f"{line.head} [SEP] {line.tail}"  # as released, whatever the tokenizer
            yield TrainingExample(line.context, line.relation, line.dialogue, options=(pair,))


def spans(path: Path) -> Iterator[TrainingExample]:
    """Yield where the tail of a head and a relation stands."""
    for line in _lines(path):
        start = line.record.get("start")
        if start is None or not line.schema.question:
            continue  # latent spans, and relations without a question
        if not isinstance(start, int) or not line.context.startswith(line.tail, start):
            raise RecordError(
                f"the tail {line.tail!r} does not stand at character {start!r} of the context",
                file=str(path),
                line=line.number,
                field="start",
            )
        place = f"{start}:{start + len(line.tail)}"
        yield TrainingExample(line.question, place, line.dialogue, options=(line.context,))


def choices(path: Path) -> Iterator[TrainingExample]:
    """Yield which of some spans is the tail."""
    for line in _lines(path):
        options, answer = line.record.get("options"), line.record.get("answer")
        if options is None or not line.schema.question:
            continue
        if (
            not isinstance(options, list)
            or not isinstance(answer, int)
            or not 0 <= answer < len(options)
            or len(options) < 2
        ):
            raise RecordError(
                f"options are two or more texts and answer the number of one, found {answer!r}",
                file=str(path),
                line=line.number,
                field="answer",
            )
        read = tuple(f"{line.question} {option}" for option in options)
        yield TrainingExample(line.context, str(answer), line.dialogue, options=read)


def _lines(path: Path) -> Iterator[_Line]:
    known = cider_schema().relations
    for number, record in records_of(path):
        dialogue, context, head, relation, tail = (
            text_field(path, number, record, name)
            for name in ("dialogue", "context", "head", "relation", "tail")
        )
        if relation not in known:
            raise RecordError(
                f"{relation!r} is none of CIDER's relations: {', '.join(known)}",
                file=str(path),
                line=number,
                field="relation",
            )
        yield _Line(number, record, dialogue, context, head, relation, tail, known[relation])
