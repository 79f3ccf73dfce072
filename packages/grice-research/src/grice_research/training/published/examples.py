"""The examples that published systems are trained on, read from the files that were released."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, NamedTuple, TypeVar

import msgspec
from networkx import is_directed_acyclic_graph, topological_sort

from grice.errors import InputError, RecordError
from grice.knowledge.schema import Relation
from grice.models.loader import ModelLoader
from grice.models.protocols import Encoder
from grice_research.amr.graphs import read_graph as read_amr
from grice_research.amr.models import generator_input, sequence_of
from grice_research.amr.sources import graphs_of_file
from grice_research.metrics.accent import PROMPTS, extraction_source
from grice_research.published_models.seq2seq import query
from grice_research.published_models.tasks import (
    lemmas,
    meaning_input,
    prompt,
    sequence_prompt,
    stance_input,
)
from grice_research.training.published.recipes import HyperParameters
from grice_research.training.topics import topics
from grice_research.triplets.cider import Item, Negative, load_cider
from grice_tasks.cider.files import cider_schema
from grice_tasks.explagraphs import samples as explagraphs
from grice_tasks.explagraphs.graph import Graph, depth_first, links_of, read_graph, write_graph
from grice_tasks.lines import decode_row, read_lines
from grice_tasks.situatedgen.records import read_samples

SAMPLES = "train.jsonl.gz"  # beside the rounds of its graphs
ENTAILMENT = {"1": "entailment", "0": "contradiction"}
"""Names of the labels in the published head of three; the third, neutral, is not trained."""


class TrainingExample(NamedTuple):
    """Training data of a model."""

    source: str  # text that is read
    target: str  # text, label, number of the right option, or first and last character "12:20"
    group: str  # not on both sides of a split: a conversation, a belief, a head
    kind: str = ""  # held-out examples of one kind are compared
    options: tuple[str, ...] = ()  # texts read after the source; of several one is chosen


def read_examples(name: str, files: Sequence[Path]) -> list[TrainingExample]:
    """Return the examples of files for the recipe of a name, in their order."""
    examples = [example for path in files for example in _READERS[name](path)]
    if not examples:
        raise InputError(f"{', '.join(map(str, files))}: no example for {name}")
    return examples


Row = TypeVar("Row", bound=msgspec.Struct)


def _rows(path: Path, kind: type[Row]) -> Iterator[tuple[int, Row]]:
    """Yield the records of JSON lines, or of a file that is one list, with their numbers."""
    lines = list(read_lines(path))
    if not (lines and lines[0][1].lstrip().startswith("[")):
        for number, line in lines:
            yield number, decode_row(path, number, line, kind)
        return
    try:
        rows = msgspec.json.decode("\n".join(line for _, line in lines), type=list[kind])  # type: ignore[valid-type]
    except (msgspec.MsgspecError, ValueError) as error:
        raise InputError(f"{path}: {error}") from None
    yield from enumerate(rows, 1)


def _label(path: Path, number: int, value: object) -> str:
    if value not in (0, 1, "0", "1"):
        problem = f"label is 1 or 0, found {value!r}"
        raise RecordError(problem, file=str(path), line=number, field="label")
    return "1" if value in (1, "1") else "0"


class _Deco(msgspec.Struct):
    """A sample of DECO with its triples, or one without a triple of a relation."""

    response: str
    history: str | None = None
    context: str | None = None
    relation: str | None = None
    tuples_single: list[list[Any]] = []
    tuples_pair: list[list[Any]] = []
    tuples: dict[str, list[list[Any]]] = {}


def _accent(path: Path) -> Iterator[TrainingExample]:
    """Yield the triples of DECO, and samples that hold none of a relation."""
    for number, row in _rows(path, _Deco):
        error = partial(RecordError, file=str(path), line=number)
        history = row.history if row.relation is None else row.context
        if history is None:
            name = "history" if row.relation is None else "context"
            raise error(f"a text is needed as {name!r}")
        listed = (row.tuples_single, row.tuples_pair, *row.tuples.values())
        triples = [triple for triples in listed for triple in triples]
        for triple in triples if row.relation is None else [["", row.relation, ""]]:
            if len(triple) < 3:
                raise error("a triple is [head, relation, tail]")
            head, relation, tail = (str(part).strip() for part in triple[:3])
            if relation not in PROMPTS:
                problem = f"{relation!r} is none of ACCENT's relations: {', '.join(PROMPTS)}"
                raise error(problem)
            target = f"event1: {head}; event2: {tail}" if row.relation is None else "None"
            source = extraction_source(relation, history, row.response)
            yield TrainingExample(source, target, history, relation)


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


def _amr(path: Path, *, parsed: bool) -> Iterator[TrainingExample]:
    """Yield the sentence of each graph, or the graph of each sentence, without variables."""
    for sentence, graph in graphs_of_file(path).items():
        if parsed:
            yield TrainingExample(sentence, sequence_of(read_amr(graph)), sentence)
        else:
            yield TrainingExample(generator_input(graph), sentence, sentence)


class _Pair(msgspec.Struct):
    query: str
    reply: str
    label: object = None
    conversation: object = None


def _ruber(path: Path) -> Iterator[TrainingExample]:
    for _, row in _rows(path, _Pair):
        yield TrainingExample(row.query, "1", row.query, options=(row.reply,))


def _engagement(path: Path) -> Iterator[TrainingExample]:
    """Yield pairs with their label; those of one conversation are on the same side of a split."""
    for number, row in _rows(path, _Pair):
        group = str(row.query if row.conversation is None else row.conversation)
        label = _label(path, number, row.label)
        yield TrainingExample(row.query, label, group, options=(row.reply,))


def _situatedgen(path: Path) -> Iterator[TrainingExample]:
    """Yield both orders of the sentences of every sample; the prefix of T5 is added later."""
    for sample in read_samples(path):
        for kind, order in enumerate((sample.statements, sample.statements[::-1])):
            target = " ".join(order)
            yield TrainingExample(prompt(sample.keywords), target, sample.id, str(kind))


def _graphs(path: Path, *, told: bool) -> Iterator[TrainingExample]:
    """Yield graphs of beliefs and arguments, and of stances if these are told."""
    for sample, stance, graph in _explagraphs(path):
        source = sequence_prompt(sample.belief, sample.argument, stance if told else None)
        # In lower case and depth-first order, as the released models learned it.
        yield TrainingExample(source, write_graph(depth_first(graph.lower())), sample.belief)


def in_order(examples: Sequence[TrainingExample], values: HyperParameters) -> list[TrainingExample]:
    """Return examples whose graphs, if they are any, have their facts in the order asked for."""
    if values.order == "depth-first":
        return list(examples)
    draw = Random(values.seed)
    ordered = []
    for example in examples:
        facts = list(read_graph(example.target).graph.edges)
        draw.shuffle(facts)
        links = links_of(Graph(tuple(facts)))
        if values.order == "topological" and is_directed_acyclic_graph(links):
            place = {concept: i for i, concept in enumerate(topological_sort(links))}
            facts.sort(key=lambda fact: (place[fact.head], place[fact.tail]))
        ordered.append(example._replace(target=write_graph(Graph(tuple(facts)))))
    return ordered


def by_topic(examples: Sequence[TrainingExample]) -> list[TrainingExample]:
    """Return examples whose groups, their beliefs, have become topics."""
    beliefs = sorted({example.group for example in examples})
    with ModelLoader() as models:
        topic = topics(beliefs, models.load("builtin:encoder", Encoder).encode(beliefs))
    return [example._replace(group=f"topic {topic[example.group]}") for example in examples]


def _stances(path: Path, *, explained: bool) -> Iterator[TrainingExample]:
    for sample, stance, graph in _explagraphs(path, graphs=int(explained)):
        texts = stance_input(sample.belief, sample.argument, graph if explained else None)
        yield TrainingExample(texts[0], stance, sample.belief, options=texts[1:])


def _explagraphs(path: Path, graphs: int = 1) -> Iterator[tuple[Any, explagraphs.Stance, Graph]]:
    for sample in explagraphs.read_samples(path):
        if sample.stance is None or len(sample.graphs) < graphs:
            raise InputError(f"{path}: {sample.id!r} needs a stance{' and a graph' * graphs}")
        yield sample, sample.stance, read_graph("".join(sample.graphs[:1])).graph


class _Rounds(msgspec.Struct):
    """The versions of a graph with the verdict on each: correct, failed or unknown."""

    id: str
    graphs: tuple[str, ...]
    judged: tuple[str, ...]


def _meanings(path: Path) -> Iterator[TrainingExample]:
    """Yield what judged graphs say: the stance if they were correct, else that they are not."""
    samples = {each.id: each for each in explagraphs.read_samples(path.with_name(SAMPLES))}
    for number, row in _rows(path, _Rounds):
        if (sample := samples.get(row.id)) is None:
            raise RecordError(f"no {row.id!r} in {SAMPLES}", file=str(path), line=number)
        for graph, verdict in zip(row.graphs, row.judged, strict=True):
            # A version that comes again as the third one was not judged.
            if verdict != "unknown" and row.graphs.count(graph) == 1:
                label = str(sample.stance) if verdict == "correct" else "incorrect"
                read = meaning_input(sample.belief, read_graph(graph).graph)
                yield TrainingExample(read[0], label, sample.belief, options=read[1:])


class _Triplet(msgspec.Struct):
    """A triplet of a dialogue.

    ``start`` is the character of the context at which the tail stands, ``answer`` the number of
    the right one of the ``options``; ``lemmas`` are those of head and tail.
    """

    dialogue: str
    context: str
    head: str
    relation: str
    tail: str
    label: object = 1
    start: int | None = None
    options: tuple[str, ...] | None = None
    answer: int | None = None
    lemmas: tuple[str, str] | None = None

    @property
    def schema(self) -> Relation:
        """The relation with its wordings."""
        return cider_schema().relations[self.relation]

    @property
    def question(self) -> str:
        """The paper's question for the tail; the head stands in single quotes."""
        return self.schema.question.replace("X", self.head, 1)


