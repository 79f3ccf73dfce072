"""The examples that published systems are trained on, out of the files that were released."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.errors import InputError, RecordError
from grice_research.metrics.accent import PROMPTS, extraction_source
from grice_research.metrics.comet import query
from grice_research.training.published.amr import generation, parsing
from grice_research.training.published.cider import choices, entailment, relations, spans
from grice_research.training.published.explagraphs import (
    graph_stances,
    rationalizing,
    reasoning,
    stances,
)
from grice_research.training.published.files import TrainingExample, records_of, text_field
from grice_research.training.published.replies import engagement, ruber
from grice_research.training.published.situatedgen import situatedgen
from grice_tasks.lines import read_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path


def read_examples(name: str, files: Sequence[Path]) -> list[TrainingExample]:
    """Return the examples of files, in their order.

    Args:
        name: A reader, as a recipe names it, such as ``accent``.
        files: JSON lines, a JSON list, tab-separated or plain lines, gzipped or not.

    Raises:
        InputError: If a file cannot be read, or none holds an example.
        RecordError: If a record lacks what is needed.
    """
    examples = [example for path in files for example in _READERS[name](path)]
    if not examples:
        raise InputError(f"{', '.join(map(str, files))}: no example for {name}")
    return examples


def _accent(path: Path) -> Iterator[TrainingExample]:
    """Yield the triples of DECO, and samples that hold none of a relation."""
    for number, record in records_of(path):
        if "relation" in record:
            relation = _relation(path, number, record["relation"])
            history = text_field(path, number, record, "context")
            reply = text_field(path, number, record, "response")
            source = extraction_source(relation, history, reply)
            yield TrainingExample(source, "None", history, relation)
            continue
        history = text_field(path, number, record, "history")
        reply = text_field(path, number, record, "response")
        for triple in _triples(record):
            if not isinstance(triple, list) or len(triple) < 3:
                raise RecordError("a triple is [head, relation, tail]", file=str(path), line=number)
            head, relation, tail = (str(part) for part in triple[:3])
            _relation(path, number, relation)
            target = f"event1: {head.strip()}; event2: {tail.strip()}"
            source = extraction_source(relation, history, reply)
            yield TrainingExample(source, target, history, relation)


def _triples(record: dict[str, object]) -> Iterator[object]:
    """Yield the triples of a record of the training part, or of the test part."""
    for name in ("tuples_single", "tuples_pair"):
        stated = record.get(name)
        yield from stated if isinstance(stated, list) else ()
    by_relation = record.get("tuples")
    for triples in by_relation.values() if isinstance(by_relation, dict) else ():
        yield from triples


def _relation(path: Path, number: int, relation: object) -> str:
    if relation not in PROMPTS:
        raise RecordError(
            f"{relation!r} is none of ACCENT's relations: {', '.join(PROMPTS)}",
            file=str(path),
            line=number,
        )
    return str(relation)


def _comet(path: Path) -> Iterator[TrainingExample]:
    """Yield tails of heads: lines of head, relation and tail; further columns may follow."""
    for number, line in read_lines(path):
        parts = line.split("\t")
        if len(parts) < 3:
            raise RecordError(
                "head, relation and tail are needed, with tabs between",
                file=str(path),
                line=number,
            )
        head, relation, tail, *more = parts
        if (head, relation) == ("head", "relation") or more[:1] == ["0"]:
            continue  # the names of the columns; a triple that people call implausible
        if tail.strip():
            yield TrainingExample(query(head, relation), tail, head, relation)


def _deam(path: Path) -> Iterator[TrainingExample]:
    """Yield conversations with their label: utterances ended by ``</UTT>``, then a number."""
    for number, line in read_lines(path):
        *utterances, label = line.split("</UTT>")
        try:
            positive = round(float(label)) == 1
        except ValueError:
            raise RecordError(
                f"the last field is a label, 1 or 0, found {label[:30]!r}",
                file=str(path),
                line=number,
            ) from None
        text = " ".join(utterances)
        # A conversation and its manipulated copy stand one after the other.
        yield TrainingExample(text, str(int(positive)), str((number - 1) // 2))


_READERS: dict[str, Callable[[Path], Iterator[TrainingExample]]] = {
    "accent": _accent,
    "amr-generator": generation,
    "amr-parser": parsing,
    "cider-choices": choices,
    "cider-entailment": entailment,
    "cider-relations": relations,
    "cider-spans": spans,
    "comet": _comet,
    "deam": _deam,
    "engagement": engagement,
    "explagraphs-graph-stance": graph_stances,
    "explagraphs-rationalizing": rationalizing,
    "explagraphs-reasoning": reasoning,
    "explagraphs-stance": stances,
    "ruber": ruber,
    "situatedgen": situatedgen,
}
