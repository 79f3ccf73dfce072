"""Intervals, correlations, agreement, comparisons: what may be said about a number.

Every result states its value, interval, level, n and method. Functions take values that were
computed before; no metric is ever run again. All but :class:`ClusteredMean` need numpy, most
also scipy (``pip install "grice[stats]"``), which is imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING
from warnings import warn

from grice.stats.clusters import ClusteredMean

if TYPE_CHECKING:
    from grice.stats.agreement import cohen_kappa, fleiss_kappa, kappa_of_table, krippendorff_alpha
    from grice.stats.annotators import leave_one_annotator_out, pairwise_agreement
    from grice.stats.comparison import (
        Comparison,
        Ranking,
        benjamini_hochberg,
        holm,
        significance_clusters,
    )
    from grice.stats.conformal import HumanScale, fit_human_scale
    from grice.stats.correlations import correlation, correlation_within, partial_correlation
    from grice.stats.dependent import (
        DependentTest,
        compare_correlations,
        steiger_z,
        williams_t,
        zou_interval,
    )
    from grice.stats.estimate import Estimate
    from grice.stats.inference import PoweredMean, prediction_powered_mean
    from grice.stats.reliability import ceiling, intraclass, reliability_of_mean
    from grice.stats.system_means import SystemLevel, system_level
    from grice.stats.systems import Power, cliffs_delta, compare_systems, items_needed, mean

# Names are imported when they are first used: `import grice.cli` must not load numpy.
_NAMES = {
    "agreement": "cohen_kappa fleiss_kappa kappa_of_table krippendorff_alpha",
    "annotators": "leave_one_annotator_out pairwise_agreement",
    "comparison": "Comparison Ranking benjamini_hochberg holm significance_clusters",
    "conformal": "HumanScale fit_human_scale",
    "correlations": "correlation correlation_within partial_correlation",
    "dependent": "DependentTest compare_correlations steiger_z williams_t zou_interval",
    "estimate": "Estimate",
    "inference": "PoweredMean prediction_powered_mean",
    "reliability": "ceiling intraclass reliability_of_mean",
    "system_means": "SystemLevel system_level",
    "systems": "Power cliffs_delta compare_systems items_needed mean",
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = [
    "ClusteredMean",
    "Comparison",
    "DependentTest",
    "Estimate",
    "HumanScale",
    "Power",
    "PoweredMean",
    "Ranking",
    "SystemLevel",
    "benjamini_hochberg",
    "ceiling",
    "cliffs_delta",
    "cohen_kappa",
    "compare_correlations",
    "compare_systems",
    "correlation",
    "correlation_within",
    "fit_human_scale",
    "fleiss_kappa",
    "holm",
    "intraclass",
    "items_needed",
    "kappa_of_table",
    "krippendorff_alpha",
    "leave_one_annotator_out",
    "mean",
    "pairwise_agreement",
    "partial_correlation",
    "prediction_powered_mean",
    "reliability_of_mean",
    "significance_clusters",
    "steiger_z",
    "system_level",
    "williams_t",
    "zou_interval",
]

_RENAMED = {"leave_one_judge_out": "leave_one_annotator_out"}
"""Names of the version before."""


def __getattr__(name: str) -> object:
    if name in _RENAMED:
        warn(f"grice.stats.{name} is now {_RENAMED[name]}", DeprecationWarning, stacklevel=2)
        name = _RENAMED[name]
    if name not in _HOMES:
        raise AttributeError(f"module 'grice.stats' has no attribute {name!r}")
    return getattr(import_module(f"grice.stats.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
