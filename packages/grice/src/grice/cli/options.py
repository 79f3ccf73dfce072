"""Metrics, models and conversations as the options of a command ask for them."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from grice.cli.derive import Input, Scoring, metric_options, names
from grice.cli.output import INVOCATION, note, warn
from grice.errors import InputError, MetricError, OutputError, RecordError
from grice.files import cache_folder, make_folder, state_folder

if TYPE_CHECKING:
    from grice.data import Conversation
    from grice.models.endpoint import ClientOptions
    from grice.models.loader import ModelLoader
    from grice.readers import Reading
    from grice.scoring.api import Grader

Item = TypeVar("Item")


def check_options(scoring: Scoring, asked: Sequence[str] = ()) -> None:
    """Refuse typed options of metrics that are not selected."""
    asked = asked or names(scoring.metrics) or scoring.registry.defaults()
    for flag, metric in options_of_others(scoring, asked):
        raise MetricError(
            f"{flag} is an option of {metric}, which is not selected: give "
            f"-m {','.join((*asked, metric))}, or leave it out"
        )


def options_of_others(scoring: Scoring, asked: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield the typed options of metrics that are not selected, with their metric."""
    typed = {word.partition("=")[0] for word in INVOCATION.get().words}
    for metric in scoring.registry.metrics.values():
        flags = {metric.flag(name) for name, *_ in metric_options(metric)}
        for flag in sorted(flags & typed) if metric.name not in asked else ():
            yield flag, metric.name


def loader(scoring: Scoring, speakers: Sequence[str] = ()) -> partial[Grader]:
    """Return a function that loads metrics by name, with the options given."""
    from grice.scoring.api import SMALL, default_preset, load_from

    preset = scoring.models or default_preset()
    if preset != SMALL:
        note(f"models: {preset}{'' if scoring.models else ' (chosen by grice models use)'}")
    settings: dict[str, dict[str, object]] = {}
    for place, value in vars(scoring).items():
        metric, dot, option = place.partition(".")
        if dot and value is not None:
            settings.setdefault(metric, {})[option] = value
    return partial(
        load_from,
        scoring.registry,
        options=settings,
        speakers=speakers,
        mode=scoring.mode,
        workers=scoring.workers,
        cache=None if scoring.no_cache else scoring.cache or cache_folder(),
        rubrics=scoring.rubric,
        judge=scoring.judge,
        models=preset,
        terms=client_options(scoring) if hasattr(scoring, "limit_requests") else None,
    )


def suggest_larger(preset: str) -> None:
    """Say what a larger preset finds, once per machine, after a run with ``small``."""
    from grice.scoring.api import LARGE, SMALL, named_preset

    marker = state_folder() / f"suggested-{LARGE}"
    if preset != SMALL or INVOCATION.get().quiet or os.environ.get("CI") or marker.exists():
        return
    try:
        make_folder(marker.parent)
        marker.touch()
    except (OSError, OutputError):
        return  # else every run would say it
    note(f"{named_preset(LARGE).finds}: grice models get {LARGE}, then add --models {LARGE}")


def load_grader(
    scoring: Scoring, speakers: Sequence[str] = (), *, skip_missing: bool = False
) -> Grader:
    """Load the metrics that the options name; those that are left out get a line each."""
    grader = loader(scoring, speakers)(names(scoring.metrics), skip_missing=skip_missing)
    for metric, reason in grader.missing.items():
        warn(f"{metric} is left out: {reason}")
    return grader


def client_options(options: Namespace, *, dry_run: bool | None = None) -> ClientOptions:
    """Return the client options of endpoints."""
    from grice.models.endpoint import ClientOptions

    return ClientOptions(
        concurrency=options.concurrency,
        timeout=float(options.timeout),
        limit_requests=options.limit_requests,
        dry_run=options.dry_run if dry_run is None else dry_run,
    )


def opened_models(scoring: Scoring | None = None, *, keep: bool = True) -> ModelLoader:
    """Return models with the options given, or the default ones, to be closed after use."""
    from grice.models.loader import ModelLoader, default_workers

    chosen = scoring or Scoring()
    cache = chosen.cache or cache_folder() if keep and not chosen.no_cache else None
    workers = chosen.workers or default_workers()
    return ModelLoader(mode=chosen.mode, workers=workers, cache=cache)


def columns_of(reading: Input) -> dict[str, str]:
    """Parse the names of columns by their part."""
    from grice.readers.table import check_parts

    columns: dict[str, str] = {}
    for text in reading.column:
        part, equals, name = text.partition("=")
        if not equals:
            raise InputError(f"--column {text}: write PART=NAME, as in text=body")
        if columns.setdefault(part, name) != name:
            raise InputError(f"--column {part} is given twice: {columns[part]!r} and {name!r}")
    check_parts(columns)
    return columns


def opened(files: Sequence[str], reading: Input) -> list[Reading]:
    """Open files of conversations, and report their formats."""
    from grice.readers import read

    columns = columns_of(reading)
    readings = [read(file, format=reading.format, columns=columns) for file in files]
    for each in readings:
        note(f"{each.source}: read as {each.format}")
    return readings


def usable(items: Iterable[Item | RecordError], broken: list[RecordError]) -> Iterator[Item]:
    """Yield items; errors of records are reported, and added to a list."""
    from grice.errors import RecordError

    for item in items:
        if isinstance(item, RecordError):
            warn(str(item))
            broken.append(item)
        else:
            yield item


def conversations(files: Sequence[str], reading: Input) -> Iterator[Conversation | RecordError]:
    """Yield the conversations of all files; the ids of a later file carry its name."""
    return all_records(opened(files, reading))


def all_records(readings: Sequence[Reading]) -> Iterator[Conversation | RecordError]:
    """Yield the conversations of opened files; ids are unique within a file only."""
    from msgspec.structs import replace

    from grice.errors import RecordError

    for place, reading in enumerate(readings):
        for record in reading:
            if place and not isinstance(record, RecordError):
                yield replace(record, id=f"{reading.name}#{record.id}")
            else:
                yield record
