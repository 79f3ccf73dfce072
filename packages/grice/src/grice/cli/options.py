"""Metrics, models and conversations as the options of a command ask for them."""

from __future__ import annotations

import argparse
from argparse import SUPPRESS
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grice.cli.derive import Scoring, add_extras, add_group, names
from grice.cli.streams import TYPED, note, warn
from grice.errors import GriceError, InputError, MetricError
from grice.files import cache_folder

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Collection, Iterator, Sequence

    from grice.data import Conversation
    from grice.errors import RecordError
    from grice.metrics.declaration import Metric
    from grice.models.endpoint import ClientOptions
    from grice.models.loader import ModelLoader
    from grice.readers import Reading
    from grice.scoring.api import Grader

TYPES: dict[str, type] = {"int": int, "float": float, "str": str}
LARGE = "large"
"""The preset that is recommended after a run of ``small``."""


def add_metric_options(
    parser: argparse.ArgumentParser, words: Sequence[str], *extras: str, flag: str = "--metrics"
) -> None:
    """Add the options of metrics, those of plug-in files included.

    Only the metrics that the words name are described in the help. A command that scores only on
    request names its metrics by another ``flag``.
    """
    from grice.metrics.registry import find_metrics

    early = argparse.ArgumentParser(add_help=False, exit_on_error=False, allow_abbrev=False)
    early.add_argument("--plugin", type=Path, action="append", default=[])
    early.add_argument("-m", flag, dest="metrics")
    try:
        known = early.parse_known_args(list(words))[0]
    except argparse.ArgumentError:  # the full parser reports it
        known = argparse.Namespace(plugin=[], metrics=None)
    registry = find_metrics(known.plugin)
    for problem in registry.problems:
        warn(problem)
    parser.set_defaults(registry=registry)  # plug-in files run once a command
    group = parser.add_argument_group(
        "metrics",
        "A metric has options of its own, as --METRIC-OPTION: grice list METRIC describes them, "
        "and this help does with -m METRIC.",
    )
    add_group(group, Scoring, *([] if flag == "--metrics" else ["metrics"]))
    parser.set_defaults(metrics=None)
    for action in group._group_actions:
        if action.dest == "metrics":
            action.help = f"{action.help}; default {','.join(registry.defaults())}"
    add_extras(parser, "arrow", "onnx", "stats", "stores", "transformers", *extras)
    described = names(known.metrics)
    for metric in registry.metrics.values():
        group = parser.add_argument_group(f"options of {metric.name}")
        for name, (text, settings) in _declared(metric).items():
            group.add_argument(
                metric.flag(name),
                dest=f"{metric.name}.{name}",
                help=text.replace("%", "%%") if metric.name in described else SUPPRESS,
                **settings,
            )


def _declared(metric: Metric) -> dict[str, tuple[str, dict[str, Any]]]:
    """Return help and argparse settings of each option and model of a metric."""
    declared: dict[str, tuple[str, dict[str, Any]]] = {}
    for option in metric.options:
        limits = f"{option.range}." if option.range else ""
        text = " ".join(filter(None, [option.help, limits, f"Default: {option.default}."]))
        settings = (
            {"choices": option.choices} if option.choices else {"metavar": option.type.upper()}
        )
        declared[option.name] = (text, {"type": TYPES[option.type], **settings})
    for name, reference in metric.models.items():
        declared[name] = (f"model reference; default {reference}", {"metavar": "MODEL"})
    return declared


def check_options(scoring: Namespace, asked: Sequence[str] = ()) -> None:
    """Refuse typed options of metrics that are not asked for."""
    asked = asked or names(scoring.metrics) or scoring.registry.defaults()
    for flag, metric in options_of_others(scoring, asked):
        raise MetricError(
            f"{flag} is an option of {metric}, which is not asked for: give "
            f"-m {','.join((*asked, metric))}, or leave it out"
        )


