"""Turns that people marked: scores of them, and how well these scores see flaws."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from io import StringIO
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, cast

import msgspec

from grice.data import Conversation, Score, TurnEvidence
from grice.errors import GriceError, InputError
from grice.metrics.declaration import find_metrics
from grice.models.protocols import Encoder
from grice.stats.estimate import Estimate
from grice_research.context import BenchContext, metric_and_preset
from grice_research.figures import RANDOM, Figure, figure, gap_to
from grice_research.roc import lift_at_random, review_lifts, roc_areas

BASELINES = ("cosine_last_turn", "log_length")
"""Metrics that are trivial baselines of a turn; the others are computed here."""
OWN_TURNS, POSITION = "cosine_own_turns", "position"
TRIVIAL = (*BASELINES, OWN_TURNS, POSITION)
AREA = "AUC"
LIFTS = {share: f"lift of the first {100 * share:.0f} %" for share in (0.1, 0.2)}
QUALITIES = ("coherence", "commonsense", "engagement", "quality", "relevance")
"""Metrics of a reply or a conversation as a whole, whether they run by default or not."""
DETECTORS = ("contradiction", "repetition", "responsiveness", "user_frustration", "sensibleness")
"""Metrics of one kind of flaw."""
FETCHED = (
    "likelihood", "sensibleness (medium)", "sensibleness (large)", "quality (medium)",
    "quality (large)",
)  # fmt: skip
"""Metrics whose model does not ship; of another preset than medium where it is named."""


def shipped_metrics() -> list[str]:
    """Return the metrics whose models ship: those of qualities, the detectors, all default ones."""
    return list(dict.fromkeys((*QUALITIES, *DETECTORS, *find_metrics().defaults())))


def quality_metrics(judged: str) -> list[str]:
    """Return the metrics that ship and judge a quality of ``response`` or ``conversation``.

    A detector of one kind of flaw is measured where people marked flaws, and not by how good they
    found the whole.
    """
    declared = find_metrics().metrics
    names = (name for name in shipped_metrics() if name not in DETECTORS)
    return [name for name in names if declared[name].judges == judged]


def metrics_at_hand(context: BenchContext) -> list[str]:
    """Return the metrics whose models ship, and those of models that were fetched."""
    fetched = [name for name in FETCHED if not missing_model(context, name)]
    return [*shipped_metrics(), *fetched]


def metric_named(column: str) -> str:
    """Return the metric that a row is about; empty for one with the models of a preset."""
    metric, preset = metric_and_preset(column)
    return "" if preset else metric


def missing_model(context: BenchContext, metric: str) -> str:
    """Return why a metric cannot be computed here, in words; empty if it can."""
    try:
        context.grader(metric)
    except GriceError as error:
        return str(error)
    return ""


def turn_scores(
    context: BenchContext, metrics: Sequence[str], talks: Sequence[Conversation]
) -> dict[str, list[Score]]:
    """Return the scores of each metric on all conversations."""
    return {name: list(context.grader(name)[0].score(talks)) for name in metrics}


def turn_values(
    metric: str, given: Sequence[Score], talks: Sequence[Conversation]
) -> Iterator[float]:
    """Yield a metric's value of each target; of a whole conversation, where its evidence points.

    A turn that the evidence does not name has the value 0.
    """
    scores = {(score.conversation, score.turn): score for score in given}
    for talk in talks:
        whole = scores.get((talk.id, None))
        evidence = () if whole is None else whole.evidence
        effects = {
            piece.turn: piece.effect for piece in evidence if isinstance(piece, TurnEvidence)
        }
        for turn in talk.targets or ():
            score = scores.get((talk.id, turn))
            value = effects.get(turn, 0.0) if score is None else score.value
            if value is None:
                raise InputError(f"{metric} failed on turn {turn} of {talk.id}")
            yield value


def values_of(metric: str, scores: Iterable[Score]) -> dict[str, float]:
    """Return a metric's value by conversation, of which each has one score."""
    values = {}
    for score in scores:
        if score.value is None:
            raise InputError(f"{metric} failed on {score.conversation}: {score.reason}")
        values[score.conversation] = score.value
    return values


def digest_of(name: str, talks: Sequence[Conversation]) -> str:
    """Return the name of a set of conversations with a hash of their content."""
    return f"{name}@{sha256(msgspec.json.encode(talks)).hexdigest()[:8]}"


def own_turn_cosines(context: BenchContext, talks: Sequence[Conversation]) -> Iterator[float]:
    """Yield each target's largest cosine with earlier turns of its speaker; 0 without any."""
    encoder = cast("Encoder", context.models().load("builtin:encoder"))
    for talk in talks:
        vectors = encoder.encode([turn.text for turn in talk.turns])
        for target in talk.targets or ():
            speaker = talk.turns[target].speaker
            earlier = [i for i in range(target) if talk.turns[i].speaker == speaker]
            yield max((float(vectors[target] @ vectors[i]) for i in earlier), default=0.0)


