"""Intervals, correlations, agreement, comparisons: what may be said about a number.

Every result states its value, interval, level, n and method. Functions take values that were
computed before; no metric is ever run again. All but :class:`ClusteredMean` need numpy, most
also scipy (``pip install "grice[stats]"``), which is imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING
from warnings import warn

from grice.stats.clusters import ClusteredMean, Interval

if TYPE_CHECKING:
    from grice.stats.agreement import (
        cohen_kappa,
        fleiss_kappa,
        kappa_of_table,
        krippendorff_alpha,
    )
    from grice.stats.annotators import leave_one_annotator_out, pairwise_agreement
    from grice.stats.comparison import (
        Comparison,
        benjamini_hochberg,
        holm,
        significance_clusters,
    )
    from grice.stats.conformal import Banded, HumanScale, fit_human_scale
    from grice.stats.correlations import correlation, correlation_within, partial_correlation
    from grice.stats.dependent import (
        CorrelationComparison,
        DependentTest,
        compare_correlations,
        steiger_z,
        williams_t,
        zou_interval,
    )
    from grice.stats.estimate import Estimate
    from grice.stats.inference import PoweredMean, prediction_powered_mean
    from grice.stats.pairs import PairwiseAccuracy, pairwise_accuracy
    from grice.stats.reliability import ceiling, intraclass, reliability_of_mean
    from grice.stats.system_means import SystemLevel, system_level
    from grice.stats.systems import (
        Power,
        SystemComparison,
        cliffs_delta,
        compare_systems,
        items_needed,
        mean,
    )

# Names are imported when they are first used: `import grice.cli` must not load numpy.
_HOMES = {
    "Banded": "conformal",
    "Comparison": "comparison",
    "CorrelationComparison": "dependent",
    "DependentTest": "dependent",
    "Estimate": "estimate",
    "HumanScale": "conformal",
    "PairwiseAccuracy": "pairs",
    "Power": "systems",
    "PoweredMean": "inference",
    "SystemComparison": "systems",
    "SystemLevel": "system_means",
    "benjamini_hochberg": "comparison",
    "ceiling": "reliability",
    "cliffs_delta": "systems",
    "cohen_kappa": "agreement",
    "compare_correlations": "dependent",
    "compare_systems": "systems",
    "correlation": "correlations",
    "correlation_within": "correlations",
    "fit_human_scale": "conformal",
    "fleiss_kappa": "agreement",
    "holm": "comparison",
    "intraclass": "reliability",
    "items_needed": "systems",
    "kappa_of_table": "agreement",
    "krippendorff_alpha": "agreement",
    "leave_one_annotator_out": "annotators",
    "mean": "systems",
    "pairwise_accuracy": "pairs",
    "pairwise_agreement": "annotators",
    "partial_correlation": "correlations",
    "prediction_powered_mean": "inference",
    "reliability_of_mean": "reliability",
    "significance_clusters": "comparison",
    "steiger_z": "dependent",
    "system_level": "system_means",
    "williams_t": "dependent",
    "zou_interval": "dependent",
}

__all__ = [
    "Banded",
    "ClusteredMean",
    "Comparison",
    "CorrelationComparison",
    "DependentTest",
    "Estimate",
    "HumanScale",
    "Interval",
    "PairwiseAccuracy",
    "Power",
    "PoweredMean",
    "SystemComparison",
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
    "pairwise_accuracy",
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
