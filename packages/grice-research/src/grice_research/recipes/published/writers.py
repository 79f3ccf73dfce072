"""What is trained here of the published systems that write texts, on a decoder alone.

Their papers start from T5 and BART; none of their weights were at hand. A core reads eighty to
three hundred tokens a second while it trains 135 million parameters: hence parts of the data, one
epoch of them or three, searches that are narrower and items that are drawn. The rate is that of a
few epochs on a small model, ten times and more what papers give to many epochs of a large one. All
of it was set before any test set was seen.
"""

from __future__ import annotations

import csv
import gzip
import json
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from grice.errors import InputError
from grice.files import make_folder, write_text
from grice.knowledge.comet import query
from grice.knowledge.extraction.protocol import RELATIONS, Exchange
from grice.metrics.accent import NO_REPEAT, PIECES, extraction_source, parsed_events
from grice.models.models import Models
from grice.models.seq2seq import Search, Seq2Seq
from grice.stats.systems import mean
from grice_research.benches.atomic2020 import (
    NONE,
    TRAINING,
    folded,
    frequent_tails,
    read_queries,
    tail_likeness,
)
from grice_research.benches.deco_extraction import baselines
from grice_research.extraction import Cells, extraction_measures
from grice_research.recipes.published.measures import Figure, Floor
from grice_tasks.explagraphs.baselines import nonsense_graph
from grice_tasks.explagraphs.classified import classifier_measures
from grice_tasks.explagraphs.classifiers import GraphClassifiers
from grice_tasks.explagraphs.features import Reading
from grice_tasks.explagraphs.published import SEARCH, graph_in, sequence_prompt
from grice_tasks.explagraphs.reader import read_graph
from grice_tasks.explagraphs.samples import Prediction, read_samples
from grice_tasks.explagraphs.scores import score_sample
from grice_tasks.situatedgen.protocols import KeywordWriter
from grice_tasks.situatedgen.records import read_samples as read_pairs
from grice_tasks.situatedgen.scores import score_outputs
from grice_tasks.situatedgen.trivial_outputs import halved

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from grice_research.benches.atomic2020 import Query
    from grice_research.benches.atomic2020 import Tails as Written
    from grice_tasks.explagraphs.samples import Sample, Stance
    from grice_tasks.situatedgen.records import Sample as Pair

T = TypeVar("T")

RATE = "learning_rate=1e-4"
HALF = "precision=bfloat16"
BETWEEN = "</UTT>"


class Extraction:
    """ACCENT's extractor, measured by the triples that people drew from replies."""

    recipe = "accent"
    changes = (RATE, "epochs=1")
    measured = 20
    differs = f"greedy in place of 10 beams; {measured} of 100 replies"

    def __init__(self, *, data: Path, folder: Path) -> None:
        self._data, self._folder = data / "accent_deco", folder

    def prepare(self) -> Path:
        """Write the triples and the samples without one into a file."""
        make_folder(self._folder)
        path = self._folder / "train.jsonl"
        parts = ("deco_train.jsonl", "none_samples.jsonl")
        texts = [(self._data / name).read_text("utf-8").rstrip("\n") for name in parts]
        write_text(path, "\n".join(texts) + "\n")
        return path

    def figures(self, models: Models, bundle: str) -> Iterator[Figure]:
        """Yield precision, recall and F1 of cells, and BLEU-2 of the triples of both."""
        rows = self._held()
        prompts = [
            extraction_source(relation, row["history"], row["response"])
            for row in rows
            for relation in RELATIONS
        ]
        model = models.open(bundle, Seq2Seq)
        written = iter(model.write(prompts, Search(1, 1, PIECES, NO_REPEAT)))
        extracted = [
            {
                relation: [events]
                for relation in RELATIONS
                if (events := parsed_events(next(written)[0].text)) is not None
            }
            for _ in rows
        ]
        yield from _cell_figures(rows, extracted)

    def floors(self) -> Iterator[Floor]:
        """Yield what copying both turns gets, for all relations and for the six frequent ones."""
        rows = self._held()
        exchanges = [
            Exchange(
                tuple(turn.strip() for turn in row["history"].split(BETWEEN)[:-1]), row["response"]
            )
            for row in rows
        ]
        for name, extracted in baselines(exchanges).items():
            yield from (Floor(name, figure) for figure in _cell_figures(rows, extracted))

    def _held(self) -> list[dict[str, str]]:
        lines = (self._data / "deco_test.jsonl").read_text("utf-8").splitlines()
        return drawn([json.loads(line) for line in lines], self.measured)


