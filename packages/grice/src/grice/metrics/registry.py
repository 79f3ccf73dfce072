"""Finds metrics: in the modules of :mod:`grice.metrics`, other packages, single files.

A metric is an object that :func:`~grice.metrics.metric` has declared in one of them. A package
offers metrics through the entry point group ``grice.metrics``; each entry point names a module or
a :class:`~grice.metrics.Metric`. A plug-in that cannot be loaded is reported and does not affect
the others.
"""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from grice import distributions
from grice.errors import MetricError, did_you_mean
from grice.metrics.declaration import Metric

if TYPE_CHECKING:
    from collections.abc import Sequence

GROUP = "grice.metrics"


class Registry(NamedTuple):
    """The metrics that were found."""

    metrics: dict[str, Metric]  # metric by name
    origins: dict[str, str]  # where each was found: ``grice``, a distribution, or a file
    problems: tuple[str, ...]  # one line per plugin that could not be loaded

    def named(self, name: str) -> Metric:
        """Return a metric by name.

        Raises:
            MetricError: If the name is unknown.
        """
        if name not in self.metrics:
            raise MetricError(f"no metric {name!r}{did_you_mean(name, self.metrics)}")
        return self.metrics[name]

    def defaults(self) -> tuple[str, ...]:
        """Return the names of the metrics that run by default."""
        return tuple(name for name, metric in self.metrics.items() if metric.default)


def find_metrics(plugins: Sequence[Path] = ()) -> Registry:
    """Return all metrics: built-in, installed, and those in the given Python files."""
    metrics: dict[str, Metric] = {}
    origins: dict[str, str] = {}
    problems: list[str] = []

    def add(exported: object, origin: str) -> None:
        values = [exported] if isinstance(exported, Metric) else vars(exported).values()
        for metric in values:
            if isinstance(metric, Metric) and metric.name in metrics:
                problems.append(
                    f"metric {metric.name!r} of {origin} is left out: "
                    f"{origins[metric.name]} has one of that name"
                )
            elif isinstance(metric, Metric):
                metrics[metric.name], origins[metric.name] = metric, origin

    for module in pkgutil.iter_modules([str(Path(__file__).parent)]):
        add(importlib.import_module(f"{__package__}.{module.name}"), "grice")
    for entry in distributions.entry_points(GROUP):
        origin = entry.dist.name if entry.dist else entry.value
        try:
            add(distributions.load(entry), origin)
        except Exception as error:  # noqa: BLE001 - plug-ins may raise anything
            problems.append(f"plugin {entry.name!r} of {origin}: {type(error).__name__}: {error}")
    for path in plugins:
        add(_load_file(path), str(path))
    return Registry(metrics, origins, tuple(problems))


def _load_file(path: Path) -> object:
    spec = importlib.util.spec_from_file_location(f"grice_plugin_{path.stem}", path)
    if spec is None or spec.loader is None or not path.is_file():
        raise MetricError(f"--plugin {path}: not a Python file")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise MetricError(f"--plugin {path}: {type(error).__name__}: {error}") from error
    return module
