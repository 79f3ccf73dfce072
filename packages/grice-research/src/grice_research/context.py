"""Resources of a bench: sets read once, metrics loaded once, each column computed and judged."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Collection, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Literal, TypeAlias, get_args

import msgspec
import numpy as np

from grice.data import Json
from grice.errors import InputError, did_you_mean
from grice.evaluation.datasets import Rated, known_sets, load_rated
from grice.evaluation.table import score_table
from grice.models.loader import ModelLoader
from grice.scoring.api import Grader
from grice.stats import (
    compare_correlations,
    correlation,
    leave_one_annotator_out,
    mean,
)
from grice.stats.estimate import Estimate
from grice.stats.inputs import Floats
from grice.stats.resample import estimate, resample
from grice_research.training_texts import trained_on, trained_share

Column: TypeAlias = list[float | None]
Values: TypeAlias = Sequence[float | None]
Measure: TypeAlias = Callable[[Values, Rated, str], Estimate]

Correlation: TypeAlias = Literal["pearson", "spearman"]
SCORES = "rated/released_scores.json.gz"
GPT4 = "rated/gpt4_dialogue_annotations.json.gz"
DEAM = {"fed_dialogue": "deam/deam_fed.jsonl.gz", "dstc9_dialogue": "deam/deam_dstc9.jsonl.gz"}
SOURCES = {
    SCORES: "github.com/ictnlp/DialoFlow, maszhongming/UniEval, DSincerity/FED_Replication, "
    "d223302/A-Closer-Look-To-LLM-Evaluation, ramya2811/GRADE-A-PLUS",
    GPT4: "github.com/e0397123/comp-analysis",
    **dict.fromkeys(DEAM.values(), "github.com/PlusLabNLP/DEAM"),
}


def released(source: str, rated: Rated, folder: Path) -> list[float | None]:
    """Return the released score of each item; None without a score."""
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
    elif kind == "gpt4":
        scores = _gpt4(rated.set.name, name, folder)
    else:
        raise InputError(f"no released scores are named {source!r}")
    return [scores.get(id_) for id_ in ids]


def _of_records(name: str, rated: Rated) -> list[float | None]:
    fields = name.split("+")
    values: list[float | None] = []
    for item in rated.items:
        given = [_number(item.conversation.meta, field) for field in fields]
        stated = [value for value in given if value is not None]
        values.append(sum(stated) / len(stated) if len(stated) == len(fields) else None)
    return values


def _number(meta: Json, path: str) -> float | None:
    for step in path.split("."):
        meta = meta.get(step) if isinstance(meta, dict) else None
    return float(meta) if isinstance(meta, int | float) and not isinstance(meta, bool) else None


def _deam(data: str, folder: Path) -> dict[str, float]:
    if data not in DEAM:
        raise InputError(f"DEAM's authors released no scores of {data}")
    rows = map(msgspec.json.decode, _content(folder, DEAM[data]).splitlines())
    return {row["rated_id"]: row["deam_score"] for row in rows if row["rated_id"] is not None}


def _scores(data: str, name: str, folder: Path) -> dict[str, float]:
    known = msgspec.json.decode(
        _content(folder, SCORES), type=dict[str, dict[str, dict[str, float]]]
    )
    if data not in known or name not in known[data]:
        near = did_you_mean(name, known.get(data, {}))
        raise InputError(f"{SCORES}: no scores {name!r} of {data}{near}")
    return known[data][name]


def _gpt4(data: str, name: str, folder: Path) -> dict[str, float]:
    known = msgspec.json.decode(_content(folder, GPT4), type=dict[str, list[dict[str, object]]])
    means = {}
    for entry in known.get(data, ()):
        samples = entry.get(name)
        listed = samples if isinstance(samples, list) else []
        given = [sample for sample in listed if isinstance(sample, int | float)]
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


def measured(measure: str, values: Values, rated: Rated, aspect: str) -> Estimate:
    """Return a measure of a column against the mean ratings of an aspect."""
    if measure not in MEASURES:
        raise InputError(f"{measure} cannot be computed from one score per item")
    return MEASURES[measure](values, rated, aspect)


def paired_difference(
    kind: Correlation, first: Values, second: Values, rated: Rated, aspect: str
) -> Estimate:
    """Return the correlation of one column with the ratings less that of another.

    Both on the items where both have a value; items of one group are drawn together.
    """
    # The baseline stands second in a comparison, so that the difference is first less second.
    columns, groups = {"first": first, "second": second}, rated.groups
    human = rated.human(aspect)
    compared = compare_correlations(columns, human, kind=kind, groups=groups, baseline="second")
    return compared.comparisons[0].difference


def _correlated(kind: Correlation) -> Measure:
    def measure(values: Values, rated: Rated, aspect: str) -> Estimate:
        return correlation(values, rated.human(aspect), kind=kind, groups=rated.groups)

    return measure


def _cosine(values: Values, rated: Rated, aspect: str) -> Estimate:
    """Return the cosine of scores and ratings, ratings scaled to 0..1 over the set, not centred.

    The measure of RUBER's tables (Ghazarian et al., NeuralGen 2019). It rewards a high mean.
    """
    both = zip(values, rated.human(aspect), strict=True)
    pairs = np.array([pair for pair in both if None not in pair], np.float64)
    if len(pairs) < 2 or np.ptp(pairs[:, 1]) == 0:
        raise InputError("a cosine needs two items and ratings that differ")
    # An order of their own: the interval does not depend on how items were listed.
    pairs = pairs[np.lexsort(pairs.T)]
    x = pairs[:, 0]
    y = (pairs[:, 1] - pairs[:, 1].min()) / np.ptp(pairs[:, 1])
    moments = np.stack([x * y, x * x, y * y], axis=1)

    def statistic(weights: Floats) -> Floats:
        product, own, other = (weights @ moments).T
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(product / np.sqrt(own * other))[:, None]

    return estimate(resample(statistic, len(x)), what="cosine, ratings scaled to 0..1")


MEASURES: dict[str, Measure] = {kind: _correlated(kind) for kind in get_args(Correlation)} | {
    "cosine": _cosine
}
"""Measures of one score per item, by the name that tables give them."""


PEOPLE = ("judges", "ratings", "reply words")  # sources of figures that need no metric


def of_people(source: str, measure: str, rated: Rated, aspect: str) -> Estimate:
    """Return a figure about ratings or rated texts alone."""
    if source == "ratings":
        return mean(rated.human(aspect))
    if source == "reply words":
        return mean([float(len(item.conversation.turns[-1].text.split())) for item in rated.items])
    first, joined, second = aspect.partition(" and ")
    if joined:
        return _single_ratings(rated, first, second)
    if "against the others" not in measure:
        raise InputError(f"{measure}: not computed from the ratings of judges")
    return leave_one_annotator_out([item.ratings[aspect] for item in rated.items], pool="pairs")


def _single_ratings(rated: Rated, first: str, second: str) -> Estimate:
    """Return the correlation of the ratings that one judge gave to one item on two aspects."""
    pairs = [
        (a, b, item.group)
        for item in rated.items
        for a, b in zip(item.ratings[first], item.ratings[second], strict=True)
    ]
    ratings, others, groups = zip(*pairs, strict=True)
    return correlation(ratings, others, kind="spearman", groups=groups)


def data_digest(folder: Path, place: str) -> str:
    """Return the name of a file or folder of the data folder with a hash of its content."""
    start = folder / place
    files = sorted(start.rglob("*")) if start.is_dir() else [start]
    content = sha256(b"".join(file.read_bytes() for file in files if file.is_file()))
    return f"{start.name.partition('.')[0]}@{content.hexdigest()[:8]}"


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
        loaded: Callable[[Sequence[str]], tuple[Grader, Mapping[str, str]]],
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
        self._graders: dict[str, tuple[Grader, Mapping[str, str]]] = {}
        self._columns: dict[tuple[str, str], Column] = {}
        self._models = models

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
            try:
                self._sets[name] = load_rated(self._known[name], self._folder)
            except InputError as error:
                self.missing[name] = str(error)
                raise Skipped(f"{name} is not in the data folder") from error
        return self._sets[name]

    def by_metric(self, metric: str, on: str, measure: str) -> tuple[Estimate, str]:
        """Return a metric's figure and signature."""
        name, _, aspect = on.partition(":")
        rated = self.rated(name)
        signature = self.grader(metric)[1][metric]
        values = self.metric_values(metric, name)
        return measured(measure, values, rated, aspect), _signature(signature, rated, on, measure)

    def grader(self, metric: str) -> tuple[Grader, Mapping[str, str]]:
        """Return a loaded metric with its signature."""
        if metric not in self._graders:
            self._graders[metric] = self._loaded([metric])
        return self._graders[metric]

    def metric_values(self, metric: str, name: str) -> Column:
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

    def released_values(self, source: str, name: str) -> Column:
        """Return released scores of the items of a set."""
        if (source, name) not in self._columns:
            if self._folder is None:
                raise Skipped("no data folder is named")
            self._columns[source, name] = released(source, self.rated(name), self._folder)
        return self._columns[source, name]


def _signature(what: str, rated: Rated, on: str, measure: str) -> str:
    aspect = on.partition(":")[2]
    return f"{what}|on:{rated.fingerprint}:{aspect}|measure:{measure}"