def _triplets(path: Path) -> Iterator[tuple[int, _Triplet]]:
    known = cider_schema().relations
    rows = enumerate(_released(path), 1) if path.is_dir() else _rows(path, _Triplet)
    for number, row in rows:
        if row.relation not in known:
            problem = f"{row.relation!r} is none of CIDER's relations: {', '.join(known)}"
            raise RecordError(problem, file=str(path), line=number, field="relation")
        yield number, row


def _released(folder: Path) -> Iterator[_Triplet]:
    """Yield the triplets of CIDER's release, and the negatives that are for training."""
    cider = load_cider(folder)
    forms = {item.head.strip(): item.head_lemmas for item in cider.items}
    forms |= {item.tail.strip(): item.tail_lemmas for item in cider.items}

    def row(item: Item | Negative, **fields: Any) -> _Triplet:
        head, tail = item.head.strip(), item.tail.strip()
        fields |= {"context": cider.text(item.dialogue), "lemmas": (forms[head], forms[tail])}
        return _Triplet(item.dialogue, head=head, relation=item.relation, tail=tail, **fields)

    for item in cider.items:
        start = None if item.question is None else item.question[1]
        yield row(item, start=start, options=item.options, answer=item.label)
    yield from (row(negative, label=0) for negative in cider.negatives if negative.train)


