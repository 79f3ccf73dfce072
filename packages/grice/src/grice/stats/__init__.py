"""Intervals, correlations, agreement, comparisons: what may be said about a number.

Every result states its value, interval, level, n and method. Functions take values that were
computed before; no metric is ever run again. All but :class:`ClusteredMean` need numpy, most
also scipy (``pip install "grice[stats]"``), which is imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from grice.stats.clusters import ClusteredMean

if TYPE_CHECKING:
    from grice.stats.agreement import (
        ceiling,
        cohen_kappa,
        fleiss_kappa,
        krippendorff_alpha,
        leave_one_annotator_out,
    )
    from grice.stats.comparison import (
        Comparison,
        Ranking,
        compare_correlations,
        compare_systems,
        holm,
        mean,
        significance_clusters,
    )
    from grice.stats.correlations import correlation, correlation_within, partial_correlation
    from grice.stats.estimate import Estimate
    from grice.stats.inference import (
        HumanScale,
        PoweredMean,
        fit_human_scale,
        prediction_powered_mean,
    )
    from grice.stats.systems import (
        Power,
        SystemLevel,
        items_needed,
        system_level,
    )

# Names are imported when they are first used: `import grice.cli` must not load numpy.
_NAMES = {
    "agreement": "ceiling cohen_kappa fleiss_kappa krippendorff_alpha leave_one_annotator_out",
    "comparison": (
        "Comparison Ranking compare_correlations compare_systems holm mean significance_clusters"
    ),
    "correlations": "correlation correlation_within partial_correlation",
    "estimate": "Estimate",
    "inference": "HumanScale PoweredMean fit_human_scale prediction_powered_mean",
    "systems": "Power SystemLevel items_needed system_level",
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = [
    "ClusteredMean",
    "Comparison",
    "Estimate",
    "HumanScale",
    "Power",
    "PoweredMean",
    "Ranking",
    "SystemLevel",
    "ceiling",
    "cohen_kappa",
    "compare_correlations",
    "compare_systems",
    "correlation",
    "correlation_within",
    "fit_human_scale",
    "fleiss_kappa",
    "holm",
    "items_needed",
    "krippendorff_alpha",
    "leave_one_annotator_out",
    "mean",
    "partial_correlation",
    "prediction_powered_mean",
    "significance_clusters",
    "system_level",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'grice.stats' has no attribute {name!r}")
    return getattr(import_module(f"grice.stats.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
