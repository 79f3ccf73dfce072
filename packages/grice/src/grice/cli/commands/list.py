"""``grice list``: the metrics and formats, or the page of one metric."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from grice.cli.output import Output
from grice.cli.streams import warn
from grice.errors import LONGEST
from grice.tables import Lines, Table

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from grice.metrics.declaration import Metric
    from grice.metrics.registry import Registry
    from grice.tables import View


def run(metric: str | None = None, *, plugin: Sequence[Path] = (), json: bool) -> Output | None:
    """List metrics and formats, or describe one metric.

    Args:
        metric (METRIC): describe this metric
    """
    from grice.metrics.registry import find_metrics
    from grice.models.loader import plugin_problems
    from grice.readers import find_formats

    registry = find_metrics(plugin)
    for problem in (*registry.problems, *plugin_problems(), *find_formats().problems):
        warn(problem)
    if not json:
        return Output([], _metric_view(registry.named(metric)) if metric else _view(registry))
    sys.stdout.write(_as_json(registry, metric) + "\n")
    return None


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
    formats = [(name, known.summary) for name, known in find_formats().formats.items()]
    yield Table(("format", "what it is"), formats, words=2)


def _metric_view(metric: Metric) -> View:
    item = "each reply" if metric.judges == "response" else "each whole conversation"
    runs = "runs by default" if metric.default else f"runs with -m {metric.name}"
    yield Lines([f"{metric.name} (version {metric.version}): {metric.summary}"], style="bold")
    facts = (
        f"Judges {item} from {metric.low:g} to {metric.high:g}, higher is better; "
        f"{metric.neutral:g} with status abstained where there is nothing to judge; {runs}."
    )
    meaning = metric.description.partition("\nArgs:")[0].replace("``", "").strip()
    for paragraph in (facts, *meaning.split("\n\n"), f"Method: {metric.source}"):
        yield Lines([" ".join(paragraph.split()), ""], longest=LONGEST)
    for option in metric.options:
        text = f"{option.help} {option.range}".strip(" .").replace("``", "")
        line = f"{metric.flag(option.name)} (default {option.default}): {text}."
        yield Lines([line], indent=2, longest=LONGEST)
    for name, reference in metric.models.items():
        yield Lines([f"{metric.flag(name)} (default {reference}): a model"], indent=2)


def _as_json(registry: Registry, name: str | None) -> str:
    import msgspec

    from grice.metrics.declaration import Metric

    metrics = [registry.named(name)] if name else list(registry.metrics.values())
    # Protocols are classes, of use to code alone.
    fields = [field for field in Metric.__struct_fields__ if field != "protocols"]
    rows = [
        {
            **{field: getattr(metric, field) for field in fields},
            "function": f"{metric.function.__module__}.{metric.function.__name__}",
            "origin": registry.origins[metric.name],
        }
        for metric in metrics
    ]
    return msgspec.json.encode(rows).decode()
