"""``grice list``: the metrics and formats there are, or the page of one metric."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from grice.metrics.registry import Registry

HELP = "list metrics and formats, or describe one metric"


def configure(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:  # noqa: ARG001 - the same for all
    """Declare the arguments."""
    parser.add_argument("metric", nargs="?", metavar="METRIC", help="describe this metric")
    parser.add_argument(
        "--plugin", type=Path, action="append", default=[], metavar="FILE.py", help="also look here"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    """Print the list or the page."""
    from grice.cli.terminal import warn
    from grice.formats import find_formats
    from grice.metrics.page import metric_page, model_cards
    from grice.metrics.registry import find_metrics
    from grice.runtime.registry import plugin_problems

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
        _print_lists(registry)
    return 0


def _print_lists(registry: Registry) -> None:
    from grice.cli.tables import print_limits, print_lines, print_table
    from grice.formats import find_formats
    from grice.metrics.baselines import SOURCE as TRIVIAL_SOURCE
    from grice.metrics.limits import summed_up

    metrics = sorted(registry.metrics.values(), key=lambda known: not known.default)
    print_table(
        ("metric", "judges", "what it tells", "from"),
        [
            (
                f"{metric.name}{'*' * metric.default}",
                metric.judges,
                metric.summary,
                registry.origins[metric.name],
            )
            for metric in metrics
        ],
        words=4,
    )
    print_lines(["* scored unless told otherwise; grice list METRIC tells more", ""])
    measured = [metric.name for metric in metrics if metric.source != TRIVIAL_SOURCE]
    print_limits({name: summed_up(name) for name in measured})
    print_lines([""])
    formats = [(name, known.summary) for name, known in find_formats().formats.items()]
    print_table(("format", "what it is"), formats, words=2)


def _as_json(registry: Registry, name: str | None) -> str:
    import msgspec

    from grice.metrics.declaration import Metric
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
        }
        for metric in metrics
    ]
    return msgspec.json.encode(rows).decode()
