"""The examples that published systems are trained on, out of the files that were released."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from grice.errors import InputError, RecordError
from grice_research.amr.graphs import read_graph as read_amr
from grice_research.amr.models import generator_input, sequence_of
from grice_research.amr.sources import graphs_of_file
from grice_research.metrics.accent import PROMPTS, extraction_source
from grice_research.metrics.comet import query
from grice_research.published_models.graphs import sequence_prompt, stance_input
from grice_research.published_models.keyword_writer import prompt
from grice_tasks.cider.files import cider_schema
from grice_tasks.explagraphs import samples as explagraphs
from grice_tasks.explagraphs.graph import depth_first, read_graph, write_graph
from grice_tasks.lines import read_lines
from grice_tasks.situatedgen.records import read_samples

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from grice.knowledge.schema import Relation
    from grice_tasks.explagraphs.graph import Graph

ENTAILMENT = {"1": "entailment", "0": "contradiction"}
"""Names of the labels in the published head of three, whose third, neutral, is not trained."""


class TrainingExample(NamedTuple):
    """Training data of a model."""

    source: str  # what it reads
    target: str  # text, label, number of the right option, or first and last character "12:20"
    group: str  # not on both sides of a split: a conversation, a belief, a head
    kind: str = ""  # among which others it is compared where it is held out
    options: tuple[str, ...] = ()  # what is read behind the source; several to choose among


class Line(NamedTuple):
    """A record of a file, whose errors name the file and its number."""

    path: Path
    number: int
    record: dict[str, object]

    def error(self, problem: str, field: str | None = None) -> RecordError:
        """Return an error that says where it is."""
        return RecordError(problem, file=str(self.path), line=self.number, field=field)

    def texts(self, *names: str) -> tuple[str, ...]:
        """Return fields that are texts."""
        for name in names:
            if not isinstance(self.record.get(name), str):
                raise self.error(f"a text is needed as {name!r}", name)
        return tuple(str(self.record[name]) for name in names)

    def label(self) -> str:
        """Return a label that is 1 or 0."""
        value = self.record.get("label")
        if value not in (0, 1, "0", "1", True, False):
            raise self.error(f"label is 1 or 0, found {value!r}", "label")
        return "1" if value in (1, "1") else "0"


def read_examples(name: str, files: Sequence[Path]) -> list[TrainingExample]:
    """Return the examples of files, in their order, by the reader that a recipe names."""
    examples = [example for path in files for example in _READERS[name](path)]
    if not examples:
        raise InputError(f"{', '.join(map(str, files))}: no example for {name}")
    return examples


def _records(path: Path) -> Iterator[Line]:
    """Yield the objects of JSON lines, or of a file that is one list, with their numbers."""
    lines = list(read_lines(path))
    if lines and lines[0][1].lstrip().startswith("["):
        try:
            objects = json.loads("\n".join(line for _, line in lines))
        except ValueError as error:
            raise InputError(f"{path}: no JSON: {error}") from None
        yield from (Line(path, number, record) for number, record in enumerate(objects, 1))
        return
    for number, line in lines:
        try:
            read = Line(path, number, json.loads(line))
        except ValueError as error:
            raise Line(path, number, {}).error(f"no JSON: {error}") from None
        if not isinstance(read.record, dict):
            raise read.error("an object is needed")
        yield read


def _accent(path: Path) -> Iterator[TrainingExample]:
    """Yield the triples of DECO, and samples that hold none of a relation."""
    for line in _records(path):
        alone = "relation" in line.record
        history, reply = line.texts("context" if alone else "history", "response")
        triples: list[object] = list(_triples(line.record))
        for triple in [["", line.record["relation"], ""]] if alone else triples:
            if not isinstance(triple, list) or len(triple) < 3:
                raise line.error("a triple is [head, relation, tail]")
            head, relation, tail = (str(part) for part in triple[:3])
            if relation not in PROMPTS:
                known = ", ".join(PROMPTS)
                raise line.error(f"{relation!r} is none of ACCENT's relations: {known}")
            target = "None" if alone else f"event1: {head.strip()}; event2: {tail.strip()}"
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


def _comet(path: Path) -> Iterator[TrainingExample]:
    """Yield tails of heads: lines of head, relation and tail; further columns may follow."""
    for number, line in read_lines(path):
        parts = line.split("\t")
        if len(parts) < 3:
            problem = "head, relation and tail are needed, with tabs between"
            raise RecordError(problem, file=str(path), line=number)
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
            problem = f"the last field is a label, 1 or 0, found {label[:30]!r}"
            raise RecordError(problem, file=str(path), line=number) from None
        # A conversation and its manipulated copy stand one after the other.
        group = str((number - 1) // 2)
        yield TrainingExample(" ".join(utterances), str(int(positive)), group)


def _amr_generator(path: Path) -> Iterator[TrainingExample]:
    """Yield the sentence of each graph."""
    for sentence, graph in graphs_of_file(path).items():
        yield TrainingExample(generator_input(graph), sentence, sentence)


def _amr_parser(path: Path) -> Iterator[TrainingExample]:
    """Yield the graph of each sentence, without variables."""
    for sentence, graph in graphs_of_file(path).items():
        yield TrainingExample(sentence, sequence_of(read_amr(graph)), sentence)


def _ruber(path: Path) -> Iterator[TrainingExample]:
    """Yield true pairs: records with ``query`` and ``reply``; the false ones are drawn."""
    for line in _records(path):
        query, reply = line.texts("query", "reply")
        yield TrainingExample(query, "1", query, options=(reply,))


def _engagement(path: Path) -> Iterator[TrainingExample]:
    """Yield pairs with their label: ``query``, ``reply``, ``label``, perhaps ``conversation``.

    Pairs of one conversation share its label, so they stand on one side of a split.
    """
    for line in _records(path):
        query, reply = line.texts("query", "reply")
        group = str(line.record.get("conversation", query))
        yield TrainingExample(query, line.label(), group, options=(reply,))


def _situatedgen(path: Path) -> Iterator[TrainingExample]:
    """Yield both orders of the sentences of every sample; what T5 reads first is the recipe's."""
    for sample in read_samples(path):
        for order in (sample.statements, sample.statements[::-1]):
            yield TrainingExample(prompt(sample.keywords), " ".join(order), sample.id)