class Sentences:
    """SituatedGen's writer."""

    recipe = "situatedgen"
    changes = (RATE, "epochs=1", "batch=8", "warmup_steps=10")
    learned, measured = 150, 30
    differs = f"{learned} pairs of 5,641; {measured} of the 1,220 released test pairs, of 2,012"

    def __init__(self, *, data: Path, folder: Path) -> None:
        self._data, self._folder = data / "situatedgen", folder

    def prepare(self) -> Path:
        """Write the pairs that are learned from."""
        return _drawn_lines(self._data / "train.jsonl.gz", self._folder, self.learned)

    def figures(self, models: Models, bundle: str) -> Iterator[Figure]:
        """Yield MATCH, coverage, BLEU-4, ROUGE-2 and METEOR."""
        pairs = self._held()
        written = models.open(bundle, KeywordWriter).generate([pair.keywords for pair in pairs])
        yield from self._scored(pairs, [each.text for each in written])

    def floors(self) -> Iterator[Floor]:
        """Yield what keywords cut in half get."""
        pairs = self._held()
        for figure in self._scored(pairs, [halved(pair.keywords) for pair in pairs]):
            yield Floor("halved keywords", figure)

    def _held(self) -> list[Pair]:
        return drawn(read_pairs(self._data / "test.jsonl.gz"), self.measured)

    def _scored(self, pairs: Sequence[Pair], texts: Sequence[str]) -> Iterator[Figure]:
        outputs = {pair.id: text for pair, text in zip(pairs, texts, strict=True)}
        measures = score_outputs(pairs, outputs, name="")[0].measures
        for name in ("match_first", "match_exclusive", "coverage", "bleu4", "rouge2", "meteor"):
            yield Figure(name, measures[name])


class Graphs:
    """An ExplaGraphs generator, with stances by the shipped judge.

    Args:
        order: ``reasoning`` writes the graph, off which the stance is read; ``rationalizing``
            writes the graph of a stance that was predicted without it.
        learned: Graphs that are learned from.
        measured: Samples of dev that it is measured on.
        changes: Hyper-parameters other than the paper's.
        data: Where the data sets are.
        folder: Where the samples that are learned from are written.
    """

    def __init__(
        self,
        order: str,
        learned: int,
        measured: int,
        changes: tuple[str, ...],
        *,
        data: Path,
        folder: Path,
    ) -> None:
        self.differs = (
            f"{learned:,} graphs of 2,368; {measured} of 398 samples; stances by the shipped judge"
        )
        self.changes, self._learned, self._measured = changes, learned, measured
        self.recipe = f"explagraphs-{order}"
        self._reasons = order == "reasoning"
        self._data, self._folder = data / "explagraphs", folder

    def prepare(self) -> Path:
        """Write the samples that are learned from."""
        return _drawn_lines(self._data / "train.jsonl.gz", self._folder, self._learned)

    def figures(self, models: Models, bundle: str) -> Iterator[Figure]:
        """Yield SA, StCA, SeCA by the shipped judge, and the likeness of facts to gold graphs."""
        samples = self._held()
        judges = models.open("bundle:graphs", GraphClassifiers)
        both = [(sample.belief, sample.argument) for sample in samples]
        stances = [stance for stance, _ in judges.stances(both)]
        prompts = [
            sequence_prompt(*pair, None if self._reasons else stance)
            for pair, stance in zip(both, stances, strict=True)
        ]
        written = models.open(bundle, Seq2Seq).write(prompts, SEARCH)
        graphs = [graph_in(texts[0].text) for texts in written]
        if self._reasons:
            readings = [
                Reading(*pair, read_graph(graph.lower()).graph)
                for pair, graph in zip(both, graphs, strict=True)
            ]
            stances = [stance for stance, _ in judges.stances_with_graphs(readings)]
        yield from _graph_figures(samples, stances, graphs, judges)

    def floors(self) -> Iterator[Floor]:
        """Yield what a chain of long words gets, with stances that are read without it."""
        samples = self._held()
        graphs = [nonsense_graph(sample.belief, sample.argument) for sample in samples]
        with Models(mode="exact", workers=1, cache=None) as models:
            judges = models.open("bundle:graphs", GraphClassifiers)
            both = [(sample.belief, sample.argument) for sample in samples]
            stances = [stance for stance, _ in judges.stances(both)]
            for figure in _graph_figures(samples, stances, graphs, judges):
                yield Floor("chain of long words", figure)

    def _held(self) -> list[Sample]:
        return drawn(read_samples(self._data / "dev.jsonl.gz"), self._measured)