class Columns(NamedTuple):
    """Scores of the same turns, each higher where a turn is better."""

    values: dict[str, list[float]]  # by the name of the score
    ours: dict[str, str]
    signatures: dict[str, str]  # what exactly was computed, with the set
    trained: dict[str, float]  # share of the texts of the set that a model has seen
    data: str  # the set with a hash of its content

    def low(self) -> dict[str, list[float]]:
        """Return the scores turned round, so that flawed turns have the higher ones."""
        return {name: [-value for value in values] for name, values in self.values.items()}

    def pairs(self) -> list[tuple[str, str]]:
        """Return each score of ours with each trivial baseline."""
        return [(name, other) for name in self.ours for other in TRIVIAL]

    def row(
        self,
        name: str,
        measure: str,
        estimate: Estimate,
        on: str,
        why: str,
        differences: Mapping[tuple[str, str], Estimate] = MappingProxyType({}),
    ) -> Figure:
        """Return the row of one of ours, with its gaps, or of a trivial baseline."""
        gaps = (gap_to(other, gap) for (first, other), gap in differences.items() if first == name)
        return figure(
            row=name,
            measure=measure,
            estimate=estimate,
            kind="ours" if name in self.ours else "baseline",
            on=on,
            why=why,
            metric=self.ours.get(name, ""),
            signature=self.signatures.get(name) or f"{name}|on:{self.data}",
            gaps=tuple(gaps),
            trained=self.trained.get(name, 0.0),
        )


def turn_columns(
    context: BenchContext,
    talks: Sequence[Conversation],
    on: str,
    *,
    seen_as: str = "",
) -> Columns:
    """Return what metrics and trivial baselines give the targets.

    A later turn, and one like an own earlier turn, is taken to be the worse one.
    """
    ours = {name: metric_named(name) for name in metrics_at_hand(context)}
    scored = turn_scores(context, (*ours, *BASELINES), talks)
    values = {name: list(turn_values(name, scores, talks)) for name, scores in scored.items()}
    values |= trivial_orders(context, talks)
    data = digest_of(on, talks)
    signatures = {name: f"{context.grader(name)[1][name]}|on:{data}" for name in scored}
    trained = {name: context.trained_share(name, seen_as or on) for name in ours}
    encoder = context.models().fingerprint("builtin:encoder")
    signatures[OWN_TURNS] = f"{encoder}|on:{data}"
    return Columns(values, ours, signatures, trained, data)


def trivial_orders(context: BenchContext, talks: Sequence[Conversation]) -> dict[str, list[float]]:
    """Return the cosine with own earlier turns and the position of each target, negated."""
    return {
        OWN_TURNS: [-cosine for cosine in own_turn_cosines(context, talks)],
        POSITION: [-float(turn) for talk in talks for turn in talk.targets or ()],
    }


def area_rows(
    columns: Columns,
    labels: Sequence[float],
    on: str,
    why: str,
    *,
    groups: Sequence[str] | None = None,
    within: tuple[str, Sequence[str]] | None = None,
) -> Iterator[Figure]:
    """Yield the areas of low scores, with the gaps of ours to each trivial baseline.

    ``within`` names a measure with the strata it is computed in.
    """
    low = columns.low()
    for measure, strata in ((AREA, None), *([within] if within else ())):
        found = roc_areas(low, labels, groups=groups, strata=strata, pairs=columns.pairs())
        for name, area in found.areas.items():
            yield columns.row(name, measure, area, on, why, found.differences)


def lift_rows(
    columns: Columns, labels: Sequence[float], on: str, groups: Sequence[str]
) -> Iterator[Figure]:
    """Yield what reading a share in the order of each score gains, and at random."""
    rate, low = sum(labels) / len(labels), columns.low()
    for share, measure in LIFTS.items():
        read = review_lifts(low, labels, groups=groups, pairs=columns.pairs(), share=share)
        for name, lift in read.lifts.items():
            why = f"precision {lift.value * rate:.3f}"
            yield columns.row(name, measure, lift, on, why, read.differences)
        why = f"precision {rate:.3f}; 95 % of random orders lie within"
        yield columns.row(RANDOM, measure, lift_at_random(labels, share), on, why)


def marked_lines(folder: Path, file: str, source: str = "") -> Iterator[Any]:
    """Yield the records of a file of JSON lines in the data folder."""
    yield from map(msgspec.json.decode, _content(folder, file, source).splitlines())


def table_lines(folder: Path, file: str, source: str = "") -> Iterator[dict[str, str]]:
    """Yield the rows of a file of the data folder whose columns are parted by tabs."""
    lines = StringIO(_content(folder, file, source).decode("utf-8"))
    yield from csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)


def _content(folder: Path, file: str, source: str) -> bytes:
    path = folder / file
    if not path.is_file():
        where = f"; it is from {source}" if source else ""
        raise InputError(f"{file} is not in the data folder{where}")
    return gzip.decompress(path.read_bytes())
