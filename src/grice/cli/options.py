"""Options that several commands take, and how they become loaded metrics."""

from __future__ import annotations

import argparse
import warnings
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from grice.folders import cache_folder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice.metrics.declaration import Metric, Option
    from grice.scoring.api import Grader

__all__ = [
    "add_format",
    "add_json",
    "add_metric_options",
    "add_metrics",
    "add_output",
    "add_plugins",
    "add_preset",
    "add_report",
    "add_seed",
    "add_speaker",
    "check_options",
    "chosen_preset",
    "load_grader",
    "loader",
    "names",
    "positive",
]


def add_format(parser: argparse.ArgumentParser) -> None:
    """Add what names the format of files of conversations."""
    parser.add_argument("--format", metavar="NAME", help="format of the files (see grice list)")


def add_json(parser: argparse.ArgumentParser, about: str = "print JSON lines") -> None:
    """Add what asks for lines that machines read."""
    parser.add_argument("--json", action="store_true", help=about)


def add_seed(parser: argparse.ArgumentParser, about: str) -> None:
    """Add the seed of what is drawn."""
    parser.add_argument("--seed", type=int, default=0, help=f"seed of {about} (default 0)")


def add_report(
    parser: argparse.ArgumentParser, about: str = "write a page to look at them"
) -> None:
    """Add the page that is written; ``--html`` is what some commands called it before."""
    parser.add_argument("--report", type=Path, metavar="OUT.html", help=about)
    parser.add_argument(
        "--html", dest="report", type=Path, action=_Former, const="--report", help=argparse.SUPPRESS
    )


class _Former(argparse.Action):
    """A former name of an option, which still works and says the present one."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        del parser
        warnings.warn(f"{option_string} is called {self.const} now", FutureWarning, stacklevel=2)
        setattr(namespace, self.dest, values)


JUDGED = (
    "judge only turns of this speaker or role; may be repeated; all judges everybody (default: the "
    "assistant where roles are known, else everybody)"
)


def add_speaker(parser: argparse.ArgumentParser) -> None:
    """Add whose turns are judged."""
    parser.add_argument("--speaker", action="append", default=[], metavar="NAME", help=JUDGED)


def add_metrics(parser: argparse.ArgumentParser, default: str = "default all") -> None:
    """Add the list of metrics where none of their options is taken."""
    about = f"comma-separated; {default}"
    parser.add_argument("-m", "--metrics", metavar="NAMES", help=about)


def add_plugins(
    parser: argparse.ArgumentParser | argparse._ArgumentGroup,
    about: str = "a Python file that declares further metrics; may be repeated",
) -> None:
    """Add the files of a user's own metrics."""
    parser.add_argument(
        "--plugin", type=Path, action="append", default=[], metavar="FILE.py", help=about
    )


def add_output(
    parser: argparse.ArgumentParser,
    metavar: str = "FILE",
    about: str = "write here instead of to stdout",
    *,
    required: bool = False,
) -> None:
    """Add the file or folder that is written."""
    parser.add_argument("-o", "--output", type=Path, metavar=metavar, help=about, required=required)


def add_preset(parser: argparse._ActionsContainer) -> None:
    """Add what chooses models and weights all at once."""
    parser.add_argument(
        "--models",
        metavar="PRESET",
        help="models and weights all at once: small (what ships), medium, large, a preset or "
        "FILE.toml of your own; default: what grice models use has chosen, else small",
    )


def add_metric_options(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """Add what selects, configures and runs metrics; each metric brings its own options.

    The words of the command line are looked through for plugins, whose options are added too, and
    for the metrics asked for: the help describes the options of those alone, of all metrics they
    would bury it.
    """
    from grice.metrics.registry import find_metrics

    early = _early(words)
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
    about = f"comma-separated; default {','.join(registry.defaults())} (see grice list)"
    group.add_argument("-m", "--metrics", metavar="NAMES", help=about)
    add_plugins(group)
    add_preset(group)
    group.add_argument(
        "--mode",
        choices=("fast", "exact"),
        default="fast",
        help="arithmetic: fast (int8, default) or exact (float32, one text at a time)",
    )
    group.add_argument(
        "--workers", type=positive, metavar="N", help="batches computed at once; default: cores"
    )
    group.add_argument(
        "--cache",
        type=Path,
        metavar="DIR",
        help="folder of answers kept between runs (default: the user's cache folder)",
    )
    group.add_argument("--no-cache", action="store_true", help="keep nothing between runs")
    named = names(early.metrics)
    for metric in registry.metrics.values():
        _add_options_of(metric, parser, named)


def add_sampled_conversations(
    parser: argparse.ArgumentParser, words: Sequence[str], *, about: str, most: int, draw: str
) -> None:
    """Add the files that metrics are tried on, how many conversations of them, and the metrics."""
    parser.add_argument("files", nargs="+", metavar="FILE", help=about)
    add_format(parser)
    add_speaker(parser)
    parser.add_argument(
        "--most", type=positive, default=most, metavar="N", help=f"conversations (default {most})"
    )
    add_seed(parser, draw)
    add_json(parser, "print JSON")
    add_metric_options(parser, words)


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
        preset=chosen_preset(arguments),
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


def check_options(arguments: argparse.Namespace) -> None:
    """Refuse options of metrics that are not asked for; those that a file sets are passed over.

    Raises:
        MetricError: If the command line has one.
    """
    from grice.errors import MetricError

    registry = arguments.registry
    asked = names(arguments.metrics) or registry.defaults()
    typed = {word.partition("=")[0] for word in arguments.typed}
    for metric in registry.metrics.values():
        if metric.name in asked:
            continue
        options = (*(option.name for option in metric.options), *metric.models, *metric.renamed)
        for flag in sorted(typed.intersection(map(metric.flag, options))):
            raise MetricError(
                f"{flag} is an option of {metric.name}, which is not asked for: give "
                f"-m {','.join((*asked, metric.name))}, or leave it out"
            )


def load_grader(arguments: argparse.Namespace, speakers: Sequence[str] = ()) -> Grader:
    """Return the metrics that the arguments ask for, ready to score."""
    return loader(arguments, speakers)(names(arguments.metrics))


def _early(words: Sequence[str]) -> argparse.Namespace:
    early = argparse.ArgumentParser(add_help=False, exit_on_error=False)
    early.add_argument("--plugin", type=Path, action="append", default=[])
    early.add_argument("-m", "--metrics")
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


def positive(text: str) -> int:
    """Return an integer of 1 or more that stands behind an option."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r}: an integer of 1 or more is needed")
    return int(text)