class Tails:
    """COMET, measured by the tails that people wrote."""

    recipe = "comet"
    changes = (RATE, "epochs=1", "batch=16")
    learned, measured = 800, 100
    differs = f"{learned:,} triples of ATOMIC-2020; {measured} of 5,000 queries; 4 beams"

    def __init__(self, *, data: Path, folder: Path) -> None:
        self._data, self._folder = data, folder

    def prepare(self) -> Path:
        """Write the triples that are learned from; nobody learns that there is no tail."""
        make_folder(self._folder)
        path = self._folder / "train.tsv"
        with gzip.open(self._data / TRAINING, "rt", encoding="utf-8") as lines:
            rows = list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
        train = [
            row for row in rows if row["split"] == "train" and folded(row["tail"]) not in (NONE, "")
        ]
        chosen = drawn(train, self.learned)
        texts = ["\t".join(row[name] for name in ("head", "relation", "tail")) for row in chosen]
        write_text(path, "\n".join(texts) + "\n")
        return path

    def figures(self, models: Models, bundle: str) -> Iterator[Figure]:
        """Yield BLEU-2 and ROUGE-L of the likeliest tail."""
        asked = self._held()
        model = models.open(bundle, Seq2Seq)
        prompts = [query(each.head, each.relation) for each in asked]
        written = model.write(prompts, Search(4, 1, PIECES, NO_REPEAT))
        yield from _tail_figures(asked, [[texts[0].text.strip()] for texts in written])

    def floors(self) -> Iterator[Floor]:
        """Yield what frequent tails get, and what COMET-BART's released ones do."""
        asked = self._held()
        for name, tails in {
            "most frequent tail": frequent_tails(self._data, asked),
            "COMET-BART's released greedy output": [list(each.greedy) for each in asked],
        }.items():
            yield from (Floor(name, figure) for figure in _tail_figures(asked, tails))

    def _held(self) -> list[Query]:
        return drawn(read_queries(self._data), self.measured)


def drawn(items: Sequence[T], count: int) -> list[T]:
    """Return so many items, drawn at random, in their order."""
    places = np.random.default_rng(0).permutation(len(items))[:count]
    return [items[i] for i in sorted(places)]


def _drawn_lines(source: Path, folder: Path, count: int) -> Path:
    make_folder(folder)
    path = folder / "train.jsonl"
    lines = gzip.decompress(source.read_bytes()).decode("utf-8").splitlines()
    write_text(path, "\n".join(drawn(lines, count)) + "\n")
    return path


def _cell_figures(
    rows: Sequence[Mapping[str, object]], extracted: Sequence[Mapping[str, list[tuple[str, str]]]]
) -> Iterator[Figure]:
    cells = []
    for row, mine in zip(rows, extracted, strict=True):
        people = row["tuples"]
        if not isinstance(people, dict):
            raise InputError("a test reply of DECO has its triples by relation")
        gold = {name: [(head, tail) for head, _, tail, *_ in each] for name, each in people.items()}
        cells.append(Cells(gold, mine))
    for name, estimate in extraction_measures(cells, RELATIONS).items():
        yield Figure(name, estimate)


def _graph_figures(
    samples: Sequence[Sample],
    stances: Sequence[Stance],
    graphs: Sequence[str],
    judges: GraphClassifiers,
) -> Iterator[Figure]:
    given = {
        sample.id: Prediction(sample.id, stance, graph)
        for sample, stance, graph in zip(samples, stances, graphs, strict=True)
    }
    judged = classifier_measures(samples, given, judges)
    values = [score_sample(s, given[s.id]).values | judged[s.id] for s in samples]
    beliefs = [sample.belief.lower() for sample in samples]
    for name in ("sa", "stca", "seca", "g_bleu", "g_rouge_2", "g_rouge_l"):
        column = [row[name] for row in values]
        yield Figure(name, mean(column, groups=beliefs, interval="percentile"))


def _tail_figures(asked: Sequence[Query], tails: Written) -> Iterator[Figure]:
    likeness = tail_likeness(asked, tails)
    for name in ("bleu2", "rouge_l"):
        yield Figure(name, likeness[name])
