"""``grice list``: the metrics and formats there are, or the page of one metric."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from grice.cli import flags
from grice.cli.output import show
from grice.errors import LONGEST
from grice.tables import Lines, Table

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Sequence

    from grice.metrics.registry import Registry
    from grice.tables import View

HELP = "list metrics and formats, or describe one metric"


def configure(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:  # noqa: ARG001 - the same for all
    """Declare the arguments."""
    parser.add_argument("metric", nargs="?", metavar="METRIC", help="describe this metric")
    flags.add_plugins(parser)
    flags.add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the list or the page."""
    from grice.cli.terminal import warn
    from grice.metrics.page import metric_page, model_cards
    from grice.metrics.registry import find_metrics
    from grice.models.registry import plugin_problems
    from grice.readers import find_formats

    registry = find_metrics(arguments.plugin)
    for problem in (*registry.problems, *plugin_problems(), *find_formats().problems):
        warn(problem)
    if arguments.json:
        sys.stdout.write(_as_json(registry, arguments.metric) + "\n")
    elif arguments.metric:
        metric = registry.named(arguments.metric)
        sys.stdout.write(metric_page(metric))
        for title, card in model_cards(metric):
            sys.stdout.write(f"\n## {title}\n\n{card}")
    else:
        show(_view(registry))
    return 0


def _view(registry: Registry) -> View:
    from grice.metrics.baselines import SOURCE as TRIVIAL_SOURCE
    from grice.readers import find_formats

    metrics = sorted(
        registry.metrics.values(),
        key=lambda known: (not known.default, known.source == TRIVIAL_SOURCE),
    )
    rows = [
        (
            f"{metric.name}{'*' * metric.default}",
            metric.judges,
            metric.summary,
            registry.origins[metric.name],
        )
        for metric in metrics
    ]
    yield Table(("metric", "judges", "what it tells", "from"), rows, words=4)
    yield Lines(["* scored unless told otherwise; grice list METRIC tells more", ""])
    judges = [metric.name for metric in metrics if metric.source != TRIVIAL_SOURCE]
    yield from _earned(judges)
    yield Lines([""])
    yield from _limits(judges)
    yield Lines([""])
    formats = [(name, known.summary) for name, known in find_formats().formats.items()]
    yield Table(("format", "what it is"), formats, words=2)


def _as_json(registry: Registry, name: str | None) -> str:
    import msgspec

    from grice.metrics.declaration import Metric
    from grice.metrics.earned import verdict_on
    from grice.metrics.limits import explained

    metrics = [registry.named(name)] if name else list(registry.metrics.values())
    # Protocols are classes: they say something to code alone.
    fields = [field for field in Metric.__struct_fields__ if field != "protocols"]
    rows = [
        {
            **{field: getattr(metric, field) for field in fields},
            "function": f"{metric.function.__module__}.{metric.function.__name__}",
            "origin": registry.origins[metric.name],
            "does_not_see": explained(metric.name),
            "earned": verdict_on(metric.name),
        }
        for metric in metrics
    ]
    return msgspec.json.encode(rows).decode()


def _earned(metrics: Iterable[str]) -> View:
    """Yield which metrics have earned to run by default, each with the set that shows it."""
    from grice.metrics.earned import NOT_EARNED, verdict_on
    from grice.metrics.limits import NOT_MEASURED

    verdicts = {name: verdict_on(name) for name in metrics}
    without = (NOT_EARNED, NOT_MEASURED)
    yield Lines(["Scored by default is what beats trivial baselines on a set it has not seen:"])
    measured = (f"{name}: {words}" for name, words in verdicts.items() if words not in without)
    yield Lines(measured, indent=2, longest=LONGEST)
    for words in without:
        if others := [name for name, verdict in verdicts.items() if verdict == words]:
            yield Lines([f"{words}: {', '.join(others)}"], indent=2, longest=LONGEST)


def _limits(metrics: Iterable[str]) -> View:
    """Yield what metrics do not see, in one line each; those not measured in one for all."""
    from grice.metrics.limits import NOT_MEASURED, summed_up

    limits = {name: summed_up(name) for name in metrics}
    they = "they do" if len(limits) > 1 else "it does"
    yield Lines([f"What {they} not see, by recorded figures (grice list METRIC has them):"])
    measured = (f"{name}: {words}" for name, words in limits.items() if words != NOT_MEASURED)
    yield Lines(measured, indent=2, longest=LONGEST)
    if missing := [name for name, words in limits.items() if words == NOT_MEASURED]:
        yield Lines([f"{NOT_MEASURED}: {', '.join(missing)}"], indent=2, longest=LONGEST)