def _entailment(path: Path) -> Iterator[TrainingExample]:
    """Yield whether a dialogue entails a triplet, worded as the paper words it."""
    for number, row in _triplets(path):
        label = ENTAILMENT[_label(path, number, row.label)]
        head, tail = row.lemmas or (lemmas(row.head), lemmas(row.tail))
        hypothesis = f"{head} {row.schema.surface} {tail}"
        yield TrainingExample(row.context, label, row.dialogue, row.relation, (hypothesis,))


def _relations(path: Path) -> Iterator[TrainingExample]:
    for number, row in _triplets(path):
        if _label(path, number, row.label) == "1":
            pair = f"{row.head} [SEP] {row.tail}"  # as released, whatever the tokenizer
            yield TrainingExample(row.context, row.relation, row.dialogue, options=(pair,))


def _spans(path: Path) -> Iterator[TrainingExample]:
    for number, row in _triplets(path):
        start, tail = row.start, row.tail
        if start is None or not row.schema.question:
            continue  # latent spans, and relations without a question
        if start < 0 or not row.context.startswith(tail, start):
            problem = f"the tail {tail!r} does not stand at character {start} of the context"
            raise RecordError(problem, file=str(path), line=number, field="start")
        place = f"{start}:{start + len(tail)}"
        yield TrainingExample(row.question, place, row.dialogue, options=(row.context,))


def _choices(path: Path) -> Iterator[TrainingExample]:
    for number, row in _triplets(path):
        if row.options is None or not row.schema.question:
            continue
        if len(row.options) < 2 or row.answer not in range(len(row.options)):
            problem = f"options are two or more texts, answer the number of one: {row.answer!r}"
            raise RecordError(problem, file=str(path), line=number, field="answer")
        read = tuple(f"{row.question} {option}" for option in row.options)
        yield TrainingExample(row.context, str(row.answer), row.dialogue, options=read)


_READERS: dict[str, Callable[[Path], Iterator[TrainingExample]]] = {
    "accent": _accent, "amr-generator": partial(_amr, parsed=False),
    "amr-parser": partial(_amr, parsed=True), "cider-choices": _choices,
    "cider-entailment": _entailment, "cider-relations": _relations, "cider-spans": _spans,
    "comet": _comet, "deam": _deam, "explagraphs-graph-stance": partial(_stances, explained=True),
    "explagraphs-rationalizing": partial(_graphs, told=True),
    "explagraphs-reasoning": partial(_graphs, told=False),
    "explagraphs-seca": _meanings,
    "explagraphs-stance": partial(_stances, explained=False), "predictive-engagement": _engagement,
    "ruber": _ruber, "situatedgen": _situatedgen,
}  # fmt: skip
