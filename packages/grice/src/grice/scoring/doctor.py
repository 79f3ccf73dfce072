"""Does this machine keep what is promised: the same bits in any batch, order, number of workers?

A few made-up conversations are scored together, alone, reversed and by two workers, each time by
models that remember nothing of the time before; every score must be the same record. Then they
are set beside the scores of a reference processor, which may differ (``docs/modes.md``).
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from grice.errors import BundleError, GriceError, plural
from grice.models.bundle import open_bundle, shipped_bundles
from grice.models.memo import cache_files
from grice.models.store.places import stored_models
from grice.records import Conversation, Score
from grice.scoring.api import load_from
from grice.scoring.machine import Machine, describe_machine, peak_memory, printable
from grice.scoring.reference import Recorded, conversations, reference_scores
from grice.scoring.reproducible import not_reproducible

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from grice.metrics.registry import Registry
    from grice.models.embedded import Mode


class Arrangement(msgspec.Struct, frozen=True):
    """One metric in one arrangement of the conversations, beside all of them together.

    Attributes:
        arrangement: ``alone``, ``reversed`` or ``two workers``.
        scores: How many scores were compared.
        differing: How many are not the same record: value, status, reason, evidence.
        largest: Largest absolute difference of their values.
    """

    metric: str
    arrangement: str
    scores: int
    differing: int
    largest: float


class Distance(msgspec.Struct, frozen=True):
    """How far the scores of one metric are from those of the reference processor.

    Attributes:
        scores: How many values were compared; 0 if there is nothing to compare with.
        differing: How many values are not the same.
        largest: Largest absolute difference; None if there is no value on both sides.
        note: Why nothing was compared.
    """

    metric: str
    scores: int
    differing: int = 0
    largest: float | None = None
    mean: float | None = None
    note: str = ""


class ShippedModel(msgspec.Struct, frozen=True):
    """A bundle of the package; its digest is part of the signatures."""

    name: str
    digest: str


class Diagnosis(msgspec.Struct, frozen=True):
    """What was learnt of a machine.

    Attributes:
        holds: Whether every score was the same in every arrangement, and nothing is wrong.
        arrangements: Each metric in each arrangement; empty if nothing could be scored.
        reference: The processor that the recorded scores come from.
        distances: Each metric beside its recorded scores.
        problems: What is wrong with this installation, one line each.
        machine: What it computes with.
        models: What ships, as far as it is whole.
        cache: Folder of the answers that are kept between runs.
        cache_size: Their bytes.
        data: Folder of published data sets, ``GRICE_DATA``; None if it is not set.
        peak_memory: Bytes that were held at most; None if the system does not tell.
        seconds: How long the scoring took.
        fetched: Names of the models that were fetched, whole or not (``grice models verify``).
        not_reproducible: What cannot be had again here, and why, one line each.
    """

    holds: bool
    mode: str
    conversations: int
    arrangements: tuple[Arrangement, ...]
    reference: str
    distances: tuple[Distance, ...]
    problems: tuple[str, ...]
    machine: Machine
    models: tuple[ShippedModel, ...]
    cache: str
    cache_size: int
    data: str | None
    peak_memory: int | None
    seconds: float
    fetched: tuple[str, ...] = ()
    not_reproducible: tuple[str, ...] = ()


class _Run(NamedTuple):
    """The scores of the conversations by metric, and what was computed."""

    scores: dict[str, list[Score]]
    signatures: dict[str, str]


def diagnose(
    registry: Registry, names: Sequence[str] = (), *, mode: Mode = "fast", cache: Path
) -> Diagnosis:
    """Return what this machine is, and whether scores keep their bits on it.

    Args:
        registry: Where metrics are looked up.
        names: Metrics to try; without any, the default ones and all whose scores were recorded.
        cache: Folder of kept answers: it is described, and nothing is read from it.

    Raises:
        MetricError: If there is no metric of such a name.
    """
    recorded = reference_scores()
    wanted = list(dict.fromkeys(names or (*registry.defaults(), *recorded.scores[mode])))
    for name in wanted:
        registry.named(name)
    models, problems = _models()
    talks = conversations()
    start = time.perf_counter()
    try:
        together, arrangements = _compare(registry, wanted, mode, talks)
    except Exception as error:  # noqa: BLE001 - whatever breaks here is what the doctor is asked
        problems.append(f"nothing can be scored: {_reason(error)}")
        together, arrangements = _Run({}, {}), []
    seconds = time.perf_counter() - start
    problems += _failures(together)
    distances = tuple(_distances(together, recorded.scores[mode]))
    machine = describe_machine()
    return Diagnosis(
        holds=not problems and not any(row.differing for row in arrangements),
        mode=mode,
        conversations=len(talks),
        arrangements=tuple(arrangements),
        reference=recorded.processor,
        distances=distances,
        problems=tuple(problems),
        machine=machine,
        models=tuple(models),
        cache=printable(str(cache)),
        cache_size=_size(cache),
        data=printable(os.environ["GRICE_DATA"]) if "GRICE_DATA" in os.environ else None,
        peak_memory=peak_memory(),
        seconds=round(seconds, 2),
        fetched=tuple(stored_models()),
        not_reproducible=tuple(not_reproducible(distances, recorded.processor, machine)),
    )


def _models() -> tuple[list[ShippedModel], list[str]]:
    """Return the shipped models that are as their cards say, and what is wrong with the others."""
    models, problems = [], []
    for name, folder in shipped_bundles().items():
        try:
            models.append(ShippedModel(name, open_bundle(folder).digest))
        except BundleError as error:
            problems.append(str(error))
    return models, problems


def _size(folder: Path) -> int:
    size = 0
    for file in cache_files(folder):
        with suppress(FileNotFoundError):  # another run has just removed it
            size += file.stat().st_size
    return size


def _compare(
    registry: Registry, names: Sequence[str], mode: Mode, talks: list[Conversation]
) -> tuple[_Run, list[Arrangement]]:
    """Score the conversations together, and compare every other arrangement with that."""

    def run(batches: Sequence[list[Conversation]], workers: int = 1) -> _Run:
        with load_from(registry, names, mode=mode, workers=workers) as grader:
            groups = [group for batch in batches for group in grader.scorer.score(batch)]
            return _Run(_by_metric(names, groups), grader.signatures)

    together = run([talks])
    others: dict[str, Callable[[], _Run]] = {
        "alone": lambda: run([[talk] for talk in talks]),
        "reversed": lambda: run([talks[::-1]]),
        "two workers": lambda: run([talks], workers=2),
    }
    arrangements = []
    for name, again in others.items():
        scores = again().scores
        arrangements += [
            _arrangement(metric, name, expected, scores[metric])
            for metric, expected in together.scores.items()
        ]
    return together, arrangements


def _by_metric(names: Sequence[str], groups: Sequence[Sequence[Score]]) -> dict[str, list[Score]]:
    """Return scores by metric, in an order that no arrangement changes."""
    scores = [score for group in groups for score in group]
    ordered = sorted(scores, key=lambda score: score.conversation)
    return {name: [score for score in ordered if score.metric == name] for name in names}


def _arrangement(
    metric: str, name: str, expected: Sequence[Score], scores: Sequence[Score]
) -> Arrangement:
    differing = sum(a != b for a, b in zip(expected, scores, strict=True))
    gaps = _gaps([score.value for score in expected], [score.value for score in scores])
    return Arrangement(metric, name, len(expected), differing, max(gaps, default=0.0))


def _gaps(expected: Sequence[float | None], values: Sequence[float | None]) -> list[float]:
    """Return absolute differences, where both values are there."""
    pairs = zip(expected, values, strict=True)
    return [abs(a - b) for a, b in pairs if a is not None and b is not None]


def _distances(together: _Run, recorded: Mapping[str, Recorded]) -> list[Distance]:
    return [
        _distance(metric, [score.value for score in scores], together.signatures[metric], recorded)
        for metric, scores in together.scores.items()
    ]


def _distance(
    metric: str, values: Sequence[float | None], signature: str, recorded: Mapping[str, Recorded]
) -> Distance:
    if metric not in recorded:
        return Distance(metric, 0, note="not recorded")
    if recorded[metric].signature != signature:
        return Distance(metric, 0, note="recorded with other models")
    expected = recorded[metric].values
    gaps = _gaps(expected, values)
    differing = sum(a != b for a, b in zip(expected, values, strict=True))
    mean = sum(gaps) / len(gaps) if gaps else None
    return Distance(metric, len(expected), differing, max(gaps, default=None), mean)


def _failures(together: _Run) -> list[str]:
    """Return a line for each metric that could not judge some of the conversations."""
    problems = []
    for metric, scores in together.scores.items():
        reasons = [score.reason for score in scores if score.status == "failed"]
        if reasons:
            failed = f"{len(reasons)} of {plural(len(scores), 'score')}"
            problems.append(f"{metric}: {failed} failed: {reasons[0]}")
    return problems


def _reason(error: Exception) -> str:
    return str(error) if isinstance(error, GriceError) else f"{type(error).__name__}: {error}"