def options_of_others(scoring: Namespace, asked: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield the typed options of metrics that are not asked for, with their metric."""
    typed = {word.partition("=")[0] for word in TYPED.get()}
    for metric in scoring.registry.metrics.values():
        if metric.name not in asked:
            for flag in sorted(typed.intersection(map(metric.flag, _declared(metric)))):
                yield flag, metric.name


def loader(scoring: Namespace, speakers: Sequence[str] = ()) -> partial[Grader]:
    """Return a function that loads metrics by name, with the options given."""
    from grice.scoring.api import load_from

    settings: dict[str, dict[str, object]] = {}
    for metric in scoring.registry.metrics.values():
        values = {
            name: getattr(scoring, f"{metric.name}.{name}", None) for name in _declared(metric)
        }
        given = {name: value for name, value in values.items() if value is not None}
        if given:
            settings[metric.name] = given
    return partial(
        load_from,
        scoring.registry,
        options=settings,
        speakers=speakers,
        mode=scoring.mode,
        workers=scoring.workers,
        cache=_cache(scoring),
        models=chosen_preset(scoring),
        terms=endpoint_terms(scoring),
    )


def load_grader(scoring: Namespace, speakers: Sequence[str] = ()) -> Grader:
    """Load the metrics that the options name."""
    return loader(scoring, speakers)(names(scoring.metrics))


def chosen_preset(scoring: Namespace) -> str:
    """Return the preset of a run, and report it once if it is not the shipped one."""
    from grice.scoring.presets import SMALL, default_preset

    chosen = ""
    if scoring.models is None:
        scoring.models, chosen = default_preset(), " (chosen by grice models use)"
    if scoring.models != SMALL and not getattr(scoring, "announced", False):
        note(f"models: {scoring.models}{chosen}")
        scoring.announced = True
    return str(scoring.models)


def endpoint_terms(options: Namespace, *, dry_run: bool | None = None) -> ClientOptions | None:
    """Return the client options of endpoints; None for a command without them."""
    if not hasattr(options, "limit_requests"):
        return None
    from grice.models.endpoint import ClientOptions

    return ClientOptions(
        concurrency=options.concurrency,
        timeout=float(options.timeout),
        limit_requests=options.limit_requests,
        dry_run=options.dry_run if dry_run is None else dry_run,
    )


def opened_models(*, workers: int | None = None, keep: bool = True) -> ModelLoader:
    """Return models with the default options, to be closed at the end of a block."""
    from grice.models.loader import ModelLoader, default_workers

    cache = cache_folder() if keep else None
    return ModelLoader(mode="fast", workers=workers or default_workers(), cache=cache)


def models_as_asked(scoring: Namespace) -> ModelLoader:
    """Return models with the mode, workers, cache and client options given."""
    from grice.models.loader import ModelLoader, default_workers

    return ModelLoader(
        mode=scoring.mode,
        workers=scoring.workers or default_workers(),
        cache=_cache(scoring),
        terms=endpoint_terms(scoring),
    )


def _cache(scoring: Namespace) -> Path | None:
    folder: Path = scoring.cache or cache_folder()
    return None if scoring.no_cache else folder


def recommend_larger(metrics: Collection[str] = ()) -> None:
    """Name the gain of the largest preset, and the commands for it, if it changes a score."""
    from grice.models.store import find_stored, known_models
    from grice.scoring.presets import named_preset

    with suppress(GriceError):  # a finished run does not fail by a file of settings
        preset = named_preset(LARGE)
        if metrics and not {*preset.metrics, *preset.options}.intersection(metrics):
            return
        index = known_models()
        missing = [index[name] for name in preset.models if find_stored(name) is None]
        size = sum(entry.download or 0 for entry in missing) / 1e9
        fetch = f"grice models get {LARGE} ({size:.1f} GB to fetch), then " if missing else ""
        note(f"{LARGE} finds more {preset.finds}: {fetch}grice score --models {LARGE}")


def columns_of(reading: Namespace) -> dict[str, str]:
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


def conversations(files: Sequence[str], reading: Namespace) -> Iterator[Conversation | RecordError]:
    """Yield the conversations of all files; the ids of a later file carry its name."""
    return all_records(opened(files, reading))


def opened(files: Sequence[str], reading: Namespace) -> list[Reading]:
    """Open files of conversations, and report their formats."""
    from grice.readers import read

    columns = columns_of(reading)
    readings = [read(file, format=reading.format, columns=columns) for file in files]
    for each in readings:
        note(f"{each.source}: read as {each.format}")
    return readings


def all_records(readings: Sequence[Reading]) -> Iterator[Conversation | RecordError]:
    """Yield the conversations of opened files; ids are unique within a file only."""
    from msgspec.structs import replace

    from grice.errors import RecordError

    for place, reading in enumerate(readings):
        for record in reading:
            if place and not isinstance(record, RecordError):
                yield replace(record, id=f"{reading.source}#{record.id}")
            else:
                yield record
