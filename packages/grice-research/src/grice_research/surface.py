"""The private names of grice that benches and recipes stand on, each imported here alone.

What a module of grice declares in ``__all__`` is imported from there; one that has none is for the
package alone. The rest may be renamed at any time: then this file breaks and no other, and a test
says so. Helpers of the command line are
imported by :mod:`grice_research.command` and :mod:`grice_research.terminal` alone.
"""

from __future__ import annotations

from grice.knowledge.extraction.cues import Scale
from grice.metrics.coherence.aggregation import LOWEST
from grice.metrics.commonsense import TURNS
from grice.metrics.engagement.replies import WIDTH
from grice.perturb.irrelevancy import base, exchanged, placeholder
from grice.stats.correlations import complete
from grice_tasks.cider.statistics import published
from grice_tasks.cider.structure import EDGES
from grice_tasks.explagraphs.baselines import STOP_WORDS
from grice_tasks.explagraphs.kernel import projections, random_features
from grice_tasks.situatedgen.contrast import sample_contexts

__all__ = [
    "EDGES",
    "LOWEST",
    "STOP_WORDS",
    "TURNS",
    "WIDTH",
    "Scale",
    "base",
    "complete",
    "exchanged",
    "placeholder",
    "projections",
    "published",
    "random_features",
    "sample_contexts",
]
