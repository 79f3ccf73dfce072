"""Resources of a bench: sets read once, metrics loaded once, each column computed once."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import msgspec

from grice.errors import InputError, did_you_mean
from grice.evaluation.datasets import known_sets, load_rated
from grice.evaluation.table import score_table
from grice.stats.correlations import correlation_value
from grice_research.measures import MEASURES, PEOPLE, measured, of_people, paired_difference
from grice_research.training_texts import trained_on, trained_share
from grice_research.triples import AREAS, MODELS_OF, SCORERS, area, read_triples

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from pathlib import Path

    from grice.data import Json
    from grice.evaluation.datasets import Rated, RatedSet
    from grice.evaluation.table import Scores
    from grice.models.loader import ModelLoader
    from grice.stats.estimate import Estimate

SCORES = "rated/released_scores.json.gz"
GPT4 = "rated/gpt4_dialogue_annotations.json.gz"
DEAM = {"fed_dialogue": "deam/deam_fed.jsonl.gz", "dstc9_dialogue": "deam/deam_dstc9.jsonl.gz"}
SOURCES = {
    SCORES: "github.com/ictnlp/DialoFlow, maszhongming/UniEval, DSincerity/FED_Replication, "
    "d223302/A-Closer-Look-To-LLM-Evaluation, ramya2811/GRADE-A-PLUS",
    GPT4: "github.com/e0397123/comp-analysis",
    **dict.fromkeys(DEAM.values(), "github.com/PlusLabNLP/DEAM"),
}


class _Deam(msgspec.Struct):
    rated_id: str | None
    deam_score: float


def released(source: str, rated: Rated, folder: Path) -> list[float | None]:
    """Return the released score of each item; None where there is none."""
    if source.startswith("-"):
        turned = released(source.removeprefix("-"), rated, folder)
        return [None if value is None else -value for value in turned]
    kind, _, name = source.partition(":")
    if kind == "record":
        return _of_records(name, rated)
    ids = [item.conversation.id for item in rated.items]
    if kind == "deam":
        scores = _deam(rated.set.name, folder)
    elif kind == "scores":
        scores = _scores(rated.set.name, name, folder)
    elif kind in ("gpt4", "gpt4_first"):
        scores = _gpt4(rated.set.name, name, folder, first=kind == "gpt4_first")
    else:
        raise InputError(f"no released scores are named {source!r}")
    return [scores.get(id_) for id_ in ids]


def _of_records(name: str, rated: Rated) -> list[float | None]:
    fields = name.split("+")
    values: list[float | None] = []
    for item in rated.items:
        given = [_number(item.conversation.meta, field) for field in fields]
        values_given = [value for value in given if value is not None]
        values.append(
            sum(values_given) / len(values_given) if len(values_given) == len(fields) else None
        )
    return values


def _number(meta: Json, path: str) -> float | None:
    for step in path.split("."):
        meta = meta.get(step) if isinstance(meta, dict) else None
    return float(meta) if isinstance(meta, int | float) and not isinstance(meta, bool) else None


def _deam(data: str, folder: Path) -> dict[str, float]:
    if data not in DEAM:
        raise InputError(f"DEAM's authors released no scores of {data}")
    decoder = msgspec.json.Decoder(_Deam)
    lines = (decoder.decode(line) for line in _content(folder, DEAM[data]).splitlines())
    return {line.rated_id: line.deam_score for line in lines if line.rated_id is not None}


def _scores(data: str, name: str, folder: Path) -> dict[str, float]:
    known = msgspec.json.decode(
        _content(folder, SCORES), type=dict[str, dict[str, dict[str, float]]]
    )
    if data not in known or name not in known[data]:
        near = did_you_mean(name, known.get(data, {}))
        raise InputError(f"{SCORES}: no scores {name!r} of {data}{near}")
    return known[data][name]


def _gpt4(data: str, name: str, folder: Path, *, first: bool) -> dict[str, float]:
    known = msgspec.json.decode(_content(folder, GPT4), type=dict[str, list[dict[str, object]]])
    means = {}
    for entry in known.get(data, ()):
        samples = entry.get(name)
        given = (
            [sample for sample in samples if isinstance(sample, int | float)]
            if isinstance(samples, list)
            else []
        )
        given = given[:1] if first else given
        if given:
            means[str(entry["id"])] = sum(given) / len(given)
    if not means:
        raise InputError(f"{GPT4}: nothing on {name!r} of {data}")
    return means


def _content(folder: Path, file: str) -> bytes:
    path = folder / file
    if not path.is_file():
        raise InputError(f"{path} is not there; the scores are from {SOURCES[file]}")
    return gzip.decompress(path.read_bytes())


Values = list[float | None]

TRIPLES = ("cskb_population:12 relations", "cskb_population:18 relations")


class Skipped(InputError):  # noqa: N818 - no fault, only a figure that is not measured
    """A figure that is not measured, for a reason that is no fault: its set is left out or away."""


def metric_and_preset(column: str) -> tuple[str, str]:
    """Return the metric and the preset of a column called ``METRIC`` or ``METRIC (PRESET)``.

    The preset is empty where none is named.
    """
    metric, _, preset = column.removesuffix(")").partition(" (")
    return metric, preset


class BenchContext:
    """Computes columns and keeps them."""

    def __init__(
        self,
        folder: Path | None,
        loaded: Callable[[Sequence[str]], tuple[Scores, Mapping[str, str]]],
        metrics: Collection[str],
        without: Collection[str] = (),
        models: Callable[[], ModelLoader] | None = None,
    ) -> None:
        self.metrics = metrics
        self.missing: dict[str, str] = {}
        self._folder = folder
        self._loaded = loaded
        self.without = without
        self._known = known_sets()
        self._sets: dict[str, Rated] = {}
        self._graders: dict[str, tuple[Scores, Mapping[str, str]]] = {}
        self._columns: dict[tuple[str, str], Values] = {}
        self._models = models
        self._triples: dict[tuple[str, str], list[float]] = {}

    @property
    def folder(self) -> Path:
        """The data folder."""
        if self._folder is None:
            raise InputError("no data folder is named; give --data DIR or set GRICE_DATA")
        return self._folder

    def models(self) -> ModelLoader:
        """Return what opens models."""
        if self._models is None:
            raise InputError("this run opens no models")
        return self._models()

    def knows(self, on: str, *, people: bool = False) -> bool:
        """Return whether a column's set is one of the rated ones and the aspect was rated."""
        name, _, aspect = on.partition(":")
        entry = self._known.get(name)
        return entry is not None and (people or aspect in entry.all_aspects)

    def rated(self, name: str) -> Rated:
        """Return a rated set."""
        if name in self.without:
            raise Skipped(f"{name} was left out of this run")
        if name in self.missing:
            raise Skipped(f"{name} is not in the data folder")
        if name not in self._sets:
            self._sets[name] = self._read(self._known[name])
        return self._sets[name]

    def _read(self, entry: RatedSet) -> Rated:
        try:
            return load_rated(entry, self._folder)
        except InputError as error:
            self.missing[entry.name] = str(error)
            raise Skipped(f"{entry.name} is not in the data folder") from error

    def by_metric(self, metric: str, on: str, measure: str) -> tuple[Estimate, str]:
        """Return a metric's figure and signature."""
        name, _, aspect = on.partition(":")
        rated = self.rated(name)
        signature = self.grader(metric)[1][metric]
        values = self.metric_values(metric, name)
        return measured(measure, values, rated, aspect), _signature(signature, rated, on, measure)

    def grader(self, metric: str) -> tuple[Scores, Mapping[str, str]]:
        """Return a loaded metric with its signature."""
        if metric not in self._graders:
            self._graders[metric] = self._loaded([metric])
        return self._graders[metric]

    def metric_values(self, metric: str, name: str) -> Values:
        """Return a metric's values on the items of a set."""
        if (metric, name) not in self._columns:
            rated = self.rated(name)
            grader, signatures = self.grader(metric)
            talks = [item.conversation for item in rated.items]
            column = score_table(grader, signatures, talks).column(metric, rated)
            self._columns[metric, name] = list(column.values)
        return self._columns[metric, name]

    def trained(self, metric: str, on: str) -> str:
        """Return in words which models of a metric were trained on a set; empty if none was."""
        return trained_on(self.grader(metric)[1][metric], on.partition(":")[0])

    def trained_share(self, metric: str, on: str) -> float:
        """Return the largest share of the texts of a set that a model of a metric has seen."""
        return trained_share(self.grader(metric)[1][metric], on)

    def by_release(self, source: str, on: str, measure: str) -> tuple[Estimate, str]:
        """Return the figure of released scores, or of the ratings, and how it came about."""
        name, _, aspect = on.partition(":")
        rated = self.rated(name)
        if source in PEOPLE:
            estimate = of_people(source, measure, rated, aspect)
        else:
            estimate = measured(measure, self.released_values(source, name), rated, aspect)
        return estimate, _signature(f"released:{source}", rated, on, measure)

    def knows_triples(self, scorer: str, on: str, measure: str) -> bool:
        """Return whether a column is about labelled triples and the scorer judges such."""
        return on in TRIPLES and measure in AREAS and scorer in SCORERS

    def by_triples(self, scorer: str, on: str, measure: str) -> tuple[Estimate, str]:
        """Return the figure of a scorer of triples, and how it came about."""
        name, _, aspect = on.partition(":")
        if name in self.without or self._models is None:
            raise Skipped(f"{name} was left out of this run")
        rows = read_triples(self._folder, aspect)
        if (scorer, on) not in self._triples:
            self._triples[scorer, on] = SCORERS[scorer](rows, self.models(), self.folder)
        estimate = area(measure, self._triples[scorer, on], rows)
        parts = [scorer, *(self.models().fingerprint(reference) for reference in MODELS_OF[scorer])]
        return estimate, "|".join([*parts, f"on:{on}", f"measure:{measure}"])

    def difference(self, metric: str, source: str, on: str, measure: str) -> Estimate | None:
        """Return a metric's correlation less that of released scores on the same items.

        None where the two cannot be paired: for other measures, and without such scores.
        """
        name, _, aspect = on.partition(":")
        if measure not in ("pearson", "spearman") or source in PEOPLE:
            return None
        try:
            columns = self.metric_values(metric, name), self.released_values(source, name)
            rated = self.rated(name)
            return paired_difference(measure, *columns, rated, aspect)  # type: ignore[arg-type]
        except InputError:
            return None

    def released_values(self, source: str, name: str) -> Values:
        """Return released scores of the items of a set."""
        if (source, name) not in self._columns:
            if self._folder is None:
                raise Skipped("no data folder is named")
            self._columns[source, name] = released(source, self.rated(name), self._folder)
        return self._columns[source, name]

    def between(self, first: str, second: str, on: str, measure: str) -> float | None:
        """Return how two released columns correlate with each other; None if it is not known."""
        name = on.partition(":")[0]
        if measure not in ("pearson", "spearman") or first in PEOPLE or second in PEOPLE:
            return None
        try:
            columns = [self.released_values(source, name) for source in (first, second)]
        except InputError:
            return None
        import numpy as np

        pairs = np.array(
            [(a, b) for a, b in zip(*columns, strict=True) if a is not None and b is not None]
        )
        if len(pairs) < 4 or (np.ptp(pairs, axis=0) == 0).any():
            return None
        return correlation_value(pairs[:, 0], pairs[:, 1], measure)  # type: ignore[arg-type]

    @property
    def measures(self) -> Collection[str]:
        """Names of the measures that one score per item is enough for."""
        return MEASURES


def _signature(what: str, rated: Rated, on: str, measure: str) -> str:
    aspect = on.partition(":")[2]
    return f"{what}|on:{rated.fingerprint}:{aspect}|measure:{measure}"
