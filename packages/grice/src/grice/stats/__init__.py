"""Intervals, correlations, agreement and comparisons of values that were computed before.

All but :class:`ClusteredMean` need numpy, most also scipy (``pip install "grice[stats]"``), which
is imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from grice.stats.estimate import ClusteredMean, Estimate

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
        Power,
        Ranking,
        compare_correlations,
        compare_systems,
        holm,
        items_needed,
        mean,
    )
    from grice.stats.correlations import (
        SystemLevel,
        correlation,
        correlation_within,
        partial_correlation,
        system_level,
    )
    from grice.stats.inference import (
        HumanScale,
        PoweredMean,
        fit_human_scale,
        prediction_powered_mean,
    )

__all__ = [
    "ClusteredMean", "Comparison", "Estimate", "HumanScale", "Power", "PoweredMean", "Ranking",
    "SystemLevel", "ceiling", "cohen_kappa", "compare_correlations", "compare_systems",
    "correlation", "correlation_within", "fit_human_scale", "fleiss_kappa", "holm", "items_needed",
    "krippendorff_alpha", "leave_one_annotator_out", "mean", "partial_correlation",
    "prediction_powered_mean", "system_level",
]  # fmt: skip


def __getattr__(name: str) -> object:
    # Names are imported when they are first used: the help page must not load numpy.
    for module in ("agreement", "comparison", "correlations", "inference"):
        if name in __all__ and hasattr(home := import_module(f"grice.stats.{module}"), name):
            return getattr(home, name)
    raise AttributeError(f"module 'grice.stats' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__]