def _graphs(path: Path, *, told: bool) -> Iterator[TrainingExample]:
    """Yield graphs of beliefs and arguments, and of stances if these are told."""
    for sample, stance, graph in _explagraphs(path):
        source = sequence_prompt(sample.belief, sample.argument, stance if told else None)
        # In lower case and depth-first order, as the released models learned it.
        yield TrainingExample(source, write_graph(depth_first(graph.lower())), sample.belief)


def _stances(path: Path, *, explained: bool) -> Iterator[TrainingExample]:
    """Yield stances of arguments, perhaps with their graphs."""
    for sample, stance, graph in _explagraphs(path):
        texts = stance_input(sample.belief, sample.argument, graph if explained else None)
        yield TrainingExample(texts[0], stance, sample.belief, options=texts[1:])


def _explagraphs(path: Path) -> Iterator[tuple[Any, explagraphs.Stance, Graph]]:
    for sample in explagraphs.read_samples(path):
        if sample.stance is None or not sample.graphs:
            raise InputError(f"{path}: sample {sample.id!r} needs a stance and a graph")
        yield sample, sample.stance, read_graph(sample.graphs[0]).graph


class _Triplet(NamedTuple):
    """A triplet of a dialogue: ``dialogue``, ``context``, ``head``, ``relation`` and ``tail``.

    Beside them stand ``label`` (entailment), ``start``, the character at which the tail stands in
    the context (spans), or ``options`` and ``answer``, the number of the right one (choices).
    """

    line: Line
    schema: Relation
    dialogue: str
    context: str
    head: str
    relation: str
    tail: str

    @property
    def question(self) -> str:
        """The paper's question for the tail; the head stands in single quotes."""
        return self.schema.question.replace("X", self.head, 1)


def _triplets(path: Path) -> Iterator[_Triplet]:
    known = cider_schema().relations
    for line in _records(path):
        texts = line.texts("dialogue", "context", "head", "relation", "tail")
        relation = texts[3]
        if relation not in known:
            names = ", ".join(known)
            raise line.error(f"{relation!r} is none of CIDER's relations: {names}", "relation")
        yield _Triplet(line, known[relation], *texts)


def _entailment(path: Path) -> Iterator[TrainingExample]:
    """Yield whether a dialogue entails a triplet, worded as the paper words it."""
    for given in _triplets(path):
        hypothesis = f"{given.head} {given.schema.surface} {given.tail}"
        label = ENTAILMENT[given.line.label()]
        yield TrainingExample(given.context, label, given.dialogue, given.relation, (hypothesis,))


def _relations(path: Path) -> Iterator[TrainingExample]:
    """Yield the relation of two spans; lines whose label is 0 are none."""
    for given in _triplets(path):
        if given.line.record.get("label", 1) in (1, "1"):
            pair = f"{given.head} [SEP] {given.tail}"  # as released, whatever the tokenizer
            yield TrainingExample(given.context, given.relation, given.dialogue, options=(pair,))


def _spans(path: Path) -> Iterator[TrainingExample]:
    """Yield where the tail of a head and a relation stands."""
    for given in _triplets(path):
        start, tail, context = given.line.record.get("start"), given.tail, given.context
        if start is None or not given.schema.question:
            continue  # latent spans, and relations without a question
        if not isinstance(start, int) or not context.startswith(tail, start):
            problem = f"the tail {tail!r} does not stand at character {start!r} of the context"
            raise given.line.error(problem, "start")
        place = f"{start}:{start + len(tail)}"
        yield TrainingExample(given.question, place, given.dialogue, options=(context,))


def _choices(path: Path) -> Iterator[TrainingExample]:
    """Yield which of some spans is the tail."""
    for given in _triplets(path):
        options: Any = given.line.record.get("options")
        answer = given.line.record.get("answer")
        if options is None or not given.schema.question:
            continue
        count = len(options) if isinstance(options, list) else 0
        if count < 2 or not isinstance(answer, int) or not 0 <= answer < count:
            problem = "options are two or more texts and answer the number of one, found"
            raise given.line.error(f"{problem} {answer!r}", "answer")
        read = tuple(f"{given.question} {option}" for option in options)
        yield TrainingExample(given.context, str(answer), given.dialogue, options=read)


_READERS: dict[str, Callable[[Path], Iterator[TrainingExample]]] = {
    "accent": _accent,
    "amr-generator": _amr_generator,
    "amr-parser": _amr_parser,
    "cider-choices": _choices,
    "cider-entailment": _entailment,
    "cider-relations": _relations,
    "cider-spans": _spans,
    "comet": _comet,
    "deam": _deam,
    "engagement": _engagement,
    "explagraphs-graph-stance": partial(_stances, explained=True),
    "explagraphs-rationalizing": partial(_graphs, told=True),
    "explagraphs-reasoning": partial(_graphs, told=False),
    "explagraphs-stance": partial(_stances, explained=False),
    "ruber": _ruber,
    "situatedgen": _situatedgen,
}
