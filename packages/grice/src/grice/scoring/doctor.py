"""Check an installation: its versions and models, and whether scores are reproducible.

A few made-up conversations are scored together, alone, reversed and by two workers, each time
without a cache; every score must be the same record (``docs/concepts/reproducibility.md``).
"""

from __future__ import annotations

import platform
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib import metadata, resources
from pathlib import Path

import msgspec

from grice import distributions
from grice.data import Conversation, Score, Turn
from grice.errors import GriceError, ModelFolderError, plural
from grice.metrics.declaration import Registry
from grice.models.cache import cache_files
from grice.models.folder import open_folder, shipped_models
from grice.models.loader import Mode
from grice.models.store import stored_models
from grice.scoring.api import load_from

OURS = ("grice", "grice-models", "grice-tasks", "grice-annotate", "grice-research")
"""Distributions whose versions must agree; those that are not installed are left out."""
ENGINES = ("ctranslate2", "numpy", "tokenizers", "onnxruntime", "scipy", "torch", "transformers")


class Arrangement(msgspec.Struct, frozen=True):
    """One metric in one arrangement of the conversations, compared with all of them together."""

    metric: str
    arrangement: str  # ``alone``, ``reversed`` or ``two workers``
    scores: int  # how many scores were compared
    differing: int  # how many are not the same record: value, status, reason, evidence
    largest: float  # largest absolute difference of their values


class Diagnosis(msgspec.Struct, frozen=True):
    """State of an installation."""

    holds: bool  # whether every score was the same in every arrangement, and nothing is wrong
    mode: str
    conversations: int
    arrangements: tuple[Arrangement, ...]  # empty if nothing could be scored
    problems: tuple[str, ...]
    versions: dict[str, str]
    models: dict[str, str]  # digests of the installed models by name, of those that are whole
    fetched: tuple[str, ...]  # names of the models that were fetched
    cache: str
    cache_size: int  # bytes of the cached model answers
    seconds: float


def diagnose(
    registry: Registry, names: Sequence[str] = (), *, mode: Mode = "fast", cache: Path
) -> Diagnosis:
    """Check the installation, and score the conversations in several arrangements."""
    wanted = list(dict.fromkeys(names or registry.defaults()))
    for name in wanted:
        registry.named(name)  # refuses an unknown one
    versions = {}
    for name in (*OURS, *ENGINES):
        with suppress(metadata.PackageNotFoundError):
            versions[name] = metadata.version(name)
    models, problems = {}, []
    for name, folder in {**shipped_models(), **stored_models()}.items():
        try:
            models[name] = open_folder(folder).digest
        except ModelFolderError as error:
            problems.append(str(error))
    found = (distributions.mismatch(metadata.distribution(n)) for n in OURS if n in versions)
    problems += filter(None, found)
    # Conversations of many lengths, so that batches hold padding and different texts.
    text = resources.files("grice").joinpath("data", "doctor_talks.json").read_bytes()
    talks = [
        Conversation(f"doctor-{i:02}", tuple(Turn("AB"[j % 2], t) for j, t in enumerate(texts)))
        for i, texts in enumerate(msgspec.json.decode(text, type=list[list[str]]))
    ]
    start = time.perf_counter()
    arrangements: list[Arrangement] = []
    try:
        arrangements += _compare(registry, wanted, mode, talks, problems)
    except Exception as error:  # noqa: BLE001 - any error is reported
        reason = error if isinstance(error, GriceError) else f"{type(error).__name__}: {error}"
        problems.append(f"nothing can be scored: {reason}")
    return Diagnosis(
        holds=not problems and not any(row.differing for row in arrangements),
        mode=mode,
        conversations=len(talks),
        arrangements=tuple(arrangements),
        problems=tuple(problems),
        versions={"python": platform.python_version(), **versions},
        models=models,
        fetched=tuple(stored_models()),
        cache=str(cache).encode("utf-8", "surrogateescape").decode("utf-8", "replace"),
        cache_size=cache_size(cache),
        seconds=round(time.perf_counter() - start, 2),
    )


def cache_size(folder: Path) -> int:
    """Return the bytes of the cached answers in a folder."""
    size = 0
    for file in cache_files(folder):
        with suppress(FileNotFoundError):  # another run has just removed it
            size += file.stat().st_size
    return size


def _compare(
    registry: Registry,
    names: Sequence[str],
    mode: Mode,
    talks: list[Conversation],
    problems: list[str],
) -> Iterator[Arrangement]:
    """Compare scores of several arrangements; add scores that fail to the problems."""
    together: dict[str, list[Score]] = {}
    for arrangement, batches, workers in (
        ("together", [talks], 1),
        ("alone", [[talk] for talk in talks], 1),
        ("reversed", [talks[::-1]], 1),
        ("two workers", [talks], 2),
    ):
        with load_from(registry, names, mode=mode, workers=workers) as grader:
            groups = [group for batch in batches for group in grader.scorer.score(batch)]
        found = sorted((s for group in groups for s in group), key=lambda s: s.conversation)
        scores = {name: [score for score in found if score.metric == name] for name in names}
        together = together or scores
        for metric, expected in together.items():
            if arrangement == "together":
                reasons = [score.reason for score in expected if score.status == "failed"]
                if reasons:
                    failed = f"{len(reasons)} of {plural(len(expected), 'score')}"
                    problems.append(f"{metric}: {failed} failed: {reasons[0]}")
                continue
            pairs = list(zip(expected, scores[metric], strict=True))
            gaps = [
                abs(a.value - b.value)
                for a, b in pairs
                if a.value is not None and b.value is not None
            ]
            differing = sum(a != b for a, b in pairs)
            yield Arrangement(metric, arrangement, len(pairs), differing, max(gaps, default=0.0))
