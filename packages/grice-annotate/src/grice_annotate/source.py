"""What a study is begun with: files, settings, guideline."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from grice.errors import InputError, os_reason
from grice_annotate.records import Settings
from grice_annotate.scored import reviewed, with_proposals, with_scores

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from grice_annotate.records import Task
    from grice_annotate.templates import Template

LONGEST = 50_000
"""Characters of a guideline."""
STEPS = 20
"""Steps of a scale."""


class Source(NamedTuple):
    """Where the items of a study come from.

    Attributes:
        files: The items.
        scores: What ``grice score`` wrote of them; None where nothing goes by scores.
        metric: Whose scores an ``uncertain`` order goes by.
        propose: Metrics that propose answers.
        top: How many replies a ``review`` order takes.
    """

    files: Sequence[str]
    scores: str | None = None
    metric: str | None = None
    propose: Sequence[str] = ()
    top: int = 100

    @property
    def names(self) -> list[str]:
        """All files."""
        return [*self.files, *([self.scores] if self.scores else [])]


def hashes(files: Sequence[str]) -> dict[str, str]:
    """Return the sha256 of files by their names; of a folder, that of all its files."""
    try:
        return {Path(file).name: _hash(Path(file)) for file in files}
    except OSError as error:
        raise InputError(f"{error.filename}: cannot be read: {os_reason(error)}") from None


def _hash(path: Path) -> str:
    parts = sorted(path.iterdir()) if path.is_dir() else [path]
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.read_bytes())
    return digest.hexdigest()


def guideline_text(path: Path) -> str:
    """Return the text of a guideline."""
    try:
        text = path.read_text("utf-8")
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {os_reason(error)}") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: a guideline is a text in UTF-8") from None
    if len(text) > LONGEST:
        raise InputError(f"{path}: a guideline has at most {LONGEST:,} characters")
    return text


def settings_of(given: Mapping[str, object], scale: tuple[float, float] = (1, 5)) -> Settings:
    """Return settings, checked."""
    low, high = scale
    if float(low) != int(low) or float(high) != int(high) or not 1 <= high - low < STEPS:
        raise InputError(f"--scale {low:g} {high:g}: 2 to {STEPS} whole steps, the lower end first")
    settings = msgspec.convert({**given, "scale": (int(low), int(high))}, Settings)
    if not settings.minutes > 0:
        raise InputError(f"--minutes {settings.minutes:g}: a time above 0")
    if settings.check_every < 0:
        raise InputError(f"--check-every {settings.check_every}: 0 is none, and no less")
    if len(set(settings.aspects)) < len(settings.aspects):
        raise InputError("--aspect: each aspect is named once")
    return settings


def tasks_of(source: Source, template: Template, settings: Settings) -> list[Task]:
    """Return the tasks of a new study in the order of its input, or of review."""
    tasks = list(template.read(source.files, settings))
    if source.scores is None:
        if settings.order in ("review", "uncertain"):
            raise InputError(f"--order {settings.order} goes by scores; name them by --scores")
        if source.propose:
            raise InputError("--propose goes by scores; name them by --scores OUT.jsonl")
        return tasks
    if settings.order == "review":
        tasks = reviewed(tasks, source.scores, top=source.top)
    if settings.order == "uncertain":
        if source.metric is None:
            raise InputError("--order uncertain goes by one metric; name it by --metric")
        tasks = with_scores(tasks, source.scores, source.metric)
    if source.propose:
        tasks = with_proposals(tasks, template, settings, source.scores, source.propose)
    return tasks
