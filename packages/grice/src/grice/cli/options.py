"""Options that select, configure and run metrics, loaded metrics, and conversations of files."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from grice.cli import flags
from grice.files import cache_folder

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from grice.errors import RecordError
    from grice.metrics.declaration import Metric, Option
    from grice.models.endpoint.usage import ClientOptions
    from grice.readers import Reading
    from grice.records import Conversation
    from grice.scoring.api import Grader


def add_metric_options(
    parser: argparse.ArgumentParser, words: Sequence[str], *extras: str, flag: str = "--metrics"
) -> None:
    """Add what selects, configures and runs metrics; each metric brings its own options.

    Extras are those that the command may ask for beside those of metrics. A command that scores
    only where its ``flag`` names metrics has no default metrics.

    The words of the command line are looked through for plugins, whose options are added too, and
    for the metrics asked for: the help describes the options of those alone, of all metrics they
    would bury it.
    """
    from grice.metrics.registry import find_metrics

    early = _early(words, flag)
    registry = find_metrics(early.plugin)
    parser.set_defaults(registry=registry)  # a plugin is run once a command
    for problem in registry.problems:  # here, where every command comes by once
        from grice.cli.terminal import warn

        warn(problem)
    group = parser.add_argument_group(
        "metrics",
        "A metric has options of its own, as --METRIC-OPTION: grice list METRIC describes them, "
        "and this help does with -m METRIC.",
    )
    if flag == "--metrics":
        flags.add_metrics(group, ",".join(registry.defaults()))
    flags.add_plugins(group)
    flags.add_preset(group)
    flags.add_mode(group)
    flags.add_number(group, "--workers", "N", "batches computed at once; default: cores")
    flags.add_cache(group)
    flags.add_switch(group, "--no-cache", "keep nothing between runs")
    flags.add_extras(parser, "arrow", "onnx", "stats", "stores", "transformers", *extras)
    named = names(early.metrics)
    for metric in registry.metrics.values():
        _add_options_of(metric, parser, named)


def _add_options_of(metric: Metric, parser: argparse.ArgumentParser, named: Sequence[str]) -> None:
    if not metric.options and not metric.models:
        return
    described = metric.name in named
    group = parser.add_argument_group(f"options of {metric.name}")
    for option in metric.options:
        group.add_argument(
            metric.flag(option.name),
            dest=_destination(metric, option.name),
            type={"int": int, "float": float, "str": str}[option.type],
            choices=option.choices or None,
            metavar=None if option.choices else option.type.upper(),
            help=_help(option) if described else argparse.SUPPRESS,
        )
    for former in metric.renamed:
        group.add_argument(
            metric.flag(former), dest=_destination(metric, former), help=argparse.SUPPRESS
        )
    for name, reference in metric.models.items():
        group.add_argument(
            metric.flag(name),
            dest=_destination(metric, name),
            metavar="MODEL",
            help=f"model reference; default {reference}" if described else argparse.SUPPRESS,
        )


def _help(option: Option) -> str:
    parts = [option.help, f"{option.range}." if option.range else "", f"Default: {option.default}."]
    return " ".join(filter(None, parts)).replace("%", "%%")


def loader(arguments: argparse.Namespace, speakers: Sequence[str] = ()) -> partial[Grader]:
    """Return what loads metrics by their names with the options that the arguments give."""
    from grice.scoring.api import load_from

    settings: dict[str, dict[str, object]] = {}
    for metric in arguments.registry.metrics.values():
        options = (option.name for option in metric.options)
        given = {
            name: value
            for name in (*options, *metric.models, *metric.renamed)
            if (value := getattr(arguments, _destination(metric, name), None)) is not None
        }
        if given:
            settings[metric.name] = given
    return partial(
        load_from,
        arguments.registry,
        options=settings,
        speakers=speakers,
        mode=arguments.mode,
        workers=arguments.workers,
        cache=None if arguments.no_cache else arguments.cache or cache_folder(),
        models=chosen_preset(arguments),
        terms=endpoint_terms(arguments),
    )


def endpoint_terms(arguments: argparse.Namespace) -> ClientOptions | None:
    """Return how endpoints are used; None where a command has no options for that."""
    if not hasattr(arguments, "limit_requests"):
        return None
    from grice.models.endpoint.usage import ClientOptions

    return ClientOptions(
        concurrency=arguments.concurrency,
        timeout=float(arguments.timeout),
        limit_requests=arguments.limit_requests,
        dry_run=getattr(arguments, "dry_run", False),
    )


def chosen_preset(arguments: argparse.Namespace) -> str:
    """Return the preset of a run, and say once which it is where it is not what ships."""
    from grice.scoring.presets import SMALL, default_preset

    if arguments.models is None:
        arguments.models = default_preset()
        chosen = " (chosen by grice models use)"
    else:
        chosen = ""
    if arguments.models != SMALL and not getattr(arguments, "announced", False):
        from grice.cli.terminal import note

        note(f"models: {arguments.models}{chosen}")
        arguments.announced = True
    return str(arguments.models)


def check_options(arguments: argparse.Namespace, asked: Sequence[str] = ()) -> None:
    """Refuse options of metrics that are not asked for; those that a file sets are passed over."""
    from grice.errors import MetricError

    asked = asked or names(arguments.metrics) or arguments.registry.defaults()
    for flag, metric in options_of_others(arguments, asked):
        raise MetricError(
            f"{flag} is an option of {metric}, which is not asked for: give "
            f"-m {','.join((*asked, metric))}, or leave it out"
        )


def options_of_others(
    arguments: argparse.Namespace, asked: Collection[str]
) -> Iterator[tuple[str, str]]:
    """Yield the options that were typed of metrics that are not asked for, with these metrics."""
    typed = {word.partition("=")[0] for word in arguments.typed}
    for metric in arguments.registry.metrics.values():
        if metric.name in asked:
            continue
        options = (*(option.name for option in metric.options), *metric.models, *metric.renamed)
        for flag in sorted(typed.intersection(map(metric.flag, options))):
            yield flag, metric.name


def load_grader(arguments: argparse.Namespace, speakers: Sequence[str] = ()) -> Grader:
    """Return the metrics that the arguments ask for, ready to score."""
    return loader(arguments, speakers)(names(arguments.metrics))


def _early(words: Sequence[str], flag: str) -> argparse.Namespace:
    early = argparse.ArgumentParser(add_help=False, exit_on_error=False, allow_abbrev=False)
    early.add_argument("--plugin", type=Path, action="append", default=[])
    early.add_argument("-m", flag, dest="metrics")
    try:
        return early.parse_known_args(list(words))[0]
    except argparse.ArgumentError:  # the full parser says what is wrong
        return argparse.Namespace(plugin=[], metrics=None)


def names(listed: str | None) -> list[str]:
    """Return the names in a list with commas, as options take it."""
    return [name.strip() for name in (listed or "").split(",") if name.strip()]


def _destination(metric: Metric, name: str) -> str:
    """Return under which name the arguments hold an option of a metric."""
    return f"{metric.name}.{name}"


def conversations(
    files: Sequence[str], form: str | None, columns: Mapping[str, str]
) -> Iterator[Conversation | RecordError]:
    """Yield the conversations of all files; the ids of a later file carry its name."""
    return all_records(opened(files, form, columns))


def opened(files: Sequence[str], form: str | None, columns: Mapping[str, str]) -> list[Reading]:
    """Open files of conversations, and say as what they are read."""
    from grice.cli.terminal import note
    from grice.readers import read

    readings = [read(file, format=form, columns=columns) for file in files]
    for reading in readings:
        note(f"{reading.source}: read as {reading.format}")
    return readings


def all_records(readings: Sequence[Reading]) -> Iterator[Conversation | RecordError]:
    """Yield the conversations of opened files; the ids of a later one carry its name."""
    from msgspec.structs import replace

    from grice.errors import RecordError

    for place, reading in enumerate(readings):
        for record in reading:
            if place and not isinstance(record, RecordError):
                # Ids are unique within a file only.
                yield replace(record, id=f"{reading.source}#{record.id}")
            else:
                yield record
