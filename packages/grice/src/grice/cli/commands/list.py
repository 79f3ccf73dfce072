"""``grice list``: the metrics and formats, or the page of one metric."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from grice.cli.output import Output, warn
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
    metrics = [registry.named(metric)] if metric else list(registry.metrics.values())
    if json:
        sys.stdout.write(_as_json(registry, metrics) + "\n")
        return None
    return Output([], _metric_view(metrics[0]) if metric else _view(registry))


def _view(registry: Registry) -> View:
    from grice.metrics.baselines import SOURCE as TRIVIAL_SOURCE
    from grice.readers import find_formats

    metrics = sorted(
        registry.metrics.values(),
        key=lambda known: (not known.default, known.source == TRIVIAL_SOURCE),
    )
    rows = [
        (f"{each.name}{'*' * each.default}", each.judges, each.summary, registry.origins[each.name])
        for each in metrics
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


def _as_json(registry: Registry, metrics: Sequence[Metric]) -> str:
    import msgspec

    rows = [
        {
            # Protocols are classes, of use to code alone.
            **{name: getattr(each, name) for name in each.__struct_fields__ if name != "protocols"},
            "function": f"{each.function.__module__}.{each.function.__name__}",
            "origin": registry.origins[each.name],
        }
        for each in metrics
    ]
    return msgspec.json.encode(rows).decode()
